"""Shares with Wilson's interval of 95 %."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_Z = 1.959964


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share itself, 0 to 1; not a number of none."""
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


def share_of(flags: Iterable[bool | None]) -> Share:
    """How often it is true where it is judged."""
    judged = [flag for flag in flags if flag is not None]
    return Share(sum(judged), len(judged))
