"""Simulated jobs that hang, the Flight Recorder dumps they leave, and what the dumps alone must tell."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fixtures.generator.worker.flight_dumps import Group, Job, Op, straggler, write_dumps

Groups = dict[str, Group]
Programs = dict[int, list[Op]]
Writer = Callable[[Job, Path], Any]


@dataclass(frozen=True)
class Told:
    """What the report must say of a job: culprits, class, what it lacked; no failure where `is_quiet`."""

    culprits: tuple[int, ...] = ()
    failure_class: str = "undetermined"
    words: str = ""
    blind: str = ""
    is_quiet: bool = False


Case = tuple[str, Job, Writer, Told]


def named(kind: str, ranks: tuple[int, ...], is_hashed: bool, count: int) -> str:
    """A group's name: its number, or a hash of its members as custom groups of PyTorch have it."""
    return hashlib.sha1(f"{kind}{ranks}".encode(), usedforsecurity=False).hexdigest() if is_hashed else str(count)


def training(tensor: int, pipe: int, data: int, *, is_hashed: bool = False) -> tuple[Groups, Programs]:
    """Two steps of a job with tensor, pipeline and data parallel groups: forward, backward, reduction, a barrier."""
    world, stage = tensor * pipe * data, tensor * data
    groups: Groups = {"0": Group("default_pg", tuple(range(world)))}
    mine: dict[tuple[int, str], str] = {}

    def add(kind: str, ranks: tuple[int, ...]) -> None:
        name = named(kind, ranks, is_hashed, len(groups))
        groups[name] = Group("" if is_hashed else f"{kind}_PARALLEL_GROUP", ranks)
        mine.update({(rank, kind): name for rank in ranks})

    for first in range(0, world, tensor):
        add("TENSOR", tuple(range(first, first + tensor)))
    for rank in range(world):
        if rank % stage < tensor:
            add("DATA", tuple(range(rank, rank - rank % stage + stage, tensor)))
        if rank < stage:
            add("PIPELINE", tuple(range(rank, world, stage)))
    return groups, {rank: 2 * step(rank, stage, pipe, mine) for rank in range(world)}


def step(rank: int, stage: int, pipe: int, mine: dict[tuple[int, str], str]) -> list[Op]:
    """What a rank calls in one step."""
    place, (tensor, data, line) = rank // stage, (mine[rank, kind] for kind in ("TENSOR", "DATA", "PIPELINE"))
    before, after = place > 0, place < pipe - 1
    forward = [Op(line, "recv", peer=rank - stage)] * before + [Op(tensor)] * 2
    forward += [Op(line, "send", peer=rank + stage)] * after
    backward = [Op(line, "recv", peer=rank + stage)] * after + [Op(tensor)] * 2
    backward += [Op(line, "send", peer=rank - stage)] * before
    return [
        *forward * 2,
        *backward * 2,
        Op(data, "_reduce_scatter_base"),
        Op(data, "_allgather_base"),
        Op("0", size=(1,)),
    ]


def four(programs: dict[int, list[str]], groups: Groups | None = None) -> Job:
    """A job of four ranks (or as many as have programs) that call groups in the order given."""
    everyone = tuple(programs)
    known = groups or {name: Group(f"group {name}", everyone) for name in ("0", "1", "2")}
    return Job(known, {rank: [Op(name) for name in names] for rank, names in programs.items()}, ahead=0).run()


class Stuck(Job):
    """A job in which nobody finishes collectives of group 2 from number 5 on."""

    def _may_finish(self, rank: int, one: Any) -> bool:
        return not (one.op.group == "2" and one.seq >= 5) and super()._may_finish(rank, one)


