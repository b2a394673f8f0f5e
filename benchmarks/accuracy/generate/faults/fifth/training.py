"""Faults of one rank's program or device, of the fifth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker, no_descriptor_left
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, restart_before, tenant_rejected
from fixtures.generator import sdk, watchdog
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "fifth")

#: NCCL that comes with a PyTorch release.
NCCL = {201: "2.18.5", 208: "2.27.3", 212: "2.28.9", 214: "2.29.3"}
HEARTBEAT_S = 480
STUCK = (
    f"ProcessGroupNCCL's watchdog got stuck for {HEARTBEAT_S} seconds without making progress in monitoring enqueued "
    "collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and "
    "could be triggered by another thread holding the GIL inside a CUDA api (for example, CudaEventDestroy), or other "
    "deadlock-prone behaviors.If you suspect the watchdog is not actually stuck and a longer timeout would help, you "
    "can either increase the timeout (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC) to a larger value or disable the heartbeat "
    "monitor (TORCH_NCCL_ENABLE_MONITORING=0).If either of aforementioned helps, feel free to file an issue to PyTorch "
    "about the short timeout or false positive abort; otherwise, please attempt to debug the hang. "
)


@kind(hangs=False, torch_order=205, min_timeout_s=600)
def watchdog_stuck(stage: Stage) -> Scenario:
    """A rank holds Python's lock inside a call of CUDA: its own monitor ends it before the others time out."""
    stage.open()
    job, rank, at, torch = stage.job, stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"rank {rank} hangs in a call of CUDA and holds the GIL")
    over, tag = at + seconds(HEARTBEAT_S) + stage.draw.child("beat").span(200, 9_000), torch.group_tag(rank)
    job.say(over, rank, watchdog.cpp(job.job, rank, over, max(torch.received - 260, 1400), tag + STUCK))
    hint = "Could not acquire GIL within 300 ms on exit, possible GIL induced hang"
    then = over + 331 * MS
    job.say(then, rank, watchdog.cpp(job.job, rank, then, max(torch.preparing - 120, 1390), tag + hint))
    reason = "Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang."
    last = then + seconds(8.1)
    job.say(last, rank, watchdog.cpp(job.job, rank, last, max(torch.received - 290, 1380), tag + reason, "F"))
    job.agents_end([Exit(rank, last + 30 * MS, -6)], last + 30 * MS)
    also = ("software", "gpu")
    return stage.close(
        "A thread frees events of CUDA while the driver waits for another thread, which waits for Python's lock.",
        (stage.innocent("rank_hang", rank, also=also),),
    )


