"""Storage faults of the nineteenth part of checkpoints in parts: a target dies, or one joins in the middle."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.settlers import file_not_flushed, goofys_says, part_not_sent
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "nineteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(culprit=0, hangs=False, lead_s=60.0, without=STILL)
def parts_go_to_a_target_that_dies(stage: Stage) -> Scenario:
    """A machine of a spot market is taken back as rank 0 sends parts to it: no connection (AWS docs, Spot; arrow S3).

    To convict: pyarrow gets no connection for a part of the checkpoint that rank 0 said it sends to a target's address;
    that target's log ends in the middle some seconds before, its peers find no way to it, and the primary removes it.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, size = stage.draw.child("spot"), stage.draw.child("size").whole(9, 60)
    stage.open()
    key = f"{stage.job.job.task}/step-{stage.step:07d}/model.pt"
    begun = at - draw.span(9_000, 19_000)
    said = f"copying checkpoint ({size}.0 GiB) to s3://checkpoints/{key}, parts go to {victim.url(0)}"
    stage.job.note(begun, 0, said, line=117)
    died = stage.mark(at - draw.span(4_100, 5_900), f"the machine of {victim.name} is taken back")
    peers = [node for node in cluster.up(died) if node is not victim]
    aisobjects.lose_host(cluster, victim, died, at + seconds(35), peers[:3])
    faults.leave_smap(cluster, victim, died, hung=True)
    told = "NETWORK_CONNECTION during {op} operation (reached max retries): curlCode: 28, Timeout was reached"
    part_not_sent(stage, at, 0, key, told)
    leaves(stage, at, 0)
    return stage.close(
        "It was to be for tests only, and then room was needed.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure")),),
    )


@kind(culprit=0, hangs=False, targets=4, lead_s=110.0, without=STILL)
def owner_of_an_upload_changes(stage: Stage) -> Scenario:
    """A target returns as a checkpoint is sent in parts, it owns the key and knows no upload (goofys; docs/s3compat).

    To convict: the target that says it has no such upload, of the very key that goofys cannot complete, has joined some
    seconds before, after the upload had begun; until then another one had taken its parts.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, size = stage.draw.child("owner"), stage.draw.child("size").whole(4, 14)
    stage.open()
    key = f"{stage.job.job.task}/step-{stage.step:07d}.pt"
    down = stage.mark(at - draw.span(58_000, 74_000), f"SIGTERM {victim.name}, its host gets another kernel")
    faults.terminate(cluster, victim, down)
    begun = at - draw.span(13_000, 19_000)
    stage.job.note(begun, 0, f"saving {size}.0 GiB to /mnt/checkpoints/{key}", line=116)
    joined = faults.start_again(cluster, victim, begun + draw.span(2_000, 6_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    upload = draw.token(9)
    text = f'upload "{upload}" not found'
    for attempt in range(3):
        then = at - 40 * MS - (2 - attempt) * 900 * MS
        request = f"POST /s3/checkpoints/{key}"
        cluster.say(
            victim, then, ev.http_error(victim, text, request, "htrun.go:1636 <- tgts3mpt.go:203 <- tgts3.go:96")
        )
    goofys_says(stage, at - 30 * MS, 0, "s3", f"code=NoSuchUpload msg={text}, err=<nil> CompleteMultipartUpload {key}")
    goofys_says(stage, at - 2 * MS, 0, "fuse", "*fuseops.FlushFileOp error: input/output error")
    file_not_flushed(stage, at, 0, f"/mnt/checkpoints/{key}")
    leaves(stage, at + 5 * MS, 0)
    return stage.close(
        "Whoever brings it back looks at the reads, which go on.",
        (stage.guilty("storage_io", victim, also=("data", "infrastructure")),),
        until=max(joined + seconds(50), at + SEC),
    )


@kind(culprit=0, lead_s=85.0, without=DISKS)
def parts_are_put_together_for_minutes(stage: Stage) -> Scenario:
    """All parts of a checkpoint are there, to complete it takes minutes: rank 0 waits (docs/s3compat, multipart).

    To convict: rank 0 said last that it waits for its upload to be completed, to a target whose disks read at their
    limit, one after the other, since that very moment; the others have waited for rank 0 from then on.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw, size = stage.draw.child("complete"), stage.draw.child("size").whole(90, 120)
    stage.open()
    begun, parts = at - draw.span(52_000, 66_000), size * 16
    saved = max(1, stage.step - (at - begun) // seconds(stage.params.step_s))
    key = f"{stage.job.job.task}/step-{saved:07d}.pt"
    said = f"uploading {size}.0 GiB in the background to s3://checkpoints/{key}, {parts} parts"
    stage.job.note(begun, 0, f"{said}, to {victim.url(0)}, read_timeout=1800", line=116)
    for share in (0.25, 0.5, 0.75):
        stage.job.note(begun + int((at - begun) * share), 0, f"{int(parts * share)} of {parts} parts sent", line=122)
    stage.mark(at, f"{victim.name} reads again what it has been sent")
    stage.job.note(at, 0, f"{parts} of {parts} parts sent, waiting for {key} to be completed", line=122)
    nights.sums_up_chunks(cluster, victim, at, over + seconds(30), draw)
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "It has disks that turn, and a checksum of the whole is computed from all chunks, in their order.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "infrastructure")),),
    )
