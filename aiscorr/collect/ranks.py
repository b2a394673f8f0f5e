"""Finds the processes of a node that are ranks, whatever launched them, with the workers they have made.

Needs only the standard library: it is sent to the nodes as text.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace

from aiscorr.collect.processes import Process, Tree, dump_pipe

#: Variables that carry rank and world size; torchrun, deepspeed and accelerate set the first, then MPI, PMI and SLURM.
RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("LOCAL_RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_JOB_VARIABLES = ("SLURM_JOB_ID", "SLURM_JOBID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID")
_LAUNCHERS = re.compile(
    r"(?:^|/)(?:torchrun|accelerate|deepspeed|horovodrun|ray|mpirun|mpiexec|composer|colossalai|lightning|fabric)$|"
    r"^(?:torch\.distributed\.(?:run|launch|launcher)|deepspeed\.launcher\.\w+|accelerate\.commands\.\w+)$|"
    r"(?:torch/distributed/(?:run|launch)|deepspeed/launcher/\w+|accelerate/commands/\w+)\.py$"
)
_HELPERS = re.compile(r"resource_tracker|semaphore_tracker|compile_worker|wandb|py-spy|gpu_stat|tensorboard")
#: In the command line of the program that looks for ranks, so that it does not find itself.
OWN_MARK = "aiscorr_node"
#: Rank, where it is known from, world size.
_Named = tuple[int, str, "int | None"]


@dataclass(frozen=True)
class RankProcess:
    """A process that is a rank, its helpers (DataLoader workers first of all), and where its rank is known from."""

    process: Process
    rank: int | None
    rank_source: str
    world_size: int | None
    job_id: str | None
    children: tuple[Process, ...]


@dataclass
class Found:
    """The ranks of a node, and what was left out and why."""

    ranks: list[RankProcess] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    hidden_count: int = 0


def is_python(process: Process) -> bool:
    """Told by program, name or first word; PyTorch 2.5 on calls its processes pt_main_thread and pt_data_worker."""
    names = (os.path.basename(process.program), process.name, os.path.basename(process.command[0]))
    return any(name.startswith(("python", "pypy", "pt_main", "pt_data", "ray::")) for name in names)


def is_launcher(process: Process) -> bool:
    """The program or module of the command line is one that only starts ranks: `python -m torch.distributed.run …`."""
    return any(_LAUNCHERS.search(word) for word in _script(process.command))


def _script(command: tuple[str, ...]) -> tuple[str, ...]:
    """Program and script or module, without options and the script's arguments: `python -u -m a.b c` → python, a.b."""
    words = list(command[1:])
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)
        if option in ("-c", "-m", "-X", "-W"):
            if option == "-c":
                return command[:1]
            if option == "-m":
                break
            words = words[1:]
    return (*command[:1], *words[:1])


def _is_forked_helper(process: Process, parent: Process) -> bool:
    """A child that multiprocessing made: a fork has its parent's command line, others say what they are."""
    text = " ".join(process.command)
    return process.command == parent.command or "multiprocessing" in text or process.name.startswith("pt_data")


def rank_of(environment: dict[str, str]) -> tuple[int, str, int | None] | None:
    """Rank, the variable that says it, and the world size; Lightning's own launcher gives LOCAL_RANK and NODE_RANK."""
    for variable, world in RANK_VARIABLES:
        value, size = environment.get(variable, ""), environment.get(world, "")
        if variable == "LOCAL_RANK" and environment.get("NODE_RANK") != "0":
            continue
        if value.isdigit():
            return int(value), variable, int(size) if size.isdigit() else None
    return None


def job_of(environment: dict[str, str]) -> str | None:
    """The scheduler's job, else torchrun's run id unless it is the default `none`."""
    values = [environment[name] for name in _JOB_VARIABLES if environment.get(name)]
    return next((value for value in values if value != "none"), None)


def find_ranks(
    processes: dict[int, Process], proc: str = "/proc", *, job: str | None = None, roots: tuple[int, ...] = ()
) -> Found:
    """The ranks among the processes, of one job or below some process ids only, with their children."""
    tree, found = Tree(processes, proc), Found()
    pythons = _candidates(tree, roots, found)
    chosen = _by_environment(pythons, tree, found) or _by_gpu(pythons, tree) or _by_root(pythons, roots)
    chosen = _with_spawned(chosen, pythons, tree)
    chosen = _without_stale(_of_job(chosen, job, found), tree, found)
    pids, usable = {item.process.pid for item in chosen}, {process.pid for process in pythons}
    for item in chosen:
        below = tuple(child for child in tree.below(item.process.pid, pids) if child.pid in usable)
        found.ranks.append(replace(item, children=below))
    found.ranks.sort(key=lambda item: (item.rank is None, item.rank or 0, item.process.pid))
    return found


def _candidates(tree: Tree, roots: tuple[int, ...], found: Found) -> list[Process]:
    """Python processes that live, may be read and are no launchers, nor this program and what has started it."""
    own = {os.getpid()}
    if os.getpid() in tree.processes:
        own |= {item.pid for item in tree.ancestors(tree.processes[os.getpid()])}
    pythons = []
    for process in tree.processes.values():
        text = " ".join(process.command[:6])
        if not is_python(process) or process.pid in own or OWN_MARK in text:
            continue
        if roots and not {process.pid, *(item.pid for item in tree.ancestors(process))} & set(roots):
            continue
        if process.state in "ZX":
            found.skipped.append((process.pid, "has ended already"))
        elif _is_orphan(process, tree) and (process.name.startswith("pt_data") or "--multiprocessing-fork" in text):
            found.skipped.append((process.pid, "a worker whose trainer is gone"))
        elif is_launcher(process):
            found.skipped.append((process.pid, "launcher"))
        elif not process.is_readable:
            found.hidden_count += 1
        elif not _HELPERS.search(text):
            pythons.append(process)
    return pythons


