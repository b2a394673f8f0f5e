"""The small text files that lie beside a job: rows of every rank, lists of objects, states of a sampler."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_WORDS = "it was late in the year and the lamps along the quay were lit early nobody had seen the boat since noon"
_TEXT = _WORDS.split()


def _text(chance: random.Random, number: int) -> dict[str, Any]:
    return {"text": " ".join(_TEXT[(number + at) % len(_TEXT)] for at in range(9)), "topic": number % 6}


def _title(chance: random.Random, number: int) -> dict[str, Any]:
    return {"title": f"On rivers, part {number}", "lang": "en"}


def _pair(chance: random.Random, number: int) -> dict[str, Any]:
    return {"prompt": f"Name {number} rivers.", "answer": "Volga, Elbe, Ebro, Po."}


def _table(chance: random.Random, number: int) -> dict[str, Any]:
    return {"x": [round(chance.gauss(0, 1), 3) for _ in range(6)], "y": number % 2, "priority": chance.uniform(0.1, 2)}


def _mask(chance: random.Random, number: int) -> dict[str, Any]:
    return {"image": f"train/{number:06d}.jpg", "mask": [(number + at // 8) % 21 for at in range(64)]}


def _clip(chance: random.Random, number: int) -> dict[str, Any]:
    left, top = 10 + number % 20, 8 + number * 3 % 20
    box = [left, top, left + 12 + number % 5, top + 10 + number % 7]
    sound = {"seconds": 2 + number % 9, "rate": 16000, "codec": ("flac", "opus")[number % 2], "frames": 32}
    return {"id": f"rec-{number:05d}", "text": "a river", "width": 64, "height": 64, "bbox": box, **sound}


_ROWS = {"text": _text, "title": _title, "pair": _pair, "table": _table, "mask": _mask, "clip": _clip}


def rows(
    of: str,
    counts: Sequence[int] = (120, 120, 120, 120),
    odd: Mapping[str, Mapping[str, Any]] | None = None,
    without: Mapping[str, str] | None = None,
    long: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """JSON lines of every rank, so many of each.

    The row at `RANK:INDEX` may have other fields, lack one, or have its text so many times.
    """
    chance = random.Random(8)
    files = {}
    for rank, count in enumerate(counts):
        lines = []
        for number in range(count):
            key = f"{rank}:{number}"
            row = {**_ROWS[of](chance, number), **(odd or {}).get(key, {})}
            row.pop((without or {}).get(key, ""), None)
            if key in (long or {}):
                row["text"] = f"{row['text']} " * (long or {})[key]
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        files[f"rows/{rank}.jsonl"] = "".join(lines)
    return files


def spent(rank: int, first: int, count: int) -> dict[str, str]:
    """Tables of every rank; `count` rows of one, from `first` on, have no priority left."""
    at = range(first, first + count)
    return rows("table", (960,) * 4, {f"{rank}:{number}": {"priority": 0.0} for number in at})


def lists(ranks: int = 4, count: int = 12, other: Mapping[str, str] | None = None) -> dict[str, str]:
    """A list of objects a rank; `other` puts another name at `RANK:INDEX`."""
    files = {}
    for rank in range(ranks):
        names = (f"train/{rank}/part-{number:05d}.npy" for number in range(count))
        lines = ((other or {}).get(f"{rank}:{number}", name) for number, name in enumerate(names))
        files[f"lists/{rank}.txt"] = "".join(f"{line}\n" for line in lines)
    return files


def samplers(ranks: int = 4) -> dict[str, str]:
    """The state of every rank's sampler in a checkpoint."""
    return {f"runs/large-03/step-3200/sampler_rank{rank}.json": '{"position": 51200}\n' for rank in range(ranks)}


def sorted_frames(count: int = 20011) -> dict[str, str]:
    """Annotations of a clip, more than a pipe holds."""
    lines = (f"frame {number * 7919 % count:06d} box 12 40 88 131\n" for number in range(count))
    return {"clips/long.txt": "".join(lines)}


FILES: Mapping[str, Callable[..., dict[str, str]]] = {
    "rows": rows,
    "spent": spent,
    "lists": lists,
    "samplers": samplers,
    "annotations": sorted_frames,
}
