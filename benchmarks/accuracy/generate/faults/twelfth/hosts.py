"""Faults of hosts, their devices, disks and links, of the twelfth part; storage is innocent, in most of them loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import died_of, nccl_warned, remote_error, xid
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "twelfth")

#: Lines of NCCL's sockets that speak of a call which has failed, by PyTorch's release.
SOCKET = {203: 58, 205: 58, 207: 64, 211: 69}


@kind(hangs=False)
def page_fault_on_device(stage: Stage) -> Scenario:
    """A kernel reads an address that is not mapped: Xid 31, a fault of the MMU (NVIDIA's Xid catalogue)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("page")
    stage.mark(at, f"a kernel of rank {rank} reads where nothing is mapped")
    if job.job.torch.is_rocm:
        address = f"0x7f{draw.token(5, HEX)}00000"
        why = "Page not present or supervisor privilege."
        agent = f"(Agent handle: 0x{draw.token(8, HEX)}) on address {address}. Reason: {why}"
        node = job.job.node_of(rank)
        card = f"kernel: amdgpu 0000:{draw.whole(1, 13):x}c:00.0: amdgpu:"
        watched(stage, at + 2 * MS, node, f"{card} [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32770)")
        job.say(at + 9 * MS, rank, f"Memory access fault by GPU node-{job.job.local_rank(rank) + 2} {agent}")
        job.agents_end([Exit(rank, at + 400 * MS, -6)], at + 400 * MS)
    else:
        engine = f"GPC{draw.whole(0, 6)} GPCCLIENT_T1_{draw.whole(0, 9)}"
        address = f"0x7f{draw.token(2, HEX)}_{draw.token(5, HEX)}000"
        text = f"Ch {draw.whole(8, 31):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS {engine} faulted @ {address}. "
        text += f"Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_{draw.pick(('READ', 'READ', 'WRITE'))}"
        if draw.chance(0.8):
            xid(stage, at + 3 * MS, rank, 31, text)
        what = "an illegal memory access was encountered"
        died_of(stage, at + 30 * MS, rank, what, "cudaErrorIllegalAddress", draw)
    unrest.hung_up_on(stage)
    return stage.close(
        "A fused kernel trusts the lengths of a batch.", (stage.innocent("gpu", rank, also=("software",)),)
    )


def _reads_aborted(stage: Stage, at: int, node: int) -> None:
    """Ranks of a host lose connections to storage as well, and do not live to ask again."""
    draw, job = stage.draw.child("aborted"), stage.job
    for who in [one for one in (stage.culprit, *readers(stage)) if job.job.node_of(one) == node][:4]:
        wait = round(draw.between(1.0, 1.8), 2)
        text = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
        job.sdk_warning(at + draw.span(5, 400), who, sdk.retrying(wait, "ConnectionError", text))


@kind(hangs=False, hosts=2, torch_order=203, torch_before=215)
def overlay_resets_connections(stage: Stage) -> Scenario:
    """The network of containers is renewed on one host: NCCL's sockets to it are reset (NVIDIA/nccl#193, #706)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("overlay")
    node, peer = job.job.node_of(rank), (rank + job.job.ranks_per_node) % job.job.world
    stage.mark(at, f"the network of containers on {job.job.hosts[node]} is set up anew")
    if draw.chance(0.6):
        pod = draw.pick(("kube-system/cilium", "kube-system/calico-node", "kube-flannel/kube-flannel-ds"))
        said = f'kubelet[1922]: "SyncLoop ADD" source="api" pods=["{pod}-{draw.token(5, LOWER)}"]'
        watched(stage, at - draw.span(300, 2_600), node, said)
    if draw.chance(0.7):
        _reads_aborted(stage, at, node)
    ends, then = [], at + draw.span(60, 900)
    for one, other in ((rank, peer), (peer, rank)):
        where = f"10.244.{job.job.node_of(other) % 250}.{draw.whole(2, 250)}<{draw.whole(32_800, 60_900)}>"
        last = f"socketProgressOpt: Call to recv from {where} failed : Connection reset by peer"
        nccl_warned(stage, then, one, f"misc/socket.cc:{since(SOCKET, job.job.torch.order)}", last)
        remote_error(stage, then + draw.span(20, 110), one, last)
        ends.append(Exit(one, then + 400 * MS, -6))
        then += draw.span(4, 300)
    job.agents_end(ends, max(one.at for one in ends))
    unrest.hung_up_on(stage)
    also = ("gpu_fabric", "infrastructure")
    return stage.close(
        "The site upgrades its network plug-in host by host.", (of_all(stage.innocent("network", also=also)),)
    )


@kind(hangs=False, hosts=2)
def spot_instance_reclaimed(stage: Stage) -> Scenario:
    """The cloud takes an instance back with two minutes' notice (AWS, spot instance interruption notices)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("spot")
    node = job.job.node_of(stage.culprit)
    host = job.job.hosts[node]
    stage.mark(at, f"the cloud takes {host} back")
    if draw.chance(0.8):
        began = at - seconds(draw.between(2, 9))
        event = f"spot-itn-{draw.token(12, HEX)}"
        handler = "aws-node-termination-handler[1204]: INF"
        said = f"Got interruption event from channel InstanceID=i-0{draw.token(16, HEX)} Kind=SPOT_ITN event-id={event}"
        watched(stage, began, node, f"{handler} {said}")
        watched(stage, began + draw.span(90, 400), node, f"{handler} Cordoning the node node_name={host}")
        watched(stage, began + draw.span(500, 900), node, f"{handler} Draining the node node_name={host}")
    job.agent_signalled(at, node)
    job.slurm(at + seconds(2.2), 0, f"srun: error: Node failure on {host}")
    then = at + seconds(draw.between(2.6, 9))
    for other in range(len(job.job.hosts)):
        if other != node:
            job.agent_signalled(then + other * 30 * MS, other)
    job.slurm(then + seconds(0.8), 0, torchrun.step_cancelled(job.job, then + seconds(0.8), "NODE FAILURE"))
    job.ended_at = then + seconds(2)
    unrest.hung_up_on(stage)
    also = ("network",)
    return stage.close(
        "Instances are cheap as long as nobody else wants them.", (of_all(stage.innocent("infrastructure", also=also)),)
    )


@kind(hangs=False, reads=True)
def cache_fills_local_disk(stage: Stage) -> Scenario:
    """Copies of shards on a host's own disk are never removed (mosaicml/streaming docs, cache_limit)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw, node = stage.draw.child("copies"), stage.job.job.node_of(stage.culprit)
    folder = draw.pick(("/local/mds-cache", "/tmp/streaming", "/raid0/shards"))
    stage.mark(at, f"{folder} of {job.job.hosts[node]} is full")
    if draw.chance(0.4):
        mounted = f"/{folder.split('/')[1]}"
        watched(
            stage, at - draw.span(900, 9_000), node, f"check[881]: disk {draw.pick(('880G', '1.8T'))} 100% {mounted}"
        )
    module = f"{site}/streaming/base"
    inner = (
        sdk.Frame(f"{module}/dataset.py", 1219, "__getitem__", "self.prepare_shard(shard_id, False)"),
        sdk.Frame(f"{module}/dataset.py", 1116, "prepare_shard", "delta = stream.prepare_shard(shard)", True),
        sdk.Frame(f"{module}/stream.py", 395, "_prepare_shard_part", "self._download_file(raw_info.basename)"),
        sdk.Frame("/workspace/asr/shards.py", 58, "download", "out.write(chunk)"),
    )
    others = [one for one in readers(stage) if job.job.node_of(one) == node][: draw.whole(0, 2)]
    for other in others:
        shard = f"{folder}/train/shard.{draw.whole(0, 9_999):05d}.mds.zstd.tmp"
        said = f"{shard}: [Errno 28] No space left on device, once more in 2 s"
        job.note(at - draw.span(200, 1_900), other, said, "W", 61, "shards")
    caller = fetch_frames(stage, "sample = self.dataset[index]", *inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, "OSError: [Errno 28] No space left on device")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    also = ("software", "data_loading_stall")
    return stage.close(
        "A limit of copies is not set, and the mixture has a new corpus.",
        (stage.innocent("infrastructure", rank, also=also),),
    )
