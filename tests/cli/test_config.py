"""Where settings come from: flags, the environment, aiscorr.toml, defaults; and what a mistake in them gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command
from scenes import Library, rows

from aiscorr.config import load_settings
from aiscorr.errors import UsageError


@pytest.fixture
def db(library: Library) -> str:
    """The database of one incident."""
    return library.database("target_killed_short_batch")


def test_database_by_flag_environment_and_file(run: Command, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """--db goes before AISCORR_DB, that before aiscorr.toml, that before aiscorr.duckdb here."""

    def place() -> str:
        outcome = run("report")
        assert outcome.code == 1
        return outcome.err.partition("\n  at: ")[2].partition("\n")[0]

    assert place() == str(Path.cwd() / "aiscorr.duckdb")
    Path("aiscorr.toml").write_text('db = "logs/site.duckdb"\n')
    assert place() == str(Path.cwd() / "logs/site.duckdb")
    monkeypatch.setenv("AISCORR_DB", "from_environment.duckdb")
    assert place() == "from_environment.duckdb"
    assert run("--db", db, "report").code == 0
    monkeypatch.setenv("AISCORR_DB", "")
    assert place() == str(Path.cwd() / "logs/site.duckdb")


def test_named_configuration(run: Command, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """--config names the settings, AISCORR_CONFIG does else; paths in it are relative to it."""
    Path("site").mkdir()
    Path("site/mine.toml").write_text('db = "link.duckdb"\nqueries = ["queries"]\n')
    Path("site/queries").mkdir()
    Path("site/queries/mine.sql").write_text("-- Mine.\nselect 'mine' as whose")
    Path("site/link.duckdb").symlink_to(db)
    Path("aiscorr.toml").write_text('db = "none.duckdb"\n')
    assert "mine" in run("--config", "site/mine.toml", "query", "@mine").out
    assert run("query", "@mine").code == 2
    monkeypatch.setenv("AISCORR_CONFIG", "site/mine.toml")
    assert "mine" in run("query", "@mine").out
    assert run("--config", "aiscorr.toml", "query", "@mine").code == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("db = 7", "'db' must be a str, not 7"),
        ("databse = 'x'", "unknown key 'databse'"),
        ("a b", "not a valid configuration file: "),
        ("timezone = 'Nowhere'", "'Nowhere' is no time zone"),
    ],
)
def test_wrong_configuration(text: str, what: str, run: Command) -> None:
    """A mistake in aiscorr.toml ends with exit code 2 and the name of the file."""
    Path("aiscorr.toml").write_text(text)
    outcome = run("report")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {what}") and str(Path.cwd() / "aiscorr.toml") in outcome.err


def test_missing_configuration(run: Command) -> None:
    """A file that --config names must be there."""
    outcome = run("--config", "none.toml", "report")
    assert (outcome.code, outcome.err.split("\n")[1]) == (2, "  at: none.toml")


def test_settings(tmp_path: Path) -> None:
    """The environment goes before the file, the file before the default, and folders are absolute."""
    (tmp_path / "p").mkdir()
    (tmp_path / "aiscorr.toml").write_text(
        'timezone = "Asia/Tokyo"\nmemory_limit = "2GB"\nthreads = 3\npatterns = ["p"]\n[timezones]\n"*/x/*" = "UTC"\n'
    )
    environment = {"AISCORR_TIMEZONE": "Europe/Berlin", "AIS_ENDPOINT": "http://proxy"}
    default = load_settings(db=None, config=None, environment={}, folder=str(tmp_path / "p"))
    of_file = load_settings(db=None, config=None, environment={}, folder=str(tmp_path))
    of_both = load_settings(db="x", config=None, environment=environment, folder=str(tmp_path))
    assert (default.timezone, default.memory_limit, default.thread_count) == (None, "1GB", None)
    assert (of_file.timezone, of_file.memory_limit, of_file.thread_count) == ("Asia/Tokyo", "2GB", 3)
    assert of_file.pattern_folders == (str(tmp_path / "p"),) and of_file.timezone_globs == (("*/x/*", "UTC"),)
    assert (of_both.timezone, of_both.endpoint, of_both.db_path) == ("Europe/Berlin", "http://proxy", "x")
    with pytest.raises(UsageError, match="is no time zone") as caught:
        load_settings(db=None, config=None, environment={"AISCORR_TIMEZONE": "X"}, folder=str(tmp_path))
    assert caught.value.where == "AISCORR_TIMEZONE"


def test_zone_of_the_file_is_used(run: Command) -> None:
    """A zone that aiscorr.toml gives to a glob is that of the files it fits, as if it were named for them."""
    Path("logs").mkdir()
    Path("logs/worker-1.log").write_text("2026-09-14 10:00:00,000 - ERROR - CUDA error: out of memory\n" * 3)
    Path("aiscorr.toml").write_text('[timezones]\n"*/logs/*" = "Asia/Tokyo"\n')
    assert run("ingest", "logs", "--kind", "worker_log").code == 0
    assert rows("aiscorr.duckdb", "select distinct method, timezone from clock") == [("given", "Asia/Tokyo")]
    found = rows("aiscorr.duckdb", "select distinct event_at::varchar from worker_event")
    assert found == [("2026-09-14 01:00:00",)]
    shown = run("report").out.partition("\nClocks\n")[2]
    assert "Asia/Tokyo" in shown and "UTC+00:00" not in shown
