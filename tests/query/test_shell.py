"""The SQL shell: what is complete, what it remembers and completes, and that nothing but leaving ends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prompt_toolkit
import pytest
from commands import Command
from packing import written
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from scenes import Library, read_in
from stored_rows import leave_analysis_out

from aiscorr.analysis.spec import view_specs
from aiscorr.cli import querying
from aiscorr.errors import QueryError
from aiscorr.query.completion import Names, candidates, names_of
from aiscorr.query.shell import (
    command_of,
    history_path,
    is_complete,
    run_shell,
    statements_of,
    terminal_width,
    whole_command,
)
from aiscorr.store.database import reading

LEAVE = "\x04"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    """A keyboard to write to; the shell's screen goes nowhere."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


@pytest.fixture
def db(library: Library) -> str:
    """The database of one incident."""
    return library.database("target_killed_short_batch")


def session(
    keys: PipeInput, typed: str, execute: Callable[[str], None] | None = None, state: Path | None = None
) -> tuple[list[str], list[str], list[str]]:
    """What the shell executed, said and complained about while something was typed."""
    done: list[str] = []
    said: list[str] = []
    complaints: list[str] = []
    keys.send_text(typed)
    environment = {"XDG_STATE_HOME": str(state)} if state else {"XDG_STATE_HOME": "/dev/null/nowhere"}
    names = Names(("failure",), ("clock",), words=("from",))
    run_shell(execute or done.append, lambda: names, said.append, complaints.append, environment)
    return done, said, complaints


@pytest.mark.parametrize(
    "text",
    [
        "select 1;",
        "select 1 ;\n",
        ".help",
        "@chains",
        "",
        "  ",
        "  .views",
        "select\n1;",
        "from job\\G",
        "help",
        "?",
        "\\d",
    ],
)
def test_complete(text: str) -> None:
    """SQL with its semicolon, a dot command, a named query and nothing at all are complete."""
    assert is_complete(text)


@pytest.mark.parametrize("text", ["select 1", "select 1; -- why", "select ';' as a", "from failure\n", "help me"])
def test_not_complete(text: str) -> None:
    """SQL without its semicolon goes on."""
    assert not is_complete(text)


