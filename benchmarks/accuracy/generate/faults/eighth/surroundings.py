"""Faults around a job, of the eighth part: launchers, fabrics, licences, debuggers, limits; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth import unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, local, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "eighth")

#: NCCL that a PyTorch release brings, by the first one.
NCCL = {113: "2.14.3", 200: "2.14.3", 201: "2.18.1", 203: "2.20.5", 205: "2.21.5", 207: "2.26.2", 209: "2.27.5"}
NCCL |= {212: "2.28.9", 214: "2.29.3"}


def _watched(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's own services, as a monitor copies it into the log of the job."""
    stamp = f"{local(at, stage.job.job.zone):%b %e %H:%M:%S}"
    stage.job.agent(at, node, f"node-monitor: {stamp} {stage.job.job.hosts[node]} {text}")


@kind(hangs=False, hosts=2)
def pod_evicted(stage: Stage) -> Scenario:
    """The disk of a host is full of something else: its kubelet evicts the pod, and the job ends. A handler panics."""
    beside(stage, unrest.tenant_panics)
    stage.open()
    job, at, draw = stage.job, stage.at, stage.draw.child("evicted")
    node, others = job.job.node_of(stage.culprit), range(len(job.job.hosts))
    host, used = job.job.hosts[node], draw.whole(140, 900)
    stage.mark(at, f"the kubelet of {host} evicts the pod")
    pod = f"{job.job.job_id}-worker-{node}" if not job.job.job_id.isdigit() else f"slurmd-{host}-{draw.token(5, LOWER)}"
    threshold, left = draw.whole(96, 180) << 30, draw.whole(60, 95) << 20
    why = f"The node was low on resource: ephemeral-storage. Threshold quantity: {threshold}, available: {left}Ki. "
    why += f"Container trainer was using {used}Mi, request is 0, has larger consumption of ephemeral-storage."
    say = 'kubelet[2114]: "Eviction manager: must evict pod(s) to reclaim" resourceName="ephemeral-storage"'
    _watched(stage, at + 40 * MS, node, say)
    event = f'Event(v1.ObjectReference{{Kind:"Pod", Namespace:"ml-train", Name:"{pod}"}})'
    _watched(stage, at + 90 * MS, node, f"kubelet[2114]: {event}: type: 'Warning' reason: 'Evicted' {why}")
    job.agent_signalled(at + 300 * MS, node)
    job.slurm(at + seconds(1.9), 0, f"srun: error: Node failure on {host}")
    then = at + seconds(2.4)
    for other in others:
        if other != node:
            job.agent_signalled(then + other * 40 * MS, other)
    job.slurm(then + seconds(0.8), 0, torchrun.step_cancelled(job.job, then + seconds(0.8)))
    job.ended_at = then + seconds(2)
    made: Expect = replace(stage.innocent("infrastructure"), culprit_ranks=None)
    return stage.close("Images of other jobs have filled the disk of a host.", (made,))


@kind(hangs=False, hosts=2)
def rendezvous_gone(stage: Stage) -> Scenario:
    """The host of the rendezvous store is switched off: every agent loses it and ends its healthy ranks."""
    stage.open()
    job, at, draw, site = stage.job, stage.at, stage.draw.child("rendezvous"), stage.job.job.build["site"]
    order, folder = job.job.torch.order, f"{site}/torch/distributed/elastic"
    stage.mark(at, "the store of the rendezvous is gone")
    lost = "torch.distributed.DistNetworkError: failed to recv, got 0 bytes"
    lost = lost if order >= 205 else "RuntimeError: Connection reset by peer"
    backend = f"{folder}/rendezvous/c10d_rendezvous_backend.py"
    first = sdk.Raised(
        (sdk.Frame(backend, 177, "_call_store", "return getattr(self._store, store_op)(*args)"),), lost, sdk.DIRECT
    )
    frames = (
        sdk.Frame(f"{job.job.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(
            f"{folder}/agent/server/api.py", 906, "_invoke_run", "num_nodes_waiting = rdzv_handler.num_nodes_waiting()"
        ),
        sdk.Frame(f"{folder}/rendezvous/dynamic_rendezvous.py", 1143, "num_nodes_waiting", "self._state_holder.sync()"),
        sdk.Frame(backend, 179, "_call_store", "raise RendezvousConnectionError("),
    )
    text = "The connection to the C10d store has failed. See inner exception for details."
    error = sdk.Raised(frames, f"torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: {text}")
    last = at
    for node, host in enumerate(job.job.hosts):
        then = at + draw.span(200, 4_800)
        who = f"The node '{host}_{job.job.agent_pids[node]}_0' has failed to"
        tail = f"the rendezvous '{job.job.job_id}' due to an error of type RendezvousConnectionError."
        for moment, what in ((then, "send a keep-alive heartbeat to"), (then + 900 * MS, "shutdown")):
            said = torchrun.agent_line(job.job, node, moment, "W", 1341, f"{who} {what} {tail}")
            said = said.replace("multiprocessing/api.py", "rendezvous/dynamic_rendezvous.py")
            job.agent(moment, node, said.replace("multiprocessing.api", "rendezvous.dynamic_rendezvous"))
        for rank in job.job.ranks_of(node):
            job.agent(then + 300 * MS, node, torchrun.closing(job.job, node, rank, then + 300 * MS))
        job.agent(then + 910 * MS, node, sdk.traceback(first, error))
        job.slurm(then + seconds(1.1), node, torchrun.srun_exit(job.job, node))
        last = max(last, then + seconds(1.2))
    job.slurm(last, 0, torchrun.step_cancelled(job.job, last))
    job.ended_at = last + seconds(1)
    made: Expect = replace(stage.innocent("infrastructure", also=("network", "software")), culprit_ranks=None)
    return stage.close("A login node was rebooted; it held the store of all jobs.", (made,))


