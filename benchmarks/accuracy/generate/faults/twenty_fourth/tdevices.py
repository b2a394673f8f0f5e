"""Devices and the fabric between them, of the twenty-fourth part; storage is innocent and mostly loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_fourth")


@kind(lead_s=60.0)
def device_gone_without_a_word(stage: Stage) -> Scenario:
    """A device falls off its bus, and the process that used it never returns from the driver (gpud#1209; NVSentinel).

    To acquit: the kernel of that host says that the device does not respond, its nvidia-smi has no handle for it; its
    rank alone is missing, and its batch was there; the target went away when the job had hung for long.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_skips_bad_reads)
    unrest.unsettled(stage, (disk_unrest.tenant_full_in_window, unrest.entries_missing, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("gone")
    node, bus = job.job.node_of(rank), f"0000:{draw.pick(('1b', '43', '52', '9d', 'c3', 'd1'))}:00"
    told(stage, at - 130 * MS, rank, "train", f"step {stage.step}: batch here, 48 of 48 cuts")
    stage.mark(at, f"the device of rank {rank} does not respond")
    then = at + draw.span(20, 700)
    device = draw.pick(("10de:2330", "10de:20b2", "10de:26b5"))
    watched(stage, then, node, f"kernel: NVRM: The NVIDIA GPU {bus}.0")
    watched(stage, then + MS, node, f"kernel: NVRM: (PCI ID: {device}) installed in this system has")
    watched(stage, then + 2 * MS, node, "kernel: NVRM: fallen off the bus and is not responding to commands.")
    later = then + draw.span(2_000, 9_000)
    said = f"Unable to determine the device handle for GPU{bus.upper()}.0: Unknown Error"
    for turn in range(draw.whole(1, 3)):
        watched(stage, later + turn * seconds(10), node, f"nvidia-smi: {said}")
    stage.hang(at + 40 * MS, rank)
    own_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure", "rank_hang"))
    return stage.close("The host had one such event in the month before.", (made,))


@kind(hangs=False, lead_s=60.0)
def tokens_beyond_the_vocabulary(stage: Stage) -> Scenario:
    """A tokenizer has more pieces than the model has classes: an assertion on the device (pytorch forum, nll_loss).

    To acquit: kernels of the loss assert that a target is below the number of classes; the program prints both numbers
    at its start, and the batch was there.
    """
    stage.open()
    beside(stage, reset_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, unrest.entries_missing, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("tokens")
    classes, more = draw.pick((1024, 2048, 4096)), draw.pick((2, 4, 8))
    pieces = f"tokenizer: {classes + more} pieces of v{draw.whole(3, 9)}, {more} of them new"
    told(stage, job.begin - 300 * MS, rank, "model", f"decoder: {classes} classes and a blank; {pieces}")
    last = classes + draw.whole(1, more - 1)
    told(stage, at - 85 * MS, rank, "train", f"step {stage.step}: 48 of 48 cuts here, {last} is the highest token")
    stage.mark(at, f"a loss of rank {rank} is given a target that is no class")
    place = f"{job.job.torch.source_tree}aten/src/ATen/native/cuda/Loss.cu:{draw.pick((245, 250))}"
    head = f"{place}: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0]"
    for turn, thread in enumerate(sorted(draw.shuffled(range(32))[: draw.whole(2, 5)])):
        job.say(at + turn * 40_000, rank, f"{head}, thread: [{thread},0,0] Assertion `t >= 0 && t < n_classes` failed.")
    order = job.job.torch.order
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/losses.py", 44, "forward", "total = loss.item()", True),
    )
    said = cuda_error(order, "device-side assert triggered", "cudaErrorAssert")
    name = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    job.raise_on(at + 3 * MS, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {said}")))
    exits(stage, at + 3 * MS, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("The decoder is that of the release before.", (made,))


def _frames_lost(stage: Stage, ends: tuple[int, int], card: str, draw: Draw) -> None:
    """Monitors of two hosts show how counters of their cards grow."""
    at, lost = stage.at, draw.whole(40, 900)
    for turn in range(3):
        for one in ends:
            lost += draw.whole(2_000, 61_000)
            then = at - seconds(2.5 - 2.4 * turn) + draw.span(1, 400)
            said = f"rdma statistic {card}/1: packet_seq_err {lost} local_ack_timeout_err {lost // 190}"
            watched(stage, then, stage.job.job.node_of(one), said)


@kind(hangs=False, hosts=2, lead_s=60.0)
def queue_pair_retries_used_up(stage: Stage) -> Scenario:
    """A congested switch of RoCE loses frames until both ends of a queue pair give up (nccl#1405, nccl#1814).

    To acquit: NCCL has completions with errors on ranks of two hosts, each of the other, and counters of the cards
    grow; reads of the job, which go over another network, are served meanwhile.
    """
    stage.open()
    beside(stage, ninth_unrest.keepalives_late)
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, unrest.connects_repeated))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("queue pair")
    peer = (rank + own.ranks_per_node) % own.world
    peer = peer if own.node_of(peer) != own.node_of(rank) else 0
    address = {one: f"172.31.{draw.whole(8, 90)}.{draw.whole(2, 250)}" for one in (rank, peer)}
    card = f"mlx5_{draw.whole(0, 7)}"
    stage.mark(at - seconds(3), "a switch between two hosts drops frames of RoCE")
    _frames_lost(stage, (rank, peer), card, draw)
    failed, opcode = at + seconds(draw.between(8, 14)), draw.whole(32_500, 32_760)
    place = f"transport/net_ib{draw.pick(('.cc', '/p2p.cc'))}:{draw.pick((1298, 1486, 2042))}"
    errors = {}
    for one, other, way in ((rank, peer, "Send"), (peer, rank, "Recv")):
        where = f"from peer {address[other]}<{draw.whole(32_800, 60_900)}> with status=12 opcode={opcode} len=0"
        gids = f"localGid ::ffff:{address[one]} remoteGids::ffff:{address[other]} hca {card}"
        errors[one] = f"NET/IB : Got completion {where} vendor err 129 ({way}) {gids}"
        pid, host = own.rank_pids[one], own.hosts[own.node_of(one)]
        head = f"\n{host}:{pid}:{pid + draw.whole(150, 400)} [{own.local_rank(one)}] {place}"
        job.say(failed + draw.span(1, 90), one, f"{head} NCCL WARN {errors[one]}")
    what = "remote process exited or there was a network error\n"
    what += "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    for one in (rank, peer):
        raised = sdk.Raised(loss_frames(stage, "sync_gradients(model, buckets)"), nccl_error(stage, what, errors[one]))
        job.raise_on(failed + draw.span(110, 190), one, sdk.traceback(raised))
    for one in readers(stage)[:2]:
        told(stage, at + draw.span(2_000, 6_000), one, "prefetch", "next batch here, 48 of 48 cuts, queue 4 of 4")
    job.agents_end([Exit(rank, failed + 800 * MS, 1), Exit(peer, failed + 830 * MS, 1)], failed + 900 * MS)
    made = stage.innocent("network", rank, peer, also=("infrastructure", "gpu_fabric"))
    return stage.close("Priority flow control was lost with an upgrade of a leaf switch.", (of_all(made),))


@kind(hosts=2, lead_s=60.0, min_timeout_s=60)
def receiver_of_efa_does_not_respond(stage: Stage) -> Scenario:
    """An EFA device is reachable and its endpoint is not: nobody finishes an all-reduce (aws-ofi-nccl, issues).

    To acquit: all ranks have begun the same collective, none is missing; NET/OFI names an unresponsive receiver right
    after, and batches went on to be prefetched.
    """
    stage.open()
    unrest.unsettled(stage, (own_unrest.neighbour_skips_bad_reads, loud.backup_until_now, unrest.entries_missing))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("efa")
    stage.mark(at, f"an endpoint of EFA on {own.hosts[own.node_of(rank)]} does not respond")
    peer = (rank + own.ranks_per_node) % own.world
    ends = [
        f"fe80::8{draw.token(2, HEX)}:{draw.token(2, HEX)}ff:fe{draw.token(2, HEX)}:{port}" for port in ("db5", "9a1c")
    ]
    for turn, one in enumerate(dict.fromkeys((peer, rank))):
        own_end, other_end = ends[turn], ends[1 - turn]
        pid, host = own.rank_pids[one], own.hosts[own.node_of(one)]
        head = (
            f"\n{host}:{pid}:{pid + draw.whole(150, 400)} [{own.local_rank(one)}] ofi_process_cq:{draw.whole(90, 200)}"
        )
        text = f"NET/OFI Request 0x7f{draw.token(10, HEX)} completed with error. RC: 103. Error: 4126 (Unresponsive "
        text += "receiver (reachable by EFA device but handshake failed) My EFA addr: fi_addr_efa://"
        text += f"[{own_end}]:0:{draw.whole(10_000_000, 2_000_000_000)} My host id: i-0{draw.token(16, HEX)} Peer EFA "
        text += f"addr: fi_addr_efa://[{other_end}]:0:{draw.whole(10_000_000, 2_000_000_000)} Peer host id: N/A). "
        text += "Completed length: 0, Request: { dev: "
        text += f"{draw.whole(0, 7)}, size: 0, state: CREATED, type: SEND }}"
        job.say(at + seconds(draw.between(4.5, 6.0)) + turn * 300 * MS, one, f"{head} NCCL WARN {text}")
    for one in readers(stage)[:3]:
        told(stage, at + draw.span(500, 4_000), one, "prefetch", "next batch here, 48 of 48 cuts, queue 4 of 4")
    stage.hang(at + 20 * MS)
    own_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("network", also=("gpu_fabric", "infrastructure", "rank_hang"))
    return stage.close("A security group lets ranks of two subnets talk one way only.", (of_all(made),))
