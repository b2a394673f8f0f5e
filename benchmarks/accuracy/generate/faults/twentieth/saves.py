"""Storage faults of the twentieth part of checkpoints: artifacts refused, a save that waits for the one before."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.words.carters import block, juicefs_says, not_sent, uploads_failed
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.travellers import s3_of
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisevents as ev
from fixtures.generator import aislapses as lapses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aistroubles as troubles
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twentieth")
PARTS = "htrun.go:1636 <- tgts3mpt.go:118 <- tgts3.go:88"


@kind(culprit=0, hangs=False, lead_s=60.0, min_timeout_s=60, without=DISKS)
def artifacts_of_a_run_are_not_taken(stage: Stage) -> Scenario:
    """A file system of a target fails as MLflow logs a checkpoint in parts (mlflow#4872; docs/fshc).

    To convict: the target that says of the very artifact in the error that it cannot write a part of it, at the moment
    of each of boto3's tries, examines that mountpath since then and disables it.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, run = stage.draw.child("artifacts"), stage.draw.child("run").token(32, HEX)
    stage.open()
    place = f"step-{stage.step:07d}/optimizer.pt"
    key = f"mlflow/3/{run}/artifacts/{place}"
    said = f"mlflow: log_artifacts of {draw.whole(9, 60)} GiB to s3://checkpoints/mlflow/3/{run}/artifacts"
    stage.job.note(at, 0, said, line=127)
    over = at + draw.span(14_000, 26_000)
    stage.mark(over - seconds(7.4), f"a file system of {victim.name} fails")
    for after in (7.4, 6.5, 5.1, 2.6, 0.01):
        then = over - seconds(after)
        text = f"open {victim.mountpaths[0]}/@ais/checkpoints/%wk/{key}.part.{draw.token(9)}: input/output error"
        cluster.count(victim, then, err_put_n=1, err_io_put_n=1)
        cluster.say(victim, then, ev.http_error(victim, text, f"PUT /s3/checkpoints/{key}", PARTS))
        if after == 2.6:
            troubles.examined(cluster, victim, then + 3 * MS, text, False, draw)
    told = f"An error occurred (InternalError) when calling the UploadPart operation (reached max retries: 4): {text}"
    uploads_failed(stage, over, 0, run, place, told)
    leaves(stage, over, 0)
    return stage.close(
        "Its journal could not be written, and the kernel has shut it down.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data")),),
    )


@kind(culprit=0, lead_s=110.0, min_timeout_s=60, without=DISKS)
def save_waits_for_the_one_before(stage: Stage) -> Scenario:
    """A disk takes some writes a second, and the next asynchronous save waits (torch docs, async_save).

    To convict: rank 0 said how far its upload is, to which target, and that the next save waits for it; stacks show it
    there; a disk of that target is busy with small writes since the upload began to crawl.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw, job = stage.draw.child("async"), stage.job.job
    stage.open()
    begun = at - draw.span(48_000, 61_000)
    saved = max(1, stage.step - (at - begun) // seconds(stage.params.step_s))
    began = stage.mark(begun + draw.span(2_000, 6_000), f"a disk of {victim.name} takes some writes a second")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(20), draw)
    size, where = draw.whole(18, 44), f"checkpoints/{job.task}/step-{saved:07d}/__0_0.distcp"
    stage.job.note(begun, 0, f"async_save of step {saved}: {size}.0 GiB to {victim.url(0)}/s3/{where}", line=131)
    for share in (0.3, 0.6, 0.9):
        got = size * (0.06 + 0.03 * share)
        stage.job.note(begun + int((at - begun) * share), 0, f"upload of step {saved}: {got:.1f} GiB", line=138)
    said = f"async_save of step {stage.step}: waiting for that of step {saved}"
    stage.job.note(at, 0, said, "W", line=133)
    waiting = standing_in(
        stage,
        203,
        ("wait", f"{PYTHON}/threading.py", 327),
        ("result", f"{PYTHON}/concurrent/futures/_base.py", 451),
        ("save_checkpoint", job.script, 133),
    )
    py_spy(stage, min(draw.between(24, 44), stage.params.timeout_s - 14), (waiting,))
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "It is a drive with shingles, bought by mistake, and it was never full before.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "infrastructure")),),
    )


@kind(culprit=0, lead_s=60.0, min_timeout_s=60, without=DISKS)
def file_of_juicefs_is_not_flushed(stage: Stage) -> Scenario:
    """File systems of a target take no writes, JuiceFS tries to upload blocks again and again (juicefs#4974; fsfreeze).

    To convict: rank 0 said last that it saves below JuiceFS, which cannot upload blocks to a target's address; that
    target counts no write any more and has more routines at each tick, from the same moment on.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("flush")
    stage.open()
    began = stage.mark(at - draw.span(300, 2_500), f"file systems of {victim.name} take no writes")
    lapses.frozen(cluster, victim, began, over + seconds(20), draw)
    path = f"/jfs/checkpoints/{stage.job.job.task}/step-{stage.step:07d}.pt"
    stage.job.note(at - 30 * MS, 0, f"saving checkpoint to {path}", line=116)
    then, attempt = at + seconds(31.0), 1
    keys = [block(draw)[1] for _ in range(draw.whole(2, 3))]
    while then < over - SEC:
        for spoken, key in enumerate(keys):
            moment = then + spoken * 70 * MS
            why = not_sent("Put", s3_of(stage, victim, key).replace(stage.bucket, "jfs-checkpoints"))
            slow = f"slow request: PUT {key} ({why}, {30 + draw.between(0.01, 0.04):.3f}s) [cached_store.go:613]"
            juicefs_says(stage, moment, 0, "INFO", slow)
            tried = f"Upload {key}: {why} (try {attempt}) [cached_store.go:390]"
            juicefs_says(stage, moment + MS, 0, "WARNING", tried)
        then, attempt = then + seconds(30.1 + attempt * attempt) + draw.span(1, 400), attempt + 1
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "A backup had frozen them for a snapshot, and that took minutes where it takes a second.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "infrastructure", "network")),),
        until=over + seconds(30),
    )
