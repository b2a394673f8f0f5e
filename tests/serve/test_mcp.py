"""The tools of an assistant, asked for by a client of the Model Context Protocol over stdin and stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from commands import Command
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from reports import REPORT, misfits
from scenes import REPO, Library

from aiscorr import __version__
from aiscorr.query.named import named_queries

SCENARIO = "target_killed_short_batch"
Talk = Callable[[ClientSession], Awaitable[Any]]


def talk(db: str, folder: Path, what: Talk) -> tuple[Any, str]:
    """What a client gets from `aiscorr mcp`, and what that says on stderr."""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "aiscorr", "--db", db, "mcp"], env=environment, cwd=str(folder)
    )

    async def run(said: TextIO) -> Any:
        async with stdio_client(server, errlog=said) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await what(session)

    with open(folder / "said", "w+") as said:
        found = anyio.run(run, said)
        said.seek(0)
        return found, said.read()


def test_tools(library: Library, tmp_path: Path) -> None:
    """A client finds the tools, each with its sentence and none that changes anything, and gets their answers."""

    async def ask(session: ClientSession) -> dict[str, Any]:
        found: dict[str, Any] = {tool.name: tool for tool in (await session.list_tools()).tools}
        for tool in found.values():
            assert tool.description and tool.annotations and tool.annotations.readOnlyHint
        calls: list[tuple[str, dict[str, Any]]] = [
            ("list_failures", {"verdict": "guilty"}),
            ("get_report", {"form": "json"}),
            ("list_queries", {}),
            ("run_query", {"name": "evidence", "parameters": {"failure": "4184269"}, "limit": 2}),
            ("query", {"sql": "select range as n from range(500)"}),
            ("explain", {"name": "sdk_batch_short"}),
        ]
        assert sorted(found) == sorted(name for name, _ in calls)
        answers = {name: await session.call_tool(name, arguments) for name, arguments in calls}
        assert not any(answer.isError for answer in answers.values())
        return {name: answer.structuredContent for name, answer in answers.items()}

    found, said = talk(library.database(SCENARIO), tmp_path, ask)
    assert found["list_failures"]["total"] == 1
    assert found["list_failures"]["failures"][0]["storage_verdict"] == "guilty"
    report = json.loads(found["get_report"]["result"])
    assert misfits(report, REPORT) == [] and len(report["failures"]) == 1
    assert [query["name"] for query in found["list_queries"]["result"]] == list(named_queries())
    assert found["run_query"]["row_count"] == 2 and not found["run_query"]["is_complete"]
    assert found["query"]["rows"][:2] == [{"n": 0}, {"n": 1}] and len(found["query"]["rows"]) == 200
    assert "only the first 200 rows" in found["query"]["notice"]
    assert "A batch came back short" in found["explain"]["result"]
    assert said == ""


def test_who_answers(library: Library, tmp_path: Path) -> None:
    """The server calls itself aiscorr, and its version is that of aiscorr."""

    async def ask(session: ClientSession) -> tuple[str, str]:
        told = (await session.initialize()).serverInfo
        return told.name, told.version

    assert talk(library.database(SCENARIO), tmp_path, ask)[0] == ("aiscorr", __version__)


REFUSED: list[tuple[str, dict[str, str | dict[str, str]], str]] = [
    ("query", {"sql": "copy failure to '/tmp/x'"}, "COPY is not answered here"),
    ("query", {"sql": "from read_text('/etc/passwd')"}, "disabled by configuration"),
    ("query", {"sql": "select 1; select 2"}, "expected one statement, found 2"),
    ("run_query", {"name": "none"}, "no query is called 'none'"),
    ("run_query", {"name": "evidence", "parameters": {"x": "1"}}, "the query has no parameter 'x'"),
    ("get_report", {"failure": "none"}, "no failure is called 'none'"),
    ("get_report", {"form": "pdf"}, "no report has the form 'pdf'"),
    ("explain", {"name": "qqqq"}, "qqqq"),
    ("list_failures", {"since": "soon"}, "'soon' is no duration"),
]


def test_errors(library: Library, tmp_path: Path) -> None:
    """What goes wrong in a tool is told to the client, with what to try, and the next call works."""

    async def ask(session: ClientSession) -> list[tuple[bool, str, bool]]:
        answers = []
        for tool, arguments, _ in REFUSED:
            refused = await session.call_tool(tool, arguments)
            fine = await session.call_tool("list_queries", {})
            answers.append((refused.isError, str(refused.content), fine.isError))
        return answers

    answers, _ = talk(library.database(SCENARIO), tmp_path, ask)
    for (tool, arguments, said), (is_error, text, is_over) in zip(REFUSED, answers, strict=True):
        assert is_error and said in text and "try: " in text and not is_over, (tool, arguments, text)


def test_without_the_extra(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is not installed, the error says what to install."""
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    done = run("mcp")
    assert done.code == 2 and "mcp" in done.err and "try: pip install '.[mcp]' in the folder" in done.err
