"""What is old goes from the database at the nightly run, and no report of a failure that is kept says anything else."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands import Command
from failing_duckdb import fail_at, give_up
from outside import left_behind
from scenes import FIXTURES, Library, column, read_in, rows
from serve_home import CONFIG, JOB, arrive, furnish, reports, setting, work
from stored_rows import stored

from aiscorr.errors import UsageError
from aiscorr.ingest import retention
from aiscorr.ingest.retention import Removed, free_stretches, remove_old
from aiscorr.model import Retention
from aiscorr.report.build import build_report
from aiscorr.report.render import render_json
from aiscorr.schema.retention import ROW_REMOVAL
from aiscorr.schema.tables import FILE_TABLES
from aiscorr.serve.ledger import last_runs, ledger_path
from aiscorr.serve.run import run_once
from aiscorr.store import working_copy
from aiscorr.store.database import reading, writing

SCENARIO = FIXTURES / "target_killed_short_batch"
LATER = datetime(2026, 10, 20, 3, 0, tzinfo=UTC)
MONTH = Retention(counters=timedelta(days=30), events=timedelta(days=31))
_QUIET = re.compile(r"^Started up|\d \{|CPU utilization|starting up|node_id|^host ")


def on_day(target: Path, day: str, part: str = "ais", job: str = JOB) -> Path:
    """A part of the scenario as another day would have written it, 0801 the first of August; of AIStore a quiet day."""
    month, date = day[:2], day[2:]
    for source in sorted((SCENARIO / part).rglob("*.*")):
        lines = source.read_text().splitlines(keepends=True)
        text = "".join(line for line in lines if part != "ais" or _QUIET.search(line))
        text = text.replace("2026-09-14", f"2026-{month}-{date}").replace("2026/09/14", f"2026/{month}/{date}")
        text = re.sub(r"\b([EWI])(0?)914 ", rf"\g<1>\g<2>{day.lstrip('0')} ", text).replace(JOB, job)
        path = target / source.parent.name / source.name.replace("0914", day).replace(JOB, job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return target


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A failure of September, and logs of the same cluster of a quiet day in August."""
    folder = tmp_path_factory.mktemp("made")
    read_in(folder / "x.duckdb", on_day(folder / "august", "0801"), SCENARIO / "ais", SCENARIO / "workers")
    return folder / "x.duckdb"


@pytest.fixture(scope="module")
def aged(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Removed]:
    """The same a month later, without what is old."""
    db = shutil.copy(made, tmp_path_factory.mktemp("aged") / "x.duckdb")
    return db, remove_old(str(db), MONTH, now=LATER)


@pytest.fixture
def old(aged: tuple[Path, Removed], tmp_path: Path) -> Path:
    """A database of which the quiet day is gone, to do with as one likes."""
    return Path(shutil.copy(aged[0], tmp_path / "x.duckdb"))


def told(db: Path) -> str:
    """The reports of all failures as JSON."""
    with reading(str(db)) as connection:
        return render_json(build_report(connection, "all", LATER))


def row_counts(db: Path) -> dict[str, int]:
    """Rows by file, of all tables that come from files."""
    tables = (table.name for table in FILE_TABLES if table is not ROW_REMOVAL)
    union = " union all ".join(f"select file_id from {name}" for name in tables)
    return dict(rows(db, f"select path, count(*) from ({union}) join ingested_file using (file_id) group by path"))


def test_old_rows_go_and_the_report_stays(made: Path, aged: tuple[Path, Removed]) -> None:
    """Counters and events of a day without a failure go; the report of the failure is the very same."""
    db, removed = aged
    assert told(db) == told(made)
    assert removed.problem is None and set(removed.rows) == {"counters", "events"}
    before, after = row_counts(made), row_counts(db)
    gone = {path for path in before if before[path] > after.get(path, 0)}
    assert gone and all("/august/" in path for path in gone)
    assert column(
        db, "select count(*) from counter_sample join ingested_file using (file_id) where path like '%august%'"
    ) == [0]
    assert removed.row_count == sum(before.values()) - sum(after.values())


