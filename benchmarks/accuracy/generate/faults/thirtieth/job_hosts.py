"""Devices, fabrics and schedulers of a job that end it; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion, crewmates
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames, reducing_frames
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirtieth")


def _out_of_memory(stage: Stage, whole: float, used: float, wanted: float) -> str:
    """What PyTorch says as a device is full of its own tensors."""
    own, draw = stage.job.job, stage.draw.child("out of memory")
    free = draw.between(60, 300)
    mine = whole - free / 1024
    kept = (mine - used - 0.5) * 1024
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU "
        f"{own.local_rank(stage.culprit)} has a total capacity of {whole:.2f} GiB of which {free:.2f} MiB is free. "
        f"Including non-PyTorch memory, this process has {mine:.2f} GiB memory in use. Of the allocated memory "
        f"{used:.2f} GiB is allocated by PyTorch, and {kept:.2f} MiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


@kind(reads=True, hangs=False, torch_order=205, lead_s=75.0)
def losses_are_summed_with_their_graphs(stage: Stage) -> Scenario:
    """A sum of losses keeps the graph of each step, so a device fills up by and by (PyTorch FAQ; forum, CUDA OOM).

    To acquit: ranks tell how much of their devices is allocated: the same more at each report, whatever their batches;
    the one with most has no room at last; its batch was all here, and other ranks' reads were served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (tunrest.readers_resume, commotion.tenant_backend_fails, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("graphs")
    whole = draw.pick((39.38, 44.39, 79.11))
    first, span, full = whole * draw.between(0.3, 0.45), at - job.begin, whole - draw.between(1.0, 1.3)
    told(stage, job.begin - 310 * MS, 0, "train", "epoch_loss is the sum of the losses of all steps")
    for one in (rank, *readers(stage)[:6]):
        last = full if one == rank else full - draw.between(0.7, 3.5)
        for turn in range(1, 6):
            then = job.begin + span * turn * 2 // 11 + draw.span(1, 400)
            step = round((then - job.begin) / SEC / stage.params.step_s)
            used = first + (last - first) * turn * 2 / 11
            said = f"step {step}: allocated {used:.2f} GiB, batch 32 x {draw.whole(1_200, 1_600)} frames, all here"
            told(stage, then, one, "memory", said)
    stage.mark(at, f"the device of rank {rank} is full of graphs")
    told(
        stage,
        at - 80 * MS,
        rank,
        "memory",
        f"step {stage.step}: batch 32 x {draw.whole(1_200, 1_600)} frames, all here",
    )
    frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
    text = _out_of_memory(stage, whole, full, draw.between(1.1, 2.3))
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("gpu",))
    return stage.close("The mean of an epoch was to be logged, and item() was forgotten.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def nccl_of_a_host_has_settings_of_its_own(stage: Stage) -> Scenario:
    """One host sets NCCL_PROTO in /etc/nccl.conf: others expect longer messages (NVIDIA/nccl#1328, #1136, NCCL docs).

    To acquit: the ranks of one host say what is set there and the others nothing of it; NCCL finds a message cut short,
    and names such settings itself; the sockets are those between ranks, and no byte of AIStore's was asked for yet.
    """
    beside(stage, crewmates.tenants_batches_come_to_nothing_early)
    unrest.unsettled(stage, (ninth_unrest.keepalives_early, tenth_unrest.tenant_tokens_refused_early))
    job, own, draw = stage.job, stage.job.job, stage.draw.child("settings")
    job.start()
    node = max(1, own.node_of(stage.culprit))
    rank = own.ranks_of(node)[0]
    proto, size = draw.pick((("LL", 65_536), ("LL128", 122_880)))
    places = [f"10.9.{host % 250}.{draw.whole(2, 250)}" for host in range(len(own.hosts))]
    for one in firsts(stage):
        host, pid, then = own.node_of(one), own.rank_pids[one], job.begin - draw.span(300, 700)
        head = f"{own.hosts[host]}:{pid}:{pid} [0] NCCL INFO"
        job.say(then, one, f"{head} NET/Socket : Using [0]bond0:{places[host]}<0>")
        if host == node:
            job.say(then + MS, one, f"{head} NCCL_PROTO set by environment to {proto}")
    at = stage.mark(job.begin + draw.span(400, 1_300), f"{own.hosts[node]} is set to {proto}, and the others are not")
    pid, peer = own.rank_pids[rank], f"{places[node - 1]}<{draw.whole(33_000, 60_000)}>"
    head = f"{own.hosts[node]}:{pid}:{pid + draw.whole(300, 900)} [0] transport/net_socket.cc:"
    last = (
        f"NET/Socket : peer {peer} message truncated : receiving 524288 bytes instead of {size}. If you believe your "
    )
    last += "socket network is in a healthy state, there may be a mismatch in collective sizes or environment settings "
    last += "(e.g. NCCL_PROTO, NCCL_ALGO) between ranks"
    job.say(at, rank, f"\n{head}{draw.pick((545, 557, 571))} NCCL WARN {last}")
    advice = "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."
    text = nccl_error(stage, f"invalid usage (run with NCCL_DEBUG=WARN for details)\n{advice}", last)
    job.raise_on(at + 6 * MS, rank, sdk.traceback(sdk.Raised(reducing_frames(stage), text)))
    exits(stage, at + 6 * MS, rank)
    made = stage.innocent("gpu_fabric", also=("software", "infrastructure", "network", "collective_mismatch"))
    return stage.close("The host had served for a benchmark.", (of_all(made),))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def deadline_of_a_kubernetes_job_passes(stage: Stage) -> Scenario:
    """A Job of Kubernetes has been active for as long as it may (Kubernetes docs, activeDeadlineSeconds).

    To acquit: the event gives DeadlineExceeded as the reason and the pods are deleted; no rank has failed before, steps
    were as long as ever; batches that targets turned away or had to wait for belong to others.
    """
    name = f"{stage.job.job.task.replace('_', '-')}-{stage.draw.child('deadline').token(5, LOWER)}"
    stage.job.job = replace(stage.job.job, layout="kubectl", job_id=name)
    stage.open()
    beside(stage, crewmates.tenants_batches_come_to_nothing)
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, eighth_unrest.tenant_panics))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("deadline passes")
    hours = draw.pick((6, 12, 24, 48, 72))
    used = hours * 3_600 - (at - job.begin) // SEC
    said = f"attempt {draw.whole(2, 6)} of this job, which is active for {used} s of activeDeadlineSeconds "
    told(stage, job.begin - seconds(1), 0, "train", f"{said}{hours * 3_600}")
    stage.mark(at, f"job {name} has been active for {hours} hours")
    head = f"k8s-events: ml-train Job/{name}"
    job.agent(at, 0, f"{head} Warning DeadlineExceeded Job was active longer than specified deadline")
    for node in range(len(own.hosts)):
        pod, then = f"{name}-{node}-{draw.token(5, LOWER)}", at + draw.span(30, 300)
        job.agent(then, 0, f"{head} Normal SuccessfulDelete Deleted pod: {pod}")
        job.agent(then + 40 * MS, node, f"k8s-events: ml-train Pod/{pod} Normal Killing Stopping container pytorch")
        job.agent_signalled(then + draw.span(90, 300), node)
    job.ended_at = at + 2 * SEC
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("The deadline had been meant for the whole of a week.", (made,))
