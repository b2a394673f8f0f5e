"""Hosts of a job and their queue that fail beneath it, of the twenty-third part; storage is innocent, mostly loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from math import ceil

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.launchers import throttled_neighbour
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, next_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_third")


@kind(hangs=False, slurm=True, lead_s=75.0, without=RESTARTS)
def preempted_by_another_queue(stage: Stage) -> Scenario:
    """A job of a better queue takes the hosts away (SLURM docs, preempt).

    To acquit: slurmstepd says DUE TO PREEMPTION, before any rank has failed; all were at their steps until then, and
    the target that was killed had been back for some seconds.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, unrest.entries_missing, throttled_neighbour))
    job, at, draw = stage.job, stage.at, stage.draw.child("preempted")
    stage.mark(at, "SLURM takes the hosts for another job")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "PREEMPTION"))
    job.slurm(at + 4 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    last = at
    for node in range(len(job.job.hosts)):
        then = at + draw.span(20, 90)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 2_400), node, f"srun: error: {job.job.hosts[node]}: task {node}: Terminated")
        last = max(last, then)
    job.ended_at = last + 3 * SEC
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("It was submitted to the queue whose jobs may be taken away.", (of_all(made),))


@kind(reads=True, hangs=False, lead_s=60.0)
def cache_disk_of_a_host_full(stage: Stage) -> Scenario:
    """The copies of shards fill a host's own disk (Streaming docs, cache_limit).

    To acquit: it is a path of the host that has no space left, its df shows it, and the shard had come in full; the
    target without space turns writes of another tenant down, and no read.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.reads_recover, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cache")
    node, site, size = job.job.node_of(rank), job.job.build["site"], draw.pick((440, 880, 1_760))
    local, shard = f"/local/{draw.pick(('mds', 'nvme0/mds', 'scratch/mds'))}", draw.whole(300, 4_000)
    stage.mark(at, f"{local} of {job.job.hosts[node]} is full")
    reader_note(stage, job.begin - 50 * MS, rank, f"StreamingDataset: local {local}, cache_limit None")
    disk = "/dev/nvme1n1"
    for before in (38, 21, 6):
        then = at - seconds(before) - draw.span(1, 900)
        used = size - before * draw.between(0.16, 0.2) - 0.3
        if then > job.begin:
            left = f"{size - used:.1f}G {ceil(used / size * 100)}%"
            watched(stage, then, node, f"df: {disk} {size}G {used:.1f}G {left} /local")
    name = f"shard.{shard:05d}.mds"
    many = draw.whole(61_000_000, 67_100_000)
    said = f"{name}.zstd: {many} of {many} bytes here, unpacking"
    reader_note(stage, at - 25 * MS, rank, f"s3://{stage.bucket}/mds/{said}")
    streaming = f"{site}/streaming/base"
    inner = (
        sdk.Frame(f"{streaming}/dataset.py", 1236, "prepare_shard", "delta = stream.prepare_shard(shard)"),
        sdk.Frame(f"{streaming}/stream.py", 506, "prepare_shard", "self._prepare_shard_part(raw, zip)"),
        sdk.Frame(f"{streaming}/stream.py", 382, "_decompress_shard_part", "with open(tmp_filename, 'wb') as out:"),
    )
    in_worker(stage, at, rank, "OSError", f"[Errno 28] No space left on device: '{local}/{name}.tmp'", inner)
    watched(stage, at + 400 * MS, node, f"df: {disk} {size}G {size}G 20K 100% /local")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Nothing limits the copies, and a job before had left its own.", (made,))


def _packets_dropped(stage: Stage, rank: int, began: int, over: int, draw: Draw) -> None:
    """New connections of a rank to one node after the other are not made; its script asks anew after seven tries."""
    then, attempt = began + seconds(3.0), 0
    while then < over:
        node = stage.cluster.target(draw.whole(0, 99))
        cause = sdk.connect_timeout(node.address, draw.whole(*HANDLES) // 16 * 16)
        text = sdk.pool_error(node.address, node.ports[0], f"/v1/objects/{stage.bucket}", cause)
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        if attempt == 6:
            stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
            reader_note(stage, then + 2 * MS, rank, f"batch {stage.step} not here (ConnectTimeout), asked for again")
        else:
            stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout", text))
        attempt = (attempt + 1) % 7
        then += seconds(wait + 3.0) + draw.span(2, 30)


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def connections_of_a_host_untracked(stage: Stage) -> Scenario:
    """A worker's kernel tracks no more connections and drops packets of new ones (Kubernetes docs; nf_conntrack).

    To acquit: the kernel of that host says that its table is full; its ranks alone cannot connect, to any target, while
    ranks of other hosts go on being served by the same ones.
    """
    stage.open()
    beside(stage, ninth_unrest.keepalives_late)
    unrest.unsettled(stage, (throttled_neighbour, disk_unrest.disk_lost_in_window, loud.backup_until_now))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("conntrack")
    node, over = job.job.node_of(rank), at + (job.job.timeout_s - 2) * SEC
    stage.mark(at - 700 * MS, f"the kernel of {job.job.hosts[node]} drops packets of new connections")
    table = draw.pick((65_536, 131_072, 262_144))
    then = at - 600 * MS
    while then < over:
        if then > at:
            watched(stage, then, node, f"kernel: net_ratelimit: {draw.whole(11, 900)} callbacks suppressed")
        watched(stage, then, node, "kernel: nf_conntrack: nf_conntrack: table full, dropping packet")
        then += draw.span(5_000, 19_000)
    watched(stage, at + 9 * SEC, node, f"sysctl: net.netfilter.nf_conntrack_count = {table} of {table}")
    mates = [one for one in readers(stage) if job.job.node_of(one) == node][:3]
    for one in (rank, *mates):
        _packets_dropped(stage, one, at + draw.span(1, 400), over, draw.child("drops", one))
    for one in [one for one in readers(stage) if job.job.node_of(one) != node][:3]:
        for turn in range(3):
            target, then = stage.cluster.target(turn), at + seconds(2 + 5 * turn) + draw.span(1, 2_000)
            said = f"batch of 48 objects in {draw.between(0.1, 0.5):.2f} s from {target.name}"
            reader_note(stage, then, one, f"prefetch: {said}")
            stage.cluster.count(target, then, getbatch_n=1, getbatch_obj_n=36, getbatch_obj_size=36 * 16_000)
            stage.cluster.count(target, then, getbatch_file_n=12, getbatch_file_size=12 * 14_000)
    stage.hang(at + 60 * MS, rank, *mates)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("network", rank, *mates, also=("infrastructure", "data_loading_stall", "rank_hang"))
    return stage.close("Another pod of that host scans a subnet.", (of_all(made),))


@kind(hangs=False, hosts=2, lead_s=60.0)
def port_of_the_fabric_flaps(stage: Stage) -> Scenario:
    """A cable of a worker's InfiniBand is loose (NCCL issues, status 12 with vendor error 129).

    To acquit: NCCL has an error of NET/IB and the kernel of that host a link that is down; storage is on another net.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (ninth_unrest.keepalives_late, tenth_unrest.peer_reconnects, unrest.connects_repeated))
    disk_unrest.killed_when_all_is_over(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("fabric")
    node, host, local = job.job.node_of(rank), job.job.hosts[job.job.node_of(rank)], job.job.local_rank(rank)
    down, failed = at - 60 * MS, at + seconds(draw.between(6.2, 9.5))
    stage.mark(down, f"a port of {host} goes down")
    card, bus = f"mlx5_{local}", draw.pick(("0000:3b:00.0", "0000:5e:00.0", "0000:9a:00.0"))
    watched(stage, down, node, f"kernel: mlx5_core {bus} {card}: Port: 1 Link DOWN")
    watched(stage, down + seconds(3), node, f"kernel: mlx5_core {bus} {card}: Port: 1 Link ACTIVE")
    watched(stage, down + seconds(4.4), node, f"kernel: mlx5_core {bus} {card}: Port: 1 Link DOWN")
    pid = job.job.rank_pids[rank]
    peer = f"10.210.{draw.whole(1, 60)}.{draw.whole(2, 250)}<{draw.whole(32_800, 60_900)}>"
    error = f"Got completion from peer {peer} with status=12 opcode=0 len=0 vendor err 129 (Recv) hca {card}"
    head = f"\n{host}:{pid}:{pid + draw.whole(150, 400)} [{local}] transport/net_ib.cc:{draw.pick((1295, 1823))}"
    job.say(failed, rank, f"{head} NCCL WARN NET/IB : {error}")
    what = "remote process exited or there was a network error\n"
    what += "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    text = nccl_error(stage, what, f"NET/IB : {error}")
    raised = sdk.Raised(loss_frames(stage, "dist.all_reduce(bucket)"), text)
    job.raise_on(failed + 120 * MS, rank, sdk.traceback(raised))
    exits(stage, failed + 120 * MS, rank)
    made = stage.innocent("network", rank, also=("infrastructure", "gpu_fabric"))
    return stage.close("The cable was moved in the morning.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def descriptors_of_a_rank_run_out(stage: Stage) -> Scenario:
    """Each tensor that a loader hands over keeps a descriptor of its rank open (pytorch#973, #41465; icefall#515).

    To acquit: the rank counts its open files up to its own limit, and it is its own loaders that it cannot hear.
    """
    stage.open()
    unrest.unsettled(stage, (past_unrest.neighbour_reads_cold, tenth_unrest.disk_found_well, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("descriptors")
    limit = draw.pick((1_024, 1_024, 4_096))
    stage.mark(at, f"rank {rank} has no descriptor left")
    span, then = at - job.begin, job.begin + draw.span(3_000, 6_000)
    while then < at - SEC:
        used = int(90 + (limit - 96) * (then - job.begin) / span)
        reader_note(stage, then, rank, f"{used} of {limit} files open, {used - 84} of them tensors of loaders")
        then += draw.span(9_000, 14_000)
    loader = f"{data_folder(stage)}/dataloader.py"
    frames = next_frames(
        stage,
        sdk.Frame(loader, 1458, "_next_data", "idx, data = self._get_data()", True),
        sdk.Frame(loader, 1420, "_get_data", "success, data = self._try_get_data()", True),
        sdk.Frame(loader, 1289, "_try_get_data", "raise RuntimeError("),
    )
    text = "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please increase "
    text += "the limit using `ulimit -n` in the shell or change the sharing strategy by calling "
    text += "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("Batches are kept for a histogram of their lengths.", (made,))
