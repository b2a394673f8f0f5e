"""Lines that a program's own modules, its hosts and its launcher print beside the framework's: no exception yet."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.outlets import ALL_SPEAK
from fixtures.generator import sdk, torchrun
from fixtures.generator.moment import MS, comma_stamp
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit


def told(stage: Stage, at: int, rank: int, module: str, text: str, level: str = "INFO") -> None:
    """A module of the program tells something on any rank, in the format that its script set for all of them."""
    job = stage.job
    job.say(at, rank, f"{comma_stamp(at, job.job.zone)} [rank{rank}] {level} {module}: {text}")


def speakers(stage: Stage) -> list[int]:
    """Ranks that print what all of them meet: each one, or in a large world the first of each host."""
    own = stage.job.job
    return list(range(0, own.world, 1 if own.world <= ALL_SPEAK else own.ranks_per_node))


def firsts(stage: Stage) -> list[int]:
    """The first rank of each host."""
    own = stage.job.job
    return list(range(0, own.world, own.ranks_per_node))


def all_raise(stage: Stage, at: int, *chain: sdk.Raised) -> int:
    """All ranks meet the same exception within some moments; when the last of them has."""
    draw, text, last = stage.draw.child("all raise"), sdk.traceback(*chain), at
    for rank in speakers(stage):
        then = at + draw.span(1, 160)
        stage.job.raise_on(then, rank, text)
        last = max(last, then)
    return last


def all_exit(stage: Stage, at: int) -> int:
    """On each host the first rank has exited, and its agent ends the others; when the job is over."""
    exits = [Exit(rank, at + (60 + turn) * MS, 1) for turn, rank in enumerate(firsts(stage))]
    return stage.job.agents_end(exits, at + 300 * MS)


def node_fails(stage: Stage, at: int, node: int, rank: int, code: int = 1) -> None:
    """A rank of a host has ended: its agent says so, ends the others and prints its table; SLURM has its word."""
    job, draw = stage.job, stage.draw.child("node fails", node)
    own, first = job.job, Exit(rank, at, code)
    others = [one for one in own.ranks_of(node) if one != rank]
    then = at + draw.span(80, 210)
    for one in others:
        job.agent(then, node, torchrun.closing(own, node, one, then))
        then += MS
    then += draw.span(40, 150)
    job.agent(then, node, torchrun.failed(own, node, first, then))
    job.agent(then + 3 * MS, node, torchrun.table(own, node, first, [Exit(one, then, -15) for one in others]))
    job.slurm(then + draw.span(20, 90), node, torchrun.srun_exit(own, node))
