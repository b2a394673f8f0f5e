"""`copy`: moves the database between a file and a lake."""

from __future__ import annotations

import click

from aiscorr.cli.context import Context


@click.command()
@click.option("--to", "target", required=True, metavar="LAKE|FILE", help="The address of a lake, or a new file.")
@click.pass_obj
def copy(context: Context, target: str) -> int:
    """Copy the database into a lake, or out of one, to where nothing is yet."""
    from aiscorr.config import default_job_count, lake_at
    from aiscorr.lake.address import is_lake
    from aiscorr.lake.copying import Limits, copy_database

    settings = context.settings
    there = lake_at(target, "--to", settings) if is_lake(target) else target
    threads = settings.thread_count or settings.job_count or default_job_count()
    limits = Limits(settings.memory_limit, threads, context.say)
    copied = copy_database(settings.lake or settings.db_path, there, limits)
    files, cases = (
        f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
        for count, noun in ((copied.file_count, "file"), (copied.case_count, "case"))
    )
    click.echo(f"copied {files}, {copied.row_count:,} rows and {cases} to {target}")
    return 0
