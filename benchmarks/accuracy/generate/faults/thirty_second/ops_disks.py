"""Guilty storage of what operators do with disks and room: a second disk taken out too early, a copy that takes it all.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.foremen import held_up, put_without_room, steps_before
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import falls_back, one_by_one_failed, one_line
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdeeds, aisdisk, aisforemen, aisobjects, chains
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: What would say that targets are full, or write checkpoints to them.
FULL = ("tenant_out_of_space", "low_space", "second_job")


@kind(reads=True, ais_order=410, lead_s=84.0, without=(*RESTARTS, *DISKS, "tenant_errors", "soft_errors"))
def second_disk_is_taken_out_before_the_first_is_empty(stage: Stage) -> Scenario:
    """An operator detaches a disk, and another one of that target without a resilver (aistore docs/mountpath, detach).

    To convict: what the batch lacks and what is then asked alone does not exist by one target. That one had got two new
    disks and begun to resilver for `detach-mp`, which ends with `renewal abort` as a second mountpath is detached;
    seconds later the first of these errors comes. No disk has an error. Ranks that were slow before had their batches.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw = stage.draw.child("second disk")
    client_told(stage, "aistore 2.0.0, lhotse 1.33.0, USE_AIS_GET_BATCH=true")
    late = {one: draw.between(3, 9) for one in steps_before(stage, 40, 14, draw.whole(1, 3), draw)}
    asked = held_up(stage, late)
    at, first = stage.at, draw.whole(0, len(victim.disks) - 2)
    began = min(asked.values()) - draw.span(3_000, 9_000)
    aisforemen.disks_attached(cluster, victim, began - draw.span(9_000, 14_000), draw)
    stage.mark(began, f"an operator detaches {victim.disks[first]} of {victim.name}")
    taken = at - draw.span(3_900, 8_800)
    job = aisforemen.disk_detached(cluster, victim, began, taken, first, draw)
    stage.mark(taken, f"{victim.disks[first + 1]} of {victim.name} is detached as well, without a resilver")
    aisforemen.second_disk_detached(cluster, victim, taken, began, (first, first + 1), job)
    peers = [one for one in cluster.targets if one is not victim]
    for step, then in asked.items():
        said = f"batch of {draw.pick(peers).url(0)}: 48 of 48 entries in {late[step]:.1f} s"
        told(stage, then + seconds(late[step]), draw.pick(readers(stage)), "data", said, "WARNING")
    for then, other in spread(stage, taken + 300 * MS, at - 100 * MS, (1, 3), draw):
        name = f"noise/{utterance(draw).split('/', 1)[1]}"
        text = aisobjects.not_there(cluster, victim, then - 4 * MS, name)
        why = one_line(stage, then, other, victim, name, 404, text)
        told(stage, then, other, "data", f"{name} left out: {why}", "WARNING")
    failed = chains.soft_limit(stage, at - 3 * MS, draw.pick(other_targets(stage, at)), rank)
    falls_back(stage, at, rank, failed.error)
    then, name = at + draw.span(60, 400), utterance(draw)
    text = aisobjects.not_there(cluster, victim, then - 4 * MS, name)
    one_by_one_failed(stage, then, rank, name, one_line(stage, then, rank, victim, name, 404, text), sequential=True)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Both were to be replaced that day, and the list had a line for each.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=then + seconds(60),
    )


@kind(culprit=0, hangs=False, lead_s=82.0, without=(*RESTARTS, *DISKS, *FULL))
def copy_of_a_corpus_takes_the_room_of_a_save(stage: Stage) -> Scenario:
    """A whole bucket is copied on a cluster that is nearly full (aistore docs/bucket, copy; docs/storage_svcs, OOS).

    To convict: a checkpoint is answered 507, an earlier one was taken. All targets run copy-bck since a minute, their
    room shrinks from tick to tick, and each of them gives its share up, out of space, before the save; batches
    are read without an error all the time.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, task = stage.draw.child("copy"), stage.job.job.task
    stage.open(save_every=10_000)
    earlier = max(1, stage.step // 4)
    said = f"step {earlier}: ais://checkpoints/{task}/step-{earlier:06d}.pt is written"
    told(stage, stage.job.step_at(earlier), 0, "ckpt", said)
    began = stage.mark(at - draw.span(52_000, 66_000), f"somebody copies ais://{stage.bucket}")
    to = f"{stage.bucket}-{draw.pick(('aug', 'v2', 'denoised', 'tmp'))}"
    job = aisdeeds.copy_begins(cluster, began, to, draw)
    ended = at - draw.span(8_000, 19_000)
    aisforemen.copied(cluster, began + 10 * SEC, ended, draw)
    spaces = {}
    for node in cluster.up(at):
        own = draw.child(node.node_id)
        then, total = ended + own.span(10, 4_900), 3725.29
        left = own.between(179.0, 185.9)
        space = Space(f"{total - left:.1f}GiB", f"{left:.1f}GiB", 95, f"{total:.2f}GiB")
        spaces[node.node_id] = space
        stage.mark(then, f"{node.name} is out of space")
        aisforemen.fills_up(cluster, node, began + 3 * SEC, then, (left, 95), own)
        aisforemen.copy_without_room(cluster, node, then, to, job, began, space)
    path = f"/v1/objects/checkpoints/{task}/step-{stage.step:06d}.pt"
    told(stage, at - draw.span(800, 2_900), 0, "ckpt", f"step {stage.step}: writing ais:/{path[11:]}")
    aisdisk.put_rejected(cluster, victim, at - 6 * MS, path, spaces[victim.node_id])
    put_without_room(stage, at, victim, path, spaces[victim.node_id].error)
    leaves(stage, at + 8 * MS, 0)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure",)))
    return stage.close(
        "It was to be denoised, and the copy was to be kept until then.", (made,), until=at + seconds(50)
    )
