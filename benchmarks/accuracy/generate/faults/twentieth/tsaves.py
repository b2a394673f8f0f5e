"""Checkpoints and markers that a job does not get rid of, none of which goes to AIStore, of the twentieth part.

Storage is innocent and mostly loud. The docstring of a kind says where it is from, and which lines acquit storage.
"""

from __future__ import annotations

from datetime import UTC, datetime

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.mounts import archive_not_written
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twentieth")
#: What a sweep may change, as a folder names it.
SETTINGS = (
    *("optimizer.betas", "optimizer.weight_decay", "scheduler.warmup_steps", "data.max_duration"),
    *("data.shuffle_buffer", "augment.time_masks", "augment.freq_masks", "model.dropout", "model.layers"),
    *("model.attention_context", "trainer.accumulate_grad_batches", "trainer.gradient_clip_val"),
    "data.bucket_boundaries",
)


def _saving(stage: Stage, code: str, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From the script's main to the line that writes a checkpoint."""
    script = stage.job.job.script
    return (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 118, "save_checkpoint", code, True),
        *inner,
    )


def _iso(at: int) -> str:
    """A moment as clouds print it, with seven digits of a second."""
    return f"{datetime.fromtimestamp(at // SEC, UTC):%Y-%m-%dT%H:%M:%S}.{at % SEC // 100:07d}Z"


@kind(hangs=False, lead_s=75.0, without=RESTARTS)
def ceph_blocks_a_training_host(stage: Stage) -> Scenario:
    """A host was not heard of by CephFS and is blocklisted: its writes fail (Ceph docs, client eviction; fs/ceph).

    To acquit: the file lies on a mount of CephFS, whose kernel client tells of its session on that host; the target
    that was killed belongs to another store, and batches went on.
    """
    stage.open()
    beside(stage, own_unrest.killed_in_window)
    unrest.unsettled(
        stage, (unrest.entries_missing, former_unrest.disk_lost_in_window, tenth_unrest.tenant_batches_fail)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("ceph")
    node, mds = job.job.node_of(rank), f"10.30.4.{draw.whole(11, 40)}"
    began = stage.mark(at - draw.span(40_000, 64_000), f"{job.job.hosts[node]} is not heard of by CephFS")
    watched(
        stage, began, node, f"kernel: libceph: mds0 (1){mds}:{draw.whole(6800, 6890)} socket closed (con state OPEN)"
    )
    watched(stage, at - draw.span(9_000, 16_000), node, "kernel: ceph: mds0 hung")
    watched(stage, at - draw.span(2_000, 6_000), node, "kernel: ceph: mds0 reconnect start")
    watched(stage, at - draw.span(200, 1_600), node, "kernel: ceph: mds0 reconnect denied")
    path = f"/mnt/cephfs/ckpt/{job.job.task}/step-{stage.step:07d}/optim-rank{rank:04d}.safetensors"
    reader_note(stage, at - draw.span(30, 190), rank, f"saving {path}, {draw.between(1.2, 9.9):.1f} GiB")
    inner = sdk.Frame("/workspace/asr/shards.py", 140, "write_shard", "os.fsync(out.fileno())", True)
    text = "OSError: [Errno 108] Cannot send after transport endpoint shutdown"
    frames = _saving(stage, "write_shard(path, state)", inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("network", "software"))
    return stage.close("Its processors were all busy with something else.", (made,))


@kind(hangs=False, hosts=2, lead_s=70.0)
def scale_unmounts_a_training_host(stage: Stage) -> Scenario:
    """A host is expelled from Storage Scale, what it has open is stale (IBM docs, failures due to a network failure).

    To acquit: mmfs of that host has lost its membership and unmounts; the path is one of that file system.
    """
    stage.open()
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, own_unrest.turned_away_in_window, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("expelled")
    node, cluster = job.job.node_of(rank), f"gpfs{draw.whole(1, 4)}.hpc.example"
    manager = f"10.31.0.{draw.whole(2, 9)}"
    began = stage.mark(at - draw.span(3_000, 11_000), f"{job.job.hosts[node]} is expelled from its file system")
    watched(stage, began, node, f"mmfs: [N] Close connection to {manager} nsd0{draw.whole(1, 8)} <c0n1>")
    watched(
        stage,
        began + draw.span(900, 1_900),
        node,
        f"mmfs: [E] Lost membership in cluster {cluster}. Unmounting file systems.",
    )
    folder = f"/gpfs/scratch/{job.job.task}/step_{stage.step}"
    reader_note(stage, at - draw.span(20, 90), rank, f"writing {folder}/model_{rank:05d}.pt")
    inner = sdk.Frame("/workspace/asr/shards.py", 133, "write_shard", "out.write(view[done : done + BLOCK])", True)
    frames = _saving(stage, "write_shard(path, state)", inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "OSError: [Errno 116] Stale file handle")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("network", "software"))
    return stage.close("Its renewals of a lease were late, on a network of its own.", (made,))


