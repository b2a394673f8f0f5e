"""Storage faults of the twenty-ninth part in jobs of the cluster that training counts on: copy, archive, ETL."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import dataset_refused, first_repeat, one_line, refused_at
from benchmarks.accuracy.generate.faults.words.operators import job_aborted, troubled, waits_for_job
from benchmarks.accuracy.generate.faults.words.servers import spindle_fails_slowly
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdeeds, aisobjects, aisservices
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_ninth")


@kind(culprit=0, min_timeout_s=60, lead_s=66.0, without=(*DISKS, *RESTARTS))
def copy_waited_for_is_never_done_on_one_target(stage: Stage) -> Scenario:
    """Rank 0 has a bucket copied and waits for it by the SDK, others wait for rank 0 (SDK, Job.wait; smartctl).

    To convict: rank 0 asks once a second for a job of the cluster; the copy is done on all targets but one within
    seconds, and that one has a disk that gives some kilobytes a second and has no time left.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("never done")
    stage.open()
    troubled(stage, draw.child("troubled"))
    disk = draw.pick(victim.disks)
    began = stage.mark(at - draw.span(4_000, 9_000), f"{disk} of {victim.name} can hardly be read")
    spindle_fails_slowly(cluster, victim, disk, began, over + seconds(20), draw.child("disk"))
    to = f"valid-{draw.token(5).lower()}"
    job = aisdeeds.copy_begins(cluster, at, to, draw)
    others = [node for node in cluster.up(at) if node is not victim]
    aisdeeds.copy_ends(cluster, others, at, at + seconds(3), to, job, draw)
    told(stage, at - 30 * MS, 0, "validate", f"copying ais://{stage.bucket} prefix valid/ to ais://{to}, job {job}")
    waits_for_job(stage, at, over + SEC, job)
    stage.hang(at + 240 * MS, 0)
    return stage.close(
        "The drive had been ordered to be replaced, and the spare was on its way.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "rank_hang")),),
        until=over + seconds(15),
    )


@kind(culprit=0, hangs=False, min_timeout_s=90, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def archive_that_was_waited_for_is_not_there(stage: Stage) -> Scenario:
    """Members are packed into a shard by the cluster, and a target is lost meanwhile (SDK, archive; aistore docs).

    To convict: the shard is not there since its job was aborted, as the SDK has said in one line; all targets had given
    it up as one left the map, which nobody could reach for half a minute: its log broke off without a word.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("archive")
    stage.open()
    shard = f"packed/valid-{draw.whole(0, 99):04d}.tar"
    began = at + 30 * MS
    died = stage.mark(at + draw.span(1_500, 4_000), f"{victim.name} crashes")
    job = aisdeeds.archive_runs(cluster, began, died + seconds(60), shard, draw)
    told(
        stage,
        at,
        0,
        "validate",
        f"packing {draw.whole(400, 4_000)} members into ais://{stage.bucket}/{shard}, job {job}",
    )
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left, 2)
    gave_up = left + 6 * MS
    aisdeeds.archive_given_up(cluster, began, gave_up, job, victim, draw)
    for node in cluster.up(gave_up + SEC):
        process = cluster.last_process(node)
        short = f"archive[{job}]"
        process.jobs = [(a, min(b, gave_up) if one == short else b, one) for a, b, one in process.jobs]
    asked = gave_up + draw.span(200, 980)
    waits_for_job(stage, began + 20 * MS, asked - 300 * MS, job)
    job_aborted(stage, asked, job, gave_up + 20 * MS)
    for other in readers(stage)[: draw.whole(1, 3)]:
        first_repeat(stage, died + draw.span(40, 9_000), other, draw, refused_at(stage, other, victim, draw))
    node = stage.other_target(victim, draw.whole(0, 40))
    over = asked + draw.span(30, 90)
    text = aisobjects.not_there(cluster, node, over - 4 * MS, shard)
    dataset_refused(stage, over, 0, node, shard, 404, text, shards=True)
    leaves(stage, over + 6 * MS, 0)
    also = ("software", "network", "infrastructure", "data_loading_stall", "data")
    return stage.close(
        "Its process had met a map that was written by two at once.",
        (stage.guilty("storage_io", victim, also=also),),
        until=over + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=64.0, without=("tenant_errors",))
def etl_in_use_is_stopped_by_a_cleanup(stage: Stage) -> Scenario:
    """A script of the storage team stops every ETL that is older than a week (aistore docs, etl; ais etl stop --all).

    To convict: targets know no such ETL any more, any of them, and the rank is told so; all targets had ended it in one
    moment by a user's word, and no pod has failed.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("etl cleanup")
    etl = f"{draw.pick(('resample-16k', 'logmel-80', 'trim-silence', 'vad-segment'))}-{draw.token(3, LOWER)}"
    tail = f"&etl_name={etl}"
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISIterDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    stopped = stage.mark(at - draw.span(1_200, 4_000), f"a cleanup stops {etl}")
    aisdeeds.transformers_stopped(cluster, stopped, etl, draw)
    for then, other in spread(stage, stopped + 60 * MS, at - 40 * MS, (3, 6), draw):
        node, name = draw.pick(cluster.targets), utterance(draw)
        text = aisservices.no_transformer(cluster, node, then - 4 * MS, name, etl)
        why = one_line(stage, then, other, node, name, 404, text, tail)
        told(stage, then, other, "dataset", f"{name} left out: {why}", "WARNING")
    node, name = draw.pick(cluster.targets), utterance(draw)
    text = aisservices.no_transformer(cluster, node, at - 4 * MS, name, etl)
    dataset_refused(stage, at, rank, node, name, 404, text, tail=tail)
    leaves(stage, at + 6 * MS, rank)
    also = ("software", "infrastructure", "data_loading_stall", "data")
    return stage.close(
        "It was made for forgotten experiments, and knew nothing of jobs.",
        (of_all(stage.guilty("storage_io", stage.victim, also=also)),),
        until=at + seconds(25),
    )
