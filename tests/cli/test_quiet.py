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
