"""Worker hosts that crash, run out of something, lose a card or are taken away; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.watchkeepers import controller, elsewhere, silent_from
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_third")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(hosts=2, slurm=True, lead_s=66.0, without=(*RESTARTS, "teardown_noise"))
def host_of_some_ranks_panics(stage: Stage) -> Scenario:
    """A host panics and boots again, and its ranks are gone without a word (Slurm, node unexpectedly rebooted).

    To acquit: the file of that host ends amid ordinary lines; its BMC and slurmctld name it, all ranks of all other
    hosts wait for its ranks and none of them for a batch. A target gave up a disk seconds before; what was on it has
    copies. Another is killed when the job is over.
    """
    stage.open()
    beside(stage, late_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, past_unrest.turned_away_in_window, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("panics")
    node = max(1, own.node_of(stage.culprit))
    host, ranks = own.hosts[node], tuple(own.ranks_of(node))
    stage.mark(at, f"host {host} panics")
    end = stage.hang(at + 10 * MS, *ranks)
    silent_from(stage, node, at)
    elsewhere(
        stage,
        at + draw.span(2_100, 4_900),
        "bmc-collector",
        f"{host} SEL: OS Critical Stop | Run-time critical stop | Asserted",
    )
    controller(stage, at + draw.span(21_000, 44_000), f"error: Nodes {host} not responding")
    last = at // SEC - draw.whole(3, 29)
    booted = max(end + draw.span(9_000, 30_000), at + draw.span(210_000, 280_000))
    job.slurm(end + draw.span(900, 2_900), 0, f"srun: error: Node failure on {host}")
    said = f"error: Node {host} unexpectedly rebooted boot_time={booted // SEC - 41} last response={last}"
    controller(stage, booted, said)
    job.ended_at = max(job.ended_at, end + 3 * SEC)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("infrastructure", *ranks, also=("network",))
    return stage.close("A driver of a network card met a null pointer.", (made,), until=booted + SEC)


@kind(reads=True, lead_s=74.0, without=RESTARTS)
def host_kills_a_loader_for_its_memory(stage: Stage) -> Scenario:
    """The kernel kills a loader of one rank for the host's memory (PyTorch issues, killed by signal: Killed).

    To acquit: the kernel says which process it has killed, and the rank raises for a loader of that pid; the host had
    told that its memory runs out. What was missing while a target was restarted had been served most of a minute
    before.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.tenant_backend_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("killed")
    node, pid = own.node_of(rank), own.rank_pids[rank] + draw.whole(400, 2_900)
    for turn, left in enumerate((draw.whole(9, 15), draw.whole(4, 8), draw.whole(1, 3))):
        said = f"node_exporter: MemAvailable {left}.{draw.whole(0, 9)} GiB of 503.4 GiB, SwapFree 0 B"
        watched(stage, at - seconds(31.0 - 13.0 * turn) - draw.span(1, 900), node, said)
    killed = stage.mark(at - draw.span(60, 190), f"the kernel kills a loader of rank {rank}")
    name, size = loader_name(stage), draw.whole(38_000_000, 61_000_000)
    watched(
        stage, killed - 2 * MS, node, f"kernel: {name} invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=0"
    )
    rss = f"total-vm:{size + draw.whole(9_000_000, 30_000_000)}kB, anon-rss:{size}kB"
    rest = f"file-rss:{draw.whole(900, 90_000)}kB, shmem-rss:{draw.whole(9_000, 900_000)}kB, UID:1004"
    rest += f" pgtables:{size // 450}kB oom_score_adj:0"
    watched(stage, killed, node, f"kernel: Out of memory: Killed process {pid} ({name}) {rss}, {rest}")
    loader_killed(stage, at, rank, pid, "Killed")
    stage.hang(at + 30 * MS, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Each loader keeps what it has decoded, since the last change of the sampler.", (made,), ALIVE)


@kind(hangs=False, slurm=True, lead_s=64.0, without=(*RESTARTS, "teardown_noise"))
def host_set_is_wanted_by_a_higher_partition(stage: Stage) -> Scenario:
    """Slurm takes the hosts of the job for another one (Slurm docs, preemption; PreemptMode=CANCEL).

    To acquit: slurmstepd says DUE TO PREEMPTION before anything of a rank has failed, slurmctld says for which job; all
    agents then say that they were sent signal 15. A target was killed half a minute before, batches were repeated, and
    steps went on.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing, commotion.throttled_in_window))
    unrest.hung_up_on(stage)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("preempted")
    stage.mark(at, "the job is preempted")
    other = int(own.job_id) + draw.whole(12, 900)
    said = f"preempted JobId={own.job_id} has been killed to reclaim resources for JobId={other}"
    controller(stage, at - draw.span(10, 90), said)
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "PREEMPTION"))
    last = at
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 190)
        job.agent_signalled(then, node)
        last = max(last, then + draw.span(700, 1_900))
        job.slurm(then + draw.span(600, 690), node, torchrun.srun_exit(own, node))
    job.ended_at = last + SEC
    made = of_all(stage.innocent("infrastructure"))
    return stage.close("The partition of the job may be taken from at any time, as its owner knew.", (made,))


@kind(reads=True, lead_s=66.0)
def host_scratch_is_full(stage: Stage) -> Scenario:
    """/tmp of one host is full: a rank cannot unpack what it has read (Python docs, errno.ENOSPC).

    To acquit: the path in the exception is a local one below /tmp, and df of that rank's host says 100 %; the rank had
    its batch whole. That a target of AIStore has no room either concerns what another tenant wants to write.
    """
    stage.open()
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, tenth_unrest.tenant_batches_fail))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("scratch")
    for one in speakers(stage)[:8]:
        said = f"clips are unpacked below /tmp/clips-{own.job_id}-{own.local_rank(one)} and removed after their step"
        told(stage, job.begin - draw.span(200, 450), one, "unpack", said)
    told(stage, at - 70 * MS, rank, "dataset", f"step {stage.step}: 48 of 48 objects in {draw.between(0.1, 0.4):.2f} s")
    stage.mark(at, f"/tmp of rank {rank}'s host is full")
    folder = f"/tmp/clips-{own.job_id}-{own.local_rank(rank)}"
    name = utterance(draw).rsplit("/", 1)[-1].replace(".flac", f".{draw.token(6, LOWER)}.wav")
    frames = sdk.main_frames(
        own,
        stage.step,
        sdk.Frame(own.script, 66, "fetch", "return [self.unpack(name, content) for name, content in items]", True),
        sdk.Frame(own.script, 66, "<listcomp>", "return [self.unpack(name, content) for name, content in items]"),
        sdk.Frame(own.script, 77, "unpack", 'with open(path, "wb") as clip:'),
    )
    text = f"OSError: [Errno 28] No space left on device: '{folder}/{name}'"
    job.raise_on(at + 8 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    size = draw.pick((437, 879, 220))
    said = f"disk-check: df -BG: /dev/nvme0n1p3 {size}G {size}G 0G 100% /tmp"
    watched(stage, at + draw.span(6_000, 27_000), own.node_of(rank), said)
    stage.hang(at + 60 * MS, rank)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("Jobs that were cancelled had left their clips there.", (made,), ALIVE)


def _connects_to_none(stage: Stage, rank: int, at: int, draw: Draw) -> None:
    """A rank tries one node of AIStore after the other and has a route to none, until client or job give up."""
    cluster, then, attempt = stage.cluster, at, 0
    nodes = draw.shuffled([*cluster.proxies, *cluster.targets])
    while True:
        node, handle = nodes[attempt % len(nodes)], draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF) // 16 * 16
        is_late = draw.chance(0.4)
        then += draw.span(3_003, 3_040)
        if then > over_at(stage) - 4 * SEC:
            return
        cause = sdk.connect_timeout(node.address, handle) if is_late else sdk.no_route(handle)
        text = sdk.pool_error(node.address, node.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
        what = "ConnectTimeout" if is_late else "ConnectionError"
        if attempt == 8:
            break
        wait = round(draw.between(1.0, min(2.0 ** (attempt + 1), 30.0)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, what, text))
        then += seconds(wait)
        attempt += 1
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    caller = sdk.main_frames(stage.job.job, stage.step, *sdk.batch_get_frames(stage.job.job))
    stage.job.raise_on(then + 2 * MS, rank, sdk.exhausted(stage.job.job, caller, what, text))


@kind(hosts=2, hangs=False, reads=True, min_timeout_s=90, lead_s=64.0, without=RESTARTS)
def host_has_no_link_to_storage(stage: Stage) -> Scenario:
    """The bond of one host, over which it reads, has no link (Linux docs, bonding).

    To acquit: the kernel of one host has its bond down, and then its ranks reach no proxy and no target, whatever
    the address, while no rank of another host says so; the daemons reach each other until one is killed or restarted,
    when all wait already.
    """
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("bond")
    said = "ais:// over bond1 (2 x 100 Gb/s Ethernet), rendezvous and c10d over eno1, NCCL over InfiniBand"
    told(stage, job.begin - 480 * MS, 0, "launch", said)
    stage.open()
    unrest.unsettled(
        stage, (past_unrest.turned_away_in_window, late_unrest.tenant_full_in_window, commotion.tenant_meets_bad_data)
    )
    node = own.node_of(stage.culprit)
    ranks = tuple(own.ranks_of(node))
    down = stage.mark(at - 40 * MS, f"bond1 of {own.hosts[node]} has no link")
    for turn, card in enumerate(("ens3f0np0", "ens3f1np1")):
        said = f"kernel: bond1: (slave {card}): link status definitely down, disabling slave"
        watched(stage, down + turn * MS, node, said)
    watched(stage, down + 2 * MS, node, "kernel: bond1: now running without any active interface!")
    for rank in ranks:
        _connects_to_none(stage, rank, at + draw.span(5, 60), draw.child("rank", rank))
    stage.hang(at + 90 * MS, *ranks)
    late = loud.killed_in_the_hang if draw.chance(0.4) else hang_unrest.restarted_in_the_hang
    late(stage)
    made = stage.innocent("network", *ranks, also=("infrastructure",))
    return stage.close("Both cables of the bond go to one switch, which was replaced.", (made,))
