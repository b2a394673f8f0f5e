"""Runs the commands of a fleet, takes what the nodes tell, and sums up: what came, what is missing, what to do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from aiscorr.collect.fleet import Fleet, commands
from aiscorr.collect.node import NodeOptions, collect
from aiscorr.collect.wire import Folder, Receiver, Record
from aiscorr.errors import UsageError

_CONNECTIONS = 32
_GRACE_S = 15.0


@dataclass(frozen=True)
class Summary:
    """What a collection gave: files, ranks seen, ranks without a file, hosts that did not answer, and other notes."""

    files: tuple[str, ...]
    ranks: tuple[int, ...]
    missing_ranks: tuple[int, ...]
    silent_hosts: tuple[str, ...]
    notes: tuple[tuple[str, str, tuple[str, ...]], ...]

    @property
    def is_complete(self) -> bool:
        """Every rank has a file and every host has answered."""
        return bool(self.files) and not self.missing_ranks and not self.silent_hosts


def gather(
    fleet: Fleet, options: NodeOptions, out: str, say: Callable[[str], None], ping_limit_s: float = 15.0
) -> Summary:
    """Collects from all hosts into a folder; hosts that do not answer a first call are left out and named."""
    folder = Folder(out)
    if fleet.via == "local":
        collect(options, folder.take)
        return summarise(folder, (), ())
    reached = _reach(fleet, ping_limit_s, say)
    silent = [host for host in fleet.hosts if not any(same_host(host, name) for name in reached)]
    for host in silent:
        say(f"no answer from {host}")
    if not reached:
        return summarise(folder, fleet.hosts, ())
    answering = replace(fleet, hosts=tuple(host for host in fleet.hosts if host not in silent))
    talk = run_all(answering, options, folder.take)
    ended = {_name(record) for record in folder.records if record["kind"] == "end"}
    cut = [host for host in answering.hosts if not any(same_host(host, name) for name in ended)]
    return summarise(folder, (*silent, *cut), talk)


def _reach(fleet: Fleet, limit_s: float, say: Callable[[str], None]) -> list[str]:
    """The hosts that answer, by the names they give themselves."""
    records: list[Record] = []
    talk = run_all(fleet, NodeOptions("ping", "", limit_s=limit_s), records.append)
    reached = sorted({_name(record) for record in records if record["kind"] == "hello"})
    if len(reached) < max(len(fleet.hosts), 1):
        for line in talk[:8]:
            say(line)
    return reached


def _name(record: Record) -> str:
    """The name a host was asked by where that is known, else the one it gives itself."""
    return str(record.get("asked") or record["host"])


def same_host(asked: str, told: str) -> bool:
    """The name asked for is that the host gives itself, with or without domain or user: root@n1, n1.cluster."""
    asked, told = asked.rpartition("@")[2], told.rpartition("@")[2]
    if asked.replace(".", "").isdigit():
        return asked == told
    return asked.split(".")[0].lower() == told.split(".")[0].lower()


def run_all(fleet: Fleet, options: NodeOptions, emit: Callable[[Record], None]) -> list[str]:
    """Runs the commands of the fleet, each to its end or to the time limit; gives what they said beside records."""
    lock = threading.Lock()

    def take(record: Record) -> None:
        with lock:
            emit(record)

    def run(item: tuple[tuple[str, ...], list[str]]) -> list[str]:
        hosts, command = item
        asked = hosts[0] if fleet.via == "ssh" else None
        talk = run_one(command, options.limit_s + _GRACE_S, Receiver(take, asked))
        return [f"{asked}: {line}" if asked else line for line in talk]

    with ThreadPoolExecutor(max_workers=_CONNECTIONS) as pool:
        return [line for lines in pool.map(run, commands(fleet, options)) for line in lines]


def run_one(command: Sequence[str], limit_s: float, receiver: Receiver) -> list[str]:
    """Runs a command and hands its lines over; at the limit it and what it has started here are ended."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be run: {error.strerror}", where="--via", try_this="another --via, or --print"
        ) from None
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)

    timer = threading.Timer(limit_s, end)
    timer.start()
    try:
        with process:
            for line in process.stdout or ():
                receiver.take(line)
    finally:
        timer.cancel()
    receiver.close()
    return receiver.talk + (["the time limit was over"] if is_late.is_set() else [])


def summarise(folder: Folder, silent: Sequence[str], talk: Sequence[str]) -> Summary:
    """Ranks by what the processes say of themselves; a rank up to the world size that no host has is missing."""
    of_kind: dict[str, list[Record]] = {}
    for record in folder.records:
        of_kind.setdefault(str(record["kind"]), []).append(record)
    seen = {int(record["rank"]) for record in of_kind.get("rank", []) if isinstance(record.get("rank"), int)}
    sizes = [record["world_size"] for record in of_kind.get("rank", []) if isinstance(record.get("world_size"), int)]
    world = min(max(sizes), 1 << 20) if sizes else 0
    names = [os.path.basename(path) for path in folder.files]
    with_file = {rank for rank in seen if any(_is_of_rank(name, rank) for name in names)}
    notes: dict[tuple[str, str], list[str]] = {}
    for record in of_kind.get("note", []):
        rank = record.get("rank")
        place = str(record["host"]) + ("" if rank is None else f" rank {rank}")
        notes.setdefault((str(record.get("what", "")), str(record.get("try_this", ""))), []).append(place)
    for line in talk[:20]:
        notes.setdefault((line, ""), [])
    missing = sorted((seen | set(range(world))) - with_file)
    return Summary(
        tuple(sorted(folder.files)), tuple(sorted(seen)), tuple(missing), tuple(dict.fromkeys(silent)),
        tuple((what, try_this, tuple(dict.fromkeys(places))) for (what, try_this), places in notes.items()),
    )  # fmt: skip


def _is_of_rank(name: str, rank: int) -> bool:
    return f"_rank{rank}_" in name or name.endswith(f"_rank_{rank}")