@kind(culprit=0, hangs=False, min_timeout_s=60, lead_s=75.0)
def soft_mount_gives_a_write_up(stage: Stage) -> Scenario:
    """NFS is mounted soft, its server is away for too long, torch.save fails (nfs(5); diffusers#2662).

    To acquit: the kernel of the host of rank 0 says which server has timed out, just before; the path is on it.
    """
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    unrest.unsettled(stage, (tenant_out_of_space, former_unrest.disk_lost_in_window, commotion.reads_recover))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("soft")
    server = draw.pick(("nfs-ckpt01", "filer-b.corp.example", "10.3.0.24"))
    over = at + draw.span(17_000, 29_000)
    stage.mark(at + draw.span(300, 900), f"{server} does not answer")
    path = f"/nfs/ckpt/{own.task}/step={stage.step}.pt"
    reader_note(stage, at, 0, f"torch.save to {path}")
    for then in (over - draw.span(60, 200), over - 9 * MS):
        watched(stage, then, 0, f"kernel: nfs: server {server} not responding, timed out")
    archive_not_written(stage, over, path, draw)
    exits(stage, over, 0)
    made = stage.innocent("infrastructure", 0, also=("network", "software"))
    return stage.close("The filer was failed over, and took half a minute.", (made,))


@kind(culprit=0, hangs=False, lead_s=70.0)
def folder_of_checkpoints_is_removed(stage: Stage) -> Scenario:
    """A script tidies up the folder of a run that is not over: torch.save finds no parent (torch/serialization.py).

    To acquit: the exception names a folder of the own scratch; a cron job of the host has listed what it removed.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_reads_cold)
    unrest.unsettled(
        stage, (commotion.tenant_meets_bad_data, former_unrest.tenant_full_in_window, commotion.reads_recover)
    )
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("removed")
    site = own.build["site"]
    folder = f"/scratch/{draw.pick(('asr', 'vision', 'u1042'))}/runs/{own.task}-{draw.token(4, LOWER)}"
    gone = stage.mark(at - draw.span(9_000, 38_000), f"somebody removes {folder}")
    pid, many = draw.whole(9_000, 90_000), draw.whole(3, 40)
    watched(stage, gone, 0, f"scratch-purge[{pid}]: removed {folder} ({many} files, none opened for 30 days)")
    frames = _saving(
        stage,
        "torch.save(state, path)",
        sdk.Frame(f"{site}/torch/serialization.py", 943, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
        sdk.Frame(f"{site}/torch/serialization.py", 810, "_open_zipfile_writer", "return container(name_or_buffer)"),
        sdk.Frame(f"{site}/torch/serialization.py", 781, "__init__", "super().__init__(torch._C.PyTorchFileWriter("),
    )
    reader_note(stage, at - 90 * MS, 0, f"saving {folder}/step_{stage.step:06d}.pt")
    text = f"RuntimeError: Parent directory {folder} does not exist."
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    return stage.close(
        "The run goes on from a checkpoint of last month.", (stage.innocent("software", 0, also=("infrastructure",)),)
    )


@kind(culprit=0, hangs=False, lead_s=70.0)
def name_of_a_checkpoint_is_too_long(stage: Stage) -> Scenario:
    """The folder of a checkpoint is named by all settings that differ, which are many (artemis#113; Linux docs).

    To acquit: the errno is of the length of a name on the own file system; what AIStore turned away was another's.
    """
    stage.open()
    beside(stage, former_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (own_unrest.turned_away_in_window, commotion.tenant_backend_fails, commotion.reads_recover))
    job, at, draw = stage.job, stage.at, stage.draw.child("long")
    stage.mark(at, "the name of a checkpoint is longer than a name may be")
    names = draw.shuffled(SETTINGS)
    chosen = ",".join(f"{name}={draw.token(3, LOWER)}" for name in names)
    path = f"/lustre/exp/{job.job.task}/{chosen}/step_{stage.step}"
    reader_note(stage, at - 20 * MS, 0, f"step {stage.step}: first checkpoint of this run")
    inner = sdk.Frame(f"{PYTHON}/pathlib.py", 1116, "mkdir", "os.mkdir(self, mode)")
    frames = _saving(stage, "folder.mkdir(parents=True)", inner)
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"OSError: [Errno 36] File name too long: '{path}'")))
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    return stage.close("A sweep has got three more settings.", (stage.innocent("software", 0),))


@kind(culprit=0, hangs=False, min_timeout_s=90, lead_s=75.0)
def account_of_azure_takes_no_more(stage: Stage) -> Scenario:
    """Checkpoints go past AIStore to Azure, whose account is over its limit (Azure docs, scalability; dotnet#2937).

    To acquit: the exception is of azure.core and the address is an account of blob.core.windows.net.
    """
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    unrest.unsettled(stage, (tenant_out_of_space, loud.neighbour_reads_slowly, former_unrest.disk_lost_in_window))
    job, at, draw, site = stage.job, stage.at, stage.draw.child("azure"), stage.job.job.build["site"]
    account = draw.pick(("asrckptweu", "mlruns01", "trainartifacts"))
    blob = f"{job.job.task}/step-{stage.step:07d}/model.safetensors"
    began = stage.mark(at + 2 * SEC, "an account of Azure takes no more")
    over = began + draw.span(19_000, 40_000)
    where = f"https://{account}.blob.core.windows.net/checkpoints/{blob}"
    reader_note(stage, began - 2 * SEC, 0, f"uploading {draw.between(4, 60):.1f} GiB to {where}")
    for turn in range(draw.whole(2, 3)):
        then = began + turn * draw.span(4_000, 9_000)
        reader_note(stage, then, 0, f"block {draw.whole(40, 900)} of {where}: 503 ServerBusy, retry {turn + 1} of 3")
    blobs = f"{site}/azure/storage/blob"
    frames = _saving(
        stage,
        "blob.upload_blob(stream, overwrite=True, max_concurrency=16)",
        sdk.Frame(f"{site}/azure/core/tracing/decorator.py", 105, "wrapper_use_tracer", "return func(*args, **kwargs)"),
        sdk.Frame(f"{blobs}/_blob_client.py", 775, "upload_blob", "return upload_block_blob(**options)"),
        sdk.Frame(f"{blobs}/_upload_helpers.py", 195, "upload_block_blob", "process_storage_error(error)"),
        sdk.Frame(
            f"{blobs}/_shared/response_handlers.py", 184, "process_storage_error", 'exec("raise error from None")'
        ),
    )
    request = "-".join(draw.token(length, HEX) for length in (8, 4, 4, 4, 12))
    text = "azure.core.exceptions.HttpResponseError: Ingress is over the account limit.\n"
    text += f"RequestId:{request}\nTime:{_iso(over - 30 * MS)}\nErrorCode:ServerBusy"
    job.raise_on(over, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, over, 0)
    made = stage.innocent("infrastructure", 0, also=("software", "network"))
    return stage.close("Twenty jobs of one group save at full hours.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def marker_is_written_too_often(stage: Stage) -> Scenario:
    """One small object of Google's is overwritten in each step, which it is not for (Google docs, gcs429).

    To acquit: the 429 is of storage.googleapis.com and about one name of the job's own; those of AIStore were repeated.
    """
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    unrest.unsettled(stage, (former_unrest.disk_lost_in_window, own_unrest.neighbour_reads_cold))
    job, at, draw, site = stage.job, stage.at, stage.draw.child("marker"), stage.job.job.build["site"]
    stage.mark(at, "a marker of the last step is written too often")
    bucket = draw.pick(("acme-runs", "asr-experiments", "lab7-metrics"))
    name = f"{job.job.task}/latest.json"
    reader_note(stage, job.begin + 50 * MS, 0, f"gs://{bucket}/{name} is written after each step")
    post = f"https://storage.googleapis.com/upload/storage/v1/b/{bucket}/o?uploadType=multipart"
    frames = _saving(
        stage,
        "marker.upload_from_string(json.dumps(state), retry=None)",
        sdk.Frame(f"{site}/google/cloud/storage/blob.py", 3008, "upload_from_string", "self.upload_from_file("),
        sdk.Frame(
            f"{site}/google/cloud/storage/blob.py", 2732, "upload_from_file", "_raise_from_invalid_response(exc)"
        ),
        sdk.Frame(
            f"{site}/google/cloud/storage/blob.py",
            4891,
            "_raise_from_invalid_response",
            "raise exceptions.from_http_status(response.status_code, message, response=response)",
        ),
    )
    why = f"The object {bucket}/{name} exceeded the rate limit for object mutation operations (create, update, and "
    why += "delete). Please reduce your request rate. See https://cloud.google.com/storage/docs/gcs429."
    text = f"google.api_core.exceptions.TooManyRequests: 429 POST {post}: {why}: "
    text += "('Request failed with status code', 429, 'Expected one of', <HTTPStatus.OK: 200>)"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    return stage.close(
        "Until last week it was written with each checkpoint.",
        (stage.innocent("software", 0, also=("infrastructure", "network")),),
    )
