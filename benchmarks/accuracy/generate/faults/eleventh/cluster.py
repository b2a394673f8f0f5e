"""Storage faults of the eleventh part: a cluster that changes its members, moves its objects or fills its disks."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import msc_missing
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    refused_get,
    retries,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, others_fail
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn as churn
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aisstrain as strain
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "eleventh")


@kind(reads=True, lead_s=90.0, without=RESTARTS)
def crashes_in_rebalance(stage: Stage) -> Scenario:
    """A rebalance is begun anew before it is done, and a target does not outlive that (NVIDIA/aistore issue 317)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("renewed")
    stage.open()
    began = at - draw.span(14_000, 22_000)
    first = churn.rebalance_begins(cluster, began, draw.child("first"))
    cluster.start_batches(began + seconds(6.2), stage.other_target(victim))
    again = at - seconds(2) - draw.span(20, 90)
    died = at - draw.span(10, 40)
    failed = chains.cut_off_stream(stage, at, stage.other_target(victim), victim, rank, draw.whole(0, 9), 48)
    churn.rebalance_aborted(cluster, began, again + seconds(1.66), first, "renewed", draw)
    second = churn.rebalance_begins(cluster, again, draw.child("second"), older=first)
    stage.mark(died, f"{victim.name} dereferences what the older rebalance has closed and dies")
    faults.kill(cluster, victim, died)
    stage.job.raise_on(at + 9 * MS, rank, failed.traceback)
    faults.reconnects(cluster, victim, at, at + seconds(7), 2)
    back = stage.mark(died + draw.span(8_100, 12_400), f"{victim.name} is started again")
    why = f"stream-broken: ack.reb[{stage.other_target(victim).node_id}=>{victim.node_id}] terminated"
    churn.rebalance_aborted(cluster, again, died + 2 * SEC, second, why, draw)
    faults.start_again(cluster, victim, back)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "An operator was not sure whether the first command had taken effect. What a panic says is on stderr.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True, lead_s=110.0, without=(*RESTARTS, "kalive_hiccup"))
def health_checks_starved(stage: Stage) -> Scenario:
    """Cold reads and jobs on its host leave a target no time for health checks: removed (NVIDIA/aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("starved")
    stage.open()
    began = stage.mark(at - draw.span(84_000, 97_000), f"{victim.name} has used up its quota of processors")
    late = at - draw.span(43_000, 48_000)
    churn.starved(cluster, victim, began, late, draw)
    gone = faults.leave_smap(cluster, victim, late, hung=True)
    since = max(gone, at - 5 * SEC)

    def fails(then: int, name: str) -> str:
        return aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 99)), then, name)

    others_fail(stage, since, (-2.9, -0.8, 1.2, 2.7), draw, fails)
    name, owner = utterance(draw), stage.other_target(victim, draw.whole(0, 99))
    then = max(at, gone + 300 * MS)
    text = aisobjects.not_there(cluster, owner, then, name)
    msc_missing(stage, then + 6 * MS, rank, owner, name, text)
    stage.hang(then + 340 * MS, rank)
    back = faults.resume(cluster, victim, then + draw.span(8_000, 19_000))
    return stage.close(
        "Storage shares its hosts with training and has what is left; a prefetch of a large source runs all day.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "network", "infrastructure")),),
        until=back + seconds(5),
    )


@kind(reads=True, uptime=True, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup", "second_job"))
def rebalance_jammed(stage: Stage) -> Scenario:
    """A rebalance was aborted and none can begin since: what moved stays where it is (NVIDIA/aistore issue 288)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("jammed")
    cluster.rebalances = draw.whole(3, 280)
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    began = opened + draw.span(11_000, 40_000)
    older = churn.rebalance_begins(cluster, began, draw.child("older"))
    aborted = began + draw.span(31_000, 70_000)
    churn.rebalance_aborted(cluster, began, aborted, older, "IC(notifications) abort", draw)
    faults.terminate(cluster, victim, aborted + draw.span(40_000, 80_000))
    stage.open()
    up = stage.mark(at - draw.span(21_000, 39_000), f"{victim.name} is back, and no rebalance can begin")
    joined = churn.returns(cluster, victim, up, draw)
    churn.rebalance_refused(cluster, joined + MS, victim, draw)

    def fails(then: int, name: str) -> str:
        return aisobjects.not_there(cluster, victim, then, name)

    others_fail(stage, joined + 4 * SEC, (-6.4, -3.5, -1.1, 0.9, 2.2), draw, fails)
    name = utterance(draw)
    text = aisobjects.not_there(cluster, victim, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "What was written while a target was in repair lies elsewhere; its return was to bring that back.",
        (of_all(stage.guilty("storage_io", victim, also=("data", "data_loading_stall"))),),
    )


