"""Takes evidence away from incidents piece by piece, or known words: an answer may become narrower, not turn round.

Turned round: guilty became innocent or the other way, or ranks are blamed that neither the truth nor the answer before
blames. Works on copies of the logs, with the times of the files.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

from benchmarks.accuracy.score.answer import answer
from benchmarks.accuracy.score.intervals import share_of
from benchmarks.accuracy.score.judge import Judged, judge
from benchmarks.accuracy.score.renamed import renamed
from benchmarks.accuracy.score.truth import Truth, read_truth

Change = Callable[[Path, random.Random], None]
_STAMP = re.compile(rb"^([IWE] )(\d\d:\d\d:\d\d\.\d{6})", re.MULTILINE)
_HEADER = re.compile(rb"^((?:Started up|Rotated) at )(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)", re.MULTILINE)
_IN_NAME = re.compile(r"\.(\d{4}-\d{6})\.")
_SHIFTS_S = (-5400, -75, -7, 11, 140, 3600)


def _logs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _write(path: Path, data: bytes) -> None:
    """New content, the same time."""
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def drop_file(folder: Path, dice: random.Random) -> None:
    """Any one file is gone."""
    dice.choice(_logs(folder)).unlink()


def drop_node(folder: Path, dice: random.Random) -> None:
    """Any one AIStore node is gone."""
    nodes = sorted(path for path in (folder / "ais").glob("*") if path.is_dir())
    if nodes:
        shutil.rmtree(dice.choice(nodes))


def drop_storage(folder: Path, dice: random.Random) -> None:
    """The AIStore side is gone."""
    shutil.rmtree(folder / "ais", ignore_errors=True)


def drop_workers(folder: Path, dice: random.Random) -> None:
    """The worker side is gone."""
    shutil.rmtree(folder / "workers", ignore_errors=True)


def drop_lines(folder: Path, dice: random.Random) -> None:
    """A tenth of all lines is gone."""
    for path in _logs(folder):
        if "trace_rank_" not in path.name:
            lines = path.read_bytes().splitlines(keepends=True)
            _write(path, b"".join(line for line in lines if dice.random() > 0.1))


def rename_libraries(folder: Path, dice: random.Random) -> None:
    """The libraries of the workers, and their exceptions, have names that nobody knows."""
    for part in ("workers", "logs"):
        for path in _logs(folder / part):
            if "trace_rank_" not in path.name:
                text = path.read_bytes().decode("utf-8", "surrogateescape")
                changed_text = "\n".join(renamed(line) for line in text.split("\n"))
                _write(path, changed_text.encode("utf-8", "surrogateescape"))


def shift_node(folder: Path, dice: random.Random) -> None:
    """The clock of one AIStore node is wrong."""
    nodes = sorted(path for path in (folder / "ais").glob("*") if path.is_dir())
    if nodes:
        _shift(dice.choice(nodes), dice.choice(_SHIFTS_S))


def shift_storage(folder: Path, dice: random.Random) -> None:
    """The clocks of all AIStore nodes are wrong by the same."""
    _shift(folder / "ais", dice.choice(_SHIFTS_S))


def _shift(folder: Path, ahead_s: int) -> None:
    ahead = timedelta(seconds=ahead_s)

    def moved(form: str) -> Callable[[re.Match[bytes]], bytes]:
        return lambda found: found[1] + (datetime.strptime(found[2].decode(), form) + ahead).strftime(form).encode()

    for path in _logs(folder):
        data = _STAMP.sub(moved("%H:%M:%S.%f"), path.read_bytes())
        _write(path, _HEADER.sub(moved("%Y/%m/%d %H:%M:%S"), data))
        if in_name := _IN_NAME.search(path.name):
            stamp = datetime.strptime(f"2024{in_name[1]}", "%Y%m%d-%H%M%S") + ahead
            path.rename(path.with_name(path.name.replace(in_name[1], f"{stamp:%m%d-%H%M%S}")))


CHANGES: dict[str, Change] = {
    one.__name__: one
    for one in (
        drop_file,
        drop_node,
        drop_storage,
        drop_workers,
        drop_lines,
        rename_libraries,
        shift_node,
        shift_storage,
    )
}


@dataclass(frozen=True)
class Turn:
    """An incident after a change: what was said before and after."""

    truth: Truth
    change: str
    before: tuple[Judged, ...]
    after: tuple[Judged, ...]

    @property
    def is_turned(self) -> bool:
        """The verdict is the opposite."""
        sides = {"guilty", "innocent"}
        pairs = zip(self.before, self.after, strict=True)
        return any({one.verdict, two.verdict} == sides for one, two in pairs)

    @property
    def is_blaming(self) -> bool:
        """Ranks are blamed that neither the truth nor the answer before blames."""
        pairs = zip(self.before, self.after, strict=True)
        return any(two.culprits - one.culprits - set(two.expected.culprits or ()) for one, two in pairs)

    @property
    def is_wrong(self) -> bool:
        """The verdict is wrong and was not wrong before."""
        sides = {"guilty": "innocent", "innocent": "guilty"}
        pairs = zip(self.before, self.after, strict=True)
        return any(
            two.verdict == sides.get(two.expected.verdict or "") and one.verdict != two.verdict for one, two in pairs
        )


def changed(truth: Truth, change: str, seed: int, before: tuple[Judged, ...]) -> Turn:
    """Asks again after a change."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / truth.name
        shutil.copytree(truth.folder, folder)
        CHANGES[change](folder, random.Random(f"{seed}/{truth.name}/{change}"))
        left = [folder / part.name for part in truth.logs() if (folder / part.name).is_dir()]
        after = judge(truth, answer(left)).judged
    return Turn(truth, change, before, after)


def _all_changes(given: tuple[Path, int]) -> list[Turn]:
    folder, seed = given
    truth = read_truth(folder)
    before = judge(truth, answer(truth.logs())).judged
    return [changed(truth, change, seed, before) for change in CHANGES]


def _turns(folder: Path, jobs: int, seed: int, count: int) -> Iterator[Turn]:
    found = sorted(path.parent for path in folder.glob("*/truth.toml"))
    small = [one for one in found if int(read_truth(one).made_of.get("world", 8)) <= 64]
    chosen = random.Random(seed).sample(small, min(count, len(small)))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for turns in pool.map(_all_changes, [(one, seed) for one in chosen]):
            yield from turns


def report_of_robustness(folder: Path, jobs: int, seed: int, count: int) -> str:
    """How often an answer turns round, by change, and which did."""
    from benchmarks.accuracy.score.tables import table

    turns = list(_turns(folder, jobs, seed, count))
    rows = [_row(name, [turn for turn in turns if turn.change == name]) for name in CHANGES]
    head = ("change", "verdict turned round", "verdict newly wrong", "other ranks blamed")
    listed = [
        f"* {turn.truth.name}, {turn.change}: {_words(turn.before)} became {_words(turn.after)}"
        for turn in turns
        if turn.is_turned or turn.is_blaming or turn.is_wrong
    ]
    return "\n".join([table(head, [*rows, _row("all", turns)]), "", *listed])


def _row(name: str, turns: Sequence[Turn]) -> tuple[object, ...]:
    return (
        name,
        share_of([one.is_turned for one in turns]),
        share_of([one.is_wrong for one in turns]),
        share_of([one.is_blaming for one in turns]),
    )


def _words(judged: Sequence[Judged]) -> str:
    return "; ".join(f"{one.verdict} {sorted(one.culprits)[:8]}" for one in judged) or "nothing"
