"""What stands in front of a worker line: collector wrappers, time stamps and rank tags, in that order.

Comes in: a line without terminal colours. Goes out: a LinePrefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from aiscorr.parse.formats import LineFormat, load_formats
from aiscorr.parse.regex_facts import first_bytes, holds_one, widest, words_needed
from aiscorr.parse.stamps import Stamp, YearContext, stamp_of

_SEARCH_LIMIT = 512


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


def _may_hold(folded: bytes, words: tuple[bytes, ...] | None) -> bool:
    """Whether a text in lower case holds one of the words; yes where no words are known."""
    return words is None or holds_one(folded, words)


def _searched(form: LineFormat) -> _Searched:
    return _Searched(form, words_needed(form.regex), widest(form.regex))


def _by_first_byte(forms: tuple[LineFormat, ...]) -> list[tuple[LineFormat, ...]]:
    """For each byte the formats that can match a text that begins with it; the last entry is for no text."""
    firsts = [None if form.is_anywhere else first_bytes(form.regex) for form in forms]
    pairs = list(zip(forms, firsts, strict=True))
    chosen = [tuple(form for form, first in pairs if first is None or byte in first) for byte in range(256)]
    return [*chosen, forms]


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
        self._wrappers = _by_first_byte(load_formats("wrapper", extra_folders))
        stamps = load_formats("stamp", extra_folders)
        self._stamps = _by_first_byte(stamps)
        self._stamp_words = {form.name: words_needed(form.regex) for form in stamps if form.is_anywhere}
        with_rank = [_searched(form) for form in stamps if "rank" in form.regex.groupindex]
        self._stamp_rank_words = _words_of_all(with_rank)
        ranks = {f.name: _searched(f) for f in load_formats("rank", extra_folders)}
        self._rank_words = _words_of_all(list(ranks.values()))
        self._tag = ranks.pop("rank_tag")
        self._group = ranks.pop("rank_group")
        self._bare = ranks.pop("rank_bare")
        self._fields = tuple(sorted(ranks.values(), key=lambda searched: searched.form.order))

    def read(self, line: bytes, years: YearContext) -> LinePrefix:
        """The prefix of a line; `years` is told every full date met."""
        folded = line[: 8 * _SEARCH_LIMIT].lower()
        wrapped = self._unwrap(line, years)
        position = body_start = wrapped.end
        rank = group_rank = process_group = None
        rank_source = None
        may_name_rank = _may_hold(folded, self._rank_words)
        tag = self._tag.form.regex.match(line, position) if may_name_rank else None
        if tag is not None:
            body_start = tag.end() + (line[tag.end() : tag.end() + 1] == b" ")
            position = body_start
            while line[position : position + 1] == b" ":
                position += 1
            rank, rank_source = int(tag.group("rank")), "tag"
        stamp, position = self._own_stamp(line, folded, position, years)
        if tag is None:
            rank, rank_source = self._late_rank(line, folded, stamp, wrapped, may_name_rank)
        if may_name_rank:
            group_rank, process_group = self._group_rank(line, folded)
        return LinePrefix(
            stamp=stamp or wrapped.stamp,
            stamp_source="own" if stamp else ("wrapper" if wrapped.stamp else None),
            wrapper_stamp=wrapped.stamp,
            rank=rank,
            rank_source=rank_source,
            local_rank=wrapped.local_rank,
            group_rank=group_rank,
            process_group=process_group,
            task=wrapped.task,
            pid=wrapped.pid or (stamp.pid if stamp else None),
            host=wrapped.host,
            body_start=body_start,
            message_start=position,
        )

    def owner(self, line: bytes, years: YearContext) -> tuple[int | None, int | None]:
        """The rank and the local rank of `read`, for less work."""
        folded = line[: 8 * _SEARCH_LIMIT].lower()
        if _may_hold(folded, self._stamp_rank_words):
            prefix = self.read(line, years)
            return prefix.rank, prefix.local_rank
        wrapped = self._unwrap(line, years)
        if not _may_hold(folded, self._rank_words):
            return wrapped.rank, wrapped.local_rank
        return self._late_rank(line, folded, None, wrapped, True)[0], wrapped.local_rank

    def _unwrap(self, line: bytes, years: YearContext) -> _Wrapped:
        found = _BARE_LINE
        for _ in range(6):
            rest = line[found.end : found.end + _SEARCH_LIMIT]
            for wrapper in self._wrappers[rest[0] if rest else -1]:
                match = wrapper.regex.match(rest)
                if match is not None:
                    found = _with_wrapper(found, match, years)
                    break
            else:
                break
        return found

    def _own_stamp(self, line: bytes, folded: bytes, position: int, years: YearContext) -> tuple[Stamp | None, int]:
        rest = line[position : position + 2 * _SEARCH_LIMIT]
        is_whole = position + 2 * _SEARCH_LIMIT <= len(folded) or len(folded) == len(line)
        for form in self._stamps[rest[0] if rest else -1]:
            if form.is_anywhere:
                if is_whole and not _may_hold(folded, self._stamp_words[form.name]):
                    continue
                match = form.regex.search(rest)
            else:
                match = form.regex.match(rest)
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
        self, line: bytes, folded: bytes, stamp: Stamp | None, wrapped: _Wrapped, may_name_rank: bool
    ) -> tuple[int | None, str | None]:
        tag = self._tag.search(line, folded, 8 * _SEARCH_LIMIT) if may_name_rank else None
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

    def _group_rank(self, line: bytes, folded: bytes) -> tuple[int | None, str | None]:
        group = self._group.search(line, folded, _SEARCH_LIMIT)
        if group is not None:
            name = group.group("process_group").decode("utf-8", "replace").replace(" (", "(")
            return int(group.group("group_rank")), name
        bare = self._bare.search(line, folded, _SEARCH_LIMIT)
        return (int(bare.group("group_rank")), None) if bare else (None, None)


def _words_of_all(searched: list[_Searched]) -> tuple[bytes, ...] | None:
    """Words of which a line holds one if any of the formats matches in it; None where one needs no known word."""
    if any(one.words is None for one in searched):
        return None
    words = {word for one in searched for word in one.words or ()}
    return tuple(sorted(word for word in words if not any(other != word and other in word for other in words)))


def _with_wrapper(found: _Wrapped, match: re.Match[bytes], years: YearContext) -> _Wrapped:
    groups = match.groupdict()
    stamp = found.stamp
    if groups.get("iso"):
        own = stamp_of(match, years)
        if own is not None and own.is_year_known:
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
