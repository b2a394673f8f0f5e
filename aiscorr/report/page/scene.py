"""What a picture is made of, in seconds from its left edge: lanes, bars, marks, arrows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Lane:
    """A row of the picture: an AIStore node, a rank, ranks of one role, or what launched the job."""

    key: str
    label: str
    note: str
    group: str
    is_held: bool = False


@dataclass(frozen=True)
class Bar:
    """A span on a lane; what began between `begin` and `sure` is drawn blurred there."""

    lane: str
    kind: str
    begin: float
    sure: float
    end: float
    title: str
    is_open: bool = False


@dataclass(frozen=True)
class Mark:
    """Something that happened, perhaps not exactly then: between `low` and `high`. `count` are so many close by."""

    lane: str
    shape: str
    moment: float
    low: float
    high: float
    title: str
    place: str
    count: int = 1


@dataclass(frozen=True)
class Arrow:
    """A step of the chain from one lane to another."""

    from_lane: str
    from_moment: float
    to_lane: str
    to_moment: float
    title: str


@dataclass(frozen=True)
class Scene:
    """The picture of a failure; `length` in seconds. A moment is a line over all lanes, with its name."""

    start: datetime
    length: float
    window: tuple[float, float] | None
    moments: tuple[tuple[str, float], ...]
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
