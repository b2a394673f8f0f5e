"""What several kinds of everyday set-ups share: targets out for seconds, proxies that refuse, tries until they help.

The lines of tries, of the SDK and of daemons are as in recorded runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tries import moments
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.trainend import JobRun

#: The longest that the SDK's waits may be, one after the other, if all of them are to end before a node is removed.
WITHIN_KEEPALIVE = (1.4, 2.4, 4.2, 6.1, 5.9, 5.2)


@contextmanager
def aside(stage: Stage) -> Iterator[None]:
    """What is marked in here belongs to the kind and is not the cause of its failure."""
    is_scene = isinstance(stage, Scene)
    if is_scene:
        stage.is_noise = True  # type: ignore[attr-defined]
    yield
    if is_scene:
        stage.is_noise = False  # type: ignore[attr-defined]


def earlier_step(stage: Stage, before_s: float) -> int:
    """A step about so long before the fault, in which the culprit reads as well unless its turns are too rare."""
    every = max(1, stage.params.read_every)
    turns = max(1, round(before_s / stage.params.step_s / every))
    step = stage.step - turns * every
    return step if step >= every else max(2, stage.step - round(before_s / stage.params.step_s))


def goes_on_after(stage: Stage, step: int, over: int) -> None:
    """A step was late until `over`; the job trains on to the fault, which comes later by as much."""
    job = stage.job
    spent = over - job.step_at(step)
    job.delay(step, spent)
    stage.at += spent
    job.train(step, stage.step)
    stage.load(job, over + seconds(0.06), job.step_at(stage.step))


def refused_until(stage: Stage, at: int, until: int, ranks: Sequence[int], text: str, draw: Draw) -> int:
    """Requests of some ranks are refused and repeated by the SDK until somebody listens again; when all are through."""
    over = at
    for rank in ranks:
        then, turn = at + draw.span(2, 60), 0
        while then < until:
            left = (until - then) / SEC + draw.between(0.1, 1.9) if turn == 4 else 1.0
            wait = round(max(left, draw.between(1.0, min(30.0, 2.0**turn + 0.5))), 2)
            stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
            then, turn = then + seconds(wait) + draw.span(3, 9), turn + 1
        over = max(over, then)
    return over


def refused_by(stage: Stage, node: Node, path: str, draw: Draw) -> str:
    """Nobody listens at the public address of a node."""
    return sdk.pool_error(node.address, node.ports[0], path, sdk.refused(draw.whole(*HANDLES)))


def out_for_seconds(stage: Stage, died: int, draw: Draw) -> int:
    """The victim is killed and its container starts it again before anybody removes it; when it has joined."""
    cluster, victim = stage.cluster, stage.victim
    faults.kill(cluster, victim, died)
    back = stage.mark(died + draw.span(6_400, 7_600), f"{victim.name} is started again")
    faults.reconnects(cluster, victim, died, back - seconds(0.4), 1)
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    return joined


def tries_until_back(stage: Stage, run: JobRun, at: int, rank: int, joined: int, draw: Draw) -> int:
    """A rank of a job asks for its batch again until the victim is back, refused or short; when its batch is there."""
    most, beside = 6, f"10.9.251.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
    for turn, then in enumerate(moments(at, (1.0, 2.0, 3.0, 4.0, 5.0), draw)):
        if then > joined + seconds(0.2):
            return then + draw.span(60, 240)
        if turn in (0, 3):
            failed = chains.dead_designated(stage, then, stage.victim, rank)
        else:
            others = [one for one in stage.cluster.up(then) if one is not stage.victim]
            failed = chains.cut_off_stream(stage, then, draw.pick(others), stage.victim, rank, draw.whole(0, 6), 48)
        error = failed.error if run is stage.job else failed.error.replace(stage.client(rank), beside)
        run.note(then + seconds(0.006), rank, f"get-batch failed ({error}), retrying {turn + 1}/{most}", "W", 96)
    return joined + seconds(4)


def refused_in_the_background(stage: Stage, at: int, rank: int, text: str, until: int, draw: Draw) -> None:
    """A thread that reads ahead is refused at every try, until it gives up or the job is over."""
    for most in WITHIN_KEEPALIVE:
        wait = round(draw.between(1.0, most), 2)
        if at >= until:
            return
        stage.job.sdk_warning(at, rank, sdk.retrying(wait, "ConnectionError", text))
        at += seconds(wait) + draw.span(3, 9)
    if at < until:
        stage.job.sdk_warning(at, rank, "All retries exhausted; request failed", "ERROR")