def halves(job: Job, folder: Path) -> None:
    """Dumps in a folder for each host of two ranks."""
    for host in range(2):
        write_dumps(job, folder / f"host{host}", without=tuple(rank for rank in job.programs if rank // 2 != host))


def versions(job: Job, folder: Path) -> None:
    """Dumps of four releases."""
    for rank, version in enumerate(("2.4", "2.9", "2.10", "2.1")):
        write_dumps(job, folder, version=version, without=tuple(one for one in job.programs if one != rank))


def plain(**shape: Any) -> Writer:
    """All dumps in one folder."""
    return lambda job, folder: write_dumps(job, folder, **shape)


def shifted(job: Job, by_ns: int) -> Job:
    """The same job at another time, in place."""
    for done in job.entered.values():
        for one in done:
            one.at_ns += by_ns
    return job


def while_it_runs(job: Job, folder: Path) -> None:
    """Dumps written within a moment of the last call."""
    moment = max(one.at_ns for done in job.entered.values() for one in done) + 1_500_000_000
    for path in write_dumps(job, folder).iterdir():
        os.utime(path, ns=(moment, moment))


def one_of_an_earlier_run(job: Job, folder: Path) -> None:
    """The dump of rank 2 is of a run a quarter of an hour before."""
    write_dumps(job, folder, without=(2,))
    others = tuple(rank for rank in job.programs if rank != 2)
    write_dumps(shifted(copy.deepcopy(job), -900_000_000_000), folder, without=others)


def twice(job: Job, folder: Path) -> None:
    """Each dump as a pickle and as JSON."""
    write_dumps(job, folder / "fr")
    write_dumps(job, folder / "fr_json", lambda rank: f"trace_rank_{rank}.json", is_json=True)


def named_as(name: str, *, ahead: int = 0) -> Writer:
    """Dumps of four ranks with other names."""
    return lambda job, folder: write_dumps(job, folder, lambda rank: name.format((rank + ahead) % 4))


def stragglers() -> Iterator[Case]:
    """Ranks that stop before each kind of operation, in jobs of several shapes, with several releases' dumps."""
    stops = [
        ((2, 2, 2), 5, 3, 4, {}), ((2, 2, 2), 0, 2, 0, {"version": "2.4"}), ((2, 2, 2), 7, 13, 1, {"version": "2.9"}),
        ((1, 4, 1), 1, 4, 0, {}), ((1, 4, 1), 3, 16, 2, {"only_active": True}), ((4, 2, 1), 2, 6, 1, {}),
        ((2, 4, 2), 11, 19, 4, {}), ((2, 4, 2), 13, 2, 4, {"version": "2.1"}), ((2, 1, 4), 6, 9, 2, {"is_json": True}),
    ]  # fmt: skip
    for number, (shape, rank, stop, ahead, form) in enumerate(stops):
        job = Job(*training(*shape), stops={rank: stop}, ahead=ahead).run()
        yield f"straggler_{number}", job, plain(**form), Told((rank,))
    for only_active in (False, True):
        job = Job(*training(2, 2, 2, is_hashed=True), stops={5: 9}, ahead=1).run()
        yield f"hashed_names_{only_active}", job, plain(only_active=only_active, version="2.4"), Told((5,))
    job = Job(*training(2, 2, 2), stops={2: 5, 5: 5}, ahead=0).run()
    yield "two_stragglers", job, plain(), Told((2, 5))
    job = Job(*training(2, 2, 2), stops={5: 7}, ahead=1).run()
    words = "is among those without a dump: 5"
    yield "culprit_without_dump", job, plain(without=(5,)), Told((), words=words)
    job = Job(*training(2, 2, 2), stops={5: 7}, ahead=1).run()
    yield "innocent_without_dump", job, plain(without=(0,)), Told((5,))
    yield "host_folders", straggler(), halves, Told((2,))
    yield "mixed_releases", straggler(), versions, Told((2,))
    job = replace(straggler(stop=8), tick_ns=3_000_000_000, late_ns={2: 1_500_000_000}, entered={}).run()
    yield "had_been_late", job, plain(), Told((2,), words="it had been late before, by 1.5 s")
    yield "finished", Job(*training(2, 2, 2)).run(), plain(), Told(is_quiet=True)


def deadlocks() -> Iterator[Case]:
    """Ranks that wait for each other, call what others do not, or stand together."""
    pairs = {"0": (0, 1, 2), "1": (0, 1), "2": (1, 2), "3": (0, 2)}
    groups = {name: Group("part", ranks) for name, ranks in pairs.items()}
    job = four({0: ["0", "1", "3"], 1: ["0", "2", "1"], 2: ["0", "3", "2"]}, groups)
    words = "circle: ranks 0 in 1(part) for 1; ranks 1 in 2(part) for 2; ranks 2 in 3(part) for 0"
    yield "circle_of_three", job, plain(), Told((), "collective_mismatch", words)
    usual, other = ["0", "1", "2", "0"], ["0", "2", "1", "0"]
    job = four({0: other, 1: usual, 2: usual, 3: usual})
    yield "one_in_other_order", job, plain(), Told((0,), "collective_mismatch", "in another order")
    job = four({0: usual, 1: usual, 2: other, 3: other})
    words = "anks 0, 1 entered process group 1 before 2, ranks 2, 3 the other way round"
    yield "half_in_other_order", job, plain(), Told((), "collective_mismatch", words)
    job = Job({"0": Group("pg", (0, 1, 2, 3))}, {rank: [Op("0")] * (7 if rank == 0 else 6) for rank in range(4)}).run()
    yield "extra_call_of_rank_0", job, plain(), Told((0,), "collective_mismatch", "ahead of all others")
    root = {rank: [Op("0"), Op("0", "broadcast"), Op("0")] for rank in range(4)}
    job = Job({"0": Group("pg", (0, 1, 2, 3))}, root, stops={2: 1}, ahead=1).run()
    yield "broadcast_lacks_a_leaf", job, plain(), Told((2,))
    job = Stuck(*training(2, 1, 2), ahead=1).run()
    yield "fabric_of_one_group", job, plain(), Told((), "gpu_fabric", "All 2 ranks entered")


def odd_dumps() -> Iterator[Case]:
    """One group of four ranks: dumps of other releases, names and times, some missing, some double."""
    for version in ("list", "2.10"):
        yield f"release_{version}", straggler(), plain(version=version), Told((2,))
    yield "release_2.4_as_json", straggler(), plain(version="2.4", is_json=True), Told((2,))
    yield "only_active_without_stacks", straggler(), plain(only_active=True, frames=False), Told((2,))
    same = straggler(6)
    same.stops[4] = same.stops[2]
    yield "two_of_the_same_bytes", same.run(), plain(only_active=True), Told((2, 4))
    yield "finished_alone", straggler(stop=100), plain(), Told(is_quiet=True)
    yield "still_running", straggler(), while_it_runs, Told(is_quiet=True)
    lacks = "the Flight Recorder dump of rank 2"
    yield "one_missing", straggler(), plain(without=(2,)), Told((), blind=lacks)
    yield "earlier_run", straggler(), one_of_an_earlier_run, Told(())
    yield "pickle_and_json", straggler(), twice, Told((2,))
    names = ("nccl_trace_rank_{}", "job71_node4_nccl_trace_rank_{}", "mydump_{}", "hccl_trace_rank_{}.json")
    for number, name in enumerate((*names, "fr_rank_{}.n3")):
        yield f"name_{number}", straggler(), named_as(name), Told((2,))
    groups = {"0": Group("default_pg", (0, 1, 2, 3)), "1": Group("tp", (0, 1)), "2": Group("tp", (2, 3))}
    groups |= {"3": Group("dp", (0, 2)), "4": Group("dp", (1, 3))}
    job = Job(groups, {rank: [Op("0") for _ in range(6)] for rank in range(4)}, stops={1: 4}).run()
    yield "wrong_rank_in_the_name", job, named_as("nccl_trace_rank_{}", ahead=1), Told((1,))


def other_calls() -> Iterator[Case]:
    """One group of four ranks in which some call another operation or size."""
    everyone = {"0": Group("default_pg", (0, 1, 2, 3))}
    changes: dict[int, dict[str, Any]] = {0: {"name": "broadcast"}, 3: {"size": (5, 4)}}
    for rank, change in changes.items():
        programs = {one: [Op("0") for _ in range(8)] for one in range(4)}
        programs[rank][5] = replace(programs[rank][5], **change)
        yield f"other_call_of_{rank}", Job(everyone, programs).run(), plain(), Told((rank,), "collective_mismatch")
    programs = {one: [Op("0", size=(4, 4 + one % 2))] for one in range(4)}
    yield "two_sides_of_one_size", Job(everyone, programs).run(), plain(), Told((), "collective_mismatch")
    programs = {one: [Op("0", "all_to_all", (one + 1,)), Op("0")] for one in range(4)}
    yield "uneven_all_to_all", Job(everyone, programs).run(), plain(), Told((), "gpu_fabric")
    programs = {rank: [Op("0"), Op("1"), Op("0")] for rank in range(4)} | {1: [Op("1"), Op("0"), Op("0")]}
    job = Job(everyone | {"1": Group("extra", (0, 1, 2, 3))}, programs, ahead=0).run()
    yield "two_groups_in_other_order", job, plain(), Told((1,), "collective_mismatch")


def held_up() -> Iterator[Case]:
    """Rank 2 stops in a job with tensor, pipeline and data parallel groups: it is named, not who it held up."""
    for ahead in (0, 2):
        groups, _ = training(2, 2, 2)
        programs: Programs = {}
        for rank in range(8):
            tensor, data, line = (
                next(name for name, one in groups.items() if rank in one.ranks and one.description.startswith(kind))
                for kind in ("TENSOR", "DATA", "PIPELINE")
            )
            passed = Op(line, "send" if rank < 4 else "recv", peer=(rank + 4) % 8)
            programs[rank] = 3 * [Op(tensor), passed, Op(tensor), Op(data), Op("0")]
        yield f"held_up_{ahead}", Job(groups, programs, stops={2: 7}, ahead=ahead).run(), plain(), Told((2,))


#: Every job: its name, the job that ran, how its dumps are written, and what must be said of it.
CASES = {case[0]: case[1:] for of in (stragglers, deadlocks, odd_dumps, other_calls, held_up) for case in of()}
