"""Hosts of training, their cards, links and tables that give up, of the twenty-first part; storage is innocent.

In most of them storage is loud. The docstring of a kind says where it is from, and which lines acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth.thosts import gives_up
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import COMPLETION, nccl_warned, remote_error
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_first")


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def table_of_connections_is_full(stage: Stage) -> Scenario:
    """A host tracks no more connections and drops what is new (kernel docs, nf_conntrack; kubernetes#56903).

    To acquit: the kernel of that host says that its table is full; its ranks alone cannot connect, to proxy and targets
    alike, and its own exporter neither; ranks of other hosts are served all the while.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_is_reset, unrest.entries_missing, commotion.tenant_backend_fails))
    own, draw, cluster = stage.job.job, stage.draw.child("conntrack"), stage.cluster
    node = own.node_of(stage.culprit)
    began = stage.mark(stage.at - draw.span(1_500, 6_000), f"{own.hosts[node]} tracks too many connections")
    wheres = [*cluster.proxies, *cluster.targets]

    def asked(rank: int) -> str:
        where = draw.pick(wheres)
        cause = sdk.connect_timeout(where.address, draw.whole(*HANDLES) // 16 * 16)
        path = object_path(stage, rank, utterance(draw))
        path = path.partition("&pid=")[0] if where in cluster.proxies else path
        return sdk.pool_error(where.address, where.ports[0], path, cause)

    most = draw.pick((65_536, 131_072, 262_144))
    watched(stage, began - 300 * MS, node, f"conntrack: {most} of {most} entries, {most - 900} of them TIME_WAIT")
    then, over = began, gives_up(stage, "ConnectTimeout", 3.0, asked)
    while then < over:
        watched(stage, then, node, "kernel: nf_conntrack: nf_conntrack: table full, dropping packet")
        missed = draw.whole(40, 900)
        watched(stage, then + 5 * MS, node, f"kernel: net_ratelimit: {missed} callbacks suppressed")
        then += seconds(5) + draw.span(1, 90)
    push = 'Post "http://10.0.4.12:9091/metrics/job/train": dial tcp 10.0.4.12:9091: i/o timeout'
    watched(stage, began + draw.span(6_000, 9_000), node, f"node-exporter-push: {push}")
    made = stage.innocent("infrastructure", stage.culprit, also=("network", "data_loading_stall"))
    return stage.close("A new job of the same host opens a connection for each small file of another store.", (made,))


@kind(hangs=False, lead_s=75.0, without=RESTARTS)
def pod_is_evicted_for_its_scratch(stage: Stage) -> Scenario:
    """A cache of shards grows over the pod's limit of local storage (Kubernetes docs; kubernetes#122160).

    To acquit: the event names the limit, and the cache had printed its size; steps were as long as ever until then, and
    the target that was killed was back.
    """
    stem = stage.job.job.task.replace("_", "-")
    name = f"{stem}-{stage.draw.child('pod').token(5, LOWER)}"
    stage.job.job = replace(stage.job.job, layout="kubectl", job_id=name)
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, own_unrest.neighbour_is_reset))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("evicted")
    node, limit = own.node_of(stage.culprit), draw.pick((200, 300, 500))
    stage.mark(at, f"pod {name}-worker-{node} is evicted")
    then, first = job.begin + draw.span(2_000, 5_000), own.ranks_of(node)[0]
    while then < at - SEC:
        size = limit + 1 - (at - then) / SEC * 0.9
        reader_note(stage, then, first, f"cache: {size:.1f} GiB of shards in /tmp/shard-cache, none is removed")
        then += seconds(20)
    head = f"k8s-events: ml-train Pod/{name}-worker-{node}"
    why = f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}Gi. "
    job.agent(at, node, f"{head} Warning Evicted {why}")
    job.agent(at + 30 * MS, node, f"{head} Normal Killing Stopping container pytorch")
    job.agent_signalled(at + draw.span(200, 700), node)
    last = at + seconds(2.2)
    for other in range(len(own.hosts)):
        if other != node:
            stopped = f"k8s-events: ml-train PyTorchJob/{name} Warning PyTorchJobFailed PyTorchJob {name} is failed "
            job.agent(last, other, f"{stopped}because 1 Worker replica(s) failed.")
            job.agent_signalled(last + draw.span(100, 600), other)
    job.ended_at = at + seconds(5)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("The cache was made for hosts with a disk of their own.", (made,))


