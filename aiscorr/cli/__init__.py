"""The verbs: flags in, one call, print, exit code. Only this folder prints; heavy imports happen inside the verbs."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import sys
from collections.abc import Sequence

import click

from aiscorr import __version__
from aiscorr.cli.collecting import collect
from aiscorr.cli.completing import completion
from aiscorr.cli.context import Context
from aiscorr.cli.copying import copy as copy_verb
from aiscorr.cli.ingesting import ingest
from aiscorr.cli.lines import lines
from aiscorr.cli.mcp import mcp
from aiscorr.cli.pulling import pull
from aiscorr.cli.querying import query
from aiscorr.cli.reporting import demo, explain, report, verify
from aiscorr.cli.serving import serve
from aiscorr.errors import AiscorrError

#: So many objects more than are given back are made before Python looks for circles among them: by default 700, which
#: is a tenth of the time of a small ingest.
_MANY_OBJECTS = 50_000


class _ReaderLeft(Exception):
    """Whoever read stdout, as head does, has gone; click would make that a failure."""


class _Verbs(click.Group):
    """The verbs; a reader that leaves early ends them quietly."""

    def invoke(self, ctx: click.Context) -> object:
        """Runs the verb of the command line."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _ReaderLeft from None
        return code


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--db", metavar="PATH", help="The database (else AISCORR_DB, else aiscorr.duckdb here).")
@click.option("--config", metavar="FILE", help="Settings (else AISCORR_CONFIG, else aiscorr.toml here).")
@click.option("-v", "verbose", count=True, help="Say more.")
@click.option("-q", "quiet", is_flag=True, help="Say nothing but errors, and failures that an ingest found.")
@click.option("--no-pager", is_flag=True, help="Print without a pager (AISCORR_PAGER, else PAGER, else less).")
@click.version_option(__version__, prog_name="aiscorr", message="%(prog)s %(version)s")
@click.pass_context
def cli(
    context: click.Context, db: str | None, config: str | None, verbose: int, quiet: bool, no_pager: bool
) -> None:  # fmt: skip
    """Was it the storage? Reads AIStore and training logs, and says which rank, which node, which chain, and why.

    \b
    aiscorr ingest LOGS…     read logs into the database
    aiscorr report           the latest failure, with file:line for every claim
    aiscorr query            SQL over everything that was read
    """
    settings_file = config or os.environ.get("AISCORR_CONFIG")
    context.obj = Context(db, settings_file, -1 if quiet else verbose, no_pager=no_pager)


def _given_late(context: click.Context, option: click.Parameter, value: str | int | None) -> None:
    if value:
        context.obj.take(option.name, value)


def _also_behind(command: click.Command) -> click.Command:
    """The verb, which also takes the flags of all verbs behind its name, as people write them."""
    for option in cli.params:
        if isinstance(option, click.Option) and not option.is_eager:
            late = copy.copy(option)
            late.hidden, late.expose_value, late.callback = True, False, _given_late
            command.params.append(late)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _also_behind(inner)
    return command


for _command in (ingest, pull, query, report, lines, verify, explain, collect, serve, mcp, copy_verb, demo, completion):
    cli.add_command(_also_behind(_command))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a verb and ends the process with its exit code."""
    gc.set_threshold(_MANY_OBJECTS)
    try:
        code = cli.main(
            args=list(arguments) if arguments is not None else None, prog_name="aiscorr", standalone_mode=False
        )
    except (click.exceptions.Abort, KeyboardInterrupt):  # click makes an Abort of Ctrl-C
        click.echo("stopped: nothing is half done", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = 2
    except AiscorrError as error:
        click.echo(f"error: {error}", err=True)
        code = error.exit_code
    except OSError as error:
        where = error.filename or "standard output"
        said = AiscorrError(f"it cannot be written: {error.strerror or error}", where=str(where), try_this="free space")
        click.echo(f"error: {said}", err=True)
        code = said.exit_code
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except _ReaderLeft:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(int(code or 0))
