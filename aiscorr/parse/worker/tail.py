"""The last words of each rank: what it wrote before its file ended or its failure spoke."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.values import Value, strip_ansi
from aiscorr.parse.worker.prefixes import LinePrefix, PrefixReader

_LINES_PER_RANK = 3
_LIMIT_BYTES = 128 * 1024
_LINE_BYTES = 4096
_NOISE = re.compile(
    rb"\s*$|  |\s+\^|#\d+ |frame #|[=*-]{5,}$|Traceback \(most|Original Traceback"
    rb"|(?:Current t|T)hread (?:0x)?[0-9a-f]+ \(|Process \d+: |Python v\d|Timeout \(\d+:\d\d:"
)
#: `global_step`, `step`, `iteration`, `iter`, `it`; it begins with a set of letters, as `re` then skips to the first.
_STEP = re.compile(
    r"[gsiGSI\u017f\u0130\u0131](?<!\w.)(?i:(?<=g)lobal_step|(?<=s)tep|(?<=i)t(?:er(?:ation)?)?)\b[\"']?[ :=]*\[?(\d+)"
)
_BAR = re.compile(r"\b(\d+)/(\d+) \[")
#: A label of srun in front of a tag that names a rank.
_TAGGED_TASK = re.compile(rb" {0,4}(\d{1,5}): .{0,80}?\[rank(\d{1,6})\]")


class TailPatterns:
    """What a line says its rank was about to do."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        told = [(pattern, [word.lower() for word in pattern.literals]) for pattern in patterns if pattern.activity]
        self._words = WordBits((word for _, words in told for word in words), folds=True)
        self._patterns = [(self._words.bits(*words), pattern) for pattern, words in told]

    def activity_of(self, text: str) -> str | None:
        """By the first pattern that matches; None where the line says nothing."""
        raw = text.encode("utf-8", "replace")
        held = self._words.of(raw)
        for words, pattern in self._patterns if held else ():
            if held & words and pattern.regex.search(raw):
                return pattern.activity
        return None


class TailLine(NamedTuple):
    """A line found while looking back."""

    line_no: int
    byte_offset: int
    text: bytes


def lines_before(
    parts: list[tuple[bytes, int]], block: bytes, block_line_no: int, block_offset: int
) -> Iterator[TailLine]:
    """The last lines (latest first) of the recent parts and of the block up to a point, 128 KiB at most."""
    size = 0
    offset = block_offset + len(block)
    for text, line_no in [(block, block_line_no), *reversed(parts)]:
        # a line is given while those behind it have no more than the limit: none in front of this place is
        start = text.rfind(b"\n", 0, max(0, len(text) - _LIMIT_BYTES - 1)) + 1
        pieces = text[start:].split(b"\n")
        number = line_no + text.count(b"\n", 0, start) + len(pieces) - 1
        if pieces and not pieces[-1]:
            pieces.pop()
            number -= 1
            offset -= 1
        for piece in reversed(pieces):
            offset -= len(piece)
            yield tuple.__new__(TailLine, (number, offset, piece))
            offset -= 1
            number -= 1
            size += len(piece) + 1
            if size > _LIMIT_BYTES:
                return
        offset += 1


def last_words(
    lines: list[TailLine],
    prefixes: PrefixReader,
    years: YearContext,
    path_rank: int | None,
    patterns: TailPatterns,
) -> list[dict[str, Value]]:
    """Rows of worker_tail: the last three telling lines of each rank (rank null: nobody's); lines come latest first."""
    # whose lines they are: a rank's, else a local rank's, else nobody's
    kept: dict[tuple[int | None, int | None], list[dict[str, Value]]] = {}
    full: set[tuple[int | None, int | None]] = set()
    tasks = _tagged_tasks(lines)
    for line_no, byte_offset, raw in lines:
        raw = _last_piece(raw)
        if full:
            rank, local_rank = prefixes.owner(raw, years)
            if rank is None:
                rank = path_rank
            if (rank is not None or not tasks) and (rank, local_rank if rank is None else None) in full:
                continue
        prefix = prefixes.read(raw, years)
        rank = prefix.rank
        if rank is None and prefix.task is not None:
            rank = _rank_of(prefix.task, tasks)
        if rank is None:
            rank = path_rank
        key = (rank, prefix.local_rank if rank is None else None)
        if key in full or _NOISE.match(raw, prefix.body_start):
            continue
        rows = kept.setdefault(key, [])
        if len(rows) == _LINES_PER_RANK - 1:
            full.add(key)
        rows.append({"line_no": line_no, "byte_offset": byte_offset, **_row(raw, prefix, rank, patterns)})
    return [row for rows in kept.values() for row in reversed(rows)]


def _tagged_tasks(lines: list[TailLine]) -> dict[int, set[int]]:
    """The ranks that lines with a label of srun name, by task."""
    tasks: dict[int, set[int]] = {}
    for line in lines:
        match = _TAGGED_TASK.match(line.text)
        if match is not None:
            tasks.setdefault(int(match[1]), set()).add(int(match[2]))
    return tasks


def _rank_of(task: int, tasks: dict[int, set[int]]) -> int | None:
    """The only rank that lines of a task name; where they name none, its number, if two others have theirs."""
    if task in tasks:
        return next(iter(tasks[task])) if len(tasks[task]) == 1 else None
    return task if len(tasks) > 1 and all(ranks == {one} for one, ranks in tasks.items()) else None


def _last_piece(line: bytes) -> bytes:
    """What a terminal shows of a line in the end, without colours."""
    piece = line.rstrip(b"\r").rpartition(b"\r")[2] if b"\r" in line else line
    piece = piece[:_LINE_BYTES]
    return strip_ansi(piece.decode("utf-8", "replace")).encode("utf-8", "replace") if b"\x1b" in piece else piece


def _row(raw: bytes, prefix: LinePrefix, rank: int | None, patterns: TailPatterns) -> dict[str, Value]:
    clean = raw.decode("utf-8", "replace")
    return {
        "local_ns": prefix.stamp.local_ns if prefix.stamp else None,
        "zone_offset_s": prefix.stamp.zone_offset_s if prefix.stamp else None,
        "rank": rank,
        "local_rank": prefix.local_rank,
        "activity": patterns.activity_of(clean),
        "step": step_of(clean),
        "text": clean,
    }


def step_of(text: str) -> int | None:
    """The training step in a progress line, where there is one."""
    match = _STEP.search(text) or _BAR.search(text)
    return int(match.group(1)) if match and len(match.group(1)) < 16 else None
