"""Reads progress lines of training programs: which step a rank was at, when, and how long a step took.

Where every line is one they are thinned, so that reading keeps its speed: the first of a file, one every
512 KiB, and the last before an attempt failed or the file ended. Where no known program's line is met, lines
are kept in which a number may count steps; the view progress_line tells whether it grows from line to line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from aiscorr.model import FileSummary
from aiscorr.native import count_newlines, finder, line_finder, place_finder
from aiscorr.parse.batches import PartSink
from aiscorr.parse.search.chunks import Block
from aiscorr.parse.search.expression_code import holder
from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.values import Value, strip_ansi
from aiscorr.parse.worker.prefixes import PrefixReader
from aiscorr.parse.worker.state import WorkerState
from aiscorr.parse.worker.tail import Tail
from aiscorr.schema.tables import STEP_LINE

FIRST_LINES = 16
STRIDE_BYTES = 512 * 1024
#: Of the last lines all of DENSE_LINES, then one in SPARSE (no node has as many ranks), up to a number a file and rank.
DENSE_LINES, SPARSE = 24, 7
LAST_LINES, LAST_LINES_A_RANK, MOST_LAST_LINES = 48, 16, 192
#: How far behind a sampling place a progress line is looked for while none of the file is known.
_WINDOW_BYTES = 8 * 1024
#: Literals that turn out not to be progress lines, after which a block is left; common words are left earlier.
_MISSES, _REPEATED_MISSES = 200, 64
#: A file with fewer lines of a known program among its last may be one of an unknown program.
_FEW_LINES = 3
_LINE_BYTES = 4096
_TEXT_CHARACTERS = 512
_COLUMNS = frozenset(STEP_LINE.column_names)

StepRow = dict[str, Value]


class StepPatterns:
    """The compiled patterns of progress lines of one format, and the literals to look for.

    Groups `step` and `step2` of a pattern are one value at two places; the later one counts where both are there.
    """

    def __init__(self, prefixes: PrefixReader, pattern_folders: tuple[str, ...] = (), kind: str = "step") -> None:
        self.prefixes = prefixes
        self.patterns: tuple[Pattern, ...] = pattern_set(kind, pattern_folders)
        self.most_misses = _MISSES if kind == "step" else _REPEATED_MISSES
        self.literals = tuple(dict.fromkeys(literal for pattern in self.patterns for literal in pattern.literals))
        self._words = WordBits(self.literals)
        # most files have the same words
        self.finder = cache(finder)
        self.place_finder = cache(place_finder)
        self.line_finder = cache(line_finder)
        self._tried = [
            (self._words.bits(*pattern.literals), holder(re.compile((pattern.prefilter or "").encode())), pattern)
            for pattern in self.patterns
        ]

    def read(self, line: bytes) -> StepRow | None:
        """Step and durations of a line without colours, under the columns of step_line; None where it is no step."""
        held = self._words.of(line)
        for words, short, pattern in self._tried:
            match = pattern.regex.search(line) if held & words and short(line) else None
            if match is None:
                continue
            values = {name.rstrip("23456789"): value for name, value in pattern.values(match).items()}
            pace = values.pop("steps_per_s", None)
            if isinstance(pace, float) and pace > 0:
                values["step_s"] = 1 / pace
            return {"pattern": pattern.name, **{name: value for name, value in values.items() if name in _COLUMNS}}
        return None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a line between two of \\r and \\n; where its line begins in the block, and where it ends itself."""

    text: bytes
    line_start: int
    end: int


