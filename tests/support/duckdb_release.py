"""Which DuckDB the tests run on: the one of requirements/run.txt, or the one of a lake (requirements/lake.txt)."""

from __future__ import annotations

import duckdb
import pytest

IS_1_5 = duckdb.__version__.startswith("1.5.")


def of_2(reason: str) -> pytest.MarkDecorator:
    """For a test of what DuckDB 2 does and 1.5 does not; the reason says what that is."""
    return pytest.mark.skipif(IS_1_5, reason=reason)
