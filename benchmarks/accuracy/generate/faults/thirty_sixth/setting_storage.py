"""Guilty storage in awkward set-ups: clocks apart, two jobs at once, a restart before it, tasks of plain srun.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, refused_get
from benchmarks.accuracy.generate.faults.words.setups import in_a_collective, with_stacks, without_torchrun
from benchmarks.accuracy.generate.faults.words.tries import again, moments, other_targets, removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisstandstills, aisunplugged, chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_sixth")
ALSO = ("data_loading_stall", "network", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before", "tenant_errors")


def _tries_until_gone(
    stage: Stage, spent_s: float, gone: int, waits: Sequence[float], name: str, text: str, slack: int
) -> None:
    """The culprit asks for an object again until its target has left the map; then another one has never had it."""
    job, rank, begin, over = stage.job, stage.culprit, stage.at + slack, over_at(stage) - SEC
    for wait in waits:
        then = begin + seconds(spent_s)
        if begin > gone or then > over:
            break
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        begin = then + seconds(wait) + 4 * MS
    if gone < begin < over:
        heir = stage.other_target(stage.victim, stage.draw.child("heir").whole(0, 50))
        missing = aisstandstills.not_here(stage.cluster, heir, begin + 3 * MS, name)
        error = refused_get(stage, begin, rank, heir, name, (404, "Not Found"), missing)
        job.raise_on(begin + 9 * MS, rank, error)


@kind(reads=True, ais_order=450, lead_s=58.0, without=NOISE)
def clocks_of_the_cluster_are_a_minute_off(stage: Stage) -> Scenario:
    """A target is killed; all storage hosts have lost their time server and agree on a wrong time (recorded 10 and 15).

    To convict: the last error of the rank carries a request id that one line of its proxy has too, which tells how far
    the clocks are apart; both name one target. Shifted by that, its log breaks off and peers lose their streams to it
    as the first try of the rank falls short, and the primary removes it half a minute after.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("minute off")
    stage.open()
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    most = draw.whole(3, 5)
    tries = list(moments(at, (1.0, 2.0, 3.0, 4.0)[: most - 1], draw))
    for turn, then in enumerate(tries, 1):
        if turn == most or (turn > 1 and draw.chance(0.3)):
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            designated = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, designated, victim, rank, draw.whole(0, 6), 48)
        if turn < most:
            again(stage, then + 6 * MS, rank, failed, turn, most)
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    ahead = round(draw.between(31, 82) * 1e9) * draw.pick((1, -1))
    for node in cluster.nodes:
        cluster.skews[node.node_id] = ahead
    return stage.close(
        "Its pod was over its limit of memory. The time server of the storage network had been taken away in spring.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=66.0, without=(*NOISE, "second_job"))
def killed_target_ends_one_of_two_jobs(stage: Stage) -> Scenario:
    """Two jobs read from one cluster; a killed target ends that which has no second try (recorded 02; aistore, ha).

    To convict: a rank of this job is refused at one target, by the error and by a line of its proxy with the same id;
    that target's log breaks off just before. The other job has its short batches in the same seconds, tries again,
    and comes to its orderly end: it shows that the fault was not of one host.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("one of two")
    params = replace(stage.params, ranks=4, ranks_per_node=4, layout="slurm", style="nemo")
    other = stage.new_job("small", params, stage.job.begin + seconds(5))
    stage.open()
    died = stage.mark(at - draw.span(12, 60), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    failed = chains.dead_designated(stage, at, victim, rank)
    stage.job.raise_on(at + 6 * MS, rank, failed.traceback)
    step = max(2, (at - other.begin) // seconds(params.step_s) + 1)
    struck, begin = draw.whole(0, 3), other.step_at(step) + 30 * MS
    then = begin
    for turn in range(1, draw.whole(2, 3) + 1):
        designated = draw.pick(other_targets(stage, then))
        short = chains.cut_off_stream(stage, then, designated, victim, struck, draw.whole(0, 5), 48)
        other.note(then + 6 * MS, struck, f"get-batch failed ({short.error}), retrying {turn}/5", "W", 96)
        then += seconds(float(turn)) + draw.span(4, 14)
    other.delay(step, then - begin)
    last = step + round(draw.between(50, 80) / params.step_s)
    other.start()
    other.train(0, last, save_every=10_000)
    other.finish(last)
    removed_and_back(stage, died)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "The small job runs the next release of the loader, which asks for a batch again.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        (*ALIVE, "what the small job reads next needs nothing of the killed target"),
        until=max(died + seconds(100), other.step_at(last)),
    )


@kind(reads=True, lead_s=128.0, targets=4, without=NOISE)
def target_stands_still_long_after_another_restarted(stage: Stage) -> Scenario:
    """A target is restarted for its upkeep and is well again; a minute later another is stopped (recorded 03).

    To convict: each try of the rank times out at the address of one target, the second one: it writes nothing, the
    primary's keepalive runs into its deadline and removes it. The restart was orderly, was over when this began, and
    cost nobody more than a batch that was asked for again.
    """
    cluster, victim, rank, at, job = stage.cluster, stage.victim, stage.culprit, stage.at, stage.job
    draw = stage.draw.child("long after")
    twin = draw.pick([one for one in cluster.targets if one is not victim])
    well = [one for one in cluster.targets if one not in (victim, twin)]
    stage.open()
    down = stage.mark(job.begin + draw.span(9_000, 15_000), f"SIGTERM {twin.name}, for its upkeep")
    faults.terminate(cluster, twin, down)
    for turn, one in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then = down + draw.span(300, 2_500)
        helper = well[turn % len(well)]
        missed = chains.missing_entry(stage, then, helper, helper, utterance(draw), draw.whole(3, 8))
        job.note(then + 8 * MS, one, f"get-batch failed ({missed.error}), retrying 1/5", "W", 96)
    joined = faults.start_again(cluster, twin, down + draw.span(7_000, 11_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(twin))
    stopped = stage.mark(at - draw.span(10, 40), f"SIGSTOP {victim.name}")
    until = over_at(stage) + seconds(32)
    faults.stop(cluster, victim, stopped, until)
    gone = faults.leave_smap(cluster, victim, stopped, hung=True)
    name = utterance(draw)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    waits = [round(draw.between(1.0, most), 2) for most in (1.4, 2.4, 4.2, 8.3)]
    _tries_until_gone(stage, 20.02, gone, waits, name, text, 4 * MS)
    stage.hang(at + 340 * MS, rank)
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "Its virtual machine was paused for a snapshot, which took longer than it ever had.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        ALIVE,
        until=back + seconds(5),
    )


@kind(reads=True, slurm=True, lead_s=60.0, without=NOISE)
def task_of_srun_cannot_connect_to_a_target(stage: Stage) -> Scenario:
    """A storage host loses its link; the job is started by srun alone, a file a rank, py-spy beside (urllib3, Slurm).

    To convict: the file of one rank has warnings, each a connect time-out to one target, and its stack stands in the
    pause between two tries of a GET, where all others wait for their devices. The primary cannot reach that target,
    which tells the same of the primary, and removes it; peers dial it in vain. srun names whoever aborts first.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("task"), stage.job.job.build["site"]
    stage.open()
    cut = stage.mark(at - draw.span(10, 60), f"the link of {victim.name} is down")
    back = over_at(stage) + draw.span(20_000, 40_000)
    gone = aisunplugged.unplugged(cluster, victim, cut, back, draw.child("cut"))
    name = utterance(draw)
    cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    waits = [round(draw.between(most * 0.7, most), 2) for most in (1.4, 2.4, 4.4, 8.4, 16.4, 30.0)]
    _tries_until_gone(stage, 3.01, gone, waits, name, text, 4 * MS)
    stage.hang(at + 340 * MS, rank)
    without_torchrun(stage)
    pause = (
        ("sleep", f"{site}/tenacity/nap.py", 31),
        ("__call__", f"{site}/tenacity/__init__.py", 487),
        ("with_retry", f"{site}/aistore/sdk/retry_manager.py", 71),
        ("request", f"{site}/aistore/sdk/request_client.py", 231),
        ("get", f"{site}/aistore/sdk/obj/object_client.py", 184),
        ("read_all", f"{site}/aistore/sdk/obj/object_reader.py", 96),
        ("fetch", stage.job.job.script, 77),
        ("next_batch", stage.job.job.script, 94),
    )
    stacks: dict[int, tuple[Thread, ...]] = {one: in_a_collective(stage) for one in readers(stage)[:7]}
    stacks[rank] = (main_thread(stage, *pause),)
    made = stage.close(
        "A switch port was reset by somebody who took it for another one.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=back + seconds(60),
    )
    return with_stacks(stage, made, stacks)
