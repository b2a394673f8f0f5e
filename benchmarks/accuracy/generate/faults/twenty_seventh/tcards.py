"""Graphics cards and what joins them, of the twenty-seventh part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import nccl_error, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_seventh")

#: Addresses on the bus of the eight cards of a host.
BUS = ("0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00")
#: What NCCL's exception says of an error of the network or of another rank.
REMOTE = (
    "remote process exited or there was a network error (run with NCCL_DEBUG=INFO for details)\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
)


def _bus(stage: Stage, rank: int) -> str:
    return BUS[stage.job.job.local_rank(rank) % len(BUS)]


def _error_name(stage: Stage) -> str:
    return "torch.AcceleratorError" if stage.job.job.torch.order >= 208 else "RuntimeError"


@kind(hangs=False, lead_s=60.0)
def card_gone_from_the_bus(stage: Stage) -> Scenario:
    """A card does not answer on PCIe any more (NVIDIA Xid 79; PyTorch forum, "unspecified launch failure" after it).

    To acquit: the kernel of the host says that the card has fallen off the bus, then the rank's call to CUDA fails; a
    target loses a disk at that time, and no read of any rank fails.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, commotion.tenant_meets_bad_data))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("bus")
    node, bus = own.node_of(rank), _bus(stage, rank)
    gone = stage.mark(at - draw.span(180, 900), f"the card of rank {rank} has fallen off the bus")
    head = f"kernel: NVRM: Xid (PCI:{bus}): 79, pid={own.rank_pids[rank]}, name=python3"
    watched(stage, gone, node, f"{head}, GPU has fallen off the bus.")
    watched(stage, gone + 2 * MS, node, f"kernel: NVRM: GPU {bus}.0: GPU has fallen off the bus.")
    uuid = f"GPU-{draw.token(8, HEX)}-{draw.token(4, HEX)}-{draw.token(4, HEX)}-{draw.token(4, HEX)}"
    said = f"nvidia-smi: Unable to determine the device handle for {uuid} at {bus}.0: Unknown Error"
    watched(stage, at + 400 * MS, node, said)
    what = draw.pick((("unspecified launch failure", "cudaErrorLaunchFailure"), ("unknown error", "cudaErrorUnknown")))
    text = f"{_error_name(stage)}: {cuda_error(own.torch.order, *what)}"
    frames = loss_frames(stage, "scaler.scale(loss).backward()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The riser of that card was loose.", (made,))


