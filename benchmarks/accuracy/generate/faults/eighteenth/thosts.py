"""Faults of training hosts, their memory, networks and file systems, of the eighteenth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "eighteenth")


@kind(hangs=False, lead_s=70.0)
def loader_process_taken_by_the_kernel(stage: Stage) -> Scenario:
    """The cgroup of a job is full, its kernel takes the largest loader process (pytorch#8976, TorchSSL#4).

    The kernel kills the process that the rank's error names by its id, in a line of the program that reads nothing.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, own_unrest.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("taken")
    node, site = job.job.node_of(rank), job.job.build["site"]
    pid = job.job.rank_pids[rank] + draw.whole(140, 900)
    resident = draw.whole(21, 88) * 1_000_000 + draw.whole(0, 999_999)
    stage.mark(at, f"the kernel kills a loader process of rank {rank}")
    masks = "gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    watched(stage, at - 40 * MS, node, f"kernel: pt_data_worker invoked oom-killer: {masks}")
    killed = f"Killed process {pid} (pt_data_worker) total-vm:{resident + 31_000_000}kB, anon-rss:{resident}kB, "
    killed += f"file-rss:{draw.whole(90_000, 140_000)}kB, shmem-rss:{draw.whole(900, 9_000) * 4}kB, UID:0"
    watched(stage, at, node, f"kernel: Memory cgroup out of memory: {killed}")
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/signal_handling.py", 67, "handler", "_error_if_any_worker_fails()"),
    )
    text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Killed. "
    then = at + draw.span(90, 400)
    job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, then, rank)
    unrest.hung_up_on(stage)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Each loader process keeps all transcripts as objects of Python.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(culprit=0, min_timeout_s=90, lead_s=70.0)
def lustre_waits_for_its_recovery(stage: Stage) -> Scenario:
    """Rank 0 writes to Lustre, a server of which fails over, and waits (Lustre manual, recovery; torchtune#2093).

    The kernel of its host and its own stack name Lustre's file; AIStore is not asked by rank 0 since the step began.
    """
    stage.open()
    beside(stage, own_unrest.backup_until_now)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, tenth_unrest.tenant_tokens_refused))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("lustre")
    server, serial = f"scratch-OST{draw.whole(0, 63):04x}", f"{_server_address(draw)}@o2ib"
    path = f"/lustre/scratch/{own.task}/step_{stage.step:07d}/model.pt"
    stage.mark(at, f"{server} of Lustre fails over while rank 0 writes")
    reader_note(stage, at - 400 * MS, 0, f"saving {path}, {draw.whole(4, 70)} GiB")
    lost = f"{server}-osc-ffff{draw.token(12, HEX)}: Connection to {server} (at {serial}) was lost; in progress "
    watched(
        stage,
        at + draw.span(3_000, 9_000),
        0,
        f"kernel: Lustre: {lost}operations using this service will wait for recovery to complete",
    )
    if own.timeout_s > 130:
        blocked = f"kernel: INFO: task python3:{own.rank_pids[0]} blocked for more than 120 seconds."
        watched(stage, at + seconds(123.4), 0, blocked)
    main = standing_in(
        stage,
        203,
        ("__exit__", f"{own.build['site']}/torch/serialization.py", 799),
        ("save", f"{own.build['site']}/torch/serialization.py", 967),
        ("save_checkpoint", own.script, 118),
    )
    if draw.chance(0.7):
        pinning = Thread("Thread-3 (_pin_memory_loop)", (("wait", f"{PYTHON}/threading.py", 331),))
        py_spy(stage, min(draw.between(28, 50), own.timeout_s - 12), (main, pinning))
    stage.hang(at + 30 * MS, 0)
    own_unrest.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("infrastructure", "software"))
    return stage.close("A controller of Lustre's disks was replaced, which takes half an hour.", (made,))


def _server_address(draw: Draw) -> str:
    """An address in the network of a parallel file system."""
    return f"10.2.{draw.whole(0, 9)}.{draw.whole(2, 250)}"