def test_history_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are remembered below XDG_STATE_HOME, else below the home."""
    assert history_path({"XDG_STATE_HOME": "/state"}) == Path("/state/aiscorr/history")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_path({}) == history_path({"XDG_STATE_HOME": ""}) == tmp_path / ".local/state/aiscorr/history"


def test_statements_over_lines(keys: PipeInput) -> None:
    """Enter continues a statement until its semicolon and then runs it."""
    done, said, complaints = session(keys, "select 1\r+ 1\r;\r@chains\r.views\r" + LEAVE)
    assert done == ["select 1\n+ 1\n;", "@chains", ".views"]
    assert said == ["aiscorr query: SQL ends with `;`, .help for more"] and complaints == []


@pytest.mark.parametrize("word", [".quit", ".exit", "exit", "quit;", "\\q", ".q"])
def test_leaving(word: str, keys: PipeInput) -> None:
    """Whatever a shell is left with leaves, and empty lines are nothing."""
    assert session(keys, f"\r  \r{word}\rselect 1;\r")[0] == []


def test_errors_do_not_end_it(keys: PipeInput) -> None:
    """An error is told and the next statement runs."""
    done: list[str] = []

    def execute(text: str) -> None:
        if "bad" in text:
            raise QueryError("no such thing", where="here", try_this="that")
        done.append(text)

    _, _, complaints = session(keys, "bad;\rselect 2;\r" + LEAVE, execute)
    assert complaints == ["error: no such thing\n  at: here\n  try: that"] and done == ["select 2;"]


def test_interrupting(keys: PipeInput) -> None:
    """Ctrl-C drops what is typed, stops what runs, and leaves the shell open."""
    done: list[str] = []

    def execute(text: str) -> None:
        if "long" in text:
            raise KeyboardInterrupt
        done.append(text)

    _, _, complaints = session(keys, "half a sta\x03long;\rselect 3;\r" + LEAVE, execute)
    assert complaints == ["stopped"] and done == ["select 3;"]


def test_history_is_kept(keys: PipeInput, tmp_path: Path) -> None:
    """Statements are remembered in a file, and the arrow up brings back the last one in the next session."""
    session(keys, "select 'first';\r" + LEAVE, state=tmp_path)
    assert "+select 'first';" in (tmp_path / "aiscorr" / "history").read_text("utf-8")


def test_history_that_cannot_be_kept(keys: PipeInput) -> None:
    """Where no file can be written the shell works without memory."""
    assert session(keys, "select 1;\r" + LEAVE)[0] == ["select 1;"]


def test_names_of_a_database(db: str) -> None:
    """Views, the public ones first, their columns in order, functions, keywords and named queries are completed."""
    public = [spec.name for spec in view_specs() if spec.is_public]
    with reading(db) as connection:
        names = names_of(connection, public, {"chains": ()}, [".help"])
    assert {spec.name for spec in view_specs() if spec.is_in_database} <= {*names.public, *names.views}
    assert set(names.public) == set(public) and names.columns["failure"][:2] == ["failure_id", "job_id"]
    assert {"count", "regexp_matches", "select", "where"} <= set(names.words)


NAMES = Names(
    ("failure", "timeline"),
    ("ais_file", "failure_case"),
    {"failure": ("failure_id", "ended_at"), "ais_file": ("path", "fault"), "failure_case": (), "timeline": ("text",)},
    ("from", "first", "select"),
    {"chains": (), "counters": ("failure",)},
    (".help", ".mode"),
)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("select * from f", ["failure", "failure_case", "ais_file"]),
        ("from failure as a join t", ["timeline"]),
        ("from failure as x where x.f", ["failure_id"]),
        ("from failure where failure.e", ["ended_at"]),
        ("from failure where end", ["ended_at"]),
        ("@c", ["@chains", "@counters"]),
        ("@counters ", ["failure=", "-p"]),
        ("@counters -p f", ["failure="]),
        (".m", [".mode"]),
        ("select fa", ["failure", "failure_case", "failure_id", "fault"]),
    ],
)
def test_completion_by_context(before: str, found: list[str]) -> None:
    """Behind `from` come views, behind an alias its columns, behind `@` named queries and then their parameters."""
    told = candidates(before, NAMES)[1]
    assert [name for name in told if name in found] == found == told[: len(found)], told


def test_completion(keys: PipeInput, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a word is completed, its middle letters too."""
    given: dict[str, Any] = {}

    class Session(prompt_toolkit.PromptSession[str]):
        """A session whose settings are looked at."""

        def __init__(self, **settings: Any) -> None:
            given.update(settings)
            super().__init__(**settings)

    monkeypatch.setattr(prompt_toolkit, "PromptSession", Session)
    session(keys, LEAVE)
    for typed in ("select * from fail", "flr"):
        found = given["completer"].get_completions(Document(typed), CompleteEvent(completion_requested=True))
        assert [item.text for item in found] == ["failure"]


def opened(
    run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, typed: str, *options: str
) -> tuple[str, str]:
    """What `aiscorr query` on a terminal prints to stdout and stderr while something is typed."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    keys.send_text(typed)
    outcome = run(*options, "query")
    assert outcome.code == 0
    return outcome.out, outcome.err


def test_dot_commands(run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, db: str) -> None:
    """The dot commands show help, views, a view's columns and the named queries, and choose the format."""
    typed = ".help\r.queries\r.views\r.describe clock\r.format json\rselect 7 as n;\r.format csv\r@failures\r.quit\r"
    out, err = opened(run, keys, monkeypatch, typed, "--db", db)
    assert "@NAME runs a named query" in out and "\n@chains  x-get-batch chains" in out
    assert "views that others may rely on:" in out and "clock: How the times of a file became UTC." in out
    assert '[\n {\n  "n": 7\n }\n]\n' in out and "\nfailure_id,failure_class," in out
    assert err == "aiscorr query: SQL ends with `;`, .help for more\n"


def test_mistakes_in_the_shell(run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, db: str) -> None:
    """Mistakes are told on stderr, with -q too, and the shell goes on."""
    wrong = (
        ".nope",
        ".format docx",
        ".describe nope",
        "@nope",
        "selec;",
        "delete from ais_line;",
        "@counters failure",
        "aiscorr report --nope",
    )
    typed = "\r".join((*wrong, "select 9 as n;", LEAVE))
    out, err = opened(run, keys, monkeypatch, typed, "-q", "--db", db)
    assert err.count("error: ") == 8 and err.startswith("error: unknown command '.nope'\n")
    assert "there is no mode 'docx'" in err and "read-only" in err and "'failure' is not NAME=VALUE" in err
    assert "No such option: --nope" in err or "no such option" in err.lower()
    assert out == "n\n-\n9\n(1 row)\n"


