"""`completion`: what bash, zsh and fish complete: verbs, options, failures, jobs, views, queries and patterns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from aiscorr.cli.context import Context
from aiscorr.errors import AiscorrError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_HOW = {
    "bash": 'eval "$(aiscorr completion bash)"      # in ~/.bashrc',
    "zsh": 'eval "$(aiscorr completion zsh)"       # in ~/.zshrc, behind compinit',
    "fish": "aiscorr completion fish | source      # in ~/.config/fish/config.fish",
}
Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


@click.command()
@click.argument("shell", type=click.Choice(tuple(_HOW)))
@click.pass_obj
def completion(context: Context, shell: str) -> int:
    """Print what makes a shell complete verbs, options and values.

    \b
    eval "$(aiscorr completion bash)"     in ~/.bashrc
    eval "$(aiscorr completion zsh)"      in ~/.zshrc, behind compinit
    aiscorr completion fish | source      in ~/.config/fish/config.fish
    """
    from importlib.resources import files

    from click.shell_completion import get_completion_class

    from aiscorr.cli import cli

    if shell == "bash":
        source = files("aiscorr.cli").joinpath("completion.bash").read_text("utf-8")
    else:
        source = get_completion_class(shell)(cli, {}, "aiscorr", "_AISCORR_COMPLETE").source()  # type: ignore[misc]
    click.echo(f"# {_HOW[shell]}\n{source.rstrip()}")
    return 0


def failures(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """`latest`, `all`, ids of failures and of their jobs, with what failed."""
    rows = _rows(context, "select failure_id, statement from failure order by ended_at desc nulls last limit 500")
    jobs = _rows(context, "select distinct job_id, 'a job that failed' from failure order by 1 limit 500")
    return _items([("latest", "the latest failure"), ("all", "all failures"), *rows, *jobs], begun)


def places(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """A failure, or a file, which the shell completes."""
    from click.shell_completion import CompletionItem

    return failures(context, parameter, begun) or [CompletionItem(begun, type="file")]


def queries(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """`@NAME` of each named query."""
    return _items(_queries(context, "@") if begun.startswith("@") or not begun else (), begun)


def parameters(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """`NAME=VALUE` of a named query: its names, and failures and jobs as values."""
    from aiscorr.query.named import named_queries

    name, mark, _ = begun.partition("=")
    if mark and name in ("failure", "job"):
        column = f"{name}_id"
        rows = _rows(context, f"select distinct {column}, '' from failure order by 1 desc limit 500")
        return _items([(f"{name}={value}", told) for value, told in rows], begun)
    asked = named_queries().get(str(context.params.get("sql") or "").removeprefix("@"))
    return _items(((f"{one}=", "") for one in (asked.parameters if asked else ("failure", "job"))), begun)


def views(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The views, public ones first."""
    from aiscorr.analysis.spec import view_specs

    specs = sorted((spec for spec in view_specs() if spec.is_in_database), key=lambda spec: not spec.is_public)
    return _items(((spec.name, spec.sentence) for spec in specs), begun)


def names(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """What `explain` knows most of: patterns, views, queries, and the failures, jobs and nodes of the database."""
    from aiscorr.parse.spec.pattern import FORMAT_TABLES
    from aiscorr.parse.spec.pattern_files import pattern_set

    patterns = [(one.name, one.title) for kind in FORMAT_TABLES for one in pattern_set(kind, ())]
    nodes = _rows(context, "select distinct node_id, role from node order by 1 limit 500")
    found = [*_items([*patterns, *_queries(context, ""), *nodes], begun), *views(context, parameter, begun)]
    return found + [item for item in failures(context, parameter, begun) if item.value not in ("latest", "all")]


def _queries(context: click.Context, mark: str) -> list[tuple[str, str]]:
    from aiscorr.query.named import named_queries

    found: tuple[str, ...] = ()
    with contextlib.suppress(AiscorrError):
        found = _own(context).settings.query_folders
    return [(f"{mark}{name}", item.sentence) for name, item in named_queries(found).items()]


def _own(context: click.Context) -> Context:
    """The global flags of a line that is being typed; its verb has not run."""
    flags = context.find_root().params
    return Context(flags.get("db"), flags.get("config"), -1)


def _rows(context: click.Context, sql: str) -> list[tuple[str, str]]:
    """Rows of the database; none where there is no database, or where it is busy: a key must never wait or fail."""
    from aiscorr.query.formats import printable
    from aiscorr.store.database import reading

    with contextlib.suppress(Exception), reading(_own(context).db_path()) as connection:
        return [(str(row[0]), printable(str(row[1] or ""))) for row in connection.execute(sql).fetchall()]
    return []


def _items(pairs: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value, help=told[:100] or None) for value, told in pairs if value.startswith(begun)]