class StepLines:
    """Picks the progress lines of one file and writes their rows."""

    def __init__(
        self,
        patterns: StepPatterns,
        repeated: StepPatterns,
        sink: PartSink,
        summary: FileSummary,
        state: WorkerState,
        years: YearContext,
        stored: Callable[[Value, Value], int | None],
    ) -> None:
        self._patterns = patterns
        self._repeated = repeated
        self._sink = sink
        self._summary = summary
        self._state = state
        self._years = years
        self._stored = stored
        self._wanted = self._literals()

    def look(self, block: Block, line_no: int) -> None:
        """Keeps the first and the sampled lines of a block whose first line has this number."""
        place = self._look_first(block, line_no)
        sample = max(self._state.step_next_offset - block.offset, place)
        while sample < block.size:
            is_known = bool(self._state.step_literals)
            window = block.size if is_known else min(block.size, sample + _WINDOW_BYTES)
            found = next(self._all(self._patterns, block, line_no, window, sample), None)
            if found is None and not is_known:
                found = next(self._all(self._repeated, block, line_no, window, sample), None)
            if found is not None:
                self._write(found[0], "sampled")
            sample = (found[1] if found else sample) + STRIDE_BYTES
        self._state.step_next_offset = block.offset + sample

    def last(self, tail: Tail) -> None:
        """Keeps progress lines from the end backwards."""
        if self._keep_last(self._patterns, self._wanted, tail) < _FEW_LINES:
            self._keep_last(self._repeated, self._repeated.literals, tail)

    def _look_first(self, block: Block, line_no: int) -> int:
        """Keeps the first lines of the file as far as they stand in this block; where the last of them ends."""
        place, state = 0, self._state
        is_first = block.offset == 0
        if state.step_first_count < FIRST_LINES:
            window = block.size if is_first or state.step_literals else _WINDOW_BYTES
            place, count = self._keep_first(self._patterns, block, line_no, window, state.step_first_count)
            state.step_first_count = count
        if not state.step_literals and state.repeated_first_count < FIRST_LINES:
            window = block.size if is_first else _WINDOW_BYTES
            place, count = self._keep_first(self._repeated, block, line_no, window, state.repeated_first_count)
            state.repeated_first_count = count
        return place

    def _keep_first(
        self, patterns: StepPatterns, block: Block, line_no: int, window: int, count: int
    ) -> tuple[int, int]:
        """Keeps lines of these patterns until there are enough; where the last one ends, and how many there are now."""
        place = 0
        for row, end in self._all(patterns, block, line_no, window):
            place, count = end, count + 1
            self._write(row, "first")
            if count >= FIRST_LINES:
                break
        return place, count

    def _keep_last(self, patterns: StepPatterns, words: tuple[bytes, ...], tail: Tail) -> int:
        """Keeps the last lines of these patterns among those that hold one of the words; how many they were."""
        counts: Counter[Value] = Counter()
        seen = 0
        find = patterns.finder(words)
        for line_no, byte_offset, text in tail.lines_with(patterns.line_finder(words)):
            for piece in reversed(text.split(b"\r")):
                if not find(piece):
                    continue
                seen += 1
                is_wanted = seen <= DENSE_LINES or seen % SPARSE == 0
                row = self._row(patterns, piece, line_no, byte_offset) if is_wanted else None
                if row is None:
                    continue
                counts[row["rank"]] += 1
                self._write(row, "last")
                if counts.total() >= min(LAST_LINES + LAST_LINES_A_RANK * len(counts), MOST_LAST_LINES):
                    return counts.total()
        return counts.total()

    def _write(self, row: StepRow, kept: str) -> None:
        """Completes a row with what the file's name says."""
        rank = row["rank"] if row["rank"] is not None else self._summary.path_rank
        local_rank = row["local_rank"] if row["local_rank"] is not None else self._summary.path_local_rank
        local_ns = self._stored(row["local_ns"], row["zone_offset_s"])
        place = {"file_id": self._summary.file_id, "rank": rank, "local_rank": local_rank, "local_ns": local_ns}
        self._sink.add("step_line", {**row, **place, "kept": kept})

    def _all(
        self, patterns: StepPatterns, block: Block, line_no: int, end: int, start: int = 0
    ) -> Iterator[tuple[StepRow, int]]:
        """The lines of these patterns from a place of a block on, each with the place where it ends."""
        counted, number = 0, line_no
        is_known = patterns is self._patterns
        words = self._wanted if is_known else patterns.literals
        for _ in range(patterns.most_misses):
            place = patterns.place_finder(words)(block.data, start, min(end, block.size))
            if place < 0:
                return
            piece = _piece_at(block, place)
            number += count_newlines(block.data, counted, piece.line_start)
            counted = max(counted, piece.line_start)
            row = self._row(patterns, piece.text, number, block.offset + piece.line_start)
            if row is not None:
                if is_known and row.get("step") != 0:  # which an engine prints as it is built, too
                    self._learn(piece.text)
                    words = self._wanted
                yield row, piece.end
            start = piece.end

    def _literals(self) -> tuple[bytes, ...]:
        """What to look for: once progress lines were met, only what stands in theirs."""
        return tuple(item.encode() for item in self._state.step_literals) or self._patterns.literals

    def _learn(self, text: bytes) -> None:
        if not self._state.step_literals:
            self._state.step_literals = [item.decode() for item in self._patterns.literals if item in text][:2]
            self._wanted = self._literals()

    def _row(self, patterns: StepPatterns, text: bytes, line_no: int, byte_offset: int) -> StepRow | None:
        clean = text[:_LINE_BYTES]
        if b"\x1b" in clean:
            clean = strip_ansi(clean.decode("utf-8", "replace")).encode("utf-8", "replace")
        values = patterns.read(clean)
        if values is None or (patterns is self._repeated and self._patterns.read(clean) is not None):
            return None
        prefix = patterns.prefixes.read(clean[:1024], self._years)
        return {
            "line_no": line_no,
            "byte_offset": byte_offset,
            "attempt_no": self._state.attempt_no,
            "local_ns": prefix.stamp.local_ns if prefix.stamp else None,
            "zone_offset_s": prefix.stamp.zone_offset_s if prefix.stamp else None,
            "rank": prefix.rank,
            "local_rank": prefix.local_rank,
            "text": clean.decode("utf-8", "replace")[:_TEXT_CHARACTERS],
            **values,
        }


def _piece_at(block: Block, place: int) -> _Piece:
    """The stretch of text around a place, 4096 bytes on either side at most."""
    data = block.data
    low = max(0, place - _LINE_BYTES)
    start = max(data.rfind(b"\n", low, place), data.rfind(b"\r", low, place), low - 1) + 1
    ends = [data.find(mark, place, min(block.size, place + _LINE_BYTES)) for mark in (b"\n", b"\r")]
    end = min((item for item in ends if item >= 0), default=min(block.size, place + _LINE_BYTES))
    return _Piece(bytes(data[start:end]), data.rfind(b"\n", 0, place) + 1, end)
