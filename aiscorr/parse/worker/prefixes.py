"""What stands in front of a worker line: collector wrappers, time stamps and rank tags, in that order.

Comes in: a line without terminal colours. Goes out: a LinePrefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from aiscorr import native
from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.spec.formats import LineFormat, load_formats
from aiscorr.parse.stamps import Stamp, YearContext
from aiscorr.parse.values import strip_ansi
from aiscorr.parse.worker.plain_prefixes import plain_prefixes
from aiscorr.parse.worker.prefix_formats import (
    SEARCH_LIMIT,
    WORD_LIMIT,
    SearchedFormat,
    TriedFormat,
    by_first_byte,
    either,
)
from aiscorr.parse.worker.wrappers import BARE_LINE, Wrapped, Wrapper, Wrappers

if TYPE_CHECKING:
    from aiscorr.native._native import Words

#: The groups by which a format tells whose a line is.
_RANKS = {"rank", "local_rank"}
#: The bit that every line has, for a format of which no word is known.
_ALWAYS = 1
#: So much of a line is looked at where only its stamp is wanted; as in prefixes.h.
STAMP_BYTES = 1024
Read = TypeVar("Read")
#: Whose a line is: a rank, or a local rank, or nobody's.
Owner = tuple[int | None, int | None]
_LINE_BYTES = 4096
#: Of which one stands in every line with a stamp; as in prefix_line.c.
TIME = re.compile(rb"\d:\d\d:\d|time=")
#: The end of a progress bar of blocks (the compiled part reads no line beyond ASCII), with a record right behind it.
_BAR_BEFORE = re.compile(rb"\xe2[^\n]{0,200}?(?:it/s|s/it)[^\]]{0,60}\](?=\[(?:default|rank)\d{1,6}\]:)")
_new = tuple.__new__  # what the __new__ of a NamedTuple calls in the end


class LinePrefix(NamedTuple):
    """Everything read in front of a line's message.

    `body_start`: bytes before the text behind wrappers and rank tag (indentation kept, stamp included);
    `message_start`: bytes before the message behind the stamp as well.
    """

    stamp: Stamp | None
    stamp_source: str | None
    wrapper_stamp: Stamp | None
    rank: int | None
    rank_source: str | None
    local_rank: int | None
    group_rank: int | None
    process_group: str | None
    task: int | None
    pid: int | None
    host: str | None
    body_start: int
    message_start: int


class PrefixReader:
    """Reads line prefixes with the formats of the package and of the user's folders.

    Only formats are tried that can match at all, by the first byte or by a word they need.
    """

    def __init__(self, extra_folders: tuple[str, ...] = ()) -> None:
        forms = {role: load_formats(role, extra_folders) for role in ("wrapper", "stamp", "rank")}
        every = [form for each in forms.values() for form in each]
        self._words = WordBits((word for form in every for word in form.facts.words or ()), folds=True)
        self._wrappers = Wrappers([Wrapper(form, self._bits(form)) for form in forms["wrapper"]])
        stamps = [TriedFormat(form, self._bits(form)) for form in forms["stamp"]]
        self._stamps = by_first_byte(stamps)
        self._stamp_rank_bits = either(tried.bits for tried in stamps if tried.has_rank)
        ranks = {form.name: SearchedFormat(form, self._bits(form)) for form in forms["rank"]}
        self._rank_bits = either(searched.bits for searched in ranks.values())
        self._tag, self._group, self._bare = (ranks.pop(name) for name in ("rank_tag", "rank_group", "rank_bare"))
        self._group_bits = self._group.bits | self._bare.bits
        self._fields = tuple(sorted(ranks.values(), key=lambda searched: searched.form.order))
        fields = [searched.form for searched in (self._tag, self._group, self._bare, *self._fields)]
        #: Of which one stands in every line that names a rank; None where there is no telling.
        self._rank_words = _words_of(form for form in every if form.role == "rank" or _RANKS & form.facts.groups)
        #: What reads most lines, where the compiled part is there.
        self.plain = plain_prefixes(forms["wrapper"], forms["stamp"], fields, (LinePrefix, Stamp))

    def _bits(self, form: LineFormat) -> int:
        """The bits of the words of which a match holds one, or that of every line where none is known."""
        words = form.facts.words
        return self._words.bits(*words) << 1 if words is not None else _ALWAYS

    def _held(self, line: bytes) -> int:
        """The words that a line holds."""
        return self._words.of(line[:WORD_LIMIT]) << 1 | _ALWAYS

    def read(self, line: bytes, years: YearContext) -> LinePrefix:
        """The prefix of a line; `years` is told every full date met."""
        plain = self.plain.read(line) if self.plain is not None else None
        return _told(plain, years) if plain is not None else self._read(line, years)

    def _read(self, line: bytes, years: YearContext) -> LinePrefix:
        held = self._held(line)
        wrapped, tag, body_start, position = self._begin(line, held, years)
        stamp, position = self._own_stamp(line, held, position, years)
        rank = group_rank = process_group = rank_source = None
        if tag is not None:
            rank, rank_source = int(tag["rank"]), "tag"
        elif held & self._rank_bits or stamp is not None or wrapped.rank is not None:
            rank, rank_source = self._late_rank(line, stamp, wrapped, held)
        if held & self._group_bits:
            group_rank, process_group = self._group_rank(line, held)
        local_rank, pid, host = wrapped.local_rank, wrapped.pid or None, wrapped.host
        if stamp is not None:
            local_rank = stamp.local_rank if stamp.local_rank is not None else local_rank
            pid, host = pid or stamp.pid, stamp.host or host
        source = "own" if stamp is not None else "wrapper" if wrapped.stamp is not None else None
        chosen = stamp if stamp is not None else wrapped.stamp
        return _new(
            LinePrefix,
            (chosen, source, wrapped.stamp, rank, rank_source, local_rank, group_rank, process_group, wrapped.task, pid,
             host, body_start, position),
        )  # fmt: skip

    def has_prefix(self, line: bytes) -> bool:
        """Whether anything stands in front of the message of a line."""
        found = self.plain.has_prefix(line) if self.plain is not None else None
        if found is not None:
            return found
        prefix = self._read(line, YearContext(0))
        return prefix.body_start > 0 or prefix.message_start > 0

    def stamps(self, line: bytes, years: YearContext) -> tuple[Stamp | None, Stamp | None]:
        """The stamp and the collector's stamp of `read`, for less work."""
        plain = self.plain.stamps(line) if self.plain is not None else None
        if plain is not None:
            prefix: LinePrefix = _told(plain, years)
            return prefix.stamp, prefix.wrapper_stamp
        held = self._held(line)
        wrapped, _, _, position = self._begin(line, held, years)
        return self._own_stamp(line, held, position, years)[0] or wrapped.stamp, wrapped.stamp

    def last_other(
        self, text: bytes, end: int, rank: int | None, known: set[Owner], takes_nobody: bool
    ) -> tuple[int, int] | None:
        """The last line in front of a place that may be of another owner than those known; None for none.

        Lines that name no rank are of `rank`; where there is none they count only if `takes_nobody`.
        """
        while end >= 0:
            if self.plain is not None and self._rank_words is not None:
                found = self.plain.last_other(text, end, rank, known, takes_nobody, self._rank_words)
                if found is None:
                    return None
                start, end = found
            else:
                start = text.rfind(b"\n", 0, end) + 1
            of_rank, local_rank = self.owner(last_piece(text[start:end]), YearContext(0))
            of_rank = rank if of_rank is None else of_rank
            is_named = of_rank is not None or takes_nobody
            if not is_named or (of_rank, local_rank if of_rank is None else None) not in known:
                return start, end
            end = start - 1
        return None

    def last_stamp(
        self, text: bytes | bytearray, low: int, end: int, known: int, years: YearContext
    ) -> tuple[int, Stamp | None, Stamp | None] | None:
        """Where the nearest line in front of a place begins that has a stamp, and what `stamps` gives of it.

        The stamp is None of a line that begins at `known`; there is none in front of `low`.
        """
        while end >= low:
            if self.plain is not None:
                found = self.plain.last_stamp(text, low, end, known)
                if found is None:
                    return None
                start, plain = found
                if plain is not None:
                    prefix: LinePrefix = _told(plain, years)
                    return start, prefix.stamp, prefix.wrapper_stamp
            else:
                start = text.rfind(b"\n", low, end) + 1 or low
            if start == known:
                return start, None, None
            past = text.find(b"\n", start, end)
            past = end if past < 0 else past
            if TIME.search(text, start, past):
                stamp, outer = self.stamps(bytes(text[start : min(past, start + STAMP_BYTES)]), years)
                if stamp is not None:
                    return start, stamp, outer
            end = start - 1
        return None

    def owner(self, line: bytes, years: YearContext) -> tuple[int | None, int | None]:
        """The rank and the local rank of `read`, for less work."""
        plain = self.plain.owner(line) if self.plain is not None else None
        if plain is not None:
            return _told(plain, years)
        held = self._held(line)
        if held & self._stamp_rank_bits:
            prefix = self.read(line, years)
            return prefix.rank, prefix.local_rank
        wrapped = self._wrappers.unwrap(line, held, years) if held & self._wrappers.rank_bits else BARE_LINE
        if not held & self._rank_bits:
            return wrapped.rank, wrapped.local_rank
        return self._late_rank(line, None, wrapped, held)[0], wrapped.local_rank

    def _begin(self, line: bytes, held: int, years: YearContext) -> tuple[Wrapped, re.Match[bytes] | None, int, int]:
        """Wrappers and rank tag, where the text behind them begins, and where its stamp may stand."""
        wrapped = self._wrappers.unwrap(line, held, years)
        tag = self._tag.form.regex.match(line, wrapped.end) if held & self._tag.bits else None
        if tag is None:
            return wrapped, None, wrapped.end, wrapped.end
        position = body_start = tag.end() + (line[tag.end() : tag.end() + 1] == b" ")
        while line[position : position + 1] == b" ":
            position += 1
        return wrapped, tag, body_start, position

    def _own_stamp(self, line: bytes, held: int, position: int, years: YearContext) -> tuple[Stamp | None, int]:
        rest = line[position : position + 2 * SEARCH_LIMIT]
        if position + 2 * SEARCH_LIMIT > WORD_LIMIT < len(line):
            held = -1  # words beyond the limit were not looked for
        for tried in self._stamps[rest[0] if rest else -1]:
            match = tried.look(rest) if held & tried.bits else None
            stamp = tried.stamp_of(match, years) if match is not None else None
            if match is None or stamp is None:
                continue
            if stamp.is_year_known and (stamp.zone_offset_s is None or tried.has_epoch):
                years.note(stamp.local_ns)
            return stamp, (position + match.end() if tried.is_passed else position)
        return None, position

    def _late_rank(
        self, line: bytes, stamp: Stamp | None, wrapped: Wrapped, held: int
    ) -> tuple[int | None, str | None]:
        tag = self._tag.search(line, WORD_LIMIT) if held & self._tag.bits else None
        if tag is not None:
            return int(tag["rank"]), "tag"
        if stamp is not None and stamp.rank is not None:
            return stamp.rank, "field"
        if wrapped.rank is not None:
            return wrapped.rank, "field"
        for field in self._fields if held & self._rank_bits else ():
            match = field.search(line, SEARCH_LIMIT) if held & field.bits else None
            if match is not None:
                return int(next(group for group in match.groups() if group is not None)), "field"
        return None, None

    def _group_rank(self, line: bytes, held: int) -> tuple[int | None, str | None]:
        group = self._group.search(line, SEARCH_LIMIT) if held & self._group.bits else None
        if group is not None:
            name = group["process_group"].decode("utf-8", "replace").replace(" (", "(")
            return int(group["group_rank"]), name
        bare = self._bare.search(line, SEARCH_LIMIT) if held & self._bare.bits else None
        return (int(bare["group_rank"]), None) if bare else (None, None)