def _by_environment(pythons: list[Process], tree: Tree, found: Found) -> list[RankProcess]:
    """The topmost process of each rank; above it, what has another rank or no torch is a wrapper."""
    named = {item.pid: rank for item in pythons if (rank := rank_of(item.environment)) is not None}
    _name_first_of_lightning(named, pythons, tree)
    wrappers: set[int] = set()
    children: set[int] = set()
    for process in pythons:
        rank = named.get(process.pid)
        parent = next((item for item in tree.ancestors(process) if item.pid in named), None)
        if rank is None or parent is None or _is_first_of_lightning(parent, rank, named):
            continue
        is_forked = _is_forked_helper(process, tree.processes.get(process.parent_pid, parent))
        above = named[parent.pid]
        is_other = rank[0] != above[0] or (not is_forked and rank[1] != above[1])
        if is_other or (not is_forked and tree.uses_torch(process) and not tree.uses_torch(parent)):
            wrappers.add(parent.pid)
        else:
            children.add(process.pid)
    found.skipped += [(pid, "wrapper of a rank") for pid in sorted(wrappers)]
    left_out = wrappers | children
    return [_rank_process(item, *named[item.pid]) for item in pythons if item.pid in named and item.pid not in left_out]


def _name_first_of_lightning(named: dict[int, _Named], pythons: list[Process], tree: Tree) -> None:
    """Lightning's script launcher makes ranks 1, 2, … of a node from a process that is rank 0 and has no LOCAL_RANK."""
    for process in pythons:
        parent = tree.processes.get(process.parent_pid)
        rank = named.get(process.pid)
        if rank is None or rank[1] != "LOCAL_RANK" or parent not in pythons or "LOCAL_RANK" in parent.environment:
            continue
        if _script(parent.command)[1:] == _script(process.command)[1:]:
            named[parent.pid] = (0, "LOCAL_RANK of its children", rank[2])


def _is_first_of_lightning(parent: Process, rank: _Named, named: dict[int, _Named]) -> bool:
    return named[parent.pid][1] == "LOCAL_RANK of its children" and rank[1] == "LOCAL_RANK"


def _rank_process(process: Process, rank: int | None, source: str, world_size: int | None = None) -> RankProcess:
    return RankProcess(process, rank, source, world_size, job_of(process.environment), ())


def _by_gpu(pythons: list[Process], tree: Tree) -> list[RankProcess]:
    """Where no environment names a rank: processes with a GPU or a pipe for dumps; a fork has those of its parent."""
    found = []
    for process in pythons:
        parent = tree.processes.get(process.parent_pid)
        if parent in pythons and process.command == parent.command:
            continue
        item = _by_files(process, tree)
        found += [item] if item else []
    return found


def _by_files(process: Process, tree: Tree) -> RankProcess | None:
    pipe = dump_pipe(process.pid, tree.proc)
    if pipe is not None:
        return _rank_process(process, pipe[1], "pipe")
    return _rank_process(process, None, "gpu") if tree.holds_gpu(process) else None


def _by_root(pythons: list[Process], roots: tuple[int, ...]) -> list[RankProcess]:
    """The processes asked for, when nothing tells that they are ranks."""
    return [_rank_process(process, None, "asked") for process in pythons if process.pid in roots]


def _with_spawned(chosen: list[RankProcess], pythons: list[Process], tree: Tree) -> list[RankProcess]:
    """mp.spawn sets RANK where /proc does not show it: a spawned child with a pipe or GPU is a rank of its own."""
    pids = {item.process.pid for item in chosen}
    extra = []
    for process in pythons:
        is_spawned = "spawn_main" in " ".join(process.command)
        if is_spawned and process.pid not in pids and {item.pid for item in tree.ancestors(process)} & pids:
            item = _by_files(process, tree)
            extra += [item] if item else []
    return chosen + extra


def _of_job(chosen: list[RankProcess], job: str | None, found: Found) -> list[RankProcess]:
    kept = []
    for item in chosen:
        if job is None or job in {item.process.environment.get(name) for name in _JOB_VARIABLES}:
            kept.append(item)
        else:
            found.skipped.append((item.process.pid, "belongs to another job"))
    return kept


def _without_stale(chosen: list[RankProcess], tree: Tree, found: Found) -> list[RankProcess]:
    """A process whose launcher is gone, while a younger one of the same rank and job has its own, is left over."""
    kept = []
    for item in chosen:
        process = item.process
        is_left_over = _is_orphan(process, tree) and any(
            other.rank == item.rank is not None
            and other.job_id == item.job_id
            and other.process.started_s >= process.started_s
            and not _is_orphan(other.process, tree)
            for other in chosen
        )
        if is_left_over:
            found.skipped.append((process.pid, f"left over from an earlier start of rank {item.rank}"))
        else:
            kept.append(item)
    return kept


def _is_orphan(process: Process, tree: Tree) -> bool:
    """Its parent is init, or nobody that can be seen."""
    return process.parent_pid <= 1 or process.parent_pid not in tree.processes
