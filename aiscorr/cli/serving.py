"""`serve`: the schedule, one run by hand, the runs so far, and examples of how to set it up."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime

import click

from aiscorr.cli.context import Context
from aiscorr.cli.ingesting import stoppable
from aiscorr.errors import UsageError

_SHOWN = 20
_EXAMPLES = {"config": "aiscorr.toml", "systemd": "aiscorr.service", "kubernetes": "aiscorr.yaml"}


@click.command()
@click.option("--once", is_flag=True, help="One run now, then the end.")
@click.option("--status", is_flag=True, help="The last runs, and when the next is due.")
@click.option("--listen", metavar="HOST:PORT", help="Answer over HTTP too (else [serve.http]); extra 'serve'.")
@click.option("--only-http", is_flag=True, help="Only answer over HTTP: no schedule, no runs.")
@click.option("--example", type=click.Choice(tuple(_EXAMPLES)), help="Print an example to start from.")
@click.pass_obj
def serve(
    context: Context, once: bool, status: bool, listen: str | None, only_http: bool, example: str | None
) -> int:  # fmt: skip
    """Read what is new nightly and at intervals, and write the report of every failure found.

    What to read is told by [serve] in aiscorr.toml (aiscorr serve --example config).
    """
    if example is not None:
        from importlib.resources import files

        click.echo(files("aiscorr.serve").joinpath("examples", _EXAMPLES[example]).read_text("utf-8"), nl=False)
        return 0
    if (once or status) and (listen or only_http):
        raise UsageError("one run, or the runs so far, answer nothing", where="--listen", try_this="leave --once away")
    if only_http:
        return _only_http(context, listen)
    from aiscorr.serve.ledger import ServiceRun, last_runs, ledger_path
    from aiscorr.serve.plan import read_plan
    from aiscorr.serve.run import run_once
    from aiscorr.serve.service import Service, Stop, run_line, status_text

    settings = context.settings
    plan = read_plan(settings.serve, base=settings.folder, where=settings.config_path)
    if status:
        click.echo(status_text(plan, last_runs(ledger_path(settings.base_path), _SHOWN), datetime.now(UTC)))
        return 0

    def work(kind: str, should_stop: Callable[[], bool]) -> ServiceRun:
        return run_once(plan, settings, kind, should_stop=should_stop)

    if once:
        with stoppable(context) as stop:
            run = work("once", lambda: stop.is_asked)
        click.echo(run_line(run))
        return {"ok": 0, "partial": 3, "failed": 1, "stopped": 130}[run.outcome]
    service = Service(plan, settings, work, context.say, asked := Stop())
    with _listening(context, listen, is_wanted="http" in settings.serve):
        asked.on_signals()
        service.run()
    return 0


def _only_http(context: Context, listen: str | None) -> int:
    """Answers until it is told to stop."""
    from aiscorr.serve.service import Stop

    asked = Stop()
    with _listening(context, listen, is_wanted=True):
        asked.on_signals()
        asked.wait()
    return 0


def _listening(context: Context, listen: str | None, *, is_wanted: bool) -> AbstractContextManager[object]:
    """The HTTP server, where it is asked for."""
    if listen is None and not is_wanted:
        return nullcontext()
    from aiscorr.serve.plan import reports_folder
    from aiscorr.serve.web.server import listening
    from aiscorr.serve.web.settings import http_settings

    settings = context.settings
    http = http_settings(
        settings.serve.get("http", {}), os.environ, listen=listen, base=settings.folder, where=settings.config_path
    )
    return listening(http, settings, reports_folder(settings.serve, settings.folder), context.say)
