"""`serve`: the schedule, one run by hand, the runs so far, and examples of how to set it up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files

import click

from aiscorr.cli.context import Context
from aiscorr.cli.ingesting import stoppable

_SHOWN = 20
_EXAMPLES = {"config": "aiscorr.toml", "systemd": "aiscorr.service", "kubernetes": "aiscorr.yaml"}


@click.command()
@click.option("--once", is_flag=True, help="One run now, then the end.")
@click.option("--status", is_flag=True, help="The last runs, and when the next is due.")
@click.option("--example", type=click.Choice(tuple(_EXAMPLES)), help="Print an example to start from.")
@click.pass_obj
def serve(context: Context, once: bool, status: bool, example: str | None) -> int:
    """Read what is new nightly and at intervals, and write the report of every failure found.

    What to read is told by [serve] in aiscorr.toml (aiscorr serve --example config).
    """
    if example is not None:
        click.echo(files("aiscorr.serve").joinpath("examples", _EXAMPLES[example]).read_text("utf-8"), nl=False)
        return 0
    from aiscorr.serve.ledger import ServiceRun, last_runs, ledger_path
    from aiscorr.serve.nightly import run_once
    from aiscorr.serve.plan import read_plan
    from aiscorr.serve.service import Service, run_line, status_text, stop_on_signals

    settings = context.settings
    plan = read_plan(settings.serve, base=settings.folder, where=settings.config_path)
    if status:
        click.echo(status_text(plan, last_runs(ledger_path(settings.db_path), _SHOWN), datetime.now(UTC)))
        return 0

    def work(kind: str, should_stop: Callable[[], bool]) -> ServiceRun:
        return run_once(plan, settings, kind, should_stop=should_stop)

    if once:
        with stoppable(context) as stop:
            run = work("once", lambda: stop.is_asked)
        click.echo(run_line(run))
        return {"ok": 0, "partial": 3, "failed": 1, "stopped": 130}[run.outcome]
    service = Service(plan, settings, work, context.say)
    stop_on_signals(service)
    service.run()
    return 0
