"""Storage faults of the thirtieth part of room: copies of checkpoints that fill a cluster, a prefetch without any."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.operators import job_aborted, waits_for_job
from benchmarks.accuracy.generate.faults.words.stewards import prefetch_failed, s5cmd_not_put
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdesk, aisnatives, aisstewards
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirtieth")
FULL = ("low_space", "tenant_out_of_space")


@kind(culprit=0, hangs=False, uptime=True, lead_s=70.0, without=(*DISKS, *RESTARTS, *FULL))
def mirrored_checkpoints_fill_the_cluster(stage: Stage) -> Scenario:
    """The bucket of checkpoints is given three copies, and several jobs write to it (aistore docs, n-way mirror; OOS).

    To convict: s5cmd is told 507, out of space; all targets have said so seconds before, and tick by tick how less and
    less was left since the properties of a bucket were set and jobs that put copies run on all of them.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("three copies")
    began = stage.mark(cluster.begin - draw.span(220_000, 280_000), "the bucket of checkpoints is given three copies")
    full = at - draw.span(4_000, 19_000)
    over = at + draw.span(1_900, 3_400)
    space = aisstewards.mirrored_writes_fill(cluster, began, full, over + seconds(25), draw)
    stage.mark(full, "all targets are out of space")
    stage.open()
    node, name = draw.pick(cluster.targets), f"{stage.job.job.task}/step-{stage.step:06d}.pt"
    told(stage, at - 40 * MS, 0, "ckpt", f"s5cmd cp /dev/shm/step-{stage.step:06d}.pt s3://checkpoints/{name}")
    for then in (at, at + draw.span(70, 300), over - draw.span(4, 20)):
        aisdesk.put_by_s3_rejected(cluster, node, then, "checkpoints", name, space)
    s5cmd_not_put(stage, over, 0, name, space.error)
    leaves(stage, over + 20 * MS, 0)
    return stage.close(
        "A disk had cost them a checkpoint in spring, and nobody had looked at how full the others were.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure"))),),
        until=over + seconds(25),
    )


@kind(culprit=0, hangs=False, min_timeout_s=90, lead_s=66.0, without=(*DISKS, *RESTARTS, *FULL))
def prefetch_ends_for_want_of_room(stage: Stage) -> Scenario:
    """Rank 0 has the next part read ahead and waits, and a disk of one target is full (aistore, prefetch and ENOSPC).

    To convict: the SDK tells that the job was aborted, not why; one target has given it up since a write had no space
    left on its device, and has told that this mountpath is small and nearly full, and none of its others.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("want of room")
    stage.open()
    ended = at + draw.span(26_000, 52_000)
    asked = ended + draw.span(300, 980)
    job = aisnatives.prefetch_runs(cluster, at + 20 * MS, asked + seconds(40), draw)
    small = aisstewards.prefetch_without_room(cluster, victim, at, ended, job, draw)
    aisstewards.one_disk_is_small(
        cluster, victim, stage.job.begin + seconds(3), ended, asked + seconds(50), small, draw
    )
    stage.mark(ended - 2 * MS, f"a mountpath of {victim.name} has no space left")
    prefix = f"part-{draw.whole(2, 40):03d}/"
    told(stage, at, 0, "staging", f"prefetch of ais://{stage.bucket}/{prefix} begins, job {job}")
    waits_for_job(stage, at + 20 * MS, asked - 300 * MS, job)
    job_aborted(stage, asked, job, ended + 4 * MS)
    prefetch_failed(stage, asked + 5 * MS, job, f"ais://{stage.bucket}/{prefix}")
    leaves(stage, asked + 12 * MS, 0)
    return stage.close(
        "One drive had been replaced by what was in a drawer, which had its share of the corpus as all others.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=asked + seconds(30),
    )
