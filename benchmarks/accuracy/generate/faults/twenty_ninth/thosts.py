"""Hosts of a job, their networks, disks and schedulers that end it; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighteenth.thosts import gives_up
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_ninth")


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def cloud_host_has_used_its_bandwidth(stage: Stage) -> Scenario:
    """An instance has used up what it may receive above its base rate, and is throttled (AWS docs, ENA metrics).

    To acquit: the adapter of that host counts what exceeds its allowance, all of its ranks read slowly from whichever
    target and those of other hosts read the same shards in a second; a target throttles batches by milliseconds.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("allowance")
    node, limit = own.node_of(rank), draw.pick((35, 40, 45))
    near = [one for one in readers(stage) if own.node_of(one) == node][:5]
    far = [one for one in readers(stage) if own.node_of(one) != node][:5]
    told(stage, job.begin - 400 * MS, 0, "data", f"num_workers=4 timeout={limit} shards read whole")
    began = stage.mark(at - draw.span(1_500, 4_000), f"{own.hosts[node]} is held to its base rate")
    over, count = at + limit * SEC + draw.span(3, 40), draw.whole(40_000, 90_000)
    for turn in range(4):
        then = began + (over - began) * (turn * 2 + 1) // 9
        count += draw.whole(90_000, 400_000)
        said = f"ethtool -S ens5: bw_in_allowance_exceeded: {count} pps_allowance_exceeded: 0"
        watched(stage, then, node, f"host-watcher: {said}, in {draw.between(4.6, 5.0):.2f} Gbit/s of at most 5 (base)")
    size, rate = draw.whole(1_900, 2_900), 596 / (4 * len(own.ranks_of(node)))
    for one in (rank, *near, *far):
        is_near = own.node_of(one) == node
        then = at + (draw.span(17_000, 28_000) if is_near else draw.span(4_000, 20_000))
        source = draw.pick(stage.cluster.up(then))
        spent = draw.between(15, (then - began) / SEC) if is_near else size / draw.between(650, 1_100)
        done = f"{int(rate * spent)} of {size} MiB after" if is_near else f"{size} of {size} MiB in"
        where = f"{source.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        if not is_near:
            stage.cluster.count(source, then, get_n=1, get_size=size << 20, get_ns_total=seconds(spent))
        reader_note(stage, then, one, f"{done} {spent:.1f} s: {where}")
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    also = ("infrastructure", "data_loading_stall")
    return stage.close("The pool has smaller instances since this week.", (stage.innocent("network", rank, also=also),))


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def lease_of_a_host_is_not_renewed(stage: Stage) -> Scenario:
    """A host of training loses its address, as its DHCP lease is not renewed (systemd-networkd and RHEL docs).

    To acquit: the host says itself that its lease is lost, and has no route since: Errno 101 comes from its own kernel;
    ranks of all other hosts read on; keepalives that are late have to do with another node.
    """
    stage.open()
    beside(stage, ninth_unrest.keepalives_late)
    unrest.unsettled(stage, (unrest.connects_repeated, unrest.entries_missing, tunrest.cold_reads_polled))
    own, rank, draw = stage.job.job, stage.culprit, stage.draw.child("lease")
    node = own.node_of(rank)
    began = stage.mark(stage.at - draw.span(300, 1_900), f"{own.hosts[node]} has no address any more")
    card, address = draw.pick(("eno1", "ens3f0", "bond0")), f"10.9.{node % 250}.{draw.whole(2, 250)}"
    head = f"systemd-networkd[{draw.whole(700, 1_900)}]: {card}"
    watched(stage, began - draw.span(900, 2_000), node, f"{head}: DHCPv4 renewal: no answer from 10.0.0.3, 4 attempts")
    watched(stage, began, node, f"{head}: DHCP lease lost, {address}/16 removed")
    watched(stage, began + draw.span(2_000, 6_000), node, "chronyd[812]: Can't synchronise: no selectable sources")

    def asked(one: int) -> str:
        handle = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES) // 16 * 16:#x}>"
        cause = (
            f"NewConnectionError('{handle}: Failed to establish a new connection: [Errno 101] Network is unreachable')"
        )
        proxy, name = stage.proxy_of(one), utterance(draw.child("asked", one))
        return sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/objects/{stage.bucket}/{name}?provider=ais", cause)

    gives_up(stage, "ConnectionError", 0.01, asked)
    made = stage.innocent("network", rank, also=("infrastructure",))
    return stage.close("The server of addresses was moved, and its relay was not.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def cache_of_small_files_has_no_inodes_left(stage: Stage) -> Scenario:
    """Each recording is kept as a file on a host's own disk, which has no inode left (ext4 docs; pytorch forum, df -i).

    To acquit: the path that cannot be made is one of the host's own, whose df shows room and no inodes, and the object
    had come whole; the target that is full has turned down another tenant's writes only.
    """
    stage.open()
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(
        stage, (unrest.entries_missing, tunrest.withdrawn_left_out, near_unrest.tenant_asks_for_removed_names)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("inodes")
    node, folder = own.node_of(rank), draw.pick(("/scratch/clips", "/local/ais-cache", "/nvme/utts"))
    mounted, whole = f"/{folder.split('/')[1]}", draw.pick((58_597_376, 117_211_136))
    for turn, share in enumerate((0.93, 0.97, 0.99)):
        then = at - seconds(41 - 13 * turn) + draw.span(1, 900)
        used = int(whole * share)
        watched(
            stage, then, node, f"df -i {mounted}: {whole} inodes, {used} used, {100 * used // whole}%; df -h: 3.5T, 44%"
        )
    name = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
    size = draw.whole(90_000, 900_000)
    source = draw.pick(stage.cluster.up(at - 40 * MS))
    stage.cluster.count(source, at - 40 * MS, get_n=1, get_size=size, get_ns_total=draw.span(2, 9))
    told(stage, at - 39 * MS, rank, "clips", f"{name}: {size} of {size} bytes, keeping it below {folder}")
    stage.mark(at - 8 * MS, f"{mounted} of {own.hosts[node]} has no inodes left")
    path = f"{folder}/{draw.token(2, HEX)}/{draw.token(30, HEX)}.flac"
    frames = (
        sdk.Frame(f"{script_folder(stage)}/dataset.py", 88, "__getitem__", "audio = self.clips.get(name)"),
        sdk.Frame(f"{script_folder(stage)}/clips.py", 47, "get", 'with open(path, "wb") as kept:'),
    )
    text = f"OSError: [Errno 28] No space left on device: '{path}'"
    borrowers.caught(stage, at, rank, frames, text)
    watched(stage, at + 300 * MS, node, f"df -i {mounted}: {whole} inodes, {whole} used, 100%; df -h: 3.5T, 44%")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("The disk was made for large files.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0, without=RESTARTS)
def autoscaler_takes_a_host_away(stage: Stage) -> Scenario:
    """The autoscaler takes a node for idle and removes it with its pod (kubernetes/autoscaler#4813, #7269, ScaleDown).

    To acquit: the event says that the node is scaled down, before any rank fails, and steps go on until then; a
    rebalance that an operator has begun has the disks busy, and batches come.
    """
    name = f"{stage.job.job.task.replace('_', '-')}-{stage.draw.child('scaled').token(5, LOWER)}"
    stage.job.job = replace(stage.job.job, layout="kubectl", job_id=name)
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, eighth_unrest.tenant_panics))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("autoscaler")
    node = own.node_of(stage.culprit)
    host, pod = own.hosts[node], f"{name}-worker-{node}"
    stage.mark(at, f"the autoscaler removes {host}")
    share = draw.between(0.08, 0.3)
    said = f"Node/{host} Normal ScaleDown node removed by cluster autoscaler, cpu requested {share:.2f} of allocatable"
    job.agent(at, node, f"k8s-events: {said}")
    job.agent(at + 40 * MS, node, f"k8s-events: ml-train Pod/{pod} Normal ScaleDown deleting pod for node scale down")
    job.agent(at + 90 * MS, node, f"k8s-events: ml-train Pod/{pod} Normal Killing Stopping container pytorch")
    job.agent_signalled(at + draw.span(140, 500), node)
    over = at + draw.span(1_900, 3_400)
    job.agent(over, 0, f"k8s-events: ml-train PyTorchJob/{name} Warning PyTorchJobFailed pod {pod} was deleted")
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(over + draw.span(200, 900), other)
    job.ended_at = over + 2 * SEC
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("The new template lacks the annotation safe-to-evict: false.", (of_all(made),))


@kind(hangs=False, hosts=2, slurm=True, lead_s=60.0)
def epilog_of_another_job_ends_a_host(stage: Stage) -> Scenario:
    """Another job of the same user ends on a shared host, whose epilog kills all that the user has there (Slurm docs).

    To acquit: the daemon of that host tells of the epilog and of what it runs, then srun finds its task killed; no rank
    has said a word before, and reads that were repeated had been served.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (unrest.entries_missing, tunrest.readers_resume, eighth_unrest.tenant_lists_long))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("epilog")
    node, user = own.node_of(stage.culprit), draw.pick(("asr-train", "mlin", "speech01"))
    number = int(own.job_id) - draw.whole(40, 900) if own.job_id.isdigit() else draw.whole(310_000, 900_000)
    watched(stage, at - draw.span(700, 1_900), node, f"slurmd[2211]: [{number}.batch] done with job, user {user}")
    watched(stage, at - 25 * MS, node, f"slurmd[2211]: epilog for job {number}: /etc/slurm/epilog.d/50-clean.sh")
    stage.mark(at, f"the epilog of job {number} kills all processes of {user} on {own.hosts[node]}")
    killed = len(own.ranks_of(node)) * draw.whole(5, 9) + 2
    watched(stage, at, node, f"50-clean.sh: pkill -KILL -u {user}: {killed} processes")
    over = at + draw.span(200, 900)
    job.slurm(over, 0, f"srun: error: {own.hosts[node]}: task {node}: Killed")
    job.slurm(over + 2 * MS, 0, f"srun: Terminating StepId={own.job_id}.0")
    job.slurm(over + 30 * MS, 0, torchrun.step_cancelled(own, over + 30 * MS))
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(over + 60 * MS, other)
            job.slurm(over + seconds(1.4), other, torchrun.srun_exit(own, other))
    job.ended_at = over + seconds(3)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", *own.ranks_of(node), also=("software",))
    return stage.close("Hosts are shared since the partition was changed, and the epilog was not.", (made,))
