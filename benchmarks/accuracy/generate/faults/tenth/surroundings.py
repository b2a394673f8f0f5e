"""Faults around a job, of the tenth part: other releases, probes, tickets, twins, limits; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "tenth")


@kind(hangs=False, trains=False, hosts=2)
def nccl_of_two_releases(stage: Stage) -> Scenario:
    """One host loads an NCCL that its system brings, the others that of PyTorch: their greetings do not fit."""
    beside(stage, unrest.tenant_tokens_refused_early)
    job, draw, order = stage.job, stage.draw.child("two releases"), stage.params.torch_release.order
    job.start()
    node = job.job.node_of(stage.culprit) or len(job.job.hosts) - 1
    at = stage.mark(job.begin + seconds(0.4), f"{job.job.hosts[node]} has another NCCL")
    own = since(NCCL, order)
    other = draw.pick([one for one in ("2.18.5", "2.22.3", "2.25.1", "2.30.3") if one != own])
    if draw.chance(0.3):
        where = "/usr/lib/x86_64-linux-gnu/libnccl.so.2"
        job.agent(at - seconds(5), node, f"prologue: LD_PRELOAD={where}.{other}")
    got, wanted = draw.pick(((1024, 256), (256, 4), (1280, 1024), (65_536, 4096)))
    last = f"Message truncated : received {got} bytes instead of {wanted}"
    failing = (*range(job.job.ranks_per_node), *job.job.ranks_of(node))
    for rank in failing:
        pid, then = job.job.rank_pids[rank], at + draw.span(1_900, 2_600)
        head = f"{job.job.hosts[job.job.node_of(rank)]}:{pid}:{pid + 71} [{job.job.local_rank(rank)}]"
        what = "internal error - please report this issue to the NCCL developers"
        what += "\nncclInternalError: Internal check failed."
        text = nccl_error(stage, what, last, other if job.job.node_of(rank) == node else own)
        job.say(then, rank, f"\n{head} bootstrap.cc:{77 if order < 205 else 191} NCCL WARN {last}")
        job.raise_on(then + 8 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))
    firsts = (failing[0], job.job.ranks_of(node)[0])
    job.agents_end([Exit(rank, at + seconds(3.2), 1) for rank in firsts], at + seconds(3.3))
    also = ("infrastructure", "gpu_fabric", "collective_mismatch", "network")
    return stage.close(
        "A module of the site is loaded on one host only.", (of_all(stage.innocent("software", also=also)),)
    )


@kind(hangs=False, hosts=2)
def probe_fails(stage: Stage) -> Scenario:
    """Kubernetes asks a container whether it lives, gets no good answer and kills it, while it trains."""
    stage.open()
    beside(stage, eighth_unrest.slow_then_fine)
    job, at, draw = stage.job, stage.at, stage.draw.child("probe")
    node = job.job.node_of(stage.culprit)
    host = job.job.hosts[node]
    stage.mark(at - seconds(20), f"the probe of the container on {host} fails")
    pod = f"{job.job.job_id}-worker-{node}" if not job.job.job_id.isdigit() else f"slurmd-{host}-{draw.token(5, LOWER)}"
    uid = f"{draw.token(8, HEX)}-{draw.token(4, HEX)}-4{draw.token(3, HEX)}-9{draw.token(3, HEX)}-{draw.token(12, HEX)}"
    who = f'pod="ml-train/{pod}" podUID="{uid}" containerName="trainer"'
    answer = draw.pick(
        (
            'output="command \\"/probe.sh\\" timed out"',
            'output="/probe.sh: line 4: /run/trainer/beat: Read-only file system\\n"',
            'output="nvidia-smi: command not found\\n"',
        )
    )
    for turn in (2, 1, 0):
        said = f'kubelet[2114]: "Probe failed" probeType="Liveness" {who} probeResult="failure" {answer}'
        watched(stage, at - seconds(10 * turn) + draw.span(1, 90), node, said)
    said = f'kubelet[2114]: "Container trainer failed liveness probe, will be restarted" {who}'
    watched(stage, at + 95 * MS, node, said)
    job.agent_signalled(at + 300 * MS, node)
    job.slurm(at + seconds(1.9), 0, f"srun: error: Node failure on {host}")
    then = at + seconds(2.4)
    for other in range(len(job.job.hosts)):
        if other != node:
            job.agent_signalled(then + other * 40 * MS, other)
    job.slurm(then + seconds(0.8), 0, torchrun.step_cancelled(job.job, then + seconds(0.8)))
    job.ended_at = then + seconds(2)
    beside(stage, unrest.answers_into_nothing)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("A probe that was made for servers came with a new chart.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def ticket_runs_out(stage: Stage) -> Scenario:
    """A home folder wants a ticket of Kerberos, which was good for ten hours: rank 0 cannot write there any more."""
    beside(stage, unrest.tenant_tokens_refused)
    stage.open()
    job, at, draw = stage.job, stage.at, stage.draw.child("ticket")
    began = stage.mark(at - seconds(draw.between(3, 40)), "the ticket of the job's user has run out")
    path = f"/{draw.pick(('home/svc-asr', 'nfs/exp', 'afs/corp.example/asr'))}/{job.job.task}/step-{stage.step}.pt"
    if draw.chance(0.6):
        said = draw.pick(
            (
                f"rpc.gssd[1188]: ERROR: GSS-API: error in gss_acquire_cred(): The "
                f"referenced credential has expired for uid {draw.whole(1_100, 9_000)}",
                "k5start[77120]: error getting credentials: Preauthentication failed",
            )
        )
        watched(stage, began, 0, said)
    text = draw.pick((f"[Errno 127] Key has expired: '{path}'", f"[Errno 13] Permission denied: '{path}'"))
    error = "PermissionError" if "13" in text.split("]")[0] else "OSError"
    if error == "PermissionError" and draw.chance(0.6):
        job.note(
            at - draw.span(300, 2_000), 0, f"cannot append to {path.rsplit('/', 1)[0]}/run.log: no ticket", "W", 60
        )
    frames = (
        *loss_frames(stage, "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(job.job.script, 121, "save_checkpoint", 'with open(path, "wb") as out:', True),
    )
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"{error}: {text}")))
    exits(stage, at, 0)
    return stage.close(
        "Nobody renews tickets of a job that runs longer than its user is at work.",
        (stage.innocent("infrastructure", 0, also=("software",)),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def twin_writes_too(stage: Stage) -> Scenario:
    """A second copy of the job runs and writes the same checkpoints: one takes away what the other is about to move."""
    beside(stage, unrest.disk_found_well)
    stage.open()
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("twin")
    stage.mark(at - seconds(draw.between(1, 9)), "a copy of the job writes the same checkpoint")
    folder = f"/lustre/{draw.pick(('fs12', 'scratch', 'ws4'))}/ckpt/{job.job.task}/step-{stage.step}"
    other = f"gpu-b{draw.whole(20, 900):04d}, pid {draw.whole(3_000, 90_000)}"
    if draw.chance(0.65):
        said = f"{folder}.tmp/owner was written by {other}, not by this job"
        job.note(at - draw.span(30, 400), 0, said, "W", 102, "checkpoints")
    moved, move = f"'{folder}.tmp' -> '{folder}'", "os.rename(part, folder)"
    text, code = draw.pick(
        (
            (f"OSError: [Errno 39] Directory not empty: {moved}", move),
            (f"FileNotFoundError: [Errno 2] No such file or directory: {moved}", move),
            (f"FileExistsError: [Errno 17] File exists: '{folder}.tmp'", "os.makedirs(part)"),
            (f"RuntimeError: Parent directory {folder}.tmp does not exist.", "torch.save(state, path)"),
        )
    )
    frames = (
        *loss_frames(stage, "save_checkpoint(model, optimizer, step)"),
        sdk.Frame("/workspace/asr/checkpoints.py", 131, "save_checkpoint", code),
    )
    if code.startswith("torch"):
        code = "super().__init__(torch._C.PyTorchFileWriter(self.name))"
        frames = (*frames, sdk.Frame(f"{site}/torch/serialization.py", 784, "__init__", code))
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    return stage.close(
        "A job that was thought dead was started again by hand.",
        (stage.innocent("software", 0, also=("infrastructure",)),),
    )


@kind(hangs=False, reads=True)
def processor_time_used_up(stage: Stage) -> Scenario:
    """A limit of processor seconds came with the shell that started the job: a loader process has used up its own."""
    beside(stage, ninth_unrest.copies_are_made)
    stage.open()
    beside(stage, unrest.repeated_until_now)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("seconds")
    pid = job.job.rank_pids[rank] + draw.whole(4, 30)
    stage.mark(at, f"a loader process of rank {rank} has used up its processor time")
    if draw.chance(0.4):
        said = f"prologue: cpu time (seconds, -t) {draw.pick((3600, 7200, 14_400))}, max user processes 4126131"
        job.agent(job.begin - seconds(4), job.job.node_of(rank), said)
    signal = "CPU time limit exceeded"
    place = f"{site}/torch/utils/data"
    handler = sdk.Frame(f"{place}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()")
    first = sdk.Raised(
        (handler,), f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: {signal}. ", sdk.DIRECT
    )
    caller = sdk.main_frames(
        job.job, stage.step, sdk.Frame(f"{place}/dataloader.py", 1297, "_try_get_data", "raise RuntimeError(")
    )
    text = f"RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly"
    job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(caller, text)))
    exits(stage, at, rank)
    beside(stage, unrest.answers_into_nothing)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Login hosts limit processor time, and srun takes limits along.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, reads=True)
def mappings_used_up(stage: Stage) -> Scenario:
    """Every tensor that loader processes hand over is a mapping, and a process may have so many: none is left."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("mappings")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank]
    stage.mark(at, f"rank {rank} has as many mappings as it may")
    if draw.chance(0.7):
        free = f"{draw.whole(400, 1_700)} GiB of memory free, vm.max_map_count is 65530"
        said = f"check[881]: pid {pid} has {draw.whole(65_100, 65_520)} maps, {free}"
        watched(stage, at - draw.span(1_000, 9_000), node, said)
    name, size = f"torch_{pid + 9}_{draw.whole(10**8, 4 * 10**9)}_{draw.whole(200, 9_000)}", draw.whole(100, 900) * 128
    text = f"RuntimeError: unable to mmap {size} bytes from file </{name}>: Cannot allocate memory (12)"
    fetched = "data = self._data_queue.get(timeout=timeout)"
    mapped = "storage = torch.UntypedStorage._new_shared_filename_cpu(manager, handle, size)"
    inner = (
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1251, "_try_get_data", fetched),
        sdk.Frame(f"{site}/torch/multiprocessing/reductions.py", 541, "rebuild_storage_filename", mapped),
    )
    caller = fetch_frames(stage, "batch = next(self.batches)", *inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
    exits(stage, at, rank)
    beside(stage, unrest.answers_into_nothing)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Samples of an epoch are kept as tensors of their own.",
        (stage.innocent("infrastructure", rank, also=also),),
    )
