"""What a training script does to itself, beside storage that is loud; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.thirty_fifth.ranks_beside import (
    complete,
    killed_in_the_hang,
    turned_away,
)
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import chains
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_fifth")
LATE = ("restart_before", "kill_after", "mountpath_before")


@kind(culprit=0, lead_s=58.0, without=LATE)
def tracking_server_keeps_rank_0_waiting(stage: Stage) -> Scenario:
    """Rank 0 logs its metrics to a tracking server that is down, and tries again and again (mlflow docs and issues).

    To acquit: what rank 0 cannot connect to is the tracking server, by its host, port and path, from the first second
    of the standstill to its end; no address of AIStore is in its lines, and other ranks fetch whole batches meanwhile.
    The 429 of before were got over, and the target is killed when the job has long been waiting.
    """
    stage.open()
    beside(stage, turned_away)
    at, draw, over = stage.at, stage.draw.child("tracking"), over_at(stage)
    host = draw.pick(("mlflow.ml-tools.internal", "tracking.asr.internal", "mlflow-0.tracking"))
    stage.mark(at - 40 * MS, f"{host} does not listen any more")
    then, left = at + draw.span(3, 20), 7
    while left and then < over - SEC:
        left -= 1
        state = f"Retry(total={left}, connect={left}, read=7, redirect=7, status=7)"
        handle = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES):#x}>"
        why = f"NewConnectionError('{handle}: Failed to establish a new connection: [Errno 111] Connection refused')"
        said = f"Retrying ({state}) after connection broken by '{why}': /api/2.0/mlflow/runs/log-batch"
        told(stage, then, 0, "urllib3.connectionpool", said, "WARNING")
        if left == 6:
            told(
                stage,
                then - 2 * MS,
                0,
                "metrics",
                f"step {stage.step}: 14 metrics to http://{host}:5000, run {draw.token(8)}",
            )
        then += seconds(min(2.0 * 2 ** (7 - left), 120.0)) + draw.span(4, 30)
    for one in readers(stage)[:3]:
        asked = at + draw.span(300, 2_500)
        complete(stage, asked + draw.span(90, 600), one, asked)
    stage.hang(at + 60 * MS, 0)
    beside(stage, killed_in_the_hang)
    made = stage.innocent("rank_hang", 0, also=("network", "infrastructure", "software"))
    return stage.close("The server's pod was being moved to another node, and waited for its disk.", (made,))


@kind(culprit=0, lead_s=60.0, without=LATE)
def validation_of_rank_0_outlasts_the_time_out(stage: Stage) -> Scenario:
    """Rank 0 alone decodes a validation set while the others wait (torchtune, Automodel and NeMo issues).

    To acquit: rank 0 tells how many recordings it has decoded, more each time, up to the end; they are in its memory
    since before the first step. What fails in the cluster are other tenants' cold reads, and a target that is killed
    when half of the others' time is over.
    """
    stage.open()
    beside(stage, commotion.tenant_backend_fails)
    at, draw, over = stage.at, stage.draw.child("validation"), over_at(stage)
    many, each = draw.whole(1_900, 5_400), draw.between(0.5, 1.4)
    many = max(many, int(2.2 * stage.params.timeout_s / each))
    said = f"{many} recordings of /data/dev/manifest.jsonl are in memory, decoded by rank 0 with a beam of 16"
    told(stage, stage.job.begin - draw.span(200, 600), 0, "validation", said)
    stage.mark(at, f"rank 0 begins to decode {many} recordings")
    told(stage, at, 0, "validation", f"step {stage.step}: begins, the other ranks wait for the word error rate")
    done, every, then = 0, draw.pick((10.0, 15.0, 20.0)), at
    while True:
        then += seconds(every) + draw.span(10, 900)
        if then > over + SEC:
            break
        done = int((then - at) / SEC / each)
        told(stage, then, 0, "validation", f"step {stage.step}: {done}/{many} decoded, {each:.2f} s each")
    stage.hang(at + 90 * MS, 0)
    beside(stage, killed_in_the_hang)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The beam had been 1 in all runs before.", (made,))


@kind(hangs=False, torch_before=215, lead_s=60.0, without=("restart_before",))
def rank_with_fewer_samples_leaves_the_epoch_first(stage: Stage) -> Scenario:
    """Samples are not divided evenly, and one rank is through with its epoch a step early (pytorch docs, Join).

    To acquit: each rank tells at the start how many steps its part gives, one of them one less; at that step it tells
    that its epoch is over and reduces two numbers where all others reduce gradients, in the same place of the order.
    The rebalance that keeps disks busy runs since before, and what is said of checksums is another tenant's bucket.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    beside(stage, commotion.tenant_meets_bad_data)
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("fewer")
    stage.mark(stage.job.begin - 900 * MS, f"the part of rank {rank} has one step less")
    for one in sorted({rank, *speakers(stage)}):
        steps = stage.step if one == rank else stage.step + 1
        size = steps * 16 - (0 if one == rank else draw.whole(0, 9))
        said = f"part {one} of {stage.params.ranks}: {size} samples, {steps} steps of 16, drop_last=False"
        told(stage, stage.job.begin - draw.span(120, 700), one, "sampler", said)
    said = f"epoch 0 is over after {stage.step} steps, mean of loss and error rate over all ranks follows"
    told(stage, at - 30 * MS, rank, "train", said)
    stuck = stage.everyone_else()
    own = stuck[rank]
    frames = (
        own.frames[0],
        f"#1 reduce_metrics from {stage.job.job.script}:171",
        *(one.replace(":196", ":203") for one in own.frames[2:]),
    )
    stuck[rank] = replace(own, numel_in=2, numel_out=2, enqueued=own.seq, frames=frames)
    stage.mark(at, f"rank {rank} reduces its metrics, all others their gradients")
    end = stage.job.hang(at, stuck)
    stage.mark(end, f"job {stage.job.job.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("data", "software"))
    return stage.close("The list had been cut after its last whole part.", (made,))


@kind(reads=True, lead_s=62.0, without=("restart_before", "mountpath_before", "kill_after"))
def manifest_names_recordings_by_their_old_suffix(stage: Stage) -> Scenario:
    """Recordings were converted from wav to flac, and one part of a manifest was not written anew (lhotse issues).

    To acquit: the rank's name, which is missing at each try and at another target each time, ends in .wav; the bucket
    was listed before the first step, with no such name, and what others read ends in .flac. All targets are up from
    before the job to its end, and what they say of checksums and 429 is of another bucket, or over before.
    """
    stage.open()
    beside(stage, turned_away)
    beside(stage, commotion.tenant_meets_bad_data)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("suffix")
    many = draw.whole(180_000, 960_000)
    said = f"ais://{stage.bucket} lists {many} objects: {many} .flac, 0 .wav; the manifest has 48 parts"
    told(stage, job.begin - draw.span(300, 900), 0, "manifest", said)
    for one in readers(stage)[:3]:
        said = f"part {draw.whole(10, 40)} of the manifest, first {utterance(draw)}"
        told(stage, job.begin + draw.span(900, 2_900), one, "manifest", said)
    name, part = utterance(draw).replace(".flac", ".wav"), draw.whole(1, 9)
    told(stage, at - draw.span(30, 90), rank, "manifest", f"part {part} of the manifest, first {name}")
    stage.mark(at - 20 * MS, f"rank {rank} asks for {name}, which is {name[:-4]}.flac since the conversion")
    then, tries, missing = at, draw.whole(3, 5), draw.whole(28, 36)
    for turn in range(tries):
        designated = stage.cluster.target(stage.params.victim + turn)
        failed = chains.missing_entry(stage, then, designated, designated, name, missing)
        if turn + 1 < tries:
            told(
                stage,
                then + 6 * MS,
                rank,
                "prefetch",
                f"get-batch failed ({failed.error}), try {turn + 2} of {tries}",
                "WARNING",
            )
            then += seconds(1.0 + turn) + draw.span(4, 40)
        else:
            job.raise_on(then + 7 * MS, rank, failed.traceback)
    stage.hang(at + 330 * MS, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("That part had been checked out by somebody, and was skipped.", (made,))
