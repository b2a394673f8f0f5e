"""A job that is over before its first step: ranks that have greeted, hosts that are ended for the fault of one."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words import launchers
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import sdk, torchrun
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage


def are_there(stage: Stage, at: int) -> None:
    """Agents have begun and all ranks have greeted some moments before `at`; nobody has trained."""
    job, draw = stage.job, stage.draw.child("are there")
    launchers.banners(stage, at - seconds(5.6))
    for rank in draw.shuffled(range(job.job.world)):
        job.greet(at - seconds(2.2) + draw.span(0, 350), rank)


def others_go_with(stage: Stage, at: int, failed: int, have_ranks: bool = True) -> None:
    """A host has failed, and SLURM ends the agents of the rest some moments later; they may have no ranks yet."""
    job, draw = stage.job, stage.draw.child("others go with")
    for node in range(len(job.job.hosts)):
        if node != failed:
            then = at + draw.span(10, 180)
            said = torchrun.death_signal(job.job, node, then)
            for text in said if have_ranks else (said[0], said[-1]):
                job.agent(then, node, text)
            job.slurm(then + draw.span(240, 520), node, torchrun.srun_exit(job.job, node))
    job.ended_at = at + SEC


def agent_fails(stage: Stage, at: int, node: int, *frames: sdk.Frame, text: str) -> None:
    """An agent ends with an exception before it has started a single rank."""
    job, own = stage.job, stage.job.job
    outer = (
        sdk.Frame(f"{own.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(f"{own.build['site']}/torch/distributed/run.py", 1028, "main", "run(args)"),
    )
    job.agent(at, node, sdk.traceback(sdk.Raised((*outer, *frames), text)))
    if isinstance(stage, Scene):
        stage.raised.append(text.split("\n")[-1])
    job.slurm(at + 420 * MS, node, torchrun.srun_exit(own, node))
