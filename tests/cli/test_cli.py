"""The command line: verbs, exit codes, where the database and the settings are, and what goes to which output."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from commands import Command
from packing import LOG, tar_of, written
from scenes import FIXTURES, Library, read_in, rows

from aiscorr import __version__
from aiscorr.cli import cli

SCENARIO = "target_killed_short_batch"


@pytest.fixture
def db(library: Library) -> str:
    """The database of one incident."""
    return library.database(SCENARIO)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database into which nothing but a text was read."""
    base = tmp_path_factory.mktemp("empty")
    (base / "README").write_text("no log\n")
    read_in(base / "empty.duckdb", base / "README")
    return str(base / "empty.duckdb")


def failure_id(db: str) -> str:
    """The id of the newest failure."""
    return str(rows(db, "select failure_id from failure order by ended_at desc")[0][0])


def test_version(run: Command) -> None:
    """--version names the program and its version."""
    assert run("--version").out == f"aiscorr {__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), *((verb, "--help") for verb in sorted(cli.commands))])
def test_help(arguments: tuple[str, ...], run: Command) -> None:
    """Every command answers --help on stdout with exit code 0, whatever the configuration is like."""
    Path("aiscorr.toml").write_text("no = toml = at all")
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Usage: aiscorr")


def test_help_names_the_verbs(run: Command) -> None:
    """--help names every verb, and says what it does."""
    shown = run("--help").out.partition("Commands:\n")[2]
    lines = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.startswith("  ")}
    assert {verb for verb, words in lines.items() if words} == set(cli.commands)


def test_help_is_light() -> None:
    """--help loads neither DuckDB nor Arrow, nor what the shell and the service need."""
    heavy = ("duckdb", "pyarrow", "rich", "prompt_toolkit", "hyperscan", "aistore", "apscheduler")
    program = (
        "import sys\nfrom aiscorr.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n"
        f"    print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == "\n" and ended.stdout.startswith("Usage: aiscorr")


USAGE = {
    "no verb": ((), "Usage: aiscorr"),
    "unknown verb": (("repot",), "Did you mean 'report'?"),
    "unknown option": (("report", "--fromat", "json"), "--fromat"),
    "unknown global option": (("--bd", "x", "report"), "--bd"),
    "unknown format": (("report", "--format", "docx"), "'docx' is not one of"),
    "too many arguments": (("report", "a", "b"), "unexpected extra argument"),
    "nothing to ingest": (("ingest",), "Missing argument"),
    "unknown kind": (("ingest", "x", "--kind", "log"), "'log' is not one of"),
    "year that cannot be": (("ingest", "x", "--year", "26"), "--year"),
    "zone that is none": (("ingest", "x", "--timezone", "Mars/Phobos"), "'Mars/Phobos' is no time zone"),
    "nothing to explain": (("explain",), "Missing argument"),
    "option without value": (("--db",), "requires an argument"),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage_errors(case: str, run: Command) -> None:
    """A wrong verb, option or value ends with exit code 2, says what is wrong, and writes nothing."""
    arguments, words = USAGE[case]
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "--format", "pdf"), "-o report.pdf, or -o - for a pipe"),
    ],
)
def test_what_is_asked_for_wrongly(arguments: tuple[str, ...], words: str, run: Command) -> None:
    """What cannot be done so ends with exit code 2 and says what does it."""
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith(f"  try: {words}\n")


