"""Innocent storage in awkward set-ups: a host without its way to storage, storage that failed before or after.

The docstring of a kind says where it is from, and which lines acquit.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import again, short
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.watchkeepers import stacks_of
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisstandstills, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_sixth")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Where the devices of a host sit on its bus.
BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
NOISE = (*RESTARTS, "kalive_hiccup", "kill_after")


def _mmu_fault(stage: Stage, rank: int) -> str:
    """What the driver says of a process whose kernel has used an address that is not mapped."""
    own, draw = stage.job.job, stage.draw.child("mmu fault")
    bus = BUSES[own.local_rank(rank) % len(BUSES)]
    who = f"pid={own.rank_pids[rank]}, name=python3, Ch {draw.whole(8, 60):08x}"
    where = (
        f"GPC{draw.whole(0, 7)} GPCCLIENT_T1_{draw.whole(0, 9)} faulted @ 0x7f{draw.token(2, HEX)}_{draw.token(8, HEX)}"
    )
    kind_of_it = "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    return f"(PCI:0000:{bus}:00): 31, {who}, MMU Fault: ENGINE GRAPHICS {where}. {kind_of_it}"


def _prefetch_refused(stage: Stage, at: int, rank: int, gone: int) -> None:
    """A rank that waits reads ahead, and the killed victim refuses it; in the end it is done without, or was back."""
    victim, draw, over = stage.victim, stage.draw.child("prefetch", rank), over_at(stage) - SEC
    name = utterance(draw)
    path = object_path(stage, rank, name)
    text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    then = retries(stage, at, rank, draw, 0.004, text, min(gone, over))
    if then >= over:
        return
    if then < gone:
        stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
        told(stage, then + 2 * MS, rank, "reader", f"{name} is not read ahead: {victim.endpoint(0)} refuses", "WARNING")
    elif then < gone + seconds(8):
        heir = stage.other_target(victim, draw.whole(0, 50))
        missing = aisstandstills.not_here(stage.cluster, heir, then - 4 * MS, name)
        told(stage, then, rank, "reader", f"{name} is not read ahead: 404, {missing}", "WARNING")


@kind(reads=True, hosts=2, lead_s=60.0, without=RESTARTS)
def one_host_has_no_way_to_storage(stage: Stage) -> Scenario:
    """The port that a training host has in the storage network goes down; its fabric is another one (Linux, mlx5).

    To acquit: the kernel of that host says Link down before its first failure; whoever fails is of that host, with no
    route to its proxy, of which no other node misses anything; ranks of other hosts go on to read; all targets are in
    the map and count requests throughout.
    """
    own, rank, at = stage.job.job, stage.culprit, stage.at
    draw, node, over = stage.draw.child("no way"), own.node_of(rank), over_at(stage)
    stage.open()
    down = stage.mark(at - draw.span(400, 1_900), f"the storage port of {own.hosts[node]} goes down")
    port = f"mlx5_core 0000:{draw.pick(('98', 'a5', '4b'))}:00.1 {draw.pick(('ens4f1np1', 'eth2', 'ens3f1np1'))}"
    watched(stage, down, node, f"kernel: {port}: Link down")
    struck = sorted([rank, *(one for one in readers(stage) if own.node_of(one) == node)][: draw.whole(2, 4)])
    for one in struck:
        proxy, mine = stage.proxy_of(one), draw.child("rank", one)
        path = f"/v1/objects/{stage.bucket}/{utterance(mine)}?provider=ais"
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.no_route(mine.whole(*HANDLES)))
        then = retries(stage, at + mine.span(1, 60), one, mine, 3.07, text, over - SEC)
        if then < over - SEC:
            exhausted(stage, then, one, text, "ConnectionError", one_object(stage))
    well = [one for one in readers(stage) if own.node_of(one) != node][: draw.whole(3, 6)]
    for one in well:
        then = at + draw.span(900, 24_000)
        said = f"prefetch of step {stage.step + draw.whole(1, 7)}: 48 of 48 objects in {draw.between(0.1, 0.6):.2f} s"
        told(stage, then, one, "reader", said)
    watched(stage, at + draw.span(29_000, 41_000), node, f"healthcheck[881]: {port.split()[-1]}: operstate down")
    stage.hang(at + 320 * MS, *struck)
    made = stage.innocent("network", *struck, also=("infrastructure",))
    return stage.close("A transceiver had been warm for weeks.", (made,), ALIVE)


@kind(reads=True, ais_order=450, lead_s=132.0, without=NOISE)
def target_was_back_before_a_rank_stood_still(stage: Stage) -> Scenario:
    """A target dies and is back, and the job gets over it; two minutes later a rank hangs in its own text rules (re).

    To acquit: the rank that met the killed target tried again and went on, as all did for many steps; the silent rank
    is another one, has said that its batch is there, and its stack stands in a regular expression of its program.
    """
    job, own, rank, at, victim = stage.job, stage.job.job, stage.culprit, stage.at, stage.victim
    draw = stage.draw.child("was back")
    stage.open()
    died = stage.mark(job.begin + draw.span(9_000, 14_000), f"kill -9 {victim.name}")
    for one in readers(stage)[: draw.whole(1, 2)]:
        then = died + draw.span(12, 300)
        for turn in range(1, draw.whole(1, 3) + 1):
            again(stage, then + 6 * MS, one, short(stage, then, one, draw), turn, 5)
            then += seconds(float(turn)) + draw.span(4, 12)
    killed_for_a_while(stage, died, (9_500, 14_000))
    told(stage, at - 30 * MS, rank, "reader", f"batch of step {stage.step}: 48 of 48 objects, first {utterance(draw)}")
    stage.mark(at, f"rank {rank} stands in a regular expression")
    folder = own.script.rsplit("/", 1)[0]
    thread = main_thread(
        stage,
        ("sub", "/opt/conda/lib/python3.11/re/__init__.py", 185),
        ("expand_numbers", f"{folder}/text_rules.py", 88),
        ("normalize", f"{folder}/text_rules.py", 141),
        ("encode_transcripts", f"{folder}/targets.py", 47),
    )
    for share in (0.4, 0.8):
        stacks_of(stage, at + seconds(share * stage.params.timeout_s), rank, (replace(thread, state="active"),))
    stage.hang(at + 20 * MS, rank)
    made = stage.innocent("rank_hang", rank, also=("software", "data"))
    return stage.close("A transcript was a table of numbers, for which the rule takes hours.", (made,))


@kind(reads=True, lead_s=58.0, without=NOISE)
def target_dies_after_a_device_has_failed(stage: Stage) -> Scenario:
    """A device meets an illegal address, and a target is killed while the job waits for that rank (NVIDIA, Xid 31).

    To acquit: the kernel has Xid 31 for the rank's process and the rank raises CUDA's error, as the others begin to
    wait; the target dies a quarter of a minute after that. Prefetches that are refused there come too late for it.
    """
    job, own, rank, at, cluster = stage.job, stage.job.job, stage.culprit, stage.at, stage.cluster
    draw, victim = stage.draw.child("dies after"), stage.victim
    stage.open()
    hit = stage.mark(at - draw.span(20, 90), f"the device of rank {rank} has a fault of its memory management")
    watched(stage, hit, own.node_of(rank), f"kernel: NVRM: Xid {_mmu_fault(stage, rank)}")
    order = own.torch.order
    error = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    text = f"{error}: {cuda_error(order, 'an illegal memory access was encountered', 'cudaErrorIllegalAddress')}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "loss = criterion(model(batch), batch)"), text)))
    died = stage.mark(at + draw.span(13_000, 19_000), f"kill -9 {victim.name}, while the job waits")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, gone - 400 * MS, 1)
    for then, one in spread(stage, died + 50 * MS, died + seconds(3), (1, 3), draw):
        _prefetch_refused(stage, then, one, gone)
    stage.hang(at + 310 * MS, rank)
    back = stage.mark(died + draw.span(43_000, 52_000), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("A kernel of its own took an index for granted.", (made,), ALIVE, until=joined + seconds(50))
