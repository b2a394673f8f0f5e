"""Faults of hosts, sessions, devices and cards of the fifteenth part; storage is innocent, in most of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space, tenant_rejected
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fifteenth")


def _hung_up(stage: Stage, node: int, at: int) -> None:
    """The agent of a host gets the signal of a session that ends, and hands it on."""
    for text in torchrun.death_signal(stage.job.job, node, at):
        said = text.replace("Received 15 death signal", "Received 1 death signal").replace("SIGTERM", "SIGHUP")
        stage.job.agent(at, node, said.replace("got signal: 15", "got signal: 1").replace("sigval=15", "sigval=1"))


@kind(hangs=False, lead_s=60.0)
def session_hangs_up(stage: Stage) -> Scenario:
    """Somebody closes the window that a job was started from: SIGHUP (pytorch#67538, ms-swift#5884, SparK#19)."""
    stage.open()
    beside(stage, commotion.tenant_backend_fails)
    unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("session")
    stage.mark(at, "the session ends that the job was started from")
    if job.job.layout in ("slurm", "srun-l"):
        job.slurm(at, 0, "srun: forcing job termination")
        job.slurm(at + 5 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        job.slurm(at + 30 * MS, 0, torchrun.step_cancelled(job.job, at + 30 * MS))
        for node in range(len(job.job.hosts)):
            job.agent_signalled(at + 60 * MS, node)
    else:
        for node in range(len(job.job.hosts)):
            _hung_up(stage, node, at + draw.span(1, 40))
    job.ended_at = at + seconds(2)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("A laptop was shut at the end of the day.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def cache_of_somebody_else(stage: Stage) -> Scenario:
    """A folder of compiled kernels, or of models, on a host is another user's (triton#518, huggingface_hub#2580)."""
    beside(stage, tenant_out_of_space)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("cache")
    job.start()
    node, site, at = own.node_of(stage.culprit), own.build["site"], job.begin + draw.span(300, 2_900)
    stage.mark(at, f"a cache on {own.hosts[node]} belongs to somebody else")
    if draw.chance(0.5):
        path = f"/tmp/triton/{draw.token(32, '0123456789abcdef')}.lock"
        code, inner = (
            "loss = criterion(model(batch), batch)",
            (f"{site}/triton/runtime/cache.py", 98, "put", "os.mkdir("),
        )
    else:
        user = draw.pick(("models--facebook--wav2vec2-base", "models--google--vit-base-patch16-224"))
        path = f"/local/hf/hub/.locks/{user}/{draw.token(40, '0123456789abcdef')}.lock"
        code, inner = (
            "encoder = AutoModel.from_pretrained(args.encoder)",
            (
                f"{site}/filelock/_unix.py",
                42,
                "_acquire",
                "fd = os.open(self.lock_file, open_flags, self._context.mode)",
            ),
        )
    frames = (*loss_frames(stage, code), sdk.Frame(*inner))
    text = f"PermissionError: [Errno 13] Permission denied: '{path}'"
    ranks = own.ranks_of(node)
    for rank in ranks:
        job.raise_on(at + draw.span(1, 400), rank, sdk.traceback(sdk.Raised(frames, text)))
    over = job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + 900 * MS)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("Who was first on that host made the folder, for himself.", (made,), until=over)


@kind(hangs=False, trains=False, slurm=True)
def device_ordinal_invalid(stage: Stage) -> Scenario:
    """A task may see one device and its ranks want all of them (ACEsuit/mace#435; Slurm docs, gpus-per-task)."""
    beside(stage, tenant_rejected)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("ordinal")
    at, site = job.begin - draw.span(400, 1_400), own.build["site"]
    stage.mark(at, "each task of the job may see one device")
    for node in range(len(own.hosts)):
        for text in torchrun.omp_banner(own, node, at - seconds(3.9)):
            job.agent(at - seconds(3.9), node, text)
    for rank in range(own.world):
        job.greet(at - draw.span(20, 300), rank)
    cause = cuda_error(own.torch.order, "invalid device ordinal", "cudaErrorInvalidDevice")
    if own.torch.is_rocm:
        cause = (
            "HIP error: invalid device ordinal\nHIP kernel errors might be asynchronously reported at some other API "
            "call, so the stacktrace below might be incorrect.\nFor debugging consider passing AMD_SERIALIZE_KERNEL=3\n"
            "Compile with `TORCH_USE_HIP_DSA` to enable device-side assertions.\n"
        )
    error = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    frames = (
        *loss_frames(stage, "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
    )
    wrong = [rank for rank in range(own.world) if own.local_rank(rank)]
    for rank in wrong if own.world <= 64 else [one for one in wrong if own.local_rank(one) == 1]:
        job.raise_on(at + draw.span(1, 300), rank, sdk.traceback(sdk.Raised(frames, f"{error}: {cause}")))
    firsts = [Exit(node * own.ranks_per_node + 1, at + 800 * MS + node * MS, 1) for node in range(len(own.hosts))]
    over = job.agents_end(firsts, at + seconds(0.9))
    made = of_all(stage.innocent("software", also=("infrastructure", "gpu")))
    return stage.close("A line of the batch script was copied from a job of one device a task.", (made,), until=over)


@kind(hangs=False, slurm=True, hosts=2, lead_s=60.0)
def card_trained_down(stage: Stage) -> Scenario:
    """A port of the fabric runs at a quarter of its rate: all steps are long (NVIDIA/nccl#325, #905; ibstat, Rate)."""
    job, draw, usual = stage.job, stage.draw.child("rate"), stage.params.step_s
    slow = round(usual * draw.between(3.1, 4.4), 2)
    job.params = replace(job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(14, 40)
    node, card = job.job.node_of(stage.culprit), f"mlx5_{draw.whole(0, 7)}"
    began = job.begin - draw.span(2_000, 5_000)
    stage.mark(began, f"{card} of {job.job.hosts[node]} has come up with a quarter of its rate")
    stage.open(until_step=steps)
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage)
    job.note(job.begin + 30 * MS, 0, f"the run before this one took {usual:.2f} s a step on other hosts", line=139)
    for step in range(10, steps, 10):
        share = f"data 0.0{draw.whole(1, 6)} s, forward {usual * 0.3:.2f} s, backward and reduce"
        text = f"step {step}: {share} {slow - usual * 0.3 - draw.between(0.02, 0.07):.2f} s"
        job.note(job.step_at(step + 1) + 90 * MS, 0, text, line=141)
    over = job.step_at(steps)
    then = began + draw.span(100, 900)
    while then < over:
        state = "State Active, Physical state LinkUp, Rate 100 (expected 400)"
        watched(stage, then, node, f"ibstat: {card} port 1: {state}")
        then += draw.span(29_000, 60_000)
    cancelled_by_hand(stage, over + draw.span(900, 4_000))
    made = stage.innocent("network", also=("gpu_fabric", "infrastructure"))
    return stage.close("One lane of four is left of a cable.", (replace(made, culprit_ranks=None),))


@kind(hangs=False, slurm=True, hosts=2, may_be_undetermined=True, lead_s=60.0)
def host_killed_without_a_line(stage: Stage) -> Scenario:
    """All of a host's processes are killed, and the kernel's log of it is not at hand (Slurm docs, srun: Killed)."""
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("killed")
    node = own.node_of(stage.culprit)
    stage.mark(at, f"all processes of the job on {own.hosts[node]} are killed")
    told = at + draw.span(200, 1_900)
    job.slurm(told, 0, f"srun: error: {own.hosts[node]}: task {node}: Killed")
    job.slurm(told + 2 * MS, 0, f"srun: Terminating StepId={own.job_id}.0")
    job.slurm(told + 30 * MS, 0, torchrun.step_cancelled(own, told + 30 * MS))
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(told + 60 * MS, other)
            job.slurm(told + seconds(1.4), other, torchrun.srun_exit(own, other))
    job.ended_at = told + seconds(3)
    unrest.hung_up_on(stage)
    name = draw.token(6, LOWER)
    made = stage.innocent("infrastructure", *own.ranks_of(node), also=("undetermined", "software"))
    return stage.close(f"A daemon of the site kills what it takes for a leftover of job {name}.", (made,))