def test_global_flags_behind_the_verb(run: Command, tmp_path: Path) -> None:
    """A flag of all verbs counts behind the verb as before it, and the one behind wins."""
    named, other = tmp_path / "named.duckdb", tmp_path / "other.duckdb"
    outcome = run("--db", other, "ingest", written(tmp_path / "plain.txt", b"no log\n"), "--db", named, "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "") and named.exists() and not other.exists()
    assert run("query", "select 1 as one", "--db", named, "--format", "csv").out == "one\n1\n"
    assert (
        run("report", "--config", tmp_path / "none.toml").err == run("--config", tmp_path / "none.toml", "report").err
    )
    assert run("collect", "stacks", "--pid", "1", "--print", "-q").code == 0


@pytest.mark.parametrize("arguments", [("report",), ("explain", "4184269")])
def test_printed_commands_reach_the_database(arguments: tuple[str, ...], run: Command, db: str) -> None:
    """Where only --db names the database, what prints commands says how these find it."""
    said = f"for the commands above: export AISCORR_DB={db}\n"
    assert run("--db", db, *arguments).err == said
    assert run("-q", "--db", db, *arguments).err == ""


def test_forms_of_a_report(run: Command) -> None:
    """The help of report offers the forms there are, and no other."""
    assert "[text|markdown|json|html|pdf]" in run("report", "--help").out


def test_fine(run: Command) -> None:
    """Logs that can be read end with exit code 0, a database in the working folder and nothing on stderr."""
    outcome = run("ingest", written(Path("rank0.log")))
    assert (outcome.code, outcome.err) == (0, "")
    assert "\nfailure " in outcome.out and Path("aiscorr.duckdb").is_file()
    assert run("report").code == 0


def test_failed(run: Command) -> None:
    """A command that cannot do its work ends with exit code 1."""
    for verb in ("report", "verify"):
        outcome = run(verb)
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.startswith("error: there is no database yet\n  at: ")


def test_source_that_cannot_be_read(run: Command) -> None:
    """A path that is not there ends with exit code 3, and the others are read."""
    outcome = run("ingest", "none", FIXTURES / "worker_logs_only" / "workers")
    assert outcome.code == 3
    assert "unreadable: " in outcome.out and "/none: " in outcome.out
    assert "failure 845922" in outcome.out
    assert len(rows("aiscorr.duckdb", "from failure")) == 1


def test_no_database_of_nothing(run: Command, tmp_path: Path) -> None:
    """Where no path can be read at all no database is made; one that is there stays."""
    assert run("ingest", "none", "--format", "json").code == 3
    (tmp_path / "empty").mkdir()
    nothing = run("ingest", tmp_path / "empty")
    assert nothing.code == 3 and "empty: no file is in it" in nothing.out
    assert list(Path().glob("aiscorr*")) == []
    (tmp_path / "README").write_text("no log\n")
    assert run("ingest", tmp_path / "README").code == 0
    before = Path("aiscorr.duckdb").exists()
    assert run("ingest", "none").code == 3 and before and Path("aiscorr.duckdb").exists()


def test_busy(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another ingest writes the database the command gives up with exit code 4."""

    class Clock:
        """Time that flies."""

        ticks = count(step=100)

        def monotonic(self) -> float:
            """A hundred seconds later than before."""
            return next(self.ticks)

        def sleep(self, _seconds: float) -> None:
            """No waiting."""

    monkeypatch.setattr("aiscorr.store.database.time", Clock())
    with open("aiscorr.duckdb.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = run("ingest", FIXTURES / "worker_logs_only" / "workers")
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err.startswith("error: another ingest is writing this database\n  at: ")
    assert not Path("aiscorr.duckdb").exists()


def test_demo(run: Command) -> None:
    """The demo talks on stderr, and -q silences the talk but not the data; --keep leaves its database, else nothing."""
    loud = run("demo")
    assert loud.code == 0 and list(Path.cwd().iterdir()) == []
    assert loud.err.startswith("reading ") and "12 files" in loud.err
    assert "aiscorr demo --keep demo.duckdb" in loud.err
    quiet = run("-q", "demo", "--keep", "kept.duckdb", "--format", "json")
    assert (quiet.code, quiet.err, len(json.loads(quiet.out)["failures"])) == (0, "", 1)
    kept = run("--db", "kept.duckdb", "report")
    assert loud.out.startswith("FAILURE ") and loud.out.splitlines()[:-1] == kept.out.splitlines()[:-1]


def test_members_of_an_archive_are_counted(run: Command) -> None:
    """The summary counts files on disk, and beside them what archives hold."""
    Path("all.tar").write_bytes(tar_of((f"rank{number}.log", LOG + b"x" * number) for number in range(3)))
    assert "1 file (3 with what archives hold): 3 new" in run("ingest", "all.tar").out


def test_verbose(run: Command, db: str) -> None:
    """-v lists what is else only counted."""
    Path("notes").mkdir()
    for number in range(12):
        Path(f"notes/{number}.txt").write_text(f"note {number}\n")
    short, long = run("ingest", "notes"), run("--db", "other.duckdb", "-v", "ingest", "notes")
    assert short.out.count("\nunknown: ") == 1 and "unknown: 12 files, such as " in short.out
    assert long.out.count("\nunknown: ") == 12 and " more (" not in long.out
    assert "verified: " not in run("--db", db, "verify").out
    assert run("--db", db, "-v", "verify").out.count("verified: ") >= 10


def test_ingest_as_json(run: Command, library: Library) -> None:
    """The summary as JSON says which files were what, and names the failures."""
    outcome = run("ingest", library.folder(SCENARIO), "none", "--format", "json")
    summary = json.loads(outcome.out)
    assert (outcome.code, outcome.err, summary["outcome"]) == (3, "", "partial")
    assert summary["kinds"]["ais_log"] == 10 and summary["kinds"]["worker_log"] == 2
    assert sorted(Path(item["path"]).name for item in summary["unknown"]) == ["scenario.toml", "truth.toml"]
    assert [Path(item["path"]).name for item in summary["unreadable"]] == ["none"]
    (failure,) = summary["failures"]
    assert failure["storage_verdict"] == "guilty" and failure["failure_id"].startswith("4184269")


def test_report_by_name(run: Command, library: Library) -> None:
    """A report is asked for by failure, by the beginning of its id, by job, as latest, or for all."""
    db = library.database("two_jobs")
    newest, oldest = (row[0] for row in rows(db, "select failure_id from failure order by ended_at desc"))

    def shown(*arguments: str) -> list[str]:
        outcome = run("--db", db, "report", *arguments, "--format", "json")
        assert outcome.code == 0
        return [failure["failure_id"] for failure in json.loads(outcome.out)["failures"]]

    assert shown() == shown("latest") == [newest]
    assert shown("all") == [newest, oldest]
    assert shown(oldest) == shown(oldest[:-3]) == shown(oldest.partition(".")[0]) == [oldest]
    text = run("--db", db, "report", "all").out
    assert text.index(f"FAILURE {newest}") < text.index(f"FAILURE {oldest}")


@pytest.mark.parametrize("verb", ["report", "verify"])
def test_unknown_failure(verb: str, run: Command, db: str) -> None:
    """A failure that is not there is a usage error with the ids there are."""
    outcome = run("--db", db, verb, "4711")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: no failure is called '4711'\n") and failure_id(db) in outcome.err


def test_job_without_failure(run: Command, library: Library) -> None:
    """The name of a job that completed is known: it had no failure."""
    healthy = library.database("healthy_run")
    (job_id,) = rows(healthy, "select job_id from job")[0]
    outcome = run("--db", healthy, "report", str(job_id))
    assert (outcome.code, outcome.out) == (2, "")
    assert f"job '{job_id}' is known and no failure of it is: it completed" in outcome.err


def test_unknown_failure_of_none(run: Command, empty: str) -> None:
    """Where there is no failure at all, a name that fits nothing says so."""
    outcome = run("--db", empty, "report", "4711")
    assert outcome.code == 2
    assert outcome.err.endswith("  try: aiscorr ingest PATH…: no failure is known so far\n")


@pytest.mark.parametrize("which", ["latest", "all"])
def test_no_failure(which: str, run: Command, empty: str) -> None:
    """Without a failure the report says so with exit code 0, and as JSON has an empty list."""
    for form in ("text", "markdown"):
        outcome = run("--db", empty, "report", which, "--format", form)
        assert outcome.code == 0 and outcome.out.startswith("No failure was found: 1 file read")
    outcome = run("--db", empty, "report", which, "--format", "json")
    assert outcome.code == 0 and json.loads(outcome.out)["failures"] == []
    assert json.loads(outcome.out)["schema"] == "aiscorr.report/1"


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_report_to_a_file(form: str, run: Command, db: str) -> None:
    """-o writes the report to a file and nothing to stdout."""
    outcome = run("--db", db, "report", "--format", form, "-o", "report")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    text = Path("report").read_text("utf-8")
    assert failure_id(db) in text and text.endswith("\n")


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.html", "<!doctype html>"),
        ("a.HTM", "<!doctype html>"),
        ("a.md", "# Failure "),
        ("a.json", "{"),
        ("a.txt", "FAILURE "),
    ],
)
def test_the_suffix_decides_the_form(name: str, begin: str, run: Command, db: str) -> None:
    """The end of the file's name says what is written to it, unless --format does."""
    assert run("--db", db, "report", "-o", name).code == 0
    assert Path(name).read_text("utf-8").startswith(begin)
    assert run("--db", db, "report", "-o", name, "--format", "json").code == 0
    assert json.loads(Path(name).read_text("utf-8"))["failures"]


def test_report_to_a_file_that_cannot_be(run: Command, db: str) -> None:
    """A report that cannot be written is an error with the name of the file."""
    outcome = run("--db", db, "report", "-o", "missing/report")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.split("\n")[1:3] == ["  at: missing/report", "  try: check -o"]


def cited_lines(db: str) -> tuple[Path, int]:
    """A worker log and the line of it that is cited as evidence for the verdict."""
    found = rows(db, "select path, line_no from evidence where place = 1 and why like 'the error of rank%'")
    return Path(found[0][0]), int(found[0][1])


@pytest.fixture
def own(run: Command, library: Library) -> tuple[Path, int]:
    """Logs of an incident that may be changed, and a database: a file and the line of it that carries the verdict."""
    db, _ = library.changeable(SCENARIO)
    shutil.copy(db, "aiscorr.duckdb")
    return cited_lines("aiscorr.duckdb")


def test_verify_unchanged(run: Command, own: tuple[Path, int]) -> None:
    """While the files are as they were every cited line is verified, with exit code 0."""
    outcome = run("verify")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1 and "0 moved, 0 gone; 0 files gone" in outcome.out


def test_verify_changed(run: Command, own: tuple[Path, int]) -> None:
    """A cited line that reads otherwise now is gone, with exit code 1, and the report says so."""
    path, line_no = own
    lines = path.read_text("utf-8").splitlines(keepends=True)
    lines[line_no - 1] = "[rank5]: something else\n"
    path.write_text("".join(lines), "utf-8")
    outcome = run("verify", failure_id("aiscorr.duckdb"))
    assert outcome.code == 1
    assert outcome.out.startswith(f"gone: {path}:{line_no}\n") and " 1 gone; 0 files gone" in outcome.out
    assert "for   gone " in run("report").out


def test_verify_moved(run: Command, own: tuple[Path, int]) -> None:
    """A cited line that stands elsewhere in its file now has moved, which is no failure."""
    path, line_no = own
    path.write_text("one line more\n" + path.read_text("utf-8"), "utf-8")
    outcome = run("verify")
    assert outcome.code == 0
    assert f"moved: {path}:{line_no}\n" in outcome.out and " 0 gone; 0 files gone" in outcome.out
    assert "for   moved " in run("report").out


def test_verify_without_the_file(run: Command, own: tuple[Path, int]) -> None:
    """A cited file that is gone is named, with exit code 3; the others are still compared."""
    path, line_no = own
    path.unlink()
    outcome = run("verify")
    assert outcome.code == 3
    assert f"gone: {path}:{line_no}\n" in outcome.out and f"file gone: {path}\n" in outcome.out
    assert outcome.out.endswith("; 1 files gone\n") and " 0 verified" not in outcome.out


def test_verify_as_json(run: Command, own: tuple[Path, int]) -> None:
    """`verify --format json` has every cited line with its state, and the files that are gone."""
    path, line_no = own
    path.unlink()
    found = json.loads(run("verify", "--format", "json").out)
    assert found["gone_files"] == [str(path)]
    states = {(item["path"], item["line_no"]): item["check"] for item in found["lines"]}
    assert states[str(path), line_no] == "gone" and "verified" in states.values()


def test_report_without_verification(run: Command, own: tuple[Path, int]) -> None:
    """--no-verify makes the report without opening the files, and does not claim to have read them."""
    shutil.rmtree(own[0].parents[1])
    text = run("report", "--no-verify").out
    assert "for   not read" in text and "verified" not in text
