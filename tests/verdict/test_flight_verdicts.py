"""What Flight Recorder dumps alone tell of hangs in jobs with several process groups: many simulated jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from scenes import read_in
from truths import failures_of

from fixtures.generator.worker.flight_dumps import EPOCH_NS, Group, Job, Op, straggler, write_dumps

HOUR_NS = 3_600_000_000_000
Groups = dict[str, Group]
Programs = dict[int, list[Op]]


@dataclass(frozen=True)
class Told:
    """What the report must say of a job: culprits, class; no failure where `is_quiet`."""

    culprits: tuple[int, ...] = ()
    failure_class: str = "undetermined"
    words: str = ""
    is_quiet: bool = False


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


def plain(**shape: Any) -> Callable[[Job, Path], Any]:
    """All dumps in one folder."""
    return lambda job, folder: write_dumps(job, folder, **shape)


def stragglers() -> Iterator[tuple[str, Job, Callable[[Job, Path], Any], Told]]:
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
    yield "finished", Job(*training(2, 2, 2)).run(), plain(), Told(is_quiet=True)


def deadlocks() -> Iterator[tuple[str, Job, Callable[[Job, Path], Any], Told]]:
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


CASES = {name: (job, write, told) for name, job, write, told in (*stragglers(), *deadlocks())}


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The failures of all jobs, by job."""
    folder = tmp_path_factory.mktemp("verdicts")
    for number, (name, (job, write, _)) in enumerate(CASES.items()):
        for done in job.entered.values():
            for one in done:
                one.at_ns += number * HOUR_NS + number
        write(job, folder / "jobs" / name)
    read_in(folder / "all.duckdb", folder / "jobs")
    found: dict[str, list[dict[str, Any]]] = {}
    for failure in failures_of(str(folder / "all.duckdb")):
        found.setdefault(failure["job_id"], []).append(failure)
    return found


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str, failures: dict[str, list[dict[str, Any]]]) -> None:
    """Dumps name the rank that kept the others waiting, or say why they cannot, and never accuse storage."""
    told = CASES[name][2]
    if told.is_quiet:
        assert name not in failures
        return
    (failure,) = failures[name]
    assert (failure["culprit_ranks"], failure["failure_class"]) == (list(told.culprits), told.failure_class)
    assert told.words in failure["statement"]
    assert failure["storage_verdict"] != "guilty"


def test_every_premise_names_its_place(failures: dict[str, list[dict[str, Any]]]) -> None:
    """Each premise of a verdict from dumps alone names a file and the record or the counters in it."""
    for found in failures.values():
        for failure in found:
            lines = failure["root_causes"][0]["supports"]
            assert lines != []
            assert all(line["path"] and line["locator"] for line in lines), failure


def test_a_rank_that_had_been_late(tmp_path: Path) -> None:
    """A rank that entered every collective later than the others before it stopped is said to have been late."""
    job = replace(straggler(stop=8), tick_ns=3_000_000_000, late_ns={2: 1_500_000_000}, entered={}).run()
    read_in(tmp_path / "late.duckdb", write_dumps(job, tmp_path / "job9"))
    (failure,) = failures_of(str(tmp_path / "late.duckdb"))
    assert failure["culprit_ranks"] == [2]
    assert "it had been late before, by 1.5 s" in failure["statement"]
    assert job.start_ns == EPOCH_NS
