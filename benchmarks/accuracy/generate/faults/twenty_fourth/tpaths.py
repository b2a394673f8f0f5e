"""Paths, names and keys that users gave wrong, and places of checkpoints that are not AIStore; storage is innocent.

Of the twenty-fourth part. The docstring of a kind says where it is from, and which lines tell its cause and acquit
storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, rfc3339, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fourth")

#: A quota in the words of safetensors, of its earlier releases and of later ones.
QUOTA = (
    'IoError(Os { code: 122, kind: FilesystemQuotaExceeded, message: "Disk quota exceeded" })',
    "I/O error: Disk quota exceeded (os error 122)",
)


def _saving(stage: Stage, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From the script's main to what saves a checkpoint."""
    script = stage.job.job.script
    return (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        *inner,
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def shards_listed_beyond_the_last(stage: Stage) -> Scenario:
    """Braces of a list of shards reach further than the bucket has shards (WebDataset, issues on brace expansion).

    To acquit: rank 0 counts both at the start, what the bucket has and what the list has; the shard that is answered
    with 404 is beyond the last one, on its first request, and others are read.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (own_unrest.neighbour_skips_bad_reads, reset_unrest.neighbour_is_reset))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("beyond")
    has = draw.pick((384, 500, 512, 1000, 1200))
    asked = has + draw.pick((12, 24, 128))
    prefix = draw.pick(("shards/train", "v5/train", "tar/audio"))
    then = job.begin - seconds(1.1)
    said = f"ais://{stage.bucket}/{prefix}-*.tar: {has} objects, {prefix}-000000.tar to {prefix}-{has - 1:06d}.tar"
    told(stage, then, 0, "data", said)
    said = f"urls: {prefix}-{{000000..{asked - 1:06d}}}.tar, {asked} shards"
    told(stage, then + 3 * MS, 0, "data", f"{said} in random order, split over {job.job.world} ranks")
    before, shard = draw.whole(0, has - 1), draw.whole(has, asked - 1)
    told(stage, at - draw.span(900, 2_600), rank, "data", f"{prefix}-{before:06d}.tar read to its end")
    stage.mark(at, f"rank {rank} asks for a shard that was never made")
    node, name = stage.victim, f"{prefix}-{shard:06d}.tar"
    aisobjects.not_there(stage.cluster, node, at - 4 * MS, name)
    job.say(at, rank, "curl: (22) The requested URL returned error: 404")
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{name}"
    pipe_ended(stage, at + 3 * MS, rank, f"curl -s -L --fail {url}", 22, draw.token(10, HEX))
    exits(stage, at + 3 * MS, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "storage_io", "data_loading_stall"))
    return stage.close("The list was copied from the config of a larger corpus.", (made,))


def _expired(site: str) -> sdk.Raised:
    """botocore is told by the cloud that its token is over."""
    return sdk.Raised(
        (
            sdk.Frame(f"{site}/boto3/s3/transfer.py", 372, "upload_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 103, "result", "return self._coordinator.result()", True),
            sdk.Frame(f"{site}/s3transfer/futures.py", 266, "result", "raise self._exception"),
            sdk.Frame(f"{site}/s3transfer/tasks.py", 139, "__call__", "return self._execute_main(kwargs)"),
            sdk.Frame(f"{site}/s3transfer/tasks.py", 162, "_execute_main", "return_value = self._main(**kwargs)", True),
            sdk.Frame(f"{site}/s3transfer/tasks.py", 348, "_main", "response = client.create_multipart_upload("),
            sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(name, kwargs)", True),
            sdk.Frame(f"{site}/botocore/client.py", 1017, "_make_api_call", "raise error_class(parsed_response, name)"),
        ),
        "botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the CreateMultipartUpload "
        "operation: The provided token has expired.",
        sdk.DURING,
    )


@kind(culprit=0, hangs=False, lead_s=75.0, without=RESTARTS)
def session_of_a_cloud_key_is_over(stage: Stage) -> Scenario:
    """Checkpoints go to a cloud with a key of a session, which ends before the job (boto#898, deeplake#39).

    To acquit: it is AWS that says ExpiredToken, for an upload to a bucket of its own; the script has printed when its
    session ends; the target that was killed held data only, and was back.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, unrest.entries_missing))
    job, at, draw = stage.job, stage.at, stage.draw.child("session")
    site, bucket = job.job.build["site"], draw.pick(("acme-asr-ckpt", "research-checkpoints-usw2", "voice-models-prod"))
    ends = at - draw.span(1_500, 9_000)
    until = f"{rfc3339(ends)[:19]}Z"
    region, key = draw.pick(("us-west-2", "eu-central-1")), f"{job.job.task}/{job.job.job_id}/step={stage.step}.pt"
    said = f"uploads: https://s3.{region}.amazonaws.com/{bucket}, assumed role ckpt-writer, session until {until}"
    told(stage, job.begin - 700 * MS, 0, "checkpoint", said)
    stage.mark(ends, "the session of a cloud key is over")
    size = draw.whole(700, 6_200)
    told(
        stage,
        at - 240 * MS,
        0,
        "checkpoint",
        f"/tmp/step={stage.step}.pt written, {size} MiB, uploading to s3://{bucket}",
    )
    frames = _saving(
        stage,
        sdk.Frame(job.job.script, 126, "save_checkpoint", "self.s3.upload_file(local, BUCKET, key)", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    text = f"boto3.exceptions.S3UploadFailedError: Failed to upload /tmp/step={stage.step}.pt to {bucket}/{key}: "
    text += "An error occurred (ExpiredToken) when calling the CreateMultipartUpload operation: The provided token has "
    job.raise_on(at, 0, sdk.traceback(_expired(site), sdk.Raised(frames, f"{text}expired.")))
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", 0, also=("infrastructure", "storage_io"))
    return stage.close("A role that is assumed through another lasts an hour at most.", (made,))


@kind(culprit=0, lead_s=60.0)
def file_server_of_checkpoints_silent(stage: Stage) -> Scenario:
    """Rank 0 saves to a file server over NFS that answers no more (Linux, nfs(5), hard mounts; pytorch forum).

    To acquit: the kernel of its host names the server, which is none of AIStore's; the stack of rank 0 is in torch.save
    to a path of that mount.
    """
    stage.open()
    beside(stage, loud.backup_until_now)
    unrest.unsettled(stage, (own_unrest.neighbour_skips_bad_reads, unrest.entries_missing, unrest.connects_repeated))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("file server")
    site, server = own.build["site"], draw.pick(("filer02", "nas-vip3.storage.lan", "10.40.7.21"))
    path = f"/mnt/{draw.pick(('projects', 'home/asr', 'exp'))}/{own.task}/step={stage.step}.pt"
    told(stage, at - 20 * MS, 0, "checkpoint", f"saving {path} ({server}:/export, nfs4, hard)")
    stage.mark(at, f"{server} does not answer rank 0")
    then = at + seconds(draw.between(6, 14))
    watched(stage, then, 0, f"kernel: nfs: server {server} not responding, still trying")
    while (then := then + seconds(draw.between(17, 60))) < at + own.timeout_s * SEC:
        watched(stage, then, 0, f"kernel: nfs: server {server} not responding, still trying")
    if own.timeout_s > 130:
        pid = own.rank_pids[0]
        watched(stage, at + seconds(124.2), 0, f"kernel: INFO: task python3:{pid} blocked for more than 122 seconds.")
    stack = standing_in(
        stage,
        203,
        ("__exit__", f"{site}/torch/serialization.py", 867),
        ("save", f"{site}/torch/serialization.py", 967),
        ("save_checkpoint", own.script, 119),
    )
    py_spy(stage, min(draw.between(27, 45), own.timeout_s - 13), (stack,))
    stage.hang(at + 60 * MS, 0)
    own_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("infrastructure", 0, also=("storage_io", "rank_hang", "network"))
    return stage.close("The file server fails over to its other head, in vain.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def quota_of_a_group_is_used_up(stage: Stage) -> Scenario:
    """A group may store no more on the parallel file system that has its checkpoints (Lustre, lfs quota; safetensors).

    To acquit: the error is a quota, on a path of that file system, and lfs shows the group at its limit; AIStore's
    target without space turns down another tenant.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing))
    job, at, draw = stage.job, stage.at, stage.draw.child("quota")
    site, limit, group = job.job.build["site"], draw.pick((10, 25, 50, 100)), draw.pick(("asr", "speech", "lm-team"))
    folder = f"/lustre/fsw/{group}/{job.job.task}/checkpoint-{stage.step}"
    told(stage, at - seconds(1.4), 0, "checkpoint", f"saving {draw.whole(3, 12)} files to {folder}")
    stage.mark(at, f"group {group} may write no more")
    line = f"lfs quota -g {group} /lustre/fsw: {limit}.00T of {limit}T, files {draw.whole(1, 9)}.{draw.whole(1, 9)}M"
    frames = _saving(
        stage,
        sdk.Frame(job.job.script, 122, "save_checkpoint", "save_file(state, folder / name, metadata=META)", True),
        sdk.Frame(f"{site}/safetensors/torch.py", 307, "save_file", "serialize_file(_flatten(tensors), filename)"),
    )
    text = f"safetensors_rust.SafetensorError: Error while serializing: {draw.pick(QUOTA)}"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    watched(stage, at + 500 * MS, 0, line)
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", 0, also=("storage_io", "software"))
    return stage.close("A sweep of the same group keeps all of its checkpoints.", (made,))
