"""Faults of what a job needs to begin, of the eleventh part; storage is innocent, in most of them not at rest."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, PLAIN_LETTERS
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "eleventh")


def _host_ends(stage: Stage, at: int, node: int) -> None:
    """The ranks of one host have ended by themselves; SLURM ends the others."""
    stage.job.agents_end([Exit(stage.job.job.ranks_of(node)[0], at, 1)], at + 100 * MS)


def _banners(stage: Stage) -> None:
    """What every agent says before its ranks begin."""
    job, at = stage.job, stage.job.begin - seconds(6.7)
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, at):
            job.agent(at, host, text)


@kind(hangs=False, trains=False, hosts=2)
def import_fails_on_one_host(stage: Stage) -> Scenario:
    """One host has another image or lacks a library: its ranks end as they import (nemo, torch: libcudnn.so.9)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("import")
    node = job.job.node_of(stage.culprit)
    _banners(stage)
    at = stage.mark(job.begin - seconds(1.6), f"ranks of {job.job.hosts[node]} cannot import what they need")
    script, data = job.job.script, "/workspace/asr/dataset.py"
    text, *frames = draw.pick(
        (
            (
                "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
                sdk.Frame(script, 9, "<module>", "import torch"),
                sdk.Frame(f"{site}/torch/__init__.py", 367, "<module>", "from torch._C import *  # noqa: F403"),
            ),
            (
                "ModuleNotFoundError: No module named 'lhotse'",
                sdk.Frame(script, 21, "<module>", "from dataset import Speech"),
                sdk.Frame(data, 12, "<module>", "from lhotse import CutSet"),
            ),
            (
                "ModuleNotFoundError: No module named 'lhotse.ais'",
                sdk.Frame(script, 21, "<module>", "from dataset import Speech"),
                sdk.Frame(data, 14, "<module>", "from lhotse.ais import AISBatchLoader"),
            ),
        )
    )
    for rank in job.job.ranks_of(node):
        job.say(at + draw.span(0, 600), rank, sdk.traceback(sdk.Raised(tuple(frames), text)))
    _host_ends(stage, at + 1_400 * MS, node)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("A host pulled its image before the last one was pushed.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def index_built_elsewhere(stage: Stage) -> Scenario:
    """Rank 0 builds index files on a disk that other hosts do not share: they look in vain (Megatron-DeepSpeed#356)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("index files")
    hosts = len(job.job.hosts)
    job.start()
    at = stage.mark(job.begin + draw.span(2_000, 9_000), "rank 0 has built index files that other hosts do not see")
    folder = draw.pick(("/data/index-cache", "/local/asr/index-cache", "/raid/cache/GPTDataset_indices"))
    digest = draw.token(32, HEX)
    kinds = ("document_index", "sample_index", "shuffle_index") if "GPT" in folder else ("doc_idx", "sample_idx")
    sep = "-GPTDataset-train-" if "GPT" in folder else "_"
    for number, name in enumerate(kinds):
        job.note(at - 900 * MS + number * 210 * MS, 0, f"saved {folder}/{digest}{sep}{name}.npy", line=77)
    path = f"{folder}/{digest}{sep}{kinds[0]}.npy"
    site = job.job.build["site"]
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 164, "main", "train_set = build_datasets(args)", True),
        sdk.Frame("/workspace/asr/indexed.py", 139, "build_datasets", "doc_idx = np.load(path, mmap_mode='r')", True),
        sdk.Frame(f"{site}/numpy/lib/_npyio_impl.py", 451, "load", "fid = stack.enter_context(open(os.fspath(file),"),
    )
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    ends = []
    for node in range(1, hosts):
        for rank in job.job.ranks_of(node):
            job.raise_on(at + draw.span(60, 500), rank, sdk.traceback(sdk.Raised(frames, text)))
        ends.append(Exit(job.job.ranks_of(node)[0], at + seconds(1.2) + node * MS, 1))
    job.agents_end(ends, at + seconds(1.4))
    also = ("infrastructure", "data")
    return stage.close(
        "A path of a shared file system became one of local disks.", (of_all(stage.innocent("software", also=also)),)
    )


@kind(hangs=False, trains=False, culprit=0, min_timeout_s=180)
def tracker_never_answers(stage: Stage) -> Scenario:
    """Rank 0 opens a run of its tracker and gets no answer for 90 seconds: it ends, the others wait (wandb#7671)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("tracker")
    job.start()
    began = stage.mark(job.begin - 200 * MS, "the tracker does not answer rank 0")
    user = draw.pick(("speech-team", "asr-ci", "svc-train"))
    login = (
        f"wandb: Currently logged in as: {user} to https://api.wandb.ai. Use `wandb login --relogin` to force relogin"
    )
    job.say(began + 90 * MS, 0, login)
    if draw.chance(0.6):
        error = draw.pick(("ConnectTimeout", "ConnectionError", "ReadTimeout"))
        job.say(began + seconds(draw.between(15, 40)), 0, f"wandb: Network error ({error}), entering retry loop.")
    at = began + seconds(90) + draw.span(100, 900)
    text = (
        "wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec. Please try increasing the "
        "timeout with the `init_timeout` setting: `wandb.init(settings=wandb.Settings(init_timeout=120))`."
    )
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 149, "main", "run = wandb.init(project=args.project, config=vars(args))", True),
        sdk.Frame(f"{site}/wandb/sdk/wandb_init.py", 1608, "init", "wandb._sentry.reraise(e)"),
        sdk.Frame(f"{site}/wandb/sdk/wandb_init.py", 1013, "init", "raise CommError("),
    )
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    also = ("infrastructure", "software")
    return stage.close("Hosts reach the Internet through one gateway.", (stage.innocent("network", 0, also=also),))


@kind(hangs=False, trains=False)
def segment_not_created(stage: Stage) -> Scenario:
    """NCCL wants a segment of /dev/shm for two devices of a host and gets none (NCCL's troubleshooting, nccl#290)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, order = stage.job, stage.draw.child("segment"), stage.params.torch_release.order
    job.start()
    node = job.job.node_of(stage.culprit)
    at = stage.mark(job.begin + draw.span(300, 1_100), f"/dev/shm of {job.job.hosts[node]} is too small for NCCL")
    size = draw.pick((9_637_888, 33_030_144, 5_767_520))
    lines, why = ((88, 132), ", error: No space left on device (28)") if order >= 207 else ((72, 114), "")
    for rank in job.job.ranks_of(node):
        then, place = at + draw.span(0, 60), "misc/shmutils.cc:"
        path = f"/dev/shm/nccl-{draw.token(6, PLAIN_LETTERS)}"
        last = f"Error while creating shared memory segment {path} (size {size}){why}"
        nccl_warned(stage, then, rank, f"{place}{lines[0]}", f"Error: failed to extend {path} to {size + 4} bytes{why}")
        nccl_warned(stage, then + MS, rank, f"{place}{lines[1]}", last)
        what = "unhandled system error (run with NCCL_DEBUG=INFO for details)\nncclSystemError: System call (e.g. "
        what += "socket, malloc) or external library call failed or device error."
        text = nccl_error(stage, what, last)
        job.raise_on(then + 9 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))
    _host_ends(stage, at + 900 * MS, node)
    also = ("software", "gpu_fabric")
    return stage.close(
        "The container has 64 MB of shared memory.", (of_all(stage.innocent("infrastructure", also=also)),)
    )
