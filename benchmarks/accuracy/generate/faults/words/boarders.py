"""What programs print that map files below a mount, and what movers and collectives print of a checkpoint that is late.

The wordings follow the sources of rclone, LMDB and gloo and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.rclone import rclone_reads_again
from fixtures.generator import sdk
from fixtures.generator.moment import MS, SEC, local
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

TRIED = "exceeded maximum number of attempts, 10, https response error"


def mapped_page_lost(stage: Stage, at: int, rank: int) -> None:
    """A rank touches a page of a mapped file that cannot be read: the kernel ends it, and nobody prints why."""
    stage.job.agents_end([Exit(rank, at, -7)], at)


def _rclone(stage: Stage, at: int, level: str, text: str) -> str:
    return f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S} {level:<6}: {text}"


def read_below_mount_failed(stage: Stage, at: int, rank: int, name: str, attempt: int, told: str) -> None:
    """rclone, which has the bucket mounted, was told that a key does not exist."""
    why = (
        f"operation error S3: GetObject, https response error StatusCode: 404, RequestID: , HostID: , NoSuchKey: {told}"
    )
    rclone_reads_again(stage, at, rank, name, attempt, why)


def lmdb_not_opened(stage: Stage, at: int, rank: int, name: str) -> None:
    """LMDB reads the first pages of a file, and gets an error of input and output."""
    path = f"/mnt/{stage.bucket}/{name}"
    frames = (
        sdk.Frame("/workspace/ocp/datasets/lmdb_dataset.py", 151, "__getitem__", "env = self.connect_db(path)", True),
        sdk.Frame("/workspace/ocp/datasets/lmdb_dataset.py", 178, "connect_db", "return lmdb.open(str(path),"),
    )
    in_worker(stage, at, rank, "lmdb.Error", f"{path}: Input/output error", frames)


def mover_refused(stage: Stage, at: int, key: str, tries_s: tuple[float, ...], status: int, told: str) -> int:
    """Rank 0 has rclone move a checkpoint; it begins anew three times, then its exit code is an exception. The end."""
    job, local_file = stage.job.job, f"/dev/shm/{key.rsplit('/', 1)[-1]}"
    why = f"operation error S3: UploadPart, {TRIED} StatusCode: {status}, RequestID: , HostID: , {told}"
    name, then = key.rsplit("/", 1)[-1], at
    for turn, after in enumerate(tries_s):
        then = at + int(after * SEC)
        failed = f"{name}: Failed to copy: multi-thread copy: failed to write chunk: failed to upload chunk: {why}"
        stage.job.say(then, 0, _rclone(stage, then, "ERROR", failed))
        again = f"Attempt {turn + 1}/{len(tries_s)} failed with 1 errors and: multi-thread copy: {why}"
        stage.job.say(then + 2 * MS, 0, _rclone(stage, then, "ERROR", again))
    command = f"['rclone', 'copyto', '{local_file}', 'ais:checkpoints/{key}']"
    frames = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 126, "save_checkpoint", 'run(["rclone", "copyto", path, remote], check=True)', True),
        sdk.Frame("/opt/conda/lib/python3.11/subprocess.py", 571, "run", "raise CalledProcessError(retcode,"),
    )
    text = f"subprocess.CalledProcessError: Command '{command}' returned non-zero exit status 1."
    stage.job.raise_on(then + 40 * MS, 0, sdk.traceback(sdk.Raised(frames, text)))
    return then + 40 * MS


def plan_not_gathered(stage: Stage, at: int, ranks: list[int], limit_s: int) -> int:
    """Ranks wait in gloo for what the others have written, as long as that group is told to; when the job is over."""
    own, draw, site = stage.job.job, stage.draw.child("gloo"), stage.job.job.build["site"]
    place, tree = f"{site}/torch/distributed/checkpoint", own.torch.source_tree
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(own.script, 124, "save_checkpoint", "dcp.save(state, storage_writer=writer, process_group=gloo)"),
        sdk.Frame(f"{place}/utils.py", 180, "all_reduce", "all_data = self.gather_object(local_data)"),
        sdk.Frame(f"{place}/utils.py", 110, "gather_object", "dist.gather_object("),
        sdk.Frame(
            f"{site}/torch/distributed/distributed_c10d.py", 2812, "gather_object", "all_gather(object_size_list,"
        ),
    )
    where = f"[{tree}third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78]"
    text = f"RuntimeError: {where} Timed out waiting {limit_s * 1000}ms for recv operation to complete"
    said, firsts, last = sdk.traceback(sdk.Raised(frames, text)), dict[int, Exit](), at
    for rank in ranks:
        then = at + draw.span(2, 700)
        stage.job.raise_on(then, rank, said)
        last = max(last, then)
        firsts.setdefault(own.node_of(rank), Exit(rank, then + 600 * MS, 1))
    return stage.job.agents_end(list(firsts.values()), last + 900 * MS)
