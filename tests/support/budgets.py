"""How many inputs a property test draws: few in every run, many where the slow tests are asked for (`-m slow`)."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

#: Set by conftest.py before any test is imported, and seen by the processes of one run.
THOROUGH = "TESTS_DRAW_MUCH"


def drawn(few: int, much: int, **more: Any) -> settings:
    """Settings for a test of so many inputs; the same ones in each run, so that nothing fails by chance."""
    budget = much if os.environ.get(THOROUGH) else few
    return settings(max_examples=budget, derandomize=True, deadline=None, database=None, **more)