@kind(lead_s=60.0, min_timeout_s=90)
def firmware_of_card_silent(stage: Stage) -> Scenario:
    """The GSP of a card answers no call any more (NVIDIA Xid 119, open-gpu-kernel-modules): its rank stands in CUDA.

    To acquit: the driver counts seconds that it waits for the card's GSP, the stack of the rank stands in a call of
    CUDA with its batch at hand; the target that an operator restarts goes down long after all ranks wait.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, tenth_unrest.tenant_tokens_refused))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("gsp")
    node, bus, site = own.node_of(rank), _bus(stage, rank), own.build["site"]
    stage.mark(at, f"the firmware of the card of rank {rank} does not answer")
    call = draw.pick(("GSP_RM_CONTROL", "GSP_RM_ALLOC"))
    for turn in range(3):
        then = at + seconds(6.0 + 6.0 * turn) + draw.span(1, 90)
        said = f"Timeout after 6s of waiting for RPC response from GPU{own.local_rank(rank)} GSP! Expected function "
        said += f"{76 if call == 'GSP_RM_CONTROL' else 103} ({call}) (0x{draw.token(8, HEX)} 0x{draw.token(2, HEX)})."
        pid = f"pid={own.rank_pids[rank]}, name=python3"
        watched(stage, then, node, f"kernel: NVRM: Xid (PCI:{bus}): 119, {pid}, {said}")
    main = standing_in(
        stage,
        192,
        ("synchronize", f"{site}/torch/cuda/__init__.py", 954),
        ("after_step", f"{own.script.rsplit('/', 1)[0]}/timers.py", 47),
        state="active",
    )
    py_spy(stage, draw.between(31, min(55, own.timeout_s - 12)), (main,))
    watched(stage, at + seconds(28) + draw.span(1, 900), node, "dcgm-exporter: health check of GPU timed out, skipped")
    stage.hang(at + 30 * MS, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("gpu", rank, also=("rank_hang", "infrastructure"))
    return stage.close("A driver with a known fault was not replaced yet.", (made,))


@kind(hangs=False, lead_s=60.0)
def nvlink_of_card_fails(stage: Stage) -> Scenario:
    """A link between two cards has errors that cannot be repaired (NVIDIA Xid 74; nccl issues, unhandled cuda error).

    To acquit: Xid 74 names the link, and the rank's collective ends with an error of NVLink; batches that were turned
    away before with 429 were served before.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, tenth_unrest.disk_found_well))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("nvlink")
    node, bus, link = own.node_of(rank), _bus(stage, rank), draw.whole(0, 17)
    stage.mark(at - 120 * MS, f"link {link} of the card of rank {rank} fails")
    for turn in range(draw.whole(2, 4)):
        said = f"nvidia-smi nvlink -e: GPU {own.local_rank(rank)} link {link}: Replay Errors: {37 * (turn + 1) ** 3}"
        watched(stage, at - seconds(24 - 6 * turn) + draw.span(1, 800), node, said)
    words = ", ".join(f"0x{draw.whole(0, 255):x}" for _ in range(3))
    head = f"kernel: NVRM: Xid (PCI:{bus}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link"
    watched(stage, at - 120 * MS, node, f"{head} {link}(0x0, 0x0, 0x10000, 0x0, {words})")
    name = "cudaErrorNvlinkUncorrectable" if own.torch.order >= 202 else "cudaErrorUnknown"
    error = cuda_error(own.torch.order, "uncorrectable NVLink error detected during the execution", name)
    frames = loss_frames(stage, "grad_norm = clip_grad_norm_(model.parameters(), 1.0).item()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{_error_name(stage)}: {error}")))
    job.agents_end([Exit(rank, at + 800 * MS, 1)], at + 800 * MS)
    made = stage.innocent("gpu_fabric", rank, also=("gpu", "infrastructure"))
    return stage.close("A connector of the baseboard was worn.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0, torch_before=215)
def infiniband_gives_up_on_peer(stage: Stage) -> Scenario:
    """A port of InfiniBand flaps, and the other side's sends are not confirmed (nccl issues, status=12 vendor err 129).

    To acquit: NCCL has an error of NET/IB some seconds after the adapter of one host reports that its port is down;
    reads go over Ethernet, and a stream that breaks between two targets is opened anew.
    """
    stage.open()
    beside(stage, tenth_unrest.peer_reconnects)
    unrest.unsettled(stage, (reset_unrest.neighbour_is_reset, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("infiniband")
    node, port = own.node_of(rank), draw.whole(0, 7)
    told(stage, job.begin - 940 * MS, 0, "launch", f"NCCL_IB_HCA=mlx5_{port} NCCL_SOCKET_IFNAME=ib{port}, data on eth0")
    down, over = at - 90 * MS, at + draw.span(8_500, 12_000)
    stage.mark(down, f"mlx5_{port} of {own.hosts[node]} is down")
    watched(stage, down, node, f"kernel: mlx5_core {_bus(stage, rank)}.0 ib{port}: Link down")
    watched(stage, down + 90 * MS, node, f"ibstat: CA 'mlx5_{port}' port 1: State: Down, Physical state: Polling")
    far = next(one for one in range(own.world) if own.node_of(one) != node)
    pid = own.rank_pids[far]
    where = f"from peer 10.44.{node}.{draw.whole(2, 250)}<{draw.whole(33_000, 60_000)}> with status=12 opcode=0 len=0"
    gids = f"localGid ::ffff:10.44.{own.node_of(far)}.17 remoteGids::ffff:10.44.{node}.17"
    last = f"NET/IB : Got completion {where} vendor err 129 (Send) {gids}"
    head = f"{own.hosts[own.node_of(far)]}:{pid}:{pid + draw.whole(90, 700)} [{own.local_rank(far)}]"
    job.say(over - 12 * MS, far, f"\n{head} transport/net_ib.cc:{draw.pick((1295, 1691, 2011))} NCCL WARN {last}")
    frames = loss_frames(stage, "dist.all_reduce(flag); torch.cuda.synchronize()")
    job.raise_on(over, far, sdk.traceback(sdk.Raised(frames, nccl_error(stage, REMOTE, last))))
    job.agents_end([Exit(far, over + 700 * MS, 1)], over + 700 * MS)
    made = stage.innocent("gpu_fabric", rank, also=("network", "infrastructure"))
    return stage.close("A transceiver was failing.", (of_all(made),))


@kind(hangs=False, lead_s=60.0)
def no_memory_left_for_evaluation(stage: Stage) -> Scenario:
    """Evaluation keeps all logits on the card until it is over (transformers issues, eval_accumulation_steps).

    To acquit: the allocator's own words, while the rank concatenates the logits of all batches that it has read; used
    memory grows from batch to batch, and AIStore is quiet.
    """
    stage.open()
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("logits")
    whole, order = draw.pick((39.38, 44.34, 79.11)), own.torch.order
    began, many = at - seconds(draw.between(9, 14)), draw.whole(180, 420)
    told(stage, began, rank, "evaluation", f"step {stage.step}: {many} batches, predictions are kept until the end")
    stage.mark(began, "predictions are kept on the card")
    for turn in range(1, 5):
        done, used = many * turn // 5, whole * (0.45 + 0.11 * turn)
        said = f"{done}/{many} batches, {used:.1f} GiB allocated on cuda:{own.local_rank(rank)}"
        told(stage, began + (at - began) * turn // 5, rank, "evaluation", said)
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    free, wanted = draw.between(0.2, 1.4), draw.between(2.1, 5.9)
    variable = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    text = (
        f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {own.local_rank(rank)} has a total "
        f"capacity of {whole:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
        f"{whole - free:.2f} GiB memory in use. Of the allocated memory {whole - free - 1.1:.2f} GiB is allocated by "
        f"PyTorch, and {draw.between(0.2, 0.6):.2f} GiB is reserved by PyTorch but unallocated. If reserved but "
        f"unallocated memory is large try setting {variable}=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    script = own.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 205, "main", "scores = evaluate(model, dev_loader)", True),
        sdk.Frame(script, 148, "evaluate", "logits = torch.cat((logits, batch_logits), dim=0)", True),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 2 * SEC // 3, 1)], at + 2 * SEC // 3)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("The set for evaluation was made ten times as large.", (made,))
