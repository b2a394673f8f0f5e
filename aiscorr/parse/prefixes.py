"""What stands in front of a worker line: collector wrappers, time stamps and rank tags, in that order.

Comes in: a line without terminal colours. Goes out: a LinePrefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from aiscorr.parse.formats import LineFormat, load_formats
from aiscorr.parse.stamps import Stamp, YearContext, stamp_of
from aiscorr.parse.word_bits import WordBits

_SEARCH_LIMIT = 512
_WORD_LIMIT = 8 * _SEARCH_LIMIT
#: The bit that every line has, for a format of which no word is known.
_ALWAYS = 1


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


@dataclass(frozen=True, slots=True)
class _Searched:
    """A format that may stand anywhere in a line.

    `words`: of which one stands in every match, in lower case. `width`: the most bytes a match has, else None.
    """

    form: LineFormat
    words: tuple[bytes, ...] | None
    width: int | None

    def search(self, line: bytes, folded: bytes, limit: int) -> re.Match[bytes] | None:
        """The first match in the first bytes of a line; `folded` is the line in lower case."""
        start = 0
        if self.words is not None:
            for word in self.words:
                start = folded.find(word)
                if start >= 0:
                    break
            else:
                return None
            # the word is in the match, so that begins no further in front of it than a match is wide
            is_sure = self.width is not None and len(self.words) == 1
            start = max(0, start - self.width) if is_sure else 0  # type: ignore[operator]
        return self.form.regex.search(line, start, limit)


def _searched(form: LineFormat) -> _Searched:
    return _Searched(form, form.facts.words, form.facts.width)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A format with the bits of its words: of those a line has one where the format may match in it."""

    form: LineFormat
    words: int


def _by_first_byte(tried: list[_Tried]) -> list[tuple[_Tried, ...]]:
    """For each byte the formats that can match a text that begins with it; the last entry is for no text."""
    firsts = [None if one.form.is_anywhere else one.form.facts.first_bytes for one in tried]
    pairs = list(zip(tried, firsts, strict=True))
    chosen = [tuple(one for one, first in pairs if first is None or byte in first) for byte in range(256)]
    return [*chosen, tuple(tried)]


class _Wrapped(NamedTuple):
    """What collectors put in front of a line: where they end, their time, what else they tell."""

    end: int = 0
    stamp: Stamp | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    pid: int | None = None
    host: str | None = None


_BARE_LINE = _Wrapped()