@kind(reads=True)
def too_many_files(stage: Stage) -> Scenario:
    """A rank has as many files open as it may: it can open no connection, and no loader process can reach it."""
    rank, at, job = stage.culprit, stage.at, stage.job
    draw = stage.draw.child("files")
    stage.open()
    stage.mark(at - seconds(2.2), f"rank {rank} has as many files open as it may")
    then, raised = at - seconds(1.1), at + draw.span(7_000, 16_000)
    for attempt in range(4):
        node = stage.cluster.target(draw.whole(0, 99))
        cause = no_descriptor_left(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
        text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, utterance(draw)), cause)
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        if then < raised - seconds(1):
            job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait)
    site = job.job.build["site"]
    said = (
        "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please increase the "
        "limit using `ulimit -n` in the shell or change the sharing strategy by calling "
        "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
    )
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1283, "_get_data", "success, data = self._try_get_data()"),
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1165, "_try_get_data", "raise RuntimeError("),
    )
    job.raise_on(raised, rank, sdk.traceback(sdk.Raised(caller, said)))
    stage.hang(at + 340 * MS, rank)
    also = ("infrastructure", "data_loading_stall")
    return stage.close(
        "Every tensor that a loader process hands over costs a descriptor; the limit is that of a login shell.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, reads=True, lead_s=80.0)
def transcript_not_utf8(stage: Stage) -> Scenario:
    """A transcript was written in another encoding; a target has lost a disk minutes before."""
    beside(stage, mountpath_before)
    stage.open()
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("transcript")
    stage.mark(at, f"rank {rank} reads a transcript that is not UTF-8")
    frame = sdk.Frame(stage.job.job.script, 88, "parse", 'text = sample["txt"].decode("utf-8")', True)
    where = f"byte 0x{draw.pick(('e9', 'fc', 'e4', 'f1'))} in position {draw.whole(9, 160)}"
    text = f"'utf-8' codec can't decode {where}: invalid continuation byte"
    in_worker(stage, at, rank, "UnicodeDecodeError", text, (frame,))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close("A supplier exports from a spreadsheet.", (stage.innocent("data", rank, also=("software",)),))


@kind()
def gpu_slows_down(stage: Stage) -> Scenario:
    """A GPU gets hot, runs ever slower and then not at all; a report of stragglers names its rank before."""
    beside(stage, tenant_rejected)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    began = stage.mark(at - seconds(31), f"the GPU of rank {rank} runs at a fraction of its clock")
    named = f"Affected ranks: {{{rank}}}"
    for turn, words in enumerate(("Some GPUs performance dropped.", "Some GPUs have worse relative performance.")):
        for later in (0.4, 15.2):
            then = began + seconds(later) + turn * 3 * MS
            text = f"STRAGGLER DETECTION WARNING: {words} {named}"
            job.note(then, 0, text, "W", 118, "straggler_det_callback")
    stage.hang(at + 20 * MS, rank)
    also = ("rank_hang", "infrastructure")
    return stage.close("A fan has failed.", (stage.innocent("gpu", rank, also=also),))


@kind(culprit=0, lead_s=150.0)
def tracker_waits(stage: Stage) -> Scenario:
    """Rank 0 waits for an upload to an experiment tracker that does not answer. A target was restarted before."""
    beside(stage, restart_before)
    stage.open()
    job, at, draw = stage.job, stage.at, stage.draw.child("tracker")
    name = f"model-{job.job.job_id}:v{stage.step // 60}"
    job.note(at - 30 * MS, 0, f"logging artifact {name} to W&B and waiting for it", "W", 127)
    stage.mark(at, "the experiment tracker does not answer")
    for after, error in ((11.2, "ReadTimeout"), (39.8, "ConnectionError"), (104.0, "ReadTimeout")):
        then = at + seconds(after) + draw.span(1, 900)
        if after < job.job.timeout_s - 4:
            job.say(then, 0, f"wandb: Network error ({error}), entering retry loop.")
    stage.hang(at + 20 * MS, 0)
    also = ("software", "network")
    return stage.close("The tracker's server is being upgraded.", (stage.innocent("rank_hang", 0, also=also),))


@kind(hangs=False, trains=False)
def gpu_claimed_twice(stage: Stage) -> Scenario:
    """Two ranks of a host have chosen the same GPU: NCCL refuses the first collective."""
    job, torch = stage.job, stage.params.torch_release
    job.start()
    rank, own = stage.culprit, job.job.ranks_of(job.job.node_of(stage.culprit))
    other = own[(own.index(rank) + 1) % len(own)]
    at = stage.mark(job.begin + seconds(0.3), f"ranks {rank} and {other} use one GPU")
    bus = f"{stage.draw.child('bus').whole(0x10, 0xDB):x}000"
    for one, two in ((rank, other), (other, rank)):
        host, pid = job.job.hosts[job.job.node_of(one)], job.job.rank_pids[one]
        text = f"Duplicate GPU detected : rank {one} and rank {two} both on CUDA device {bus}"
        then = at + one * 310_000
        head = f"\n{host}:{pid}:{pid + 51} [{job.job.local_rank(rank)}] init.cc:871 NCCL WARN"
        job.say(then, one, f"{head} {text}\n")
        place = f"{torch.source_tree}torch/csrc/distributed/c10d/" + ("NCCLUtils.cpp:77" if torch.order > 206 else "")
        place += "" if torch.order > 206 else "ProcessGroupNCCL.cpp:1333"
        known = since(NCCL, torch.order)
        error = f"NCCL error in: {place}, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version {known}"
        advice = f"ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n{text}"
        frames = loss_frames(stage, "dist.broadcast(weights, src=0)")
        raised = sdk.Raised(frames, f"torch.distributed.DistBackendError: {error}\n{advice}")
        job.raise_on(then + 4 * MS, one, sdk.traceback(raised))
    job.agents_end([Exit(rank, at + 800 * MS, 1)], at + 800 * MS)
    made: Expect = replace(stage.innocent("software", also=("gpu", "infrastructure")), culprit_ranks=None)
    return stage.close("A script sets CUDA_VISIBLE_DEVICES by hand.", (made,))
