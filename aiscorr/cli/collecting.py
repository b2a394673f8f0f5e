"""`collect stacks` and `collect dumps`: options, the hosts of a job, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from aiscorr.cli.context import Context
from aiscorr.errors import UsageError

if TYPE_CHECKING:
    from aiscorr.collect.fleet import Fleet
    from aiscorr.collect.gather import Summary
    from aiscorr.collect.node import NodeOptions

_VIA = ("local", "slurm", "pdsh", "ds_ssh", "ssh")


@click.group()
def collect() -> None:
    """Gather stacks or Flight Recorder dumps of all ranks of a running job.

    \b
    aiscorr collect stacks                        this host
    aiscorr collect stacks --job 5120341          every node of a SLURM job
    aiscorr collect dumps --hostfile hostfile     every host of the file, by ssh, pdsh or ds_ssh (--via)
    """


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that both have."""
    options = (
        click.option("--job", metavar="ID", help="SLURM job (or run id of torchrun): only its processes."),
        click.option("--hosts", metavar="LIST", help="Hosts: node01,node02 or node[01-16]."),
        click.option("--hostfile", type=click.Path(exists=True, dir_okay=False), help="Host file (DeepSpeed, MPI)."),
        click.option("--via", type=click.Choice(_VIA), help="How to get there (else told by the options above)."),
        click.option("--pid", "pids", type=click.IntRange(1), multiple=True, help="Only at and below this process."),
        click.option("--limit", type=click.FloatRange(1, 3600), default=60.0, show_default=True, metavar="SECONDS",
                     help="Time for each host."),
        click.option("--python", default="python3", show_default=True, help="Python 3.9 or newer on the hosts."),
        click.option("-o", "--output", metavar="DIR", help="Where the files go (else a new folder here)."),
        click.option("--print", "is_printed", is_flag=True, help="Only print the command; the hosts then write to -o."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@collect.command()
@_shared
@click.option("--py-spy", metavar="PATH", help="py-spy on the hosts (else where PATH or the job's Python has it).")
@click.option("--json", "is_json", is_flag=True, help="As JSON.")
@click.option("--native", is_flag=True, help="With C and C++ frames.")
@click.option("--locals", "local_variables", is_flag=True, help="With the values of variables.")
@click.option("--nonblocking", is_flag=True, help="Do not pause the processes, for a moment each, meanwhile.")
@click.option("--no-children", is_flag=True, help="Without DataLoader workers and other children.")
@click.pass_obj
def stacks(
    context: Context, /, py_spy: str | None, is_json: bool, native: bool, local_variables: bool, nonblocking: bool,
    no_children: bool, **shared: Any,
) -> int:  # fmt: skip
    """Stacks of all ranks and their children, by py-spy."""
    from aiscorr.collect.node import NodeOptions
    from aiscorr.collect.stacks import StackOptions

    return _collect(context, NodeOptions(
        what="stacks", host=os.uname().nodename, limit_s=shared["limit"], roots=shared["pids"],
        has_children=not no_children,
        stack=StackOptions(py_spy, is_json, native, local_variables, nonblocking),
    ), shared)  # fmt: skip


@collect.command()
@_shared
@click.option("--dump-prefix", "dump_prefixes", multiple=True, metavar="PATH",
              help="What the dump files' paths begin with, if the job set it while running.")  # fmt: skip
@click.option("--no-trigger", is_flag=True, help="Only take the dumps that were written before.")
@click.pass_obj
def dumps(context: Context, /, dump_prefixes: tuple[str, ...], no_trigger: bool, **shared: Any) -> int:
    """Flight Recorder dumps of all ranks, by pipe or worker control plane; the job goes on."""
    from aiscorr.collect.node import NodeOptions

    return _collect(context, NodeOptions(
        what="dumps", host=os.uname().nodename, limit_s=shared["limit"], roots=shared["pids"],
        dump_prefixes=dump_prefixes, is_triggered=not no_trigger,
    ), shared)  # fmt: skip


def _collect(context: Context, options: NodeOptions, shared: dict[str, Any]) -> int:
    from dataclasses import replace

    from aiscorr.collect.gather import gather
    from aiscorr.query.formats import printable

    options = replace(options, job=shared["job"])
    fleet = _fleet(shared)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    out = os.path.abspath(shared["output"] or f"aiscorr-{options.what}-{moment}")
    if shared["is_printed"]:
        click.echo(_printed(context, fleet, options, out), nl=False)
        return 0
    summary = gather(fleet, options, out, context.say)
    click.echo("".join(f"{printable(line)}\n" for line in summary_lines(summary, out, options.what)), nl=False)
    return 0 if summary.is_complete else 3 if summary.files else 1


def _printed(context: Context, fleet: Fleet, options: NodeOptions, out: str) -> str:
    """The commands as a shell takes them."""
    import shlex

    from aiscorr.collect.fleet import commands

    if fleet.via != "local":
        context.say(f"every host writes to {out}: it must be on a file system that they share")
    return "".join(f"{shlex.join(command)}\n" for _, command in commands(fleet, options, out))


def _fleet(shared: dict[str, Any]) -> Fleet:
    """Where to go: as --via says, else SLURM for a job that squeue knows, ssh for hosts, else this host."""
    from aiscorr.collect.fleet import Fleet, expand_hosts, hosts_of_file

    hosts: tuple[str, ...] = expand_hosts(shared["hosts"]) if shared["hosts"] else ()
    if shared["hostfile"]:
        with open(shared["hostfile"], encoding="utf-8", errors="replace") as handle:
            hosts += hosts_of_file(handle.read())
    job, via = shared["job"], shared["via"]
    if via is None:
        via = "ssh" if hosts else "slurm" if job and job.split("_")[0].isdigit() and _has("squeue") else "local"
    if via == "slurm" and not job:
        raise UsageError("SLURM needs a job", where="--via slurm", try_this="--job ID")
    if via == "ds_ssh" and not shared["hostfile"]:
        raise UsageError("ds_ssh needs a host file", where="--via ds_ssh", try_this="--hostfile /job/hostfile")
    if via == "slurm" and not hosts and (_has("squeue") or not shared["is_printed"]):
        hosts = _slurm_hosts(job)
    if via in ("pdsh", "ssh") and not hosts:
        raise UsageError(f"{via} needs hosts", where=f"--via {via}", try_this="--hosts node[01-16] or --hostfile FILE")
    hostfile = os.path.abspath(shared["hostfile"]) if shared["hostfile"] else None
    return Fleet(via, job, () if via == "local" else hosts, hostfile, shared["python"])


def _has(program: str) -> bool:
    import shutil

    return shutil.which(program) is not None


def _slurm_hosts(job: str) -> tuple[str, ...]:
    """The nodes of a running job, as squeue lists them."""
    import subprocess

    from aiscorr.collect.fleet import expand_hosts

    command = ["squeue", "--noheader", "--states", "RUNNING", "--jobs", job, "--format", "%N"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        said = ended.stderr.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"squeue cannot be run: {error}", where="--via slurm", try_this="--hosts LIST") from None
    if ended.returncode or not ended.stdout.strip():
        raise UsageError(f"job {job} is not running {said}".rstrip(), where="squeue", try_this="squeue --me")
    return expand_hosts(ended.stdout.strip())


def summary_lines(summary: Summary, out: str, what: str) -> list[str]:
    """What came, what is missing and what to do, for people."""
    lines = [f"{len(summary.files)} files of {len(summary.ranks)} ranks in {out}" if summary.files else "no files"]
    if summary.missing_ranks:
        shown = ", ".join(str(rank) for rank in summary.missing_ranks[:32])
        more = len(summary.missing_ranks) - 32
        lines.append(f"missing ranks: {shown}" + (f" and {more} more" if more > 0 else ""))
    if summary.silent_hosts:
        lines.append("no answer, or none to the end: " + ", ".join(summary.silent_hosts))
    for said, try_this, places in summary.notes:
        shown = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        lines.append(f"note: {said}" + (f" ({shown})" if shown else ""))
        if try_this:
            lines.append(f"  try: {try_this}")
    if summary.files:
        lines.append(f"read them: aiscorr ingest {out}")
    return lines
