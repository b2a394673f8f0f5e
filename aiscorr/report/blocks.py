"""What sections are made of: a few kinds of block that text and Markdown both can show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, takewhile


@dataclass(frozen=True)
class Paragraph:
    """Running text. `tone` is guilty, innocent, open, dim or plain."""

    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class Facts:
    """Labels with values, one a line."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bullets:
    """Short items; a cited place stands behind its item."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; `numeric` names the columns aligned to the right, `wide` those that may wrap."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()


@dataclass(frozen=True)
class Steps:
    """A chain of things that follow from each other: (what, text, place), joined by arrows."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Command:
    """A line to paste into a shell."""

    text: str


Block = Paragraph | Facts | Bullets | Table | Steps | Command


def days_apart(moments: Iterable[datetime | None]) -> bool:
    """Whether the time of day alone does not tell moments apart."""
    known = [moment for moment in moments if moment is not None]
    return bool(known) and max(known) - min(known) >= timedelta(days=1)


def clock(moment: datetime | None, *, is_exact: bool = True, has_day: bool = False) -> str:
    """`23:04:52.800`, `23:04:52` for a whole second, with `~` in front where the line has no time of its own."""
    if moment is None:
        return "?"
    fraction = f".{moment.microsecond // 1000:03d}" if moment.microsecond else ""
    day = f"{moment:%Y-%m-%d} " if has_day else ""
    return f"{'' if is_exact else '~'}{day}{moment:%H:%M:%S}{fraction}"


def clock_between(earliest: datetime | None, latest: datetime | None, *, is_estimate: bool = False) -> str:
    """`23:04:52.800`, `~23:04:52.800` as in the timeline, or `after 23:04:52.800` for some moment after; or nothing."""
    if earliest is None:
        return ""
    if is_estimate:
        return clock(earliest, is_exact=False)
    return ("after " if latest is not None and latest > earliest else "") + clock(earliest)


def span(started: datetime | None, ended: datetime | None, least_s: float | None) -> str:
    """From when to when a job ran; that its steps took longer, where their lines have no time to tell it."""
    text = " to ".join("a moment not known" if one is None else date_and_clock(one) for one in (started, ended))
    seen_s = (ended - started).total_seconds() if started and ended else 0
    if least_s is None or least_s <= seen_s + 1:
        return text
    return f"{text}, by its steps at least {timedelta(seconds=round(least_s))}"


def date_and_clock(moment: datetime | None) -> str:
    """`2026-11-20 23:04:52.800 UTC`."""
    return "?" if moment is None else f"{moment:%Y-%m-%d} {clock(moment)} UTC"


#: Of a list of ranks so many parts are shown; so many numbers that are equally far apart are one part.
_MANY_PARTS, _MANY_STEPS = 24, 6


def ranges(numbers: Sequence[int]) -> str:
    """`0-4, 6, 8-127`; `0, 8, … 4088` where many are equally far apart; of very many parts the first, and a count."""
    whole: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if whole and number == whole[-1][1] + 1:
            whole[-1] = (whole[-1][0], number)
        else:
            whole.append((number, number))
    parts = _with_steps(whole)
    left = sum(high - low + 1 for low, high in whole) - sum(count for _, count in parts[:_MANY_PARTS])
    return ", ".join(text for text, _ in parts[:_MANY_PARTS]) + (f" and {left} more" if left else "")


def _with_steps(whole: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """The parts as text, each with how many numbers it holds; single numbers that are equally far apart are one."""
    parts: list[tuple[str, int]] = []
    at = 0
    while at < len(whole):
        low, high = whole[at]
        count = _equally_far(whole[at:])
        if count >= _MANY_STEPS:
            parts.append((f"{low}, {whole[at + 1][0]}, … {whole[at + count - 1][0]}", count))
            at += count
        else:
            parts.append((str(low) if low == high else f"{low}-{high}", high - low + 1))
            at += 1
    return parts


def _equally_far(whole: Sequence[tuple[int, int]]) -> int:
    """How many parts at the beginning are single numbers that are equally far apart; one where no two are."""
    singles = (low for low, _ in takewhile(lambda part: part[0] == part[1], whole))
    steps = (after - before for before, after in pairwise(singles))
    first = next(steps, None)
    return 1 if first is None else 2 + sum(1 for _ in takewhile(lambda step: step == first, steps))


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def number(value: float | int | None) -> str:
    """`1,234` or `0.4`; `–` for nothing."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def shorten(text: str, limit: int = 160) -> str:
    """The text on one line, cut with `…`."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


PLACE_MARK = "\n@ "


def cited(text: str, place: str) -> str:
    """A cell of a table: the text, and on the next line where it stands."""
    return f"{text}{PLACE_MARK}{place}" if place else text


class Places:
    """Shortens the paths of one report to what differs: the folder they all share is named once."""

    def __init__(self, paths: Iterable[str]) -> None:
        parts = [path.split("/")[:-1] for path in {path.split("!")[0] for path in paths if path}]
        shared: list[str] = []
        for level in zip(*parts, strict=False):
            if len(set(level)) > 1:
                break
            shared.append(level[0])
        self.root = "/".join(shared) if len(shared) > 1 else ""

    def path(self, path: str | None) -> str:
        """The path below the shared folder."""
        if not path:
            return ""
        return path[len(self.root) + 1 :] if self.root and path.startswith(self.root + "/") else path

    def line(self, path: str | None, line_no: int | None, locator: str | None = None) -> str:
        """`workers/error-1.out:29`, `dumps/nccl_trace_rank_5:record_id=812`."""
        place = line_no or locator
        return f"{self.path(path)}:{place}" if path and place else self.path(path)