def _words_of(forms: Iterable[LineFormat]) -> Words | None:
    """Words of which each line holds one that these formats match."""
    words: dict[bytes, None] = {}
    for form in forms:
        if form.facts.words is None:
            return None
        words.update(dict.fromkeys(form.facts.words))
    fits = native.module is not None and len(words) <= native.MOST_WORDS
    return native.module.Words(tuple(words), True) if fits else None  # type: ignore[union-attr]


def behind_bar(line: bytes) -> bytes:
    """A record of one process behind the progress bar of another one, which wrote no end of its line; else the line."""
    bar = _BAR_BEFORE.search(line) if b"][" in line and not line.isascii() else None
    return line[bar.end() :] if bar is not None else line


def last_piece(line: bytes) -> bytes:
    """What a terminal shows of a line in the end, without colours."""
    piece = line.rstrip(b"\r").rpartition(b"\r")[2] if b"\r" in line else line
    piece = piece[:_LINE_BYTES]
    return strip_ansi(piece.decode("utf-8", "replace")).encode("utf-8", "replace") if b"\x1b" in piece else piece


def _told(plain: tuple[Read, int | None, int | None], years: YearContext) -> Read:
    """What the compiled part read of a line; `years` is told the last time and the last full date."""
    read, near_ns, noted_ns = plain
    if near_ns is not None:
        years.near_ns = near_ns
    if noted_ns is not None:
        years.note(noted_ns)
    return read
