"""Intervals of 95 %: Wilson's for shares, the bootstrap's for everything else, and the calibration of a confidence."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TypeVar

T = TypeVar("T")
_Z = 1.959964
_ROUNDS = 400


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share itself, 0 to 1."""
        return self.count / self.of if self.of else math.nan

    @property
    def wilson(self) -> tuple[float, float]:
        """Wilson's interval. Worked example: 0 of 100 is 0 to 0.037."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.count / self.of, self.of
        middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
        half = _Z / (1 + _Z * _Z / n) * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        if not self.of:
            return "-"
        low, high = self.wilson
        return f"{100 * self.value:.1f} % [{100 * low:.1f}-{100 * high:.1f}] ({self.count}/{self.of})"


def share_of(flags: Sequence[bool | None]) -> Share:
    """How often it is true where it is judged."""
    judged = [flag for flag in flags if flag is not None]
    return Share(sum(judged), len(judged))


def bootstrap(items: Sequence[T], measure: Callable[[Sequence[T]], float]) -> tuple[float, float, float]:
    """A measure of a sample, and its interval from 400 samples drawn from it; the same every time."""
    if not items:
        return math.nan, math.nan, math.nan
    dice = random.Random(1)
    found = sorted(measure([items[int(dice.random() * len(items))] for _ in items]) for _ in range(_ROUNDS))
    return measure(items), found[int(0.025 * _ROUNDS)], found[int(0.975 * _ROUNDS) - 1]


def calibration_error(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Expected calibration error: by how much confidence and frequency of being right differ, weighed by bin."""
    total = 0.0
    for number in range(bins):
        inside = [pair for pair in pairs if _bin(pair[0], bins) == number]
        if inside:
            total += len(inside) * abs(mean(pair[0] for pair in inside) - mean(pair[1] for pair in inside))
    return total / len(pairs) if pairs else math.nan


def calibration_rows(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> list[tuple[str, float, Share]]:
    """By bin of confidence: its name, the mean confidence, how often it was right."""
    rows = []
    for number in range(bins):
        inside = [pair for pair in pairs if _bin(pair[0], bins) == number]
        if inside:
            name = f"{number / bins:.1f}-{(number + 1) / bins:.1f}"
            rows.append((name, mean(pair[0] for pair in inside), share_of([pair[1] for pair in inside])))
    return rows


def _bin(confidence: float, bins: int) -> int:
    return min(bins - 1, int(confidence * bins))
