"""Tables for people: nothing is cut, what all rows share is said once, and 80 columns are enough."""

from __future__ import annotations

from commands import Command
from hypothesis import given
from hypothesis import strategies as st
from scenes import Library, rows

from aiscorr.query.formats import Rows, write_text
from aiscorr.query.tables import Shape, table_text

ID = "5120341.0-20261120T230553"


def lines(table: Rows, width: int | None = 80, shape: Shape = "auto") -> list[str]:
    """The lines of a table without the count of its rows."""
    return write_text(table, "table", width=width, shape=shape).splitlines()[:-1]


def test_a_table_that_fits() -> None:
    """Where there is room a table is as wide as its cells, whatever its rows share."""
    table = Rows(("id", "n"), [(ID, 1), (ID, 20)])
    assert lines(table) == ["id                          n", "-------------------------  --", f"{ID}   1", f"{ID}  20"]


def test_what_has_no_room_goes_below() -> None:
    """Columns without room are below their row with their names, long texts on lines of their own; ids are whole."""
    words = "one two three " * 8
    table = Rows(("id", "text", "n", "other"), [(ID, words, 5, "x" * 30), ("b", None, None, "y" * 60)])
    found = lines(table, 44)
    assert found[:3] == ["id                         n", "-------------------------  -", f"{ID}  5"]
    assert found[3] == f"    other: {'x' * 30}" and found[4].startswith("    text: one two three")
    assert all(len(line) <= 44 for line in found[:-1]) and found[-3:] == ["b", "    other:", f"    {'y' * 60}"]
    assert " ".join(" ".join(found).split()).count("one two three") == 8


def test_what_rows_share_is_above() -> None:
    """The same value, the day of all times and the folder of all paths are said once, above the table."""
    table = Rows(
        ("path", "kind", "first_at", "last_at", "text"),
        [
            ("/logs/run/ais/a/INFO.1", "ais_log", "2026-11-20 23:04:52.8", "2026-11-20 23:05:00", "w" * 30),
            ("/logs/run/ais/b.tar!m/INFO.2", "ais_log", "2026-11-20 23:04:53", None, "v" * 30),
        ],
    )
    head, folder, root, names, _, first, *_ = lines(table, 80)
    assert (head, folder) == ("in all rows: kind ais_log", "all times are of 2026-11-20")
    assert root == "all paths are below /logs/run/ais" and names.split() == ["path", "first_at", "last_at", "text"]
    assert first.split() == ["a/INFO.1", "23:04:52.8", "23:05:00", "w" * 30]


def test_moments_that_no_line_has_are_marked() -> None:
    """A moment that is not exact has a `~`, as in a report, and the column that says so is not shown."""
    table = Rows(
        ("event_at", "is_exact", "text"), [("2026-11-20 23:04:52", True, "a"), ("2026-11-20 23:04:53", False, "b")]
    )
    assert lines(table) == [
        "event_at              text", "--------------------  ----", "2026-11-20 23:04:52   a", "~2026-11-20 23:04:53  b"
    ]  # fmt: skip
    assert "~23:04:53" in "".join(lines(table, 24)) and "all times are of 2026-11-20" in "".join(lines(table, 24))
    assert lines(table, shape="vertical")[-2].split() == ["event_at", "~2026-11-20", "23:04:53"]
    spanned = Rows(("first_at", "last_at", "is_exact"), [("2026-11-20 23:04:52", "2026-11-20 23:04:53", False)])
    assert "~2026-11-20 23:04:52  ~2026-11-20 23:04:53" in lines(spanned)[2]


def test_days_and_folders_that_differ_stay() -> None:
    """Where times are of two days, or paths share no folder, they are whole."""
    table = Rows(
        ("at", "path", "t"), [("2026-11-20 23:04:52", "/a/x", "q" * 60), ("2026-11-21 00:00:01", "/b/y", "r" * 60)]
    )
    assert [line.split()[:2] for line in lines(table, 80)[2::2]] == [
        ["2026-11-20", "23:04:52"],
        ["2026-11-21", "00:00:01"],
    ]


def test_shapes() -> None:
    """--wide has all columns next to each other, --vertical one value a line, wrapped below itself."""
    table = Rows(("id", "text"), [("a", "long words " * 9)])
    assert len(lines(table, 40, shape="wide")) == 3 and len(lines(table, None)) == 3
    found = lines(table, 40, shape="vertical")
    assert found[:2] == ["-- 1 of 1", "id    a"] and found[2].startswith("text  long words")
    assert all(line.startswith("      ") and len(line) <= 40 for line in found[3:])


@given(
    st.lists(st.lists(st.text("ab /.:-20", max_size=30), min_size=3, max_size=3), max_size=5),
    st.integers(20, 90),
    st.sampled_from(["auto", "wide", "vertical"]),
)
def test_nothing_is_lost(cells: list[list[str]], width: int, shape: Shape) -> None:
    """Every word of every cell is in the table, above it, in it or below its row."""
    text = table_text(("first", "second", "third"), cells, [False] * 3, width, shape)
    squeezed = "".join(text.split())
    for row in cells:
        assert "".join(row[0].split()).rpartition("/")[2] in squeezed
    assert text.endswith(")\n") and f"({len(cells)} row" in text


def test_failures_are_whole_at_80_columns(run: Command, library: Library, monkeypatch: object) -> None:
    """`@failures` shows each value of each failure within 80 columns, but for what no blank breaks."""
    import pytest

    patch = monkeypatch
    assert isinstance(patch, pytest.MonkeyPatch)
    patch.setattr("sys.stdout.isatty", lambda: True)
    patch.setenv("COLUMNS", "80")
    db = library.database("two_jobs")
    out = run("--db", db, "query", "@failures").out
    assert [line for line in out.splitlines() if len(line) > 80 and len(line.split()) > 1] == []
    squeezed = "".join(out.split())
    for failure_id, statement in rows(db, "select failure_id, statement from failure"):
        assert failure_id in out and "".join(statement.split()) in squeezed
    wide = run("--db", db, "query", "@failures", "--wide").out.splitlines()
    assert len(wide) == 3 + len(rows(db, "from failure")) and max(map(len, wide)) > 80
    assert run("--db", db, "query", "@failures", "--vertical").out.startswith("-- 1 of ")