def _listed(stage: Stage, at: int, everything: int, missing: int, draw: Draw) -> None:
    """Rank 0 lists the bucket and asks for some samples that are not in the list: they are there."""
    cluster, job = stage.cluster, stage.job
    for node in cluster.up(at):
        listing = f"list[{draw.child('list').token(9)}]"
        cluster.last_process(node).jobs.append((job.begin + 700 * MS, at, listing))
        cluster.count(node, at, lst_n=everything // 1_000)
    cluster.count(stage.proxy_of(0), at, lst_n=everything // 1_000)
    said = f"manifest of ais://{stage.bucket} has {everything} samples, listed {everything - missing} in "
    job.note(at, 0, f"{said}{everything // 1_000 + 1} pages without an error", "W", 61, "inventory")
    for turn in range(3):
        name, owner = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac", draw.pick(cluster.targets)
        got = f"not listed: {name}, GET {owner.url(0)}: 200, {draw.whole(9_000, 31_000)} bytes"
        job.note(at + seconds(0.4 * turn + 0.3), 0, got, "W", 70, "inventory")
        cluster.count(owner, at + SEC, get_n=1, get_ns_total=draw.span(2, 30), get_size=16_000)


@kind(trains=False, hangs=False, uptime=True, culprit=0, without=RESTARTS)
def listed_incomplete(stage: Stage) -> Scenario:
    """A large bucket is listed without an error and not as a whole, after a rebalance (NVIDIA/aistore issue 318)."""
    cluster, job = stage.cluster, stage.job
    draw = stage.draw.child("listed")
    cluster.rebalances = draw.whole(5, 30)
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    began = opened + draw.span(9_000, 60_000)
    older = churn.rebalance_begins(cluster, began, draw.child("older"))
    one, two = cluster.targets[0], cluster.targets[1]
    why = f"ack.reb[{one.node_id}=>{two.node_id}] terminated [EOF ctx: dropping ack.reb]"
    stage.mark(began, "a rebalance is given up; what it has not moved stays where it was")
    churn.rebalance_aborted(cluster, began, began + draw.span(40_000, 180_000), older, why, draw)
    job.start()
    at = job.begin + draw.span(21_000, 39_000)
    everything = draw.whole(220_000, 900_000)
    missing = int(everything * draw.between(0.08, 0.24))
    _listed(stage, at, everything, missing, draw)
    over = at + seconds(1.9) + draw.span(1, 400)
    script = job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 174, "main", "names = inventory.check(bucket, manifest)", True),
        sdk.Frame(f"{script.rsplit('/', 1)[0]}/inventory.py", 78, "check", "raise InventoryError("),
    )
    text = f"inventory.InventoryError: {missing} of {everything} samples are not listed in ais://{stage.bucket}"
    job.raise_on(over, 0, sdk.traceback(sdk.Raised(frames, text)))
    ended = job.agents_end([Exit(0, over + 700 * MS, 1)], over + 700 * MS)
    made = of_all(stage.guilty("storage_io", one, also=("data", "software", "data_loading_stall")))
    return stage.close(
        "Objects that lie on another target than they should can be read, and are left out of every list.",
        (made,),
        until=ended,
    )


def _back_after(stage: Stage, died: int, pause: float, draw: Draw) -> int:
    """The victim dies and is started again after a pause; a rebalance begins. When it is busy with itself again."""
    cluster, victim = stage.cluster, stage.victim
    faults.kill(cluster, victim, stage.mark(died, f"{victim.name} dies in its cleanup"))
    joined = churn.returns(cluster, victim, died + seconds(pause) + draw.span(1, 900), draw)
    generation = churn.rebalance_begins(cluster, joined, draw, "self-join-target", victim.node_id)
    ends = joined + draw.span(9_000, 11_000)
    why = f"stream-broken: reb[{stage.other_target(victim).node_id}=>{victim.node_id}] terminated"
    churn.rebalance_aborted(cluster, joined, ends, generation, why, draw)
    cluster.start_batches(joined + seconds(6.1), stage.other_target(victim))
    return joined + seconds(3.4)


@kind(reads=True, lead_s=180.0, without=(*RESTARTS, "low_space", "kalive_hiccup"))
def crashes_in_cleanup(stage: Stage) -> Scenario:
    """A target above its high watermark cleans up and dies of it, again and again (NVIDIA/aistore issue 354)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cleanup")
    stage.open()
    up = at - draw.span(155_000, 168_000)
    stage.mark(up, f"{victim.name} is above its high watermark")
    died = at - draw.span(87_000, 93_000)
    for turn, pause in enumerate((2.1, 11.0, 21.0)):
        strain.fills_up(cluster, victim, up, died, draw.child("fills", turn))
        up = _back_after(stage, died, pause, draw.child("turn", turn))
        died = up + draw.span(9_000, 11_500)
    died = max(died, at - draw.span(900, 4_000))
    strain.fills_up(cluster, victim, up, died, draw.child("last"))
    faults.kill(cluster, victim, stage.mark(died, f"{victim.name} dies in its cleanup"))
    faults.leave_smap(cluster, victim, died)
    churn.returns(cluster, victim, died + seconds(41) + draw.span(1, 900), draw.child("fourth"))
    text = sdk.pool_error(
        victim.address,
        victim.ports[0],
        object_path(stage, rank, utterance(draw)),
        sdk.refused(draw.whole(*HANDLES)),
    )
    for other in readers(stage)[:2]:
        retries(stage, max(at, died) + draw.span(60, 1_900), other, draw, 0.004, text, at + seconds(11))
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((17, 27))))
    over = retries(stage, max(at, died + 20 * MS), rank, draw, 0.004, text, limit)
    exhausted(stage, over, rank, text, "ConnectionError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A cache has grown into its reserve; what cleans it up meets an entry that nobody has foreseen.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )
