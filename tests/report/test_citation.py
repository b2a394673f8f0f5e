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


@pytest.mark.parametrize(("number", "found"), [(2, "verified"), (1, "gone"), (3, "gone")])
def test_a_broken_or_quoted_line_is_verified(number: int, found: str, tmp_path: Path) -> None:
    """A line that a terminal broke, or a post quotes, is compared with its rest, and stands where it begins."""
    text = "[rank1]: RuntimeError: the sizes of the tensors do not fit each other"
    (tmp_path / "a.log").write_text("".join(f"> {part}\n" for part in ("starts", text[:30], text[30:55], text[55:])))
    cited = Citation(str(tmp_path / "a.log"), number, text)
    assert check([cited]) == {cited.key: found}
