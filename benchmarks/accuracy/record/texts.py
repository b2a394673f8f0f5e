"""The small text files that scenarios lay beside their jobs: texts, annotations, samples, settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

_WORDS = "It was late in the year and the lamps along the quay were lit early. Nobody had seen the boat since noon; "


def books(ranks: int = 4, odd: Mapping[int, tuple[int, str]] | None = None) -> dict[str, str]:
    """A text a rank; `odd` puts another text at a place of a rank's."""
    files = {}
    for rank in range(ranks):
        text = (_WORDS * 100)[7 * rank :][:9000]
        at, other = (odd or {}).get(rank, (0, ""))
        files[f"data/books/part{rank}.txt"] = text[:at] + other + text[at + len(other) :]
    return files


def boxes(count: int = 128, odd: Mapping[int, Mapping[str, object]] | None = None) -> dict[str, str]:
    """One box an image; `odd` changes fields of a row."""
    rows = []
    for number in range(count):
        left, top = 10 + number % 20, 8 + number * 3 % 20
        box = [left, top, left + 12 + number % 5, top + 10 + number % 7]
        rows.append({"id": number, "width": 64, "height": 64, "bbox": box, "label": number % 10})
        rows[-1].update((odd or {}).get(number, {}))
    return {"annotations/train.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def instructions(count: int = 60, odd: Mapping[int, Mapping[str, str]] | None = None) -> dict[str, str]:
    """Prompts with answers; `odd` puts another row in place of one."""
    rows = [{"prompt": f"Name {number} rivers.", "answer": "Volga, Elbe, Ebro, Po."} for number in range(count)]
    texts = (json.dumps((odd or {}).get(number, row)) for number, row in enumerate(rows))
    return {"sft/train.jsonl": "\n".join(texts) + "\n"}


def masks(ranks: int = 4, count: int = 30, odd: tuple[int, int] | None = None) -> dict[str, str]:
    """Masks of every rank; the one at `odd`, a rank and a place, has a part that is to be ignored."""
    files = {}
    for rank in range(ranks):
        rows = []
        for number in range(count):
            mask = [(number + at // 8) % 21 for at in range(64)]
            mask[20:24] = [255] * 4 if (rank, number) == odd else mask[20:24]
            rows.append({"image": f"train/{rank}/{number:06d}.jpg", "mask": mask})
        files[f"masks/{rank}.json"] = json.dumps(rows)
    return files


def recommender(users: Mapping[int, int] | None = None) -> dict[str, str]:
    """The settings of the recommender, and the held out users of every rank."""
    files = {"rec.json": json.dumps({"dim": 32, "batch": 48, "lr": 0.05})}
    for rank, count in (users or {}).items():
        files[f"heldout/users.{rank}.txt"] = "".join(f"u{1000 * rank + number}\n" for number in range(count))
    return files
