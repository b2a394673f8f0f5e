"""`-q` leaves what somebody has to act on."""

from __future__ import annotations

from pathlib import Path

from commands import Command
from scenes import Library


def test_a_quiet_ingest(run: Command, library: Library, tmp_path: Path) -> None:
    """With -q an ingest prints the failures that it found and what it could not read, and nothing where all is well."""
    folder, db = library.folder("target_killed_short_batch"), tmp_path / "x.duckdb"
    gone = tmp_path / "gone.log"
    first = run("-q", "--db", db, "ingest", folder / "ais", folder / "workers", gone)
    assert first.code == 3
    assert [line.partition(" ")[0] for line in first.out.splitlines()] == ["unreadable:", "failure"]
    again = run("-q", "--db", db, "ingest", folder / "ais", folder / "workers")
    assert (again.code, again.out, again.err) == (0, "", "")


def test_files_of_no_known_kind(run: Command, tmp_path: Path) -> None:
    """The sum counts files of no known kind too, and names many that are so for one reason in one line."""
    for number in range(9):
        (tmp_path / f"{number}.out").touch()
    talk = run("--db", tmp_path / "y.duckdb", "ingest", tmp_path).out.splitlines()
    assert talk[0].startswith("9 files: 0 new, 0 unchanged, 0 with bytes already known, 9 of no known kind")
    assert [line.replace(str(tmp_path), "") for line in talk if line.startswith("unknown")] == [
        "unknown: 9 files, such as /0.out: empty file"
    ]
