"""What runs on a node: finds the ranks there, dumps their stacks or Flight Recorders, and tells it in records.

Needs only the standard library and Python 3.9: it is sent to the nodes as text. Beyond the dumps it changes nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aiscorr.collect.dumps import SETUP, ask_control_plane, dump_files, pipe_of, press_pipe, read_whole
from aiscorr.collect.processes import Process, read_processes
from aiscorr.collect.ranks import Found, RankProcess, find_ranks
from aiscorr.collect.stacks import StackOptions, advice, dump_stack, find_py_spy
from aiscorr.collect.wire import Emit, Folder, Record, encode, file_record

_INSTALL = "pip install py-spy into the environment of the job, or --py-spy with its path on a shared file system"


@dataclass(frozen=True)
class NodeOptions:
    """What to gather on a node, of which processes, how long."""

    what: str
    host: str
    limit_s: float = 60.0
    job: str | None = None
    roots: tuple[int, ...] = ()
    has_children: bool = True
    stack: StackOptions = field(default_factory=StackOptions)
    dump_prefixes: tuple[str, ...] = ()
    is_triggered: bool = True
    proc: str = "/proc"


def collect(options: NodeOptions, emit: Emit) -> None:
    """Gathers on this node and tells what there is, what is missing, and what to do about it."""
    deadline_s = time.monotonic() + options.limit_s
    emit({"kind": "hello", "host": options.host, "python": sys.version.split()[0], "uid": os.geteuid()})
    if options.what != "ping":
        found = find_ranks(read_processes(options.proc), options.proc, job=options.job, roots=options.roots)
        _tell_found(options, found, emit)
        with ThreadPoolExecutor(max_workers=8) as pool:
            work = _stack_records if options.what == "stacks" else _dump_records
            for records in pool.map(lambda item: work(options, item, deadline_s), found.ranks):
                for record in records:
                    emit(record)
    emit({"kind": "end", "host": options.host})


def _tell_found(options: NodeOptions, found: Found, emit: Emit) -> None:
    for item in found.ranks:
        emit({
            "kind": "rank", "host": options.host, "rank": item.rank, "rank_source": item.rank_source,
            "world_size": item.world_size, "job_id": item.job_id, "pid": item.process.pid,
            "children": [child.pid for child in item.children], "command": " ".join(item.process.command)[:300],
        })  # fmt: skip
    for pid, why in found.skipped:
        emit({"kind": "skipped", "host": options.host, "pid": pid, "why": why})
    if found.hidden_count:
        emit(_note(options, f"{found.hidden_count} Python processes belong to others and cannot be read",
                   "run as the user of the job, or as root"))  # fmt: skip
    if not found.ranks:
        emit(_note(options, "no rank was found", "--pid with the process id of the trainer or its launcher"))


def _note(options: NodeOptions, what: str, try_this: str, rank: int | None = None) -> Record:
    return {"kind": "note", "host": options.host, "rank": rank, "what": what, "try_this": try_this}


def base_name(host: str, item: RankProcess) -> str:
    """`job71_node4_rank5`; aiscorr reads rank, host and job from such names."""
    job = f"job{item.job_id}_" if item.job_id and item.job_id.isdigit() else ""
    return f"{job}{host.split('.')[0]}_rank{'unknown' if item.rank is None else item.rank}"


def _stack_records(options: NodeOptions, item: RankProcess, deadline_s: float) -> list[Record]:
    """The stacks of a rank and its children, and what could not be had."""
    records = []
    program = find_py_spy(options.stack.program, item.process)
    if program is None:
        return [_note(options, "py-spy is not installed on this node", _INSTALL, item.rank)]
    for process in (item.process, *(item.children if options.has_children else ())):
        rest_s = deadline_s - time.monotonic()
        if rest_s <= 0:
            records.append(_note(options, f"time was up before process {process.pid}", "a longer --limit", item.rank))
            break
        content, error = dump_stack(program, process.pid, options.stack, rest_s)
        if error:
            what = f"no stack of process {process.pid}: {error}"
            records.append(_note(options, what, advice(error, process, options.proc), item.rank))
        else:
            name = _stack_name(options, item, process)
            records.append({**file_record(options.host, name, content, time.time()), "rank": item.rank})
    return records


def _stack_name(options: NodeOptions, item: RankProcess, process: Process) -> str:
    child = "" if process is item.process else f"_child{process.pid}"
    ending = "json" if options.stack.is_json else "txt"
    return f"{base_name(options.host, item)}_pid{item.process.pid}{child}.{ending}"


def _dump_records(options: NodeOptions, item: RankProcess, deadline_s: float) -> list[Record]:
    """The Flight Recorder dump of a rank: asked for, triggered, or the one it has written before; else why not."""
    process, problems = item.process, []
    if options.is_triggered:
        content, problem = ask_control_plane(process, min(deadline_s - time.monotonic(), 30.0), options.proc)
        if content:
            return [_dump_file(options, item, "nccl_trace_rank_", content, time.time())]
        problems += [problem] if problem else []
        path, problem = _triggered(options, item, deadline_s)
        problems += [problem] if problem else []
    else:
        path = None
    if path is None and item.rank is not None:
        # One older than the process is left from an earlier run: PyTorch gives all runs the same names.
        files = dump_files(process, item.rank, options.dump_prefixes, options.proc)
        path = next((name for name in reversed(files) if files[name][0] >= process.started_s), None)
        if path is not None and problems:
            problems.append("the dump it had written before is taken")
    records = [_note(options, f"process {process.pid}: {text}", SETUP, item.rank) for text in problems]
    if path is None:
        if not problems:
            records.append(_note(options, f"process {process.pid} has written no dump", SETUP, item.rank))
        return records
    try:
        content, modified_s = read_whole(path, deadline_s)
    except OSError as error:
        return [*records, _note(options, f"{path} cannot be read: {error.strerror}", "run as its owner", item.rank)]
    prefix = re.sub(r"\d+$", "", os.path.basename(path))
    return [*records, _dump_file(options, item, prefix, content, modified_s)]


def _dump_file(options: NodeOptions, item: RankProcess, prefix: str, content: bytes, modified_s: float) -> Record:
    """`job71_node4_nccl_trace_rank_5`: the rank last, as PyTorch's own analyzer wants it."""
    if "trace_rank_" not in prefix:
        prefix = "nccl_trace_rank_"
    rank = f"unknown_pid{item.process.pid}" if item.rank is None else str(item.rank)
    name = f"{base_name(options.host, item).rpartition('_rank')[0]}_{prefix}{rank}"
    return {**file_record(options.host, name, content, modified_s), "rank": item.rank}


