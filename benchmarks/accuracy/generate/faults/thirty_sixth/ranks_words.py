"""What hosts of a job tell beside it, and storage that crashes while something else ends the job."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while
from benchmarks.accuracy.generate.faults.words.tries import again, other_targets, removed_and_back
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage

#: What a kind with a crash of its own cannot have beside it.
CRASHES = ("restart_before", "kill_after", "rotation")
#: Where the devices of a host sit on its bus, and the ports of InfiniBand beside them.
BUSES = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
_NCCL = {204: "2.20.5", 205: "2.21.5", 207: "2.26.2", 208: "2.27.3", 209: "2.27.5", 211: "2.28.9", 213: "2.29.3"}


def nccl_version(stage: Stage) -> str:
    """The NCCL that the job's PyTorch was built with."""
    order = stage.job.job.torch.order
    return _NCCL[max((one for one in _NCCL if one <= order), default=204)]


def kernel(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of the kernel of a host, as a monitor there copies it into the log of the job."""
    own = stage.job.job
    stamp = f"{local(at, own.zone):%b %e %H:%M:%S}"
    stage.job.agent(at, node, f"node-monitor: {stamp} {own.hosts[node]} kernel: {text}")


def bus_of(stage: Stage, rank: int) -> str:
    """Where the device of a rank sits."""
    return BUSES[stage.job.job.local_rank(rank) % len(BUSES)]


def loud(stage: Stage, *noises: Callable[[Scene], None]) -> None:
    """What storage goes through meanwhile; nobody is kept from going on by it."""
    for noise in noises:
        beside(stage, noise)


def _asks_again(scene: Scene, died: int, joined: int, who: int, limit: int) -> None:
    """A rank meets a target that is away until it is back: refused there, or short for want of it, then served."""
    draw = scene.draw.child("asks again", who)
    began = then = died + draw.span(30, 1_900)
    turn = 0
    while then < min(joined, limit - 6 * MS) and turn < 4:
        if turn % 2:
            failed = chains.dead_designated(scene, then, scene.victim, who)
        else:
            designated = draw.pick(other_targets(scene, then))
            failed = chains.cut_off_stream(scene, then, designated, scene.victim, who, draw.whole(0, 7), 48)
        turn += 1
        again(scene, then + 6 * MS, who, failed, turn, 5)
        then += seconds(0.9 + turn) + draw.span(5, 40)
    served = max(then, joined + draw.span(900, 1_700))
    if served < limit:
        said = f"get-batch served after {turn + 1} attempts, {(served - began) / SEC:.1f} s"
        scene.job.note(served, who, said, "W", 99)


def crash_before(scene: Scene) -> None:
    """A target dies most of a minute before and is back within seconds; who asked it is served in the end."""
    draw = scene.draw.child("crash before")
    died = scene.at - draw.span(40_000, 50_000)
    if died < scene.job.begin + seconds(6):
        return
    scene.mark(died, f"kill -9 {scene.victim.name}")
    joined = killed_for_a_while(scene, died, (5_000, 7_500))
    for who in (*readers(scene)[: draw.whole(1, 3)], scene.culprit):
        _asks_again(scene, died, joined, who, scene.at - SEC)


def crash_just_now(scene: Scene) -> None:
    """A target dies seconds before, and ranks that ask it are at their second or third try as the job is ended."""
    draw = scene.draw.child("crash just now")
    died = scene.mark(scene.at - draw.span(5_000, 6_500), f"kill -9 {scene.victim.name}")
    joined = killed_for_a_while(scene, died, (7_500, 9_500))
    for who in readers(scene)[: draw.whole(2, 4)]:
        _asks_again(scene, died, joined, who, scene.at - 20 * MS)


def crash_in_the_wait(scene: Scene) -> None:
    """A target dies while all ranks wait already, is removed, and is back most of a minute later."""
    draw = scene.draw.child("crash in the wait")
    died = scene.mark(scene.at + draw.span(9_000, 15_000), f"kill -9 {scene.victim.name}")
    faults.kill(scene.cluster, scene.victim, died)
    removed_and_back(scene, died)