@pytest.mark.slow
def test_duckdb_gives_up_amid_a_removal(
    made: Path, aged: tuple[Path, Removed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where DuckDB fails inside while views are computed, the same rows go as otherwise, and reports say the same."""
    db = Path(shutil.copy(made, tmp_path / "x.duckdb"))
    disabled = fail_at("counter_interval", 1, give_up, monkeypatch)
    assert remove_old(str(db), MONTH, now=LATER) == aged[1]
    assert disabled[0] != "" and disabled[-1] == ""
    assert stored(db) == stored(aged[0]) and told(db) == told(aged[0])
    assert left_behind(tmp_path) == []


def test_what_went_is_told(made: Path, aged: tuple[Path, Removed]) -> None:
    """Of every file the rows available and those that were removed are those that were read; each removal is a row."""
    db, removed = aged
    before, after = row_counts(made), row_counts(db)
    for path, count in rows(db, "select path, removed from source_file"):
        assert after.get(path, 0) + count == before.get(path, 0)
    assert rows(db, "select kind, row_count, before_at::varchar from retention_run order by kind") == [
        ("counters", removed.rows["counters"], "2026-09-20 00:00:00"),
        ("events", removed.rows["events"], "2026-09-19 00:00:00"),
    ]


def test_growth_over_a_gap_is_not_made_up(made: Path, aged: tuple[Path, Removed]) -> None:
    """What counters are said to have grown by after a removal was said before, too."""
    sql = "select node_id, counter, previous_ns, utc_ns, delta from counter_delta order by all"
    left, before = rows(aged[0], sql), rows(made, sql)
    assert left and set(left) < set(before)
    assert min(row[2] for row in left) > min(row[2] for row in before)


def test_nothing_comes_back(old: Path, made: Path) -> None:
    """Files whose rows were removed are not read again, and a second removal finds nothing."""
    before, content = stored(old), old.read_bytes()
    assert remove_old(str(old), MONTH, now=LATER + timedelta(hours=2)).rows == {}
    summary = read_in(old, made.parent / "august", SCENARIO / "ais", SCENARIO / "workers")
    assert (summary.new_file_count, summary.unchanged_count) == (0, summary.file_count)
    assert stored(old) == before and old.read_bytes() == content


def test_a_failure_found_too_late_is_told_what_is_gone(old: Path, tmp_path: Path) -> None:
    """Worker logs of a day whose AIStore rows are gone: the report is blind there, and clears nobody."""
    read_in(old, on_day(tmp_path, "0801", "workers", job="77"))
    late = "where failure_id in (select failure_id from failure where job_id = '77')"
    said = dict(rows(old, f"select what, command from blind_spot {late}"))
    assert said["removed counters of AIStore"].startswith("aiscorr --db past.duckdb ingest /")
    assert "removed events of AIStore" in said
    assert column(old, f"select storage_verdict from failure {late}") != ["innocent"]
    assert column(old, f"select count(*) from failure_counter_delta {late} and is_complete") == [0]


def test_a_changed_file_is_read_whole(old: Path, made: Path, tmp_path: Path) -> None:
    """A file whose bytes changed is read again with all its rows, and is no longer said to miss any."""
    august = Path(shutil.copytree(made.parent / "august", tmp_path / "august"))
    file = tmp_path / "y.duckdb"
    read_in(file, august)
    remove_old(str(file), MONTH, now=LATER)
    path = next(iter(sorted(august.rglob("*gREi*/*INFO*"))), None) or sorted(august.rglob("*INFO*"))[0]
    said = f"select removed from source_file where path = '{path}'"
    assert column(file, said)[0] > 0
    path.write_text(path.read_text().replace("Started up at 2026/08/01 10:20:0", "Started up at 2026/08/01 10:19:5"))
    read_in(file, august)
    assert column(file, said) == [0] and row_counts(file)[str(path)] > 0


def test_failures_go_last(old: Path) -> None:
    """A failure goes after its own time, with all that it cites; its job's logs are not read again."""
    keep = Retention(counters=timedelta(days=30), events=timedelta(days=31), failures=timedelta(days=400))
    assert remove_old(str(old), keep, now=LATER).rows == {}
    removed = remove_old(str(old), keep, now=LATER + timedelta(days=400))
    assert set(removed.rows) == {"counters", "events", "failures"}
    assert [column(old, f"select count(*) from {name}") for name in ("failure", "conclusion", "worker_line")] == [
        [0]
    ] * 3
    assert read_in(old, SCENARIO / "workers").new_file_count == 0


def test_jobs_that_did_not_fail_go_with_events(tmp_path: Path) -> None:
    """Lines of a job without a failure are events: they go with them, a failed job's stay."""
    db = tmp_path / "x.duckdb"
    read_in(db, FIXTURES / "healthy_run" / "workers", SCENARIO / "workers")
    lines = "select job_id, count(*) from worker_event group by job_id order by job_id"
    before = dict(rows(db, lines))
    removed = remove_old(str(db), MONTH, now=LATER + timedelta(days=400))
    after = dict(rows(db, lines))
    assert set(removed.rows) == {"events"} and set(after) == {JOB} and after[JOB] == before[JOB] and len(before) == 2


@pytest.mark.parametrize("name", ["target_killed_short_batch", "slow_target_throttles"])
def test_a_report_that_would_change_keeps_more(
    name: str, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little is meant to be kept around a window, what the report says decides."""
    file = library.own(name, tmp_path / "x.duckdb")
    before = told(file)
    monkeypatch.setattr(retention, "_MARGIN_NS", 0)
    monkeypatch.setattr(retention, "_FAILURES", retention._FAILURES.replace("as low_ns", "+ 30000000000 as low_ns"))
    assert remove_old(str(file), MONTH, now=LATER + timedelta(days=400)).problem is None
    assert told(file) == before


def test_stretches() -> None:
    """What is free of failures is what lies between their spans, where that is long enough."""
    hour = 3_600_000_000_000
    found = free_stretches(
        [(0, 10 * hour), (5 * hour, 6 * hour), (11 * hour, 12 * hour), (20 * hour, 99 * hour)], 40 * hour
    )
    assert found == [(found[0][0], 0), (12 * hour, 20 * hour)] and found[0][0] < -(10**18)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('counters = "90d"\nevents = "30d"', "counters may not be kept longer than events"),
        ('failures = "400d"', "counters may not be kept longer than events"),
        ('counters = "ever"', "'ever' is no duration"),
        ('counter = "30d"', "unknown key 'counter'"),
    ],
)
def test_wrong_retention(text: str, said: str, tmp_path: Path) -> None:
    """What is wrong in [serve.retention] is said with its place."""
    (tmp_path / "aiscorr.toml").write_text(CONFIG + f"[serve.retention]\n{text}\n")
    with pytest.raises(UsageError) as error:
        setting(tmp_path)
    assert said in str(error.value) and "[serve.retention]" in str(error.value)


def test_the_service_removes_at_night(tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nightly run removes what is old, once a day, and its row and `--status` say how much; other runs do not."""
    home = furnish(tmp_path)
    arrive(home, 1)
    on_day(home / "ais" / "august", "0801")
    (home / "aiscorr.toml").write_text(CONFIG + '[serve.retention]\ncounters = "30d"\n')
    plan, settings = setting(home)
    first = run_once(plan, settings, "interval", now=lambda: LATER)
    written = reports(home)
    assert first.removed_count == 0 and len(written) == 1
    second = work(home, LATER)
    assert second.removed_count > 0 and (second.outcome, second.reports) == ("ok", ())
    assert work(home, LATER).removed_count == 0 and reports(home) == written
    assert [one.removed_count for one in last_runs(ledger_path(settings.db_path))] == [0, second.removed_count, 0]
    monkeypatch.chdir(home)
    assert f"{second.removed_count} old rows removed" in run("serve", "--status").out


def test_space_is_given_back(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where much of the file has become free it is written again: smaller, with the same rows, views and comments."""
    db = Path(shutil.copy(made, tmp_path / "x.duckdb"))
    with writing(str(db)) as copy:
        copy.connection.execute(
            "insert into stats_line (file_id, byte_offset) select -1, hash(n) // 3 from range(1500000) as t(n)"
        )
    big, before = db.stat().st_size, stored(db)
    comments = (
        "select view_name, comment from duckdb_views() where not internal"
        " union all select table_name, comment from duckdb_tables() order by all"
    )
    said = rows(db, comments)
    monkeypatch.setattr(working_copy, "_WORTH_PACKING", 1 << 20)
    with writing(str(db), is_packed=True) as copy:
        copy.connection.execute("delete from stats_line where file_id = -1")
    assert db.stat().st_size < big - 6_000_000
    assert stored(db) == before and rows(db, comments) == said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.duckdb", "x.duckdb.lock"]
