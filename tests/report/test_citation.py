"""A cited line of statistics is verified by its counters, any other line by its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiscorr.report.citation import Citation, check, is_statistics

LINE = "I 10:03:00.000000 {err.get.n:2,get.n:70,put.n:7}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{err.get.n:2,get.n:70,put.n:7}", "verified"),
        ("{err.get.n:2,get.n:70…", "verified"),
        ("{…}", "verified"),
        ("{err.get.n:2,get.n:7}", "gone"),
        ("{lru.evict.n:1}", "gone"),
    ],
)
def test_counters_are_verified(text: str, found: str, tmp_path: Path) -> None:
    """Each counter that is cited stands in the line with its value, in a line that nlog cut as well."""
    (tmp_path / "a.log").write_text(LINE)
    cited = Citation(str(tmp_path / "a.log"), 1, text)
    assert check([cited]) == {cited.key: found}


def test_json_of_a_worker_is_no_statistics(tmp_path: Path) -> None:
    """A record of JSON is compared as text."""
    text = '{"level": "error", "message": "read failed"}'
    (tmp_path / "a.log").write_text("starts\n" + text + "\n")
    assert not is_statistics(text)
    cited = [Citation(str(tmp_path / "a.log"), number, text) for number in (1, 2)]
    assert list(check(cited).values()) == ["moved", "verified"]
