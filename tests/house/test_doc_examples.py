"""The examples in the papers work: configurations, patterns, formats, queries, statements and commands."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from lines import NOW_NS
from papers import blocks, in_code, papers
from sample_checks import sample_mismatch
from scenes import Library

from aiscorr.catalog.explain import explain
from aiscorr.cli import cli
from aiscorr.config import load_settings
from aiscorr.demo import SCENARIO
from aiscorr.parse.spec.formats import parse_format
from aiscorr.parse.spec.pattern_files import checked_pattern
from aiscorr.parse.stamps import YearContext, format_values
from aiscorr.query.named import named_queries
from aiscorr.query.statement import fetch, run
from aiscorr.serve.plan import read_plan
from aiscorr.serve.web.settings import query_limits
from aiscorr.store.database import reading


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of aiscorr in a block of the shell, or set as code in a sentence, as (file, words behind it)."""
    for name, _, text in blocks("sh"):
        for line in text.replace("\\\n", " ").splitlines():
            found = shlex.split(line, comments=True)
            for mark in ("&&", "|", ">>", ">"):
                found = found[: found.index(mark)] if mark in found else found
            if found[:1] == ["aiscorr"]:
                yield name, found[1:]
    for name, text in papers().items():
        for code in in_code(text):
            if code.startswith("aiscorr ") and not re.search(r"\bVERB\b|--help", code):
                yield name, shlex.split(code)[1:]


@pytest.mark.parametrize("text", [text for _, title, text in blocks("toml") if title in ("", "aiscorr.toml")])
def test_configurations_are_taken(text: str, tmp_path: Path) -> None:
    """Every aiscorr.toml that is shown is one that aiscorr takes."""
    values = tomllib.loads(text)
    for key in ("patterns", "formats", "queries"):
        for folder in values.get(key, ()):
            (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "slack.url").write_text("https://hooks.example.com/T0")
    (tmp_path / "slack.url").chmod(0o600)
    (tmp_path / "aiscorr.toml").write_text(text)
    settings = load_settings(db=None, config=None, environment={}, folder=str(tmp_path))
    if settings.serve:
        read_plan(settings.serve, base=str(tmp_path), where="aiscorr.toml")
        query_limits(settings.serve["http"], "aiscorr.toml")


def test_patterns_and_formats_work(tmp_path: Path) -> None:
    """Every pattern and format that is shown loads, matches its samples, and refuses its near misses."""
    shown = [[*title.split(" "), text] for _, title, text in blocks("toml") if " " in title]
    assert sorted(kind for kind, _, _ in shown) == ["format", "pattern"]
    for kind, name, text in shown:
        path = tmp_path / name
        if kind == "pattern":
            pattern = checked_pattern(path, tomllib.loads(text))
            assert [said for sample in pattern.samples if (said := sample_mismatch(pattern, sample))] == []
            assert [line for line in pattern.near_misses if pattern.regex.search(line.encode())] == []
        else:
            form, years = parse_format(path, tomllib.loads(text)), YearContext(NOW_NS, near_ns=NOW_NS)
            for sample in form.samples:
                assert dict(sample.expect).items() <= (format_values(form, sample.line, years) or {}).items()
            assert [line for line in form.near_misses if format_values(form, line, years) is not None] == []


def own_queries(folder: Path) -> set[str]:
    """The named queries that are shown, as files in a folder."""
    for _, title, text in blocks("sql"):
        if title.startswith("query "):
            (folder / title.split(" ")[1]).write_text(text)
    return set(named_queries([str(folder)])) - set(named_queries())


def test_statements_work(library: Library, tmp_path: Path) -> None:
    """Every statement that is shown runs on the bundled incident."""
    shown = [text for _, title, text in blocks("sql") if not title]
    shown += [given[1] for _, given in shown_commands() if given[:1] == ["query"] and " " in "".join(given[1:2])]
    own = own_queries(tmp_path)
    assert len(shown) >= 5 and own
    shown += [named_queries([str(tmp_path)])[name].sql for name in own]
    with reading(library.database(SCENARIO)) as connection:
        for sql in shown:
            assert fetch(run(connection, sql, {}), sql).columns


def parsed(given: list[str]) -> dict[str, Any]:
    """The values of a command's parameters. Raises click's errors for what the command line does not take."""
    context = cli.make_context("aiscorr", list(given))
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert name is not None and found is not None
        command, context = found, found.make_context(name, rest, parent=context)
    return context.params


def test_commands_are_understood(tmp_path: Path) -> None:
    """Every command that is shown is one that the command line takes, and names what there is."""
    own_queries(tmp_path)
    known = named_queries([str(tmp_path)])
    shown = list(shown_commands())
    assert len(shown) >= 50
    for name, given in shown:
        if len(given) == 1:
            assert given[0] in cli.commands, name
            continue
        try:
            values = parsed(given)
        except click.ClickException as error:
            raise AssertionError(f"{name}: aiscorr {shlex.join(given)}: {error.message}") from None
        sql = values.get("sql") or ""
        if sql.startswith("@") and sql != "@NAME":
            assert {item.partition("=")[0] for item in values["parameters"]} <= set(known[sql[1:]].parameters), given
        if given[0] == "explain" and not given[1].isupper():
            assert explain(given[1])