def gives_up(stage: Stage, error: str, spent_s: float, asked: Callable[[int], str]) -> int:
    """The culprit repeats a read until the SDK has enough; ranks of its host see the same. `asked` is the text."""
    job, rank, draw = stage.job, stage.culprit, stage.draw.child("gives up")
    near = [one for one in readers(stage) if job.job.node_of(one) == job.job.node_of(rank)][:3]
    longest = (min(job.job.timeout_s - 9, 48) - 7 * spent_s) / 6
    for one in near:
        job.sdk_warning(stage.at + draw.span(200, 9_000), one, sdk.retrying(1.3, error, asked(one)))
    then = stage.at + seconds(spent_s)
    for attempt in range(6):
        wait = round(draw.between(1.0, min(2.0**attempt + 0.5, longest)), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, error, asked(rank)))
        then += seconds(wait + spent_s)
    exhausted(stage, then, rank, asked(rank), error, one_object(stage))
    exits(stage, then, rank)
    return then


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def resolver_of_a_host_fails(stage: Stage) -> Scenario:
    """The resolver of one training host is gone: no name is found there (urllib3 docs; aistore docs, AIS_ENDPOINT).

    Only ranks of that host fail, and to find a name; the host's own services do not find other names either, and ranks
    of other hosts ask AIStore by the same name all the while.
    """
    own, draw = stage.job.job, stage.draw.child("resolver")
    name = draw.pick(("aistore.storage.corp.example", "ais-proxy.ais.svc.cluster.local", "ais.dc2.example"))
    port = stage.proxy_of(0).ports[0]
    stage.job.job = replace(own, endpoints=(f"http://{name}:{port}",))
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_backend_fails, tenth_unrest.tenant_batches_fail))
    node = own.node_of(stage.culprit)
    began = stage.mark(stage.at - draw.span(900, 5_000), f"the resolver of {own.hosts[node]} is gone")
    server = f"10.0.0.{draw.whole(2, 9)}"
    said = f"systemd-resolved[{draw.whole(700, 1_900)}]: Using degraded feature set UDP instead of UDP+EDNS0 for DNS "
    watched(stage, began, node, f"{said}server {server}.")
    lost = "dial tcp: lookup metrics.corp.example on 127.0.0.53:53: read udp 127.0.0.1:"
    lost += f"{draw.whole(32_800, 60_900)}->127.0.0.53:53: i/o timeout"
    post = 'Error writing to outputs.influxdb_v2: Post "http://metrics.corp.example:8086/api/v2/write"'
    watched(stage, began + draw.span(1_900, 3_900), node, f"telegraf: E! [agent] {post}: {lost}")
    watched(stage, began + draw.span(9_000, 15_000), node, "sssd[be[corp.example]]: Backend is offline")

    def asked(rank: int) -> str:
        handle = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES):#x}>"
        why = "[Errno -3] Temporary failure in name resolution"
        cause = f"NameResolutionError(\"{handle}: Failed to resolve '{name}' ({why})\")"
        return sdk.pool_error(name, port, object_path(stage, rank, utterance(draw)), cause)

    gives_up(stage, "ConnectionError", 0.02, asked)
    made = stage.innocent("network", stage.culprit, also=("infrastructure",))
    return stage.close("A package upgrade has restarted the resolver without its settings.", (made,))


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def connections_not_tracked(stage: Stage) -> Scenario:
    """The table of connections of one training host is full: what is opened there waits (kubernetes#71261, #18604).

    The kernel of that host drops packets, its ranks alone reach neither proxies nor targets, all others read on.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, tenth_unrest.tenant_batches_fail, unrest.entries_missing))
    own, draw, cluster = stage.job.job, stage.draw.child("tracked"), stage.cluster
    node = own.node_of(stage.culprit)
    began = stage.mark(stage.at - draw.span(900, 5_000), f"the table of connections of {own.hosts[node]} is full")
    wheres = draw.shuffled([*cluster.proxies, *cluster.targets])

    def asked(rank: int) -> str:
        where = draw.pick(wheres)
        cause = sdk.connect_timeout(where.address, draw.whole(*HANDLES))
        return sdk.pool_error(where.address, where.ports[0], object_path(stage, rank, utterance(draw)), cause)

    over, then = gives_up(stage, "ConnectTimeout", 3.01, asked), began
    while then < over:
        watched(stage, then, node, "kernel: nf_conntrack: nf_conntrack: table full, dropping packet")
        then += draw.span(2_000, 9_000)
    made = stage.innocent("network", stage.culprit, also=("infrastructure",))
    return stage.close("Another pod of the host opens a connection for each request.", (made,))


@kind(reads=True, hosts=2, lead_s=60.0)
def host_reads_through_a_slow_link(stage: Stage) -> Scenario:
    """The card of a training host comes back with a hundredth of its rate: its ranks read by drops (ethtool docs).

    The kernel of the host says so; its ranks alone are slow, from any target, and together they get what the link
    takes.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_reads_slowly, commotion.tenant_backend_fails, unrest.entries_missing))
    own, at, draw, over = stage.job.job, stage.at, stage.draw.child("slow link"), over_at(stage)
    node = own.node_of(stage.culprit)
    absent = sorted(one for one in (stage.culprit, *readers(stage)) if own.node_of(one) == node)
    card, bus = f"ens{draw.whole(1, 6)}f0", f"0000:{draw.whole(1, 9)}a:00.0"
    began = stage.mark(at - draw.span(900, 4_000), f"{card} of {own.hosts[node]} comes back with 1 Gb/s")
    watched(stage, began - 900 * MS, node, f"kernel: ice {bus} {card}: NIC Link is Down")
    up = "NIC Link is up 1 Gbps Full Duplex, Requested FEC: None, Negotiated FEC: None, Autoneg Advertised: On"
    watched(stage, began, node, f"kernel: ice {bus} {card}: {up}")
    rate, many = 111.0 / len(absent), draw.whole(16, 64)
    size = int(rate * own.timeout_s * draw.between(1.6, 2.9))
    for one in [*absent, *[one for one in readers(stage) if one not in absent][:6]]:
        is_near = one in absent
        then = at + (draw.span(14_000, 24_000) if is_near else draw.span(9_000, 26_000))
        while then < over - SEC:
            spent = (then - at) / SEC
            done = f"{int(rate * spent)} of {size}" if is_near else f"{size} of {size}"
            where = f"{stage.cluster.target(draw.whole(0, 99)).url(0)}/v1/objects/{stage.bucket}/shards"
            shard = f"{where}/train-{draw.whole(0, 4095):06d}.tar"
            reader_note(stage, then, one, f"staging {many} shards: {done} MiB after {spent:.0f} s, last {shard}")
            for target in () if is_near else stage.cluster.up(then):
                share = size // len(stage.cluster.targets) << 20
                stage.cluster.count(target, then, get_n=4, get_ns_total=draw.span(900, 3_900), get_size=share)
            then = then + draw.span(17_000, 31_000) if is_near else over
    stage.hang(at + 60 * MS, *absent)
    made = replace(
        stage.innocent("network", also=("infrastructure", "data_loading_stall")), culprit_ranks=tuple(absent)
    )
    return stage.close("Somebody has plugged a cable anew that has four pairs and needs eight.", (made,))


