"""The last words of each rank: what it wrote before its file ended or its failure spoke."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from aiscorr.native import count_newlines
from aiscorr.parse.search.expression_code import holder
from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.values import Value
from aiscorr.parse.worker.prefixes import LinePrefix, Owner, PrefixReader, last_piece

_LINES_PER_RANK = 3
_LIMIT_BYTES = 128 * 1024
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
_TAGGED_TASK = re.compile(rb"(?m)^ {0,4}(\d{1,5}): .{0,80}?\[rank(\d{1,6})\]")
#: The rank of a line that stands right behind another on the same one: two processes wrote at once.
_GLUED = re.compile(rb"\[(?<=[\w.)]\[)[Rr]ank ?\d{1,6}\]")


class TailPatterns:
    """What a line says its rank was about to do."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        told = [(pattern, [word.lower() for word in pattern.literals]) for pattern in patterns if pattern.activity]
        self._words = WordBits((word for _, words in told for word in words), folds=True)
        self._patterns = [(self._words.bits(*words), _Lazy(pattern)) for pattern, words in told]

    def activity_of(self, text: str) -> str | None:
        """By the first pattern that matches; None where the line says nothing."""
        raw = text.encode("utf-8", "replace")
        held = self._words.of(raw)
        for words, pattern in self._patterns if held else ():
            if held & words and pattern.holds(raw):
                return pattern.activity
        return None


class _Lazy:
    """A pattern whose regex is compiled when a line may hold it."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self.activity = pattern.activity

    @cached_property
    def holds(self) -> Callable[[bytes], bool]:
        """Whether a line holds it."""
        return holder(self._pattern.regex)


class TailLine(NamedTuple):
    """A line found while looking back."""

    line_no: int
    byte_offset: int
    text: bytes


class Tail:
    """The last lines of what was read up to a place; those in front of which more than 128 KiB follow are left out.

    `text` ends at the place; `offset` and `next_line_no` are those of its end, where the next line begins.
    """

    def __init__(self, text: bytes, offset: int, next_line_no: int) -> None:
        start = text.rfind(b"\n", 0, max(0, len(text) - _LIMIT_BYTES - 1)) + 1
        self.text = text[start:] if start else text
        #: Where the text begins in the file.
        self.offset = offset - len(self.text)
        #: The end of the last line, without its newline; -1 where there is none.
        self.end = len(self.text) - self.text.endswith(b"\n") if self.text else -1
        self._next_line_no = next_line_no
        self._counted = len(self.text), next_line_no

    def since(self, offset: int) -> Tail:
        """The lines that begin at a place of the file or behind it."""
        before = offset - self.offset
        end = self.offset + len(self.text)
        return Tail(self.text[before:], end, self._next_line_no) if before > 0 else self

    def line(self, start: int, end: int) -> TailLine:
        """The line between two places."""
        counted, number = self._counted
        if counted < start:
            counted, number = len(self.text), self._next_line_no
        number -= count_newlines(self.text, start, counted)
        self._counted = start, number
        return TailLine(number, self.offset + start, self.text[start:end])

    def place_of(self, count: int) -> int:
        """Where so many of the last lines begin."""
        start = self.end + 1
        while count > 0 and start > 0:
            start, count = self.start_of(start - 1), count - 1
        return start

    def start_of(self, end: int) -> int:
        """Where the line begins that ends at a place."""
        return self.text.rfind(b"\n", 0, end) + 1

    def lines(self) -> Iterator[TailLine]:
        """All lines, latest first."""
        end = self.end
        while end >= 0:
            start = self.start_of(end)
            yield self.line(start, end)
            end = start - 1

    def lines_with(self, find: Callable[[bytes, int], tuple[int, int] | None]) -> Iterator[TailLine]:
        """The lines that a line_finder gives, latest first."""
        end = self.end
        while end >= 0 and (found := find(self.text, end)) is not None:
            yield self.line(*found)
            end = found[0] - 1


def last_words(
    tail: Tail, prefixes: PrefixReader, years: YearContext, path_rank: int | None, patterns: TailPatterns
) -> list[dict[str, Value]]:
    """Rows of worker_tail: the last three telling lines of each rank (rank null: nobody's)."""
    # whose lines they are: a rank's, else a local rank's, else nobody's
    kept: dict[Owner, list[dict[str, Value]]] = {}
    full: set[Owner] = set()
    tasks = _tagged_tasks(tail.text)
    end = tail.end
    while end >= 0:
        if full:
            found = prefixes.last_other(tail.text, end, path_rank, full, not tasks)
            if found is None:
                break
            start, end = found
        else:
            start = tail.start_of(end)
        line_no, byte_offset, raw = tail.line(start, end)
        end = start - 1
        raw = last_piece(raw)
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
    for line, raw in _glued(tail):
        prefix = prefixes.read(raw, years)
        row = {"line_no": line.line_no, "byte_offset": line.byte_offset, **_row(raw, prefix, prefix.rank, patterns)}
        kept.setdefault((prefix.rank, None), [row])
    return [row for rows in kept.values() for row in reversed(rows)]


def _glued(tail: Tail) -> Iterator[tuple[TailLine, bytes]]:
    """What stands right behind another line on the same one, latest first, with that one."""
    for place in reversed([match.start() for match in _GLUED.finditer(tail.text)]):
        end = tail.text.find(b"\n", place) % (len(tail.text) + 1)
        yield tail.line(tail.start_of(place), end), last_piece(tail.text[place:end])


def _tagged_tasks(text: bytes) -> dict[int, set[int]]:
    """The ranks that lines with a label of srun name, by task."""
    tasks: dict[int, set[int]] = {}
    for match in _TAGGED_TASK.finditer(text) if b"[rank" in text else ():
        tasks.setdefault(int(match[1]), set()).add(int(match[2]))
    return tasks


def _rank_of(task: int, tasks: dict[int, set[int]]) -> int | None:
    """The only rank that lines of a task name; where they name none, its number, if two others have theirs."""
    if task in tasks:
        return next(iter(tasks[task])) if len(tasks[task]) == 1 else None
    return task if len(tasks) > 1 and all(ranks == {one} for one, ranks in tasks.items()) else None


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
