"""`pull`: options, the connection made of them and of the settings, progress, and what came of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from aiscorr.cli.context import Context
from aiscorr.cli.ingesting import run_ingest, stoppable, summary_text
from aiscorr.cli.progress import pull_progress

if TYPE_CHECKING:
    from aiscorr.config import PullSettings, Settings
    from aiscorr.pull.gather import PullSummary

_MOST_GAPS = 12


@click.command()
@click.option("--endpoint", metavar="URL", help="A proxy of the cluster (else AIS_ENDPOINT).")
@click.option("--out", metavar="DIR", help="Spool folder (else one beside the database).")
@click.option("--no-ingest", is_flag=True, help="Only fetch.")
@click.option("--cluster", metavar="NAME", help="Name of the cluster in the database (else its own id).")
@click.option("--nodes", type=click.IntRange(1, 16), help="Nodes asked at a time (4).")
@click.option("--timeout", type=click.FloatRange(0.1, 600), metavar="SECONDS", help="A node without an answer (20).")
@click.option("--max-spool", metavar="SIZE", help="What may lie in the spool (10GiB).")
@click.option("--token-file", metavar="FILE", help="AuthN token (else AIS_AUTHN_TOKEN, AIS_AUTHN_TOKEN_FILE).")
@click.option("--ca", metavar="FILE", help="Certificate of the CA (else AIS_CLIENT_CA).")
@click.option("--cert", metavar="FILE", help="Client certificate (else AIS_CRT).")
@click.option("--key", metavar="FILE", help="Its key (else AIS_CRT_KEY).")
@click.option("--skip-verify", is_flag=True, help="Take any certificate (else AIS_SKIP_VERIFY_CRT).")
@click.pass_obj
def pull(context: Context, /, endpoint: str | None, no_ingest: bool, cluster: str | None, **given: Any) -> int:
    """Fetch logs and counters from a live AIStore cluster, then ingest them.

    \b
    All that the nodes keep the first time, later what is new. A node that does not answer is left out and named.
    """
    from aiscorr.pull.gather import pull as pull_cluster
    from aiscorr.query.formats import printable
    from aiscorr.serve.fetch import connect, spool_options

    settings = context.settings
    chosen = _chosen(settings.pull, given)
    connection, notices = connect(endpoint or settings.endpoint, chosen, "aiscorr pull")
    for notice in notices:
        context.say(notice)
    options = spool_options(settings, chosen)
    promise = "what has come is kept, and the next pull goes on from there"
    with stoppable(context, promise) as stop, pull_progress(context) as show:
        summary = pull_cluster(connection, options, show=show, should_stop=lambda: stop.is_asked)
    for notice in summary.notices:
        context.say(notice)
    lines = summary_lines(summary, is_all=context.verbosity > 0)
    click.echo("".join(f"{printable(line)}\n" for line in lines), nl=False)
    if summary.is_stopped:
        return 130
    code = 0 if no_ingest else _ingest(context, settings, chosen, summary, cluster)
    return code or (3 if summary.gaps else 0)


def _chosen(known: PullSettings, given: dict[str, Any]) -> PullSettings:
    """The settings with what the flags say in the place of theirs."""
    from aiscorr.config import byte_count

    names = {"nodes": "node_count", "timeout": "read_s"}
    values = {names.get(name, name): value for name, value in given.items() if value}
    if "max_spool" in values:
        values["max_spool"] = byte_count(values["max_spool"], "--max-spool")
    if "token_file" in values:
        values["token"] = None
    if "ca" in values:
        values["notices"] = ()
    return replace(known, **values)


def _ingest(
    context: Context, settings: Settings, chosen: PullSettings, summary: PullSummary, cluster: str | None
) -> int:
    """Ingests the cluster's folder of the spool, then makes room there."""
    from datetime import UTC, datetime

    from aiscorr.config import ingest_options
    from aiscorr.serve.fetch import make_room

    options = replace(ingest_options(settings), cluster=cluster or summary.cluster_id or None)
    done = run_ingest(context, [summary.folder], settings, options)
    click.echo(summary_text(done, context, [summary.folder]), nl=False)
    if done.outcome == "stopped":
        return 130
    count, size = make_room(os.path.dirname(summary.folder), settings, chosen, datetime.now(UTC))
    if count:
        click.echo(f"removed from the spool: {count} files that are in the database, {size / 1e6:,.1f} MB")
    return 3 if done.outcome == "partial" else 0


def summary_lines(summary: PullSummary, *, is_all: bool = False) -> list[str]:
    """What came and what did not, for people."""
    answered = sum(1 for result in summary.results if not result.gaps)
    lines = [
        f"cluster {summary.cluster_id or '(no id)'}: {answered} of {len(summary.results)} nodes,"
        f" {summary.byte_count / 1e6:,.1f} MB of new logs in {summary.folder}"
    ]
    gaps = summary.gaps
    shown = gaps if is_all else gaps[:_MOST_GAPS]
    for result, part, reason in shown:
        what = "" if part == "all" else f"{part}: "
        lines.append(f"not pulled: {result.node.role} {result.node.node_id}: {what}{reason}")
    if len(shown) < len(gaps):
        lines.append(f"not pulled: {len(gaps) - len(shown)} more (aiscorr -v pull …, or aiscorr query 'from pull_gap')")
    if gaps:
        lines.append("try: `ais show cluster` and the reasons above; the next pull fetches what these nodes still keep")
    return lines
