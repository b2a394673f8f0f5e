"""Guilty storage of the seventeenth part around checkpoints and weights: not streamed, not read back, nowhere to go."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, writers_to
from fixtures.generator import aisevents as ev
from fixtures.generator import aislosses, aistroubles, sdk
from fixtures.generator import aismishaps as mishaps
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.watchdog import Work

kind = kinds_of("storage", "seventeenth")


@kind(hangs=False, trains=False, uptime=True, without=DISKS)
def weights_not_streamed(stage: Stage) -> Scenario:
    """A sector below a file of weights is not read, and streaming ends (runai-model-streamer#46, #55)."""
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw, own, site = stage.draw.child("streamed"), stage.job.job, stage.job.job.build["site"]
    job.start()
    at = job.begin + draw.span(6_000, 19_000)
    stage.mark(job.begin - draw.span(1_000, 9_000), f"a disk of {victim.name} has errors")
    many = draw.whole(4, 30)
    name = f"weights/{own.task}/model-{draw.whole(1, many):05d}-of-{many:05d}.safetensors"
    job.note(job.begin + 1_800 * MS, 0, f"streaming {many} files of s3://{stage.bucket}/weights/{own.task}", line=104)
    then, text = at - 1_900 * MS, ""
    for _ in range(draw.whole(2, 4)):
        text = aistroubles.not_readable(cluster, victim, then, name, True)
        then += draw.span(90, 480)
    aistroubles.examined(cluster, victim, at - 1_800 * MS, text, draw.chance(0.4), draw)
    module = f"{site}/runai_model_streamer"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 166, "main", "load_weights(model, options.weights)", True),
        sdk.Frame(own.script, 92, "load_weights", "for name, tensor in streamer.get_tensors():", True),
        sdk.Frame(
            f"{module}/distributed_streamer/distributed_streamer.py", 217, "get_chunks", "yield from self.fs.get_"
        ),
        sdk.Frame(f"{module}/libstreamer/libstreamer.py", 112, "runai_response", "raise ValueError("),
    )
    error = "ValueError: Could not receive runai_response from libstreamer due to: b'File access error'"
    reader_note(stage, at - 40 * MS, rank, f"streaming stopped in s3://{stage.bucket}/{name}")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, error)))
    exits(stage, at, rank)
    return stage.close(
        "The file was put there once, without a copy.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(hangs=False, trains=False, min_timeout_s=120, uptime=True, without=DISKS)
def states_come_back_by_drops(stage: Stage) -> Scenario:
    """Some shards of a checkpoint come from a slow disk, others wait for them (Megatron-LM docs; docs/performance)."""
    cluster, victim, job, own = stage.cluster, stage.victim, stage.job, stage.job.job
    draw, site, world = stage.draw.child("come back"), stage.job.job.build["site"], stage.job.job.world
    late = writers_to(stage, draw)[: max(1, world // 4)]
    late = late if stage.culprit in late else [stage.culprit]
    job.start()
    began = stage.mark(job.begin - draw.span(900, 9_000), f"a disk of {victim.name} does a hundredth of what it did")
    at = job.begin + draw.span(1_500, 3_900)
    over = over_at(stage) + at - stage.at
    aislosses.disk_slows(cluster, victim, began, over + seconds(20), draw.child("disk"))
    place = f"s3://checkpoints/{own.task}/iter_{draw.whole(20, 400) * 500:07d}"
    job.note(at - 200 * MS, 0, f"going on from {place}, {world} shards", line=91)
    others = [node for node in cluster.targets if node is not victim]
    for rank in range(world):
        if rank not in late:
            spent, size = draw.span(2_000, 7_900), draw.whole(400, 1_600) << 20
            cluster.count(draw.pick(others), at + spent, get_n=1, get_ns_total=spent, get_size=size)
            if rank < 64 and draw.chance(0.5):
                reader_note(stage, at + spent, rank, f"shard {rank} is read, {spent / SEC:.1f} s")
    for rank in late:
        then, size = at + draw.span(21_000, 39_000), draw.whole(400, 1_600)
        while then < over - SEC:
            done = int(size * (then - at) / (over - at) * 0.3)
            reader_note(stage, then, rank, f"shard {rank}: {done} of {size} MiB after {(then - at) / SEC:.0f} s")
            then += draw.span(24_000, 47_000)
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4622",
        f"#1 load_checkpoint from {own.script}:111",
        f"#2 main from {own.script}:171",
        f"#3 <module> from {own.script}:212",
    )
    stuck = {rank: Work(2, "ALLREDUCE", 1, 1, 2, 1, frames) for rank in range(world) if rank not in late}
    stage.mark(
        job.hang(at + draw.span(7_900, 8_600), stuck, late, dict.fromkeys(late, 1)), f"job {own.job_id} has ended"
    )
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "network"))
    return stage.close(
        "The drive has been asked to test itself, for hours.", (replace(made, culprit_ranks=tuple(late)),)
    )


@kind(culprit=0, hangs=False, lead_s=70.0)
def bucket_of_checkpoints_destroyed(stage: Stage) -> Scenario:
    """Somebody tidies up and destroys a bucket that a job writes to: NoSuchBucket (aistore docs/bucket; boto3 docs)."""
    cluster, at, job = stage.cluster, stage.at, stage.job
    draw, own, site = stage.draw.child("destroyed"), stage.job.job, stage.job.job.build["site"]
    proxy = stage.proxy_of(0)
    stage.open()
    gone = stage.mark(at - draw.span(4_000, 30_000), "somebody destroys the bucket of the checkpoints")
    mishaps.change_buckets(cluster, gone, "destroy-bck", draw)
    key = f"{own.task}/step={stage.step}.pt"
    job.note(at - 400 * MS, 0, f"saving checkpoint to s3://checkpoints/{key}", line=116)
    text = 'bucket "ais://checkpoints" does not exist'
    request = f"POST /s3/checkpoints/{key}"
    trace = "htrun.go:1636 <- prxs3.go:312 <- bckinit.go:187"
    cluster.say(proxy, at - 6 * MS, ev.http_error(proxy, text, request, trace, "ErrBckNotFound"))
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 118, "save_checkpoint", "upload = s3.create_multipart_upload(Bucket=bucket, Key=key)"),
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_"
        ),
    )
    why = "An error occurred (NoSuchBucket) when calling the CreateMultipartUpload operation"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"botocore.errorfactory.NoSuchBucket: {why}: {text}")))
    exits(stage, at, 0)
    made = of_all(stage.guilty("storage_io", also=("infrastructure", "software", "data")))
    return stage.close("Its name was on a list of what nobody reads.", (made,))
