"""Compares the confidence that claims are made with and the share of them that is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.accuracy.score.mistakes import Claim

_BINS = ((0.0, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.01))
_OVER_COUNT, _OVER_BY, _SURE = 15, 0.10, 0.8


@dataclass(frozen=True)
class Bin:
    """The claims from a confidence on: how many, the mean confidence, the share that is right."""

    confidence_from: float
    count: int
    said: float
    right: float

    @property
    def is_over(self) -> bool:
        """Enough claims say more than is right."""
        return self.count >= _OVER_COUNT and self.said - self.right > _OVER_BY

    def __str__(self) -> str:
        words = f"{self.confidence_from:.1f}+: {self.count} said {self.said:.2f} right {self.right:.2f}"
        return words + (" OVER" if self.is_over else "")


def bins(claims: Sequence[Claim]) -> list[Bin]:
    """The bins that hold any claim."""
    found = []
    for low, high in _BINS:
        inside = [one for one in claims if low <= one.confidence < high]
        if inside:
            said, right = fmean(one.confidence for one in inside), fmean(one.is_right for one in inside)
            found.append(Bin(low, len(inside), said, right))
    return found


def sure_and_false(claims: Sequence[Claim]) -> list[Claim]:
    """The false claims of a confidence above 0.8."""
    return [one for one in claims if not one.is_right and one.confidence > _SURE]


def calibration_line(name: str, claims: Sequence[Claim]) -> str:
    """All of it in a line."""
    sure, right = sure_and_false(claims), [one.confidence for one in claims if one.is_right]
    return (
        f"confidence, {name}: {' | '.join(map(str, bins(claims)))}; right ones {median(right or [0.0]):.2f}; "
        f"false above {_SURE}: {len(sure)} of {len(claims)}, about storage {sum(one.is_about_storage for one in sure)}"
    )
