"""Hosts, devices, wires and launchers that fail in awkward set-ups; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.tenth.training import nccl_error, watched
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit, reducing_frames
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.tries import client_told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.watchkeepers import REMOTE, nccl_head
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.parallel import Mesh
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_fifth")
W = "WARNING"
BUSES = ("18:00.0", "2a:00.0", "3a:00.0", "5d:00.0", "9a:00.0", "ab:00.0", "ba:00.0", "db:00.0")


def _reads_in_vain(stage: Stage, at: int, rank: int) -> None:
    """A read of a target is not answered any more, and then the rank's proxy cannot be connected to."""
    draw, over = stage.draw.child("in vain", rank), over_at(stage)
    node, proxy = draw.pick(stage.cluster.targets), stage.proxy_of(rank)
    path = object_path(stage, rank, utterance(draw))
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.read_timeout(node.address, node.ports[0]))
    then, reason = at + seconds(20.02), "ConnectionError"
    for turn in range(6):
        if then > over - SEC:
            return
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, reason, text))
        cause = sdk.connect_timeout(proxy.address, draw.whole(*HANDLES))
        asked = f"{path.split('?')[0]}?provider=ais"
        text, reason = sdk.pool_error(proxy.address, proxy.ports[0], asked, cause), "ConnectTimeout"
        then += seconds(wait) + seconds(3.01)
    if then < over - SEC:
        exhausted(stage, then, rank, text, reason, one_object(stage))


@kind(hosts=2, reads=True, min_timeout_s=90, lead_s=58.0, without=("kill_after",))
def storage_port_of_one_host_goes_down(stage: Stage) -> Scenario:
    """The port by which one host reaches storage loses its link, that of NCCL stays up (mlx5 driver, Link down).

    To acquit: the kernel of that host says that the port is down, just before its ranks wait in vain for all kinds of
    targets and cannot connect to their proxy; ranks of other hosts have their batches of the same step after that. No
    daemon misses another one, and all go on to count.
    """
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("port")
    node = own.node_of(rank)
    client_told(stage, "every rank with a loader reads at every step, its SDK retries, read time-out 20 s")
    stage.open()
    down = stage.mark(at - draw.span(30, 140), f"the storage port of {own.hosts[node]} goes down")
    port = draw.pick(("ens21f0np0", "ens2f1np1", "enp161s0f1np1"))
    watched(stage, down + 4 * MS, node, f"kernel: mlx5_core 0000:a1:00.1 {port}: Link down")
    struck = sorted({rank, *(one for one in readers(stage) if own.node_of(one) == node)})
    for one in struck:
        _reads_in_vain(stage, at + draw.span(1, 200), one)
    for one in sorted({*firsts(stage)} & {*readers(stage)}):
        if own.node_of(one) != node:
            url, spent = stage.proxy_of(one).url(0), draw.between(0.05, 0.3)
            got = f"step {stage.step}: 48 of 48 entries in {spent:.2f} s via {url}"
            told(stage, at + draw.span(180, 290), one, "loader", got)
    end = stage.hang(at + 340 * MS, *struck)
    made = stage.innocent("network", *struck, also=("infrastructure", "data_loading_stall"))
    alive = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
    return stage.close("A cable was pulled from the wrong host of the rack.", (made,), alive, until=end + seconds(40))


def _in_one_group(stage: Stage) -> None:
    """All ranks are of one group, so that each collective needs the wires between hosts."""
    if isinstance(stage, Scene) and stage.setting.mesh is not None:
        stage.setting = replace(stage.setting, mesh=Mesh(stage.params.ranks))
        stage.job.job = replace(stage.job.job, grid=(1, 1))


@kind(hosts=2, lead_s=128.0, without=RESTARTS)
def links_go_down_between_two_restarts_of_storage(stage: Stage) -> Scenario:
    """All hosts lose a rail at once; targets were restarted before, and one dies after (recorded 07 and 09).

    To acquit: each host's kernel says in one second that a port of InfiniBand is down, and from there on no rank, none
    of which is behind another, completes what all have enqueued. The target that was away before had joined again and
    its rebalance was over, and the one that dies does so when all wait already.
    """
    own, at, draw = stage.job.job, stage.at, stage.draw.child("links")
    beside(stage, noise.restart_before)
    _in_one_group(stage)
    stage.open()
    down = stage.mark(at - draw.span(20, 300), "a leaf switch of the fabric reboots")
    hca = draw.whole(0, 7)
    for node in range(len(own.hosts)):
        watched(stage, down + draw.span(1, 400), node, f"kernel: mlx5_{hca}: Port: 1 Link DOWN")
    stage.hang(at)
    beside(stage, noise.kill_after)
    made = stage.innocent("gpu_fabric", also=("network", "infrastructure"))
    return stage.close("The switch had a new image, which was to be active at the next reboot.", (made,))