@kind(hangs=False, lead_s=75.0, without=RESTARTS)
def card_has_left_its_bus(stage: Stage) -> Scenario:
    """A device is not on its bus any more, Xid 79, and its rank meets that (NVIDIA's Xid catalogue; Llama 3 report).

    To acquit: the driver's line stands before the exception, on that rank's host; a target was killed half a minute
    before, and what batches lacked then was told and gone on without.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, tenth_unrest.tenant_batches_fail))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("bus")
    node, bus = job.job.node_of(rank), f"{draw.pick(('0a', '3b', '5d', '87', '9b', 'bb', 'db'))}"
    lost = stage.mark(at - draw.span(300, 1_900), f"the device of rank {rank} is off its bus")
    said = "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    watched(stage, lost, node, f"kernel: NVRM: Xid (PCI:0000:{bus}:00): 79, {said}")
    watched(stage, lost + MS, node, f"kernel: NVRM: GPU 0000:{bus}:00.0: GPU has fallen off the bus.")
    port = f"0000:{int(bus, 16) - 1:02x}:01.0"
    pcie = f"kernel: pcieport {port}: AER: Uncorrected (Fatal) error message received from {port}"
    watched(stage, lost - 40 * MS, node, pcie)
    text = cuda_error(job.job.torch.order, "unspecified launch failure", "cudaErrorLaunchFailure")
    error = "torch.AcceleratorError" if job.job.torch.order >= 208 else "RuntimeError"
    frames = loss_frames(stage, "scaler.scale(loss).backward()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{error}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close("A riser of that slot is loose.", (stage.innocent("gpu", rank, also=("infrastructure",)),))


@kind(hangs=False, hosts=2, torch_order=203, torch_before=215, lead_s=60.0)
def link_of_a_host_flaps(stage: Stage) -> Scenario:
    """An optic of a training host goes down and up for seconds, NCCL gives up (NVIDIA/nccl#1405, #1664, #1814).

    To acquit: the kernel counts how often the link went down; NCCL's completions name the two hosts of the fabric. What
    reconnects among targets is on another network, and batches were complete.
    """
    stage.open()
    beside(stage, tenth_unrest.peer_reconnects)
    unrest.unsettled(stage, (own_unrest.neighbour_is_reset, past_unrest.turned_away_in_window))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("flap")
    node, local = own.node_of(rank), own.local_rank(rank)
    peer = (rank + own.ranks_per_node) % own.world
    stage.mark(at, f"a link of {own.hosts[node]} flaps")
    card = f"mlx5_core 0000:{draw.pick(('1a', '3d', '5e', '9c', 'cd'))}:00.0 rdma{local}"
    then = at
    for turn in range(draw.whole(2, 4)):
        watched(stage, then, node, f"kernel: {card}: Link down")
        watched(stage, then + draw.span(900, 2_300), node, f"kernel: {card}: Link up")
        then += seconds(3.1) + turn * draw.span(200, 900)
    over = then + draw.span(9_000, 14_000)
    last = ""
    for one, other, way in ((rank, peer, "Send"), (peer, rank, "Recv")):
        gids = [f"::ffff:10.16.{own.node_of(who) % 250}.{11 + own.local_rank(who)}" for who in (one, other)]
        where = f"10.9.{own.node_of(other) % 250}.{draw.whole(2, 250)}<{draw.whole(32_800, 60_900)}>"
        last = f"NET/IB : Got completion from peer {where} with status=12 opcode=0 len=0 vendor err 129 ({way}) "
        last += f"localGid {gids[0]} remoteGids{gids[1]}"
        last += f" hca mlx5_{own.local_rank(one)}" if own.torch.order >= 207 else ""
        place = f"transport/net_ib.cc:{torchrun.since(COMPLETION, own.torch.order)}"
        nccl_warned(stage, over, one, place, last)
        remote_error(stage, over + 150 * MS, one, last)
        over += draw.span(60, 300)
    ends = [Exit(one, over + 400 * MS, -6) for one in (rank, peer)]
    job.agents_end(ends, over + 500 * MS)
    made = stage.innocent("network", rank, also=("gpu_fabric", "infrastructure"))
    return stage.close("An optic was not seated well after a maintenance.", (replace(made, culprit_ranks=None),))


@kind(hangs=False, slurm=True, lead_s=75.0)
def hours_of_a_job_are_over(stage: Stage) -> Scenario:
    """SLURM ends a job at its limit of time, in the middle of a step (SLURM docs, sbatch --time).

    To acquit: slurmstepd gives the reason; all steps were as long as ever. Neighbour and disk are not the job's.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    beside(stage, own_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, own_unrest.listings_of_a_tenant_fail))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("hours")
    stage.mark(at, "the limit of time of the job is reached")
    hours, began = draw.pick((4, 8, 24, 48)), job.begin - 700 * MS
    used = hours * 3_600 - (at - began) // SEC
    clock = f"{used // 3_600}:{used // 60 % 60:02d}:{used % 60:02d} of {hours}:00:00"
    reader_note(stage, began, 0, f"attempt {draw.whole(2, 9)} in this allocation, {clock} used")
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    said = torchrun.step_cancelled(own, at + 20 * MS, "TIME LIMIT")
    job.slurm(at + 20 * MS, 0, said.replace(f"STEP {own.job_id}.0", f"JOB {own.job_id}"))
    for node in range(len(own.hosts)):
        job.agent_signalled(at + draw.span(50, 200), node)
    job.ended_at = at + seconds(2.5)
    unrest.hung_up_on(stage)
    return stage.close("Its last checkpoint is half an hour old.", (of_all(stage.innocent("infrastructure")),))