class PrefixReader:
    """Reads line prefixes with the formats of the package and of the user's folders.

    Only formats are tried that can match at all, by the first byte or by a word they need.
    """

    def __init__(self, extra_folders: tuple[str, ...] = ()) -> None:
        wrappers, stamps = (load_formats(role, extra_folders) for role in ("wrapper", "stamp"))
        ranks = {form.name: _searched(form) for form in load_formats("rank", extra_folders)}
        needed = {form.name: form.facts.words for form in (*wrappers, *stamps)}
        every = [*needed.values(), *(searched.words for searched in ranks.values())]
        self._words = WordBits((word for words in every for word in words or ()), folds=True)
        self._wrappers = _by_first_byte([_Tried(form, self._bits(needed[form.name])) for form in wrappers])
        self._stamps = _by_first_byte([_Tried(form, self._bits(needed[form.name])) for form in stamps])
        with_rank = [needed[form.name] for form in stamps if {"rank", "local_rank"} & form.facts.groups]
        self._stamp_rank_bits = self._bits(*with_rank)
        naming = [form.name for form in wrappers if {"rank", "local_rank"} & form.facts.groups]
        self._wrapped_rank_bits = self._bits(*map(needed.get, naming))
        self._rank_bits = self._bits(*(searched.words for searched in ranks.values()))
        self._tag = ranks.pop("rank_tag")
        self._group = ranks.pop("rank_group")
        self._bare = ranks.pop("rank_bare")
        self._group_bits = self._bits(self._group.words, self._bare.words)
        self._fields = tuple(sorted(ranks.values(), key=lambda searched: searched.form.order))

    def _bits(self, *groups: tuple[bytes, ...] | None) -> int:
        """The bits of all these words, and that of every line where there is a format without any."""
        words = [word for group in groups for word in group or ()]
        return self._words.bits(*words) << 1 | (_ALWAYS if None in groups else 0)

    def _held(self, line: bytes) -> int:
        """The words that a line holds."""
        return self._words.of(line[:_WORD_LIMIT]) << 1 | _ALWAYS

    def read(self, line: bytes, years: YearContext) -> LinePrefix:
        """The prefix of a line; `years` is told every full date met."""
        held = self._held(line)
        may_name_rank = held & self._rank_bits
        wrapped, tag, body_start, position = self._begin(line, held, years)
        stamp, position = self._own_stamp(line, held, position, years)
        rank = group_rank = process_group = rank_source = None
        if tag is not None:
            rank, rank_source = int(tag.group("rank")), "tag"
        elif may_name_rank or stamp is not None or wrapped.rank is not None:
            rank, rank_source = self._late_rank(line, stamp, wrapped, may_name_rank != 0)
        if held & self._group_bits:
            group_rank, process_group = self._group_rank(line)
        return LinePrefix(
            stamp or wrapped.stamp,
            "own" if stamp else ("wrapper" if wrapped.stamp else None),
            wrapped.stamp,
            rank,
            rank_source,
            stamp.local_rank if stamp is not None and stamp.local_rank is not None else wrapped.local_rank,
            group_rank,
            process_group,
            wrapped.task,
            wrapped.pid or (stamp.pid if stamp else None),
            (stamp.host if stamp is not None else None) or wrapped.host,
            body_start,
            position,
        )

    def stamps(self, line: bytes, years: YearContext) -> tuple[Stamp | None, Stamp | None]:
        """The stamp and the collector's stamp of `read`, for less work."""
        held = self._held(line)
        wrapped, _, _, position = self._begin(line, held, years)
        return self._own_stamp(line, held, position, years)[0] or wrapped.stamp, wrapped.stamp

    def owner(self, line: bytes, years: YearContext) -> tuple[int | None, int | None]:
        """The rank and the local rank of `read`, for less work."""
        held = self._held(line)
        if held & self._stamp_rank_bits:
            prefix = self.read(line, years)
            return prefix.rank, prefix.local_rank
        wrapped = self._unwrap(line, held, years) if held & self._wrapped_rank_bits else _BARE_LINE
        if not held & self._rank_bits:
            return wrapped.rank, wrapped.local_rank
        return self._late_rank(line, None, wrapped, True)[0], wrapped.local_rank

    def _begin(self, line: bytes, held: int, years: YearContext) -> tuple[_Wrapped, re.Match[bytes] | None, int, int]:
        """Wrappers and rank tag, where the text behind them begins, and where its stamp may stand."""
        wrapped = self._unwrap(line, held, years)
        tag = self._tag.form.regex.match(line, wrapped.end) if held & self._rank_bits else None
        if tag is None:
            return wrapped, None, wrapped.end, wrapped.end
        position = body_start = tag.end() + (line[tag.end() : tag.end() + 1] == b" ")
        while line[position : position + 1] == b" ":
            position += 1
        return wrapped, tag, body_start, position

    def _unwrap(self, line: bytes, held: int, years: YearContext) -> _Wrapped:
        found = _BARE_LINE
        for _ in range(6):
            rest = line[found.end : found.end + _SEARCH_LIMIT]
            for wrapper in self._wrappers[rest[0] if rest else -1]:
                if not held & wrapper.words:
                    continue
                match = wrapper.form.regex.match(rest)
                if match is not None:
                    found = _with_wrapper(found, match, years)
                    break
            else:
                break
        return found

    def _own_stamp(self, line: bytes, held: int, position: int, years: YearContext) -> tuple[Stamp | None, int]:
        rest = line[position : position + 2 * _SEARCH_LIMIT]
        if position + 2 * _SEARCH_LIMIT > _WORD_LIMIT < len(line):
            held = -1  # words beyond the limit were not looked for
        for tried in self._stamps[rest[0] if rest else -1]:
            if not held & tried.words:
                continue
            form = tried.form
            match = form.regex.search(rest) if form.is_anywhere else form.regex.match(rest)
            if match is None:
                continue
            stamp = stamp_of(match, years)
            if stamp is None:
                continue
            if stamp.is_year_known and stamp.zone_offset_s is None:
                years.note(stamp.local_ns)
            return stamp, (position + match.end() if form.name != "stamp_slurm" else position)
        return None, position

    def _late_rank(
        self, line: bytes, stamp: Stamp | None, wrapped: _Wrapped, may_name_rank: bool
    ) -> tuple[int | None, str | None]:
        folded = line[:_WORD_LIMIT].lower() if may_name_rank else b""
        tag = self._tag.search(line, folded, _WORD_LIMIT) if may_name_rank else None
        if tag is not None:
            return int(tag.group("rank")), "tag"
        if stamp is not None and stamp.rank is not None:
            return stamp.rank, "field"
        if wrapped.rank is not None:
            return wrapped.rank, "field"
        for field in self._fields if may_name_rank else ():
            match = field.search(line, folded, _SEARCH_LIMIT)
            if match is not None:
                return int(next(group for group in match.groups() if group is not None)), "field"
        return None, None

    def _group_rank(self, line: bytes) -> tuple[int | None, str | None]:
        folded = line[:_WORD_LIMIT].lower()
        group = self._group.search(line, folded, _SEARCH_LIMIT)
        if group is not None:
            name = group.group("process_group").decode("utf-8", "replace").replace(" (", "(")
            return int(group.group("group_rank")), name
        bare = self._bare.search(line, folded, _SEARCH_LIMIT)
        return (int(bare.group("group_rank")), None) if bare else (None, None)


def _with_wrapper(found: _Wrapped, match: re.Match[bytes], years: YearContext) -> _Wrapped:
    groups = match.groupdict()
    stamp = found.stamp
    if groups.get("iso"):
        own = stamp_of(match, years)
        has_zone = stamp is not None and stamp.zone_offset_s is not None
        if own is not None and own.is_year_known and (own.zone_offset_s is not None or not has_zone):
            years.note(own.local_ns)
            stamp = own
    host = groups.get("host")
    return _Wrapped(
        found.end + match.end(),
        stamp,
        _number(groups.get("rank"), found.rank),
        _number(groups.get("local_rank"), found.local_rank),
        _number(groups.get("task"), found.task),
        _number(groups.get("pid"), found.pid),
        host.decode("utf-8", "replace") if host is not None else found.host,
    )


def _number(raw: bytes | None, known: int | None) -> int | None:
    return int(raw) if raw is not None else known