@kind(hangs=False, lead_s=60.0)
def host_reboots_after_updates(stage: Stage) -> Scenario:
    """A training host updates itself and reboots in the middle of a job (Ubuntu docs, unattended-upgrades).

    The host's own services announce it, then its launcher gets a signal; no rank has an error before that.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, own_unrest.neighbour_reads_slowly))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("updates")
    node = own.node_of(stage.culprit)
    host = own.hosts[node]
    stage.mark(at, f"{host} reboots after updates")
    upgrade = f"unattended-upgrade[{draw.whole(20_000, 90_000)}]:"
    watched(stage, at - draw.span(9_000, 31_000), node, f"{upgrade} All upgrades installed")
    watched(stage, at - 900 * MS, node, f"{upgrade} Found /var/run/reboot-required, rebooting")
    watched(stage, at - 300 * MS, node, f"systemd-logind[{draw.whole(700, 1_900)}]: The system will reboot now!")
    job.agent_signalled(at, node)
    then = at + seconds(draw.between(4, 11))
    job.slurm(then, 0, f"srun: error: Node failure on {host}")
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(then + seconds(1) + other * 20 * MS, other)
    over = then + seconds(1.9)
    job.slurm(over, 0, torchrun.step_cancelled(own, over, "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"))
    job.ended_at = over + SEC
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("infrastructure", also=("network",)))
    return stage.close("Hosts of training have the settings of desktops since they were set up anew.", (made,))
