"""The SQL shell's own commands, and how it shows rows: its mode, its limit of rows, its timer."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from aiscorr.cli.context import Context
from aiscorr.errors import AiscorrError, UsageError
from aiscorr.query.shell import COMMANDS, HELP, command_of, statements_of, whole_command

if TYPE_CHECKING:
    from aiscorr.query.completion import Names
    from aiscorr.query.named import NamedQuery
    from aiscorr.query.tables import Shape

_SHAPES = ("wide", "vertical")
_FORMATS = ("csv", "json", "jsonl", "markdown")


@dataclass
class View:
    """How rows are shown: in which format, a table in which shape, and how many."""

    form: str = "table"
    shape: Shape = "auto"
    most: int | None = 1000


#: Runs a statement or `@NAME` with its parameters, and shows its rows.
Ask = Callable[[str, dict[str, str], View], None]


@dataclass
class Shell:
    """What a line of the shell does; `ask` shows rows, `listing` lists views, `describing` describes one."""

    context: Context
    ask: Ask
    listing: Callable[[str], str]
    describing: Callable[[str], str]
    view: View
    is_timed: bool = False

    def execute(self, text: str) -> None:
        """Runs a line. Raises AiscorrError for one that is wrong."""
        command, pasted = command_of(text), whole_command(text)
        if command is not None:
            self._command(*command)
        elif pasted is not None:
            self._pasted(pasted)
        elif text.startswith("@"):
            for line in text.split("\n"):
                self._named(line.strip())
        else:
            for statement, is_vertical in statements_of(text):
                self._timed(statement, {}, is_vertical=is_vertical)

    def _command(self, verb: str, rest: str) -> None:
        if verb == ".help":
            click.echo(HELP, nl=False)
        elif verb == ".tables":
            self.context.show([self.listing(rest)])
        elif verb == ".queries":
            self.context.show(f"@{name}  {item.sentence}\n" for name, item in _queries(self.context).items())
        elif verb == ".describe":
            self.context.show([self.describing(rest)])
        elif verb == ".schema":
            self.context.show([_schema(rest)])
        elif verb == ".mode":
            self._mode(rest)
        elif verb == ".limit" and rest.isdigit():
            self.view.most = int(rest) or None
        elif verb == ".timer" and rest in ("", "on", "off"):
            self.is_timed = rest == "on" if rest else not self.is_timed
        else:
            raise UsageError(f"unknown command {' '.join((verb, rest)).strip()!r}", where="the shell", try_this=".help")

    def _mode(self, mode: str) -> None:
        if mode in _SHAPES:
            is_again = self.view.form == "table" and self.view.shape == mode
            self.view.form, self.view.shape = "table", "auto" if is_again else mode  # type: ignore[assignment]
        elif mode == "table":
            self.view.form, self.view.shape = "table", "auto"
        elif mode in _FORMATS:
            self.view.form = mode
        else:
            modes = ", ".join(("table", *_SHAPES, *_FORMATS))
            raise UsageError(f"there is no mode {mode!r}", where=".mode", try_this=f"one of: {modes}")

    def _named(self, line: str) -> None:
        """`@counters -p failure=ID`, as reports print it."""
        is_vertical = line.lower().endswith("\\g")
        name, *rest = _words(line[:-2] if is_vertical else line.rstrip(";"))
        given: dict[str, str] = {}
        for word in rest:
            key, mark, value = word.partition("=")
            if mark:
                given[key.removeprefix("-p")] = value
            elif word not in ("-p", "--parameter"):
                raise UsageError(f"{word!r} is not NAME=VALUE", where=name, try_this=f"{name} -p NAME=VALUE")
        self._timed(name, given, is_vertical=is_vertical)

    def _pasted(self, line: str) -> None:
        """A whole command, which runs as in a shell of the system, over the same database."""
        from aiscorr.cli import cli

        _, *arguments = _words(line.rstrip(";"))
        verb = next((word for word in arguments if not word.startswith("-")), "")
        if verb == "query" and len(arguments) == 1:
            return
        try:
            cli.main(["--db", self.context.settings.db_path, *arguments], prog_name="aiscorr", standalone_mode=False)
        except click.ClickException as error:
            raise UsageError(error.format_message(), where=line, try_this=f"aiscorr {verb} --help") from None

    def _timed(self, sql: str, given: dict[str, str], *, is_vertical: bool) -> None:
        started = time.monotonic()
        shape: Shape = "vertical" if is_vertical else self.view.shape
        self.ask(sql, given, View("table" if is_vertical else self.view.form, shape, self.view.most))
        if self.is_timed:
            self.context.say(f"{time.monotonic() - started:.3f} s")


def _queries(context: Context) -> dict[str, NamedQuery]:
    from aiscorr.query.named import named_queries

    return named_queries(context.settings.query_folders)


def shell_names(context: Context) -> Names:
    """What the shell completes; without a database the named queries and the commands alone."""
    from aiscorr.analysis.spec import view_specs
    from aiscorr.query.completion import Names, names_of
    from aiscorr.store.database import reading

    queries = {name: item.parameters for name, item in _queries(context).items()}
    with contextlib.suppress(AiscorrError), reading(context.db_path()) as connection:
        return names_of(connection, (spec.name for spec in view_specs() if spec.is_public), queries, COMMANDS)
    return Names(queries=queries, commands=COMMANDS)


def _schema(view: str) -> str:
    """The SQL of a view."""
    from aiscorr.analysis.spec import view_specs
    from aiscorr.schema.tables import TABLES

    for spec in view_specs():
        if spec.name == view:
            return f"create or replace view {spec.name} as\n{spec.select.strip()};\n"
    for table in TABLES:
        if table.name == view:
            return table.create_statement().strip() + ";\n"
    raise UsageError(f"there is no view {view!r}", where=".schema", try_this=".tables")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"it is no command: {error}", where=line, try_this="check the quotes") from None