def _triggered(options: NodeOptions, item: RankProcess, deadline_s: float) -> tuple[str | None, str]:
    """The file a rank writes after its pipe was pressed, or why there is none."""
    pipe = pipe_of(item, options.proc)
    if pipe is None or item.rank is None:
        return None, "no pipe for dumps, and no worker control plane"
    before = dump_files(item.process, item.rank, options.dump_prefixes, options.proc)
    problem = press_pipe(pipe, min(deadline_s - time.monotonic(), 5.0))
    if problem:
        return None, problem
    while time.monotonic() < deadline_s:
        files = dump_files(item.process, item.rank, options.dump_prefixes, options.proc)
        written = [path for path, state in files.items() if before.get(path) != state]
        if written:
            return written[-1], ""
        time.sleep(0.1)
    return None, "the signal was sent, but no dump was written in time"


def options_of(arguments: list[str]) -> NodeOptions:
    """The options as the command line of a node has them."""
    parser = argparse.ArgumentParser(prog="aiscorr_node")
    parser.add_argument("what", choices=("ping", "stacks", "dumps"))
    for name in ("--job", "--py-spy", "--out"):
        parser.add_argument(name)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--pid", type=int, action="append", default=[])
    parser.add_argument("--dump-prefix", action="append", default=[])
    for name in ("--no-children", "--json", "--native", "--locals", "--nonblocking", "--no-trigger"):
        parser.add_argument(name, action="store_true")
    given = parser.parse_args(arguments)
    return NodeOptions(
        what=given.what, host=socket.gethostname(), limit_s=given.limit, job=given.job, roots=tuple(given.pid),
        has_children=not given.no_children, dump_prefixes=tuple(given.dump_prefix), is_triggered=not given.no_trigger,
        stack=StackOptions(given.py_spy, given.json, given.native, given.locals, given.nonblocking),
    )  # fmt: skip


def arguments_of(options: NodeOptions) -> list[str]:
    """The command line of a node for these options; `options_of` reads it."""
    words = [options.what, "--limit", f"{options.limit_s:g}"]
    words += ["--job", options.job] if options.job else []
    words += [word for pid in options.roots for word in ("--pid", str(pid))]
    words += [word for prefix in options.dump_prefixes for word in ("--dump-prefix", prefix)]
    words += ["--py-spy", options.stack.program] if options.stack.program else []
    flags = (("--no-children", not options.has_children), ("--json", options.stack.is_json),
             ("--native", options.stack.native), ("--locals", options.stack.local_variables),
             ("--nonblocking", options.stack.nonblocking), ("--no-trigger", not options.is_triggered))  # fmt: skip
    return words + [flag for flag, is_on in flags if is_on]


def run_node(arguments: list[str]) -> None:
    """The program of a node: records to standard output, or with `--out DIR` files there and a word for each."""
    folder = arguments[arguments.index("--out") + 1] if "--out" in arguments else None
    output = sys.stdout.buffer
    kept = Folder(folder or ".")

    def tell(record: Record) -> None:
        if folder is not None:
            kept.take(record)
            lines = [_sentence(kept.records[-1])]
        else:
            lines = encode(record)
        output.writelines(lines)
        output.flush()

    collect(options_of(arguments), tell)


def _sentence(record: Record) -> bytes:
    shown = {key: value for key, value in record.items() if value is not None and key not in ("kind", "modified_s")}
    return (str(record["kind"]) + ": " + ", ".join(f"{key} {value}" for key, value in shown.items()) + "\n").encode()