def test_what_other_shells_call_it() -> None:
    """Words of psql, sqlite and MySQL are understood; SQL and words of it are not taken for commands."""
    assert command_of("\\d") == command_of(".views") == command_of("\\dt") == (".tables", "")
    assert command_of("\\d failure;") == (".describe", "failure") and command_of("\\x") == (".mode", "vertical")
    assert command_of("help") == command_of("?") == command_of("\\?") == (".help", "")
    assert (
        command_of("select 1;") is command_of("@chains") is command_of("help me;") is command_of("exit code;") is None
    )


def test_statements_of_a_line() -> None:
    """Statements end with a semicolon or `\\G`, but not with one in a text, a name or a comment."""
    text = "select ';' as \"a;b\" -- no; end\n; from job\\G /* ; */ select $$;$$"
    assert statements_of(text) == [
        ("select ';' as \"a;b\" -- no; end", False), ("from job", True), ("/* ; */ select $$;$$", False),
    ]  # fmt: skip
    assert statements_of(" ; ;") == [] and statements_of("select 'open") == [("select 'open", False)]


def test_queries_as_reports_print_them(run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, db: str) -> None:
    """A named query takes -p, and a whole command is run; the beginning of an id is enough."""
    typed = ".mode csv\r@counters -p failure=418;\raiscorr query @chains\raiscorr report 418 --brief\r" + LEAVE
    out, err = opened(run, keys, monkeypatch, typed, "--db", db)
    assert "AZq6Oo53" in out and "chain-0914T102138-AZq6Oo53-killed" in out and "Storage failed this job" in out
    assert "error" not in err


def test_verbs_without_the_name_of_the_program(
    run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, db: str
) -> None:
    """Who types a verb is understood as if `aiscorr` were before it; EXPLAIN of a statement is SQL's."""
    typed = "report 418 --brief\rexplain AZq6Oo53\rexplain select 1;\r" + LEAVE
    out, err = opened(run, keys, monkeypatch, typed, "--db", db)
    assert "Storage failed this job" in out and "AZq6Oo53 is a target" in out and "explain_key" in out
    assert "error" not in err and whole_command("from report;") is whole_command("lines = 5") is None


def test_several_statements_modes_and_limit(
    run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, db: str
) -> None:
    """Statements of one line run one by one, \\G gives one value a line, and a limit says how to get all."""
    typed = "select 1 as a; select 2 as b\\G\r.limit 2\r.timer on\rfrom range(5);\r.limit 0\rfrom range(5);\r"
    out, err = opened(run, keys, monkeypatch, typed + ".tables chain\r.schema clock\r" + LEAVE, "--db", db)
    assert (
        out.startswith("a\n-\n1\n(1 row)\n-- 1 of 1\nb  2\n(1 row)\nrange\n")
        and "(2 rows)" in out
        and "(5 rows)" in out
    )
    assert "only the first 2 rows; all of them: .limit 0\n" in err and re.search(r"^0\.\d{3} s$", err, re.MULTILINE)
    assert "  get_batch_chain " in out and "  @chains" in out and "  node_coverage" not in out
    assert "create or replace view clock as\n" in out


def test_shell_without_a_database(run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell opens where there is no database yet, and says so when it is asked something."""
    out, err = opened(run, keys, monkeypatch, "from failure;\r" + LEAVE)
    assert out == "" and "error: there is no database yet\n" in err


def test_database_is_free_between_statements(run: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is ingested while the shell is open is seen by its next statement."""
    path = Path("aiscorr.duckdb")
    plain = querying._run_query

    def slow(*arguments: object) -> None:
        plain(*arguments)  # type: ignore[arg-type]
        if path.stat().st_mtime_ns == before:
            leave_analysis_out(monkeypatch)
            read_in(path, written(Path("rank0.log")))

    Path("note.txt").write_text("no log\n")
    read_in(path, "note.txt")
    before = path.stat().st_mtime_ns
    monkeypatch.setattr(querying, "_run_query", slow)
    typed = ".format csv\rselect count(*) as n from worker_line;\rselect count(*) as n from worker_line;\r"
    assert opened(run, keys, monkeypatch, typed + LEAVE)[0] == "n\n0\nn\n1\n"


@pytest.mark.parametrize(("columns", "width"), [("150", 150), ("wide", 100), ("", 100)])
def test_terminal_width(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The width is that of the terminal, 100 where nothing tells it."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError()))
    assert terminal_width() == width
