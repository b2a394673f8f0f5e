"""Turns that several kinds of faults take: a target that comes back, ranks that see reads fail, slow or for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import resumed, resumed_too_often
from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Expect, Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

#: Noise that a kind with a restart of its own cannot have beside it.
RESTARTS = ("restart_before", "kill_after", "rotation")


def comes_back(stage: Stage, at: int, why: str) -> int:
    """The victim is stopped in an orderly way and starts again some seconds later; when it has joined."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("comes back")
    stage.mark(at, f"SIGTERM {victim.name}, {why}")
    faults.terminate(cluster, victim, at)
    joined = faults.start_again(cluster, victim, at + draw.span(7_000, 11_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    return joined


def others_fail(
    stage: Stage, since: int, after_s: tuple[float, ...], draw: Draw, fails: Callable[[int, str], str]
) -> None:
    """Ranks beside the culprit meet the same and go on without the sample; `fails` writes the target's side."""
    for other, after in zip(readers(stage), after_s, strict=False):
        name, then = utterance(draw), max(since + 200 * MS, stage.at + seconds(after)) + draw.span(1, 700)
        stage.job.note(then + 5 * MS, other, f"{name} skipped: {fails(then, name)}", "W", 86)


def others_wait(stage: Stage, nodes: list[Node], draw: Draw) -> None:
    """Ranks beside the culprit wait long for what they read of these targets; some of them are too impatient."""
    for turn, other in enumerate(readers(stage)[:5]):
        node, late = draw.pick(nodes), stage.at - seconds(7) + seconds(7.5 * turn) + draw.span(1, 900)
        if turn and late > stage.at + seconds(2):
            cause = sdk.read_timeout(node.address, node.ports[0])
            text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, utterance(draw)), cause)
            wait = round(draw.between(1.0, 1.5), 2)
            stage.job.sdk_warning(late, other, sdk.retrying(wait, "ConnectionError", text))
        else:
            url = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
            stage.job.note(late, other, f"slow read: {draw.between(7, 19):.1f} s for {url}", "W", 80)


def over_at(stage: Stage) -> int:
    """When the watchdog ends the job that hangs since the fault."""
    return stage.at + stage.params.timeout_s * SEC


def in_vain(stage: Stage, node: Node, over: int, resumes: float = 0.35) -> None:
    """The culprit waits for what it reads of a target until the job is over or its client has enough."""
    rank, draw = stage.culprit, stage.draw.child("in vain")
    if draw.chance(resumes):
        then = resumed(stage, rank, node, f"shards/train-{draw.whole(0, 4095):06d}.tar", over - SEC, 5, draw)
        if then < over - SEC:
            resumed_too_often(stage, then, rank)
        return
    cause = sdk.read_timeout(node.address, node.ports[0])
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, utterance(draw)), cause)
    then = retries(stage, stage.at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))


def saved_in_vain(stage: Stage, draw: Draw, every_s: float) -> None:
    """Rank 0 writes a checkpoint to the victim, which does not answer, until job or client give up."""
    victim, at, over = stage.victim, stage.at, over_at(stage)
    name = f"{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(at - 60 * MS, 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    path = f"/v1/objects/checkpoints/{name}?provider=ais&pid={stage.proxy_of(0).node_id}"
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    then = retries(stage, at, 0, draw, every_s, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, 0, text, "ConnectionError", saving_frames(stage)[1:])


def of_all(expect: Expect) -> Expect:
    """The same, where it is the cluster and none of its nodes."""
    return replace(expect, ais_nodes=None)
