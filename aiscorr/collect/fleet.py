"""The commands that run the node program on every host of a job: here, SLURM, pdsh, ds_ssh, or ssh to a host file."""

from __future__ import annotations

import base64
import re
import shlex
import zlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from aiscorr.collect.node import NodeOptions, arguments_of
from aiscorr.errors import UsageError

#: The modules of a node, each after those it needs.
_NODE_MODULES = ("processes", "ranks", "wire", "stacks", "dumps", "node")
_START = "import sys,zlib,base64;aiscorr_node=zlib.decompress(base64.b64decode(sys.argv.pop(1)));exec(aiscorr_node)"
_IMPORT = re.compile(r"^from (?:aiscorr\.[\w.]+|__future__) import .*\n", re.MULTILINE)
_RANGE = re.compile(r"^(?P<head>[^\[\]]*)\[(?P<inner>[^\]]+)\](?P<tail>.*)$")
VIA = ("local", "slurm", "pdsh", "ds_ssh", "ssh")
_CONNECT_S = 10


@dataclass(frozen=True)
class Fleet:
    """How to get to the hosts of a job."""

    via: str = "local"
    job: str | None = None
    hosts: tuple[str, ...] = ()
    hostfile: str | None = None
    python: str = "python3"


@lru_cache(maxsize=1)
def node_program() -> str:
    """The source text of the node program: its modules behind each other, without the imports of each other."""
    package = resources.files("aiscorr.collect")
    texts = [_IMPORT.sub("", (package / f"{name}.py").read_text("utf-8")) for name in _NODE_MODULES]
    return "from __future__ import annotations\n" + "\n\n".join(texts) + "\n\nrun_node(sys.argv[1:])\n"


def node_command(fleet: Fleet, options: NodeOptions, out: str | None = None) -> str:
    """The shell command of a node; it has no blanks in a row and nothing that a shell would expand on the way."""
    packed = base64.b64encode(zlib.compress(node_program().encode(), 9)).decode()
    words = arguments_of(options) + (["--out", out] if out else [])
    return " ".join([shlex.quote(fleet.python), "-c", f"'{_START}'", packed, *(shlex.quote(word) for word in words)])


def commands(fleet: Fleet, options: NodeOptions, out: str | None = None) -> list[tuple[tuple[str, ...], list[str]]]:
    """What to run: the hosts that a command is for, and the command; one for all hosts where the launcher can."""
    remote = node_command(fleet, options, out)
    hosts = fleet.hosts
    limit = str(int(options.limit_s) + 5)
    if fleet.via == "local":
        return [(hosts, ["sh", "-c", remote])]
    if fleet.via == "slurm":
        nodes = ["--nodes", str(len(hosts)), "--nodelist", ",".join(hosts)] if hosts else []
        return [(hosts, [
            "srun", "--jobid", fleet.job or "", "--gres=gpu:0", "--overlap", "--ntasks-per-node=1", *nodes,
            "--mpi=none", "--kill-on-bad-exit=0", "--input=none", "sh", "-c", remote,
        ])]  # fmt: skip
    if fleet.via == "pdsh":
        return [(hosts, ["pdsh", "-R", "ssh", "-t", str(_CONNECT_S), "-u", limit, "-w", ",".join(hosts), remote])]
    if fleet.via == "ds_ssh":
        return [(hosts, ["ds_ssh", "-f", fleet.hostfile or "/job/hostfile", remote])]
    return [((host,), ["ssh", "-n", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_S}", host, remote])
            for host in hosts]  # fmt: skip


def expand_hosts(text: str) -> tuple[str, ...]:
    """Host names of a list with ranges, as SLURM and pdsh write them: `a[1-3],b` → a1 a2 a3 b."""
    found: list[str] = []
    for item in re.findall(r"(?:[^,\[\]\s]|\[[^\]]*\])+", text):
        found += _expand(item)
    if not all(re.fullmatch(r"[\w.@:-]+", host) and not host.startswith("-") for host in found):
        raise UsageError(f"{text!r} is no list of hosts", where="--hosts", try_this="node01,node02 or node[01-16]")
    if len(found) > 65536:
        raise UsageError(f"{text!r} is {len(found)} hosts", where="--hosts", try_this="fewer hosts at a time")
    return tuple(dict.fromkeys(found))


def _expand(item: str) -> list[str]:
    match = _RANGE.match(item)
    if match is None:
        return [item]
    values: list[str] = []
    for part in match["inner"].split(","):
        low, dash, high = part.partition("-")
        if not dash:
            values.append(low)
        elif low.isdigit() and high.isdigit() and int(high) - int(low) < 65536:
            values += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return [match["head"] + value + rest for value in values for rest in _expand(match["tail"])]


def hosts_of_file(text: str) -> tuple[str, ...]:
    """Host names of a host file: of DeepSpeed (`node1 slots=8`), MPI (`node1:8`), or a name a line."""
    names: list[str] = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            names += expand_hosts(re.sub(r":\d+$", "", words[0]))
    return tuple(dict.fromkeys(names))