@kind(hangs=False, trains=False, hosts=2, slurm=True)
def launch_refused(stage: Stage) -> Scenario:
    """SLURM cannot start the tasks of one host: its clock is minutes wrong, or its check of health says no."""
    job, draw = stage.job, stage.draw.child("refused")
    node, begin = len(job.job.hosts) - 1 - draw.whole(0, 1), stage.job.begin - seconds(20)
    host = job.job.hosts[node]
    stage.mark(begin, f"host {host} refuses to start its tasks")
    off = draw.pick((-1, 1)) * draw.between(310, 4200)
    reason, source = draw.pick(
        (
            ("Job credential expired", f"chronyd[1290]: System clock wrong by {off:.6f} seconds"),
            ("Job credential expired", ""),
            ("Job prolog failed", "slurmd[3021]: error: prolog failed: rc:256 output: found 7 of 8 GPUs"),
            ("Job prolog failed", "slurmd[3021]: error: prolog failed: rc:256 output: /raid is not mounted"),
        )
    )
    if source:
        _watched(stage, begin + 20 * MS, node, source)
    said = (
        f"Task launch for StepId={job.job.job_id}.0 failed on node {host}: {reason}",
        f"Application launch failed: {reason}",
    )
    for turn, text in enumerate(said):
        job.slurm(begin + (60 + 9 * turn) * MS, 0, f"srun: error: {text}")
    job.slurm(begin + 90 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(begin + 120 * MS, 0, torchrun.step_cancelled(job.job, begin + 120 * MS))
    for other in range(len(job.job.hosts)):
        if other != node:
            ended = f"srun: error: {job.job.hosts[other]}: task {other}: Terminated"
            job.slurm(begin + (150 + other) * MS, 0, ended)
    if draw.chance(0.5):
        job.slurm(begin + seconds(32.1), 0, "srun: error: Timed out waiting for job step to complete")
    job.ended_at = begin + seconds(33)
    made: Expect = replace(stage.innocent("infrastructure", also=("software",)), culprit_ranks=None)
    return stage.close("No rank is ever started; nobody has asked AIStore for anything.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def fabric_not_allowed(stage: Stage) -> Scenario:
    """A host came up in another security group: what libfabric sends over EFA is dropped, TCP passes."""
    beside(stage, unrest.buckets_change_early)
    job, torch, draw = stage.job, stage.params.torch_release, stage.draw.child("fabric")
    job.start()
    node = job.job.node_of(stage.culprit) or len(job.job.hosts) - 1
    at = stage.mark(job.begin + seconds(0.3), f"host {job.job.hosts[node]} may not use the fabric")
    code, words = draw.pick(
        ((4119, "Unreachable remote"), (4128, "Unresponsive receiver (reachable by EFA device but handshake failed)"))
    )
    place = f"{torch.source_tree}torch/csrc/distributed/c10d/"
    place += "NCCLUtils.cpp:87" if torch.order > 206 else "ProcessGroupNCCL.cpp:2006"
    error = f"NCCL error in: {place}, remote process exited or there was a network error, NCCL version"
    name = "torch.distributed.DistBackendError" if torch.order >= 200 else "RuntimeError"
    advice = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    near = (*job.job.ranks_of(node), *job.job.ranks_of(node - 1))
    for rank in range(job.job.world):
        host, pid, then = (
            job.job.hosts[job.job.node_of(rank)],
            job.job.rank_pids[rank],
            at + seconds(3.1) + rank * 270_000,
        )
        head = f"\n{host}:{pid}:{pid + 104} [{job.job.local_rank(rank)}] ofi_process_cq:1039 NCCL WARN"
        request = f"{{ dev: {draw.whole(0, 3)}, size: 0, state: CREATED, type: {draw.pick(('SEND', 'RECV'))} }}"
        which = f"0x7f{draw.token(10, HEX)}"
        said = f"NET/OFI Request {which} completed with error. RC: 113. Error: {code} ({words})"
        last = f"\nLast error:\n{said}" if rank in near else ""
        if rank in near:
            job.say(then, rank, f"{head} {said}. Completed length: 0, Request: {request}\n")
        text = f"{name}: {error} {since(NCCL, torch.order)}\n{advice}{last}"
        raised = sdk.Raised(loss_frames(stage, "dist.all_reduce(ready)"), text)
        job.raise_on(then + 6 * MS, rank, sdk.traceback(raised))
    firsts = [Exit(rank, at + seconds(3.9) + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(firsts, at + seconds(4.1))
    also = ("infrastructure", "gpu_fabric")
    made: Expect = replace(stage.innocent("network", also=also), culprit_ranks=None)
    return stage.close("A host was replaced by hand, with the security group of another project.", (made,))


@kind(hangs=False)
def licence_denied(stage: Stage) -> Scenario:
    """A library for a codec asks its server for a licence and gets none: a rank ends. Buckets come and go meanwhile."""
    beside(stage, unrest.buckets_change)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("licence")
    server, feature = draw.pick(("lic01", "flexlm-b", "10.2.0.14")), draw.pick(("evs_codec", "speechqual", "amrwb_dec"))
    stage.mark(at, f"rank {rank} gets no licence")
    what, codes = draw.pick(
        (
            (
                "Cannot connect to license server system.\n The license server manager (lmgrd) has not been started "
                "yet,\n the wrong port@host or license file is being used, or the\n port or hostname in the license "
                "file has been changed.",
                '-15,570.  System Error: 115 "Operation now in progress"',
            ),
            ("Licensed number of users already reached.", "-4,132"),
            ("Feature has expired.", "-10,32"),
        )
    )
    text = f"LicenseError: {what}\nFeature:       {feature}\nServer name:   {server}\n"
    text += f"License path:  27000@{server}:\nFlexNet Licensing error:{codes}"
    frames = (
        *loss_frames(stage, "scores = quality.measure(hypotheses, references)"),
        sdk.Frame(f"{job.job.build['site']}/codeckit/session.py", 66, "open", "raise LicenseError(_lib.last_error())"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "network")
    return stage.close(
        "The quality of decoded speech is measured by a bought library.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind()
def stopped_by_tracer(stage: Stage) -> Scenario:
    """Somebody attaches a debugger to a rank, or stops it, and forgets it; batches were slow shortly before."""
    stage.open()
    beside(stage, unrest.slow_then_fine)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("tracer")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank]
    stage.mark(at, f"the process of rank {rank} is stopped")
    state = draw.pick(
        ("t (tracing stop), TracerPid {0} (gdb)", "t (tracing stop), TracerPid {0} (strace)", "T (stopped)")
    )
    after, who = min(draw.between(14, 40), job.job.timeout_s - 9), draw.pick((f", rank {rank}", ""))
    for turn in (1, 2, 3):
        if after * turn < job.job.timeout_s - 4:
            said = f"check[881]: pid {pid} (python3{who}) is in state {state.format(pid + 40_117)}, "
            _watched(stage, at + seconds(after * turn), node, f"{said}GPU {job.job.local_rank(rank)} idle")
    stage.hang(at + 20 * MS, rank)
    also = ("software", "infrastructure")
    return stage.close(
        "An engineer looks for the reason of slow batches with a debugger.",
        (stage.innocent("rank_hang", rank, also=also),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def file_too_large(stage: Stage) -> Scenario:
    """A checkpoint on Lustre grows beyond what one file may have: rank 0 ends. A target of AIStore makes room."""
    beside(stage, unrest.eviction_runs)
    stage.open()
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("large")
    stage.mark(at, "a checkpoint is larger than a file may be")
    path = f"/lustre/{draw.pick(('fs12', 'scratch', 'ws4'))}/ckpt/{job.job.task}/step-{stage.step}"
    job.note(at - seconds(draw.between(1, 5)), 0, f"writing checkpoint of step {stage.step} to {path}", "W", 118)
    text, frame = draw.pick(
        (
            (
                f"OSError: [Errno 27] File too large: '{path}.pt'",
                sdk.Frame(job.job.script, 121, "save_checkpoint", "out.write(part)"),
            ),
            (
                "safetensors_rust.SafetensorError: Error while serializing: I/O error: File too large (os error 27)",
                sdk.Frame(
                    f"{site}/safetensors/torch.py", 352, "save_file", "serialize_file(_flatten(tensors), filename)"
                ),
            ),
        )
    )
    frames = (*loss_frames(stage, "save_checkpoint(model, optimizer, step)"), frame)
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(0, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "A limit of the size of files came with a new profile of the shell; AIStore holds samples only.",
        (stage.innocent("infrastructure", 0, also=("software",)),),
    )