@kind(hosts=2, hangs=False, torch_order=203, lead_s=60.0)
def launcher_names_the_rank_whose_peer_is_gone(stage: Stage) -> Scenario:
    """An agent that looks at its ranks every 10 s sees the culprit last (torchrun docs, monitor-interval).

    To acquit: the culprit has told of its IndexError before another rank finds its connection closed, by the clock of
    one program; that the tables have the other one first comes from agents that look rarely. The batch had been read:
    the rank says so, and its retry was some steps before.
    """
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("named")
    node = own.node_of(rank)
    stage.job.note(job.begin - 410 * MS, 0, "launched with --monitor-interval 10 --max-restarts 0", line=44)
    stage.open()
    early = at - draw.span(9_000, 21_000)
    left = f"Batch stream truncated at index {draw.whole(2, 40)}/48. "
    job.note(early, rank, f"{left}Falling back to direct AIStore API calls for remaining objects.", "W", 211, "loader")
    told(stage, at - draw.span(60, 190), rank, "loader", f"step {stage.step}: 48 of 48 objects")
    size, index = draw.pick((512, 1024, 2048)), draw.whole(0, 40)
    text = f"IndexError: index {size + index} is out of bounds for dimension 0 with size {size}"
    stage.mark(at, f"rank {rank} has a label that its vocabulary has not")
    told(stage, at + 2 * MS, rank, "train", f"step {stage.step} failed on rank {rank}, going down: {text}", "ERROR")
    job.raise_on(at + 5 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "loss = weights[labels].sum()"), text)))
    first = draw.pick([one for one in range(own.world) if own.node_of(one) != node])
    then = at + draw.span(1_000, 1_600)
    peer = f"{own.hosts[node]}<{draw.whole(33_000, 60_900)}>"
    closed = f"socketProgress: Connection closed by remote peer {peer}"
    job.say(then, first, f"\n{nccl_head(stage, first, 173)} misc/socket.cc:49 NCCL WARN {closed}")
    gone = nccl_error(stage, REMOTE, closed)
    job.raise_on(then + 30 * MS, first, sdk.traceback(sdk.Raised(reducing_frames(stage), gone)))
    seen = then + draw.span(1_100, 2_500)
    last = at + draw.span(5_600, 9_400)
    job.agents_end([Exit(first, seen, 1), Exit(rank, last, 1)], last)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("Labels came from a newer tokenizer than the model's.", (made,))


@kind(hangs=False, ais_order=410, lead_s=84.0, without=(*RESTARTS, "disk_busy"))
def steps_were_slow_before_a_device_fell_off_the_bus(stage: Stage) -> Scenario:
    """Reads of one target are slow for a while and well again; half a minute later a device is lost (NVIDIA Xid 79).

    To acquit: the kernel has Xid 79 for the rank's process just before its CUDA error. The steps that waited for data
    end with the pressure on the target's disks, and those after them take as long as the first.
    """
    job, own, cluster, rank = stage.job, stage.job.job, stage.cluster, stage.culprit
    victim, draw, torch = stage.victim, stage.draw.child("slow before"), stage.params.torch_release
    begins = max(10, stage.step // 4 // 10 * 10)
    slow = {step: draw.between(2.4, 6.9) for step in range(begins, max(begins + 11, stage.step // 2), 10)}
    for step, wait in slow.items():
        job.delay(step, seconds(wait))
    at = job.step_at(stage.step) + 40 * MS
    stage.at = at
    stage.mark(job.begin, f"job {own.job_id} starts training")
    job.start()
    job.train(0, stage.step, slow=slow)
    xact = cluster.start_batches(job.begin + 40 * MS, victim)
    stage.load(job, job.begin + 60 * MS, at - 80 * MS)
    since, until = job.step_at(begins) - seconds(2), job.step_at(max(slow) + 1) + seconds(1)
    disk.disk_pressure(cluster, victim, since, until, draw)
    advice = ev.advice("high", "10ms", "low", "low", "critical")
    said = ev.throttled(xact, draw.whole(20, 60), advice, "10ms", victim.release.order)
    cluster.say(victim, since + seconds(3), said)
    for step, wait in slow.items():
        other = draw.pick(readers(stage) or [rank])
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        told(stage, job.step_at(step + 1) - 300 * MS, other, "loader", f"slow read: {wait:.1f} s for {url}", W)
    stage.mark(at - 40 * MS, f"the device of rank {rank} falls off its bus")
    place = f"PCI:0000:{BUSES[own.local_rank(rank) % len(BUSES)].split(':')[0]}:00"
    lost = f"NVRM: Xid ({place}): 79, pid={own.rank_pids[rank]}, name=python3, GPU has fallen off the bus."
    watched(stage, at - 30 * MS, own.node_of(rank), f"kernel: {lost}")
    error = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    text = f"{error}: {cuda_error(torch.order, 'unspecified launch failure', 'cudaErrorLaunchFailure')}"
    raise_and_exit(stage, at, rank, text, "scaler.scale(loss).backward()")
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("A riser had worked loose; a rebalance of another cluster had kept the disks busy.", (made,))
