"""Jobs that crawl for reasons of their own, of the nineteenth part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import torchrun
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "nineteenth")


def _slow_from_the_start(stage: Stage, slow: float, draw: Draw) -> int:
    """Every step takes that long; how many there are before somebody, or a limit, ends the job."""
    stage.job.params = replace(stage.job.params, step_s=slow)
    return int(stage.params.lead_s / slow) + draw.whole(12, 30)


def _trains_on_late_batches(stage: Stage, steps: int, wait_s: float, draw: Draw, late: range = range(0)) -> None:
    """The job opens and waits that long for the batch of each step, some ranks or all, which its progress shows."""
    job = stage.job
    stage.open(until_step=0)
    job.train(0, steps, slow={step: wait_s * draw.between(0.94, 1.06) for step in range(steps)}, late=late)
    stage.load(job, job.begin + 60 * MS, job.step_at(steps))


def _ended_by_limit(stage: Stage, over: int) -> None:
    """SLURM ends the job at the limit of its time."""
    job = stage.job
    stage.mark(over, "the time limit is reached")
    job.slurm(over, 0, torchrun.step_cancelled(job.job, over, "TIME LIMIT"))
    for host in range(len(job.job.hosts)):
        job.agent_signalled(over + 40 * MS, host)
    job.ended_at = over + seconds(2)


@kind(hangs=False, slurm=True, lead_s=60.0)
def link_of_a_device_is_narrow(stage: Stage) -> Scenario:
    """A device came up with four lanes of the first generation, batches creep onto it (PowerInfer#237; lspci, LnkSta).

    To acquit: the kernel and a check of health name the device; copies to it take seconds, as its rank prints, those of
    other ranks milliseconds, and data is at hand at once in each step.
    """
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("narrow")
    usual, node, local = stage.params.step_s, own.node_of(stage.culprit), own.local_rank(stage.culprit)
    slow = round(usual + draw.between(2.1, 4.4), 2)
    steps = _slow_from_the_start(stage, slow, draw)
    bus, many = f"0000:{0x0F + 0x1A * local:02x}:00.0", draw.whole(900, 1_500)
    began = stage.mark(job.begin - draw.span(9_000, 30_000), f"the device of rank {rank} has four lanes of sixteen")
    full = "capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link"
    bridge = f"0000:{0x0D + 0x1A * local:02x}:01.0"
    bound = f"8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at {bridge} ({full})"
    watched(stage, began, node, f"kernel: pci {bus}: {bound}")
    stage.open(until_step=steps)
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (former_unrest.neighbour_reads_slowly, commotion.tenant_backend_fails))
    over = job.step_at(steps)
    for step in range(4, steps, 8):
        then, size = job.step_at(step + 1) - draw.span(300, 600), int(many * draw.between(0.95, 1.05))
        spent = size / (many / (slow - usual))
        reader_note(stage, then, rank, f"step {step}: batch at hand, {size} MiB copied to the device in {spent:.2f} s")
        other = (rank + 1 + step % (own.world - 1)) % own.world
        size -= draw.whole(1, 40)
        said = f"step {step}: batch at hand, {size} MiB copied to the device in 0.0{draw.whole(2, 5)} s"
        reader_note(stage, then + draw.span(1, 90) - seconds(slow - usual), other, said)
    for turn in range(2):
        then = job.begin + seconds(9 + turn * 45)
        if then < over:
            watched(
                stage, then, node, f"gpu-health: GPU {local} ({bus}): PCIe link x4 at 2.5 GT/s, max x16 at 32.0 GT/s"
            )
    _ended_by_limit(stage, over)
    made = stage.innocent("gpu", rank, also=("infrastructure", "rank_hang"))
    return stage.close("The board was plugged anew after a fan was replaced.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0)
def processors_of_a_host_are_hot(stage: Stage) -> Scenario:
    """The processors of one host are throttled by heat, its loaders decode at a tenth (Linux, therm_throt; RHEL docs).

    To acquit: the kernel of that host says so; its ranks print that reading takes hundredths of a second and decoding
    seconds, ranks of other hosts decode in tenths and wait.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("hot")
    usual, node = stage.params.step_s, own.node_of(stage.culprit)
    slow = round(usual + draw.between(2.4, 5.2), 2)
    steps = _slow_from_the_start(stage, slow, draw)
    began = stage.mark(job.begin - draw.span(2_000, 9_000), f"processors of {own.hosts[node]} are too hot")
    _trains_on_late_batches(stage, steps, slow - usual, draw, own.ranks_of(node))
    beside(stage, own_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.reads_recover))
    over, then, events = job.step_at(steps) + draw.span(900, 3_900), began, draw.whole(3_000, 90_000)
    while then < over:
        for core in draw.shuffled(range(64))[: draw.whole(2, 4)]:
            said = (
                f"CPU{core}: Package temperature is above threshold, cpu clock is throttled (total events = {events})"
            )
            watched(stage, then, node, f"kernel: {said}")
        then, events = then + draw.span(29_000, 41_000), events + draw.whole(900, 4_000)
    near = own.ranks_of(node)
    far = [one for one in range(own.world) if own.node_of(one) != node]
    for turn, step in enumerate(range(3, steps, 7)):
        for one in (near[turn % len(near)], far[turn * 5 % len(far)]):
            spent = slow - usual if one in near else draw.between(0.2, 0.4)
            said = (
                f"step {step}: read 0.0{draw.whole(2, 9)} s, decode and augment {spent:.2f} s, queue of 8 batches empty"
            )
            said = said if one in near else said.replace("empty", "full")
            reader_note(stage, job.step_at(step + 1) - draw.span(20, 300), one, said)
    cancelled_by_hand(stage, over)
    made = of_all(stage.innocent("infrastructure", also=("data_loading_stall", "rank_hang")))
    return stage.close("A valve of the cooling water is half closed.", (made,))


@kind(hangs=False, lead_s=60.0)
def quota_of_the_job_is_used_up(stage: Stage) -> Scenario:
    """Containers may use a few processors, their loaders stand still most of each period (kubernetes#67577, #97445).

    To acquit: cpu.stat of the job's containers counts throttled periods, decoding takes the time that steps are longer,
    and no request waits: the program's own numbers give milliseconds for each.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("quota")
    usual = stage.params.step_s
    slow = round(usual + draw.between(2.2, 5.5), 2)
    steps, cores = _slow_from_the_start(stage, slow, draw), draw.pick((4, 6, 8))
    stage.mark(job.begin - draw.span(900, 3_000), f"containers of the job may use {cores} processors")
    _trains_on_late_batches(stage, steps, slow - usual, draw)
    beside(stage, own_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.tenant_backend_fails, commotion.reads_recover))
    over = job.step_at(steps) + draw.span(900, 3_900)
    for host in range(min(len(own.hosts), 3)):
        then, periods = job.begin + draw.span(4_000, 9_000), draw.whole(60, 130)
        while then < over:
            held = int(periods * draw.between(0.93, 0.99))
            stat = f"nr_periods {periods} nr_throttled {held} throttled_usec {held * draw.whole(2_100_000, 2_900_000)}"
            watched(stage, then, host, f"cpu.stat: cpu.max {cores}00000 100000, {stat}")
            then, periods = then + seconds(30), periods + 300
    for step in range(5, steps, 5):
        rest = slow - usual - draw.between(0.1, 0.3)
        shares = f"48 requests of {draw.between(4, 19):.1f} ms, decode and augment {rest:.2f} s, compute {usual:.2f} s"
        reader_note(stage, job.step_at(step + 1) + 90 * MS, 0, f"step {step}: {shares}")
    cancelled_by_hand(stage, over)
    made = of_all(stage.innocent("infrastructure", also=("data_loading_stall", "software")))
    return stage.close("The limit is that of the notebooks of the same project.", (made,))


@kind(hangs=False, lead_s=60.0, may_be_undetermined=True)
def samples_are_read_one_by_one(stage: Stage) -> Scenario:
    """A loader has no processes of its own and asks for one sample after the other (PyTorch docs, num_workers).

    To acquit: each request is answered as fast as ever, there are just many of them in a row; the program prints both
    numbers, and the line of the start that there are no loader processes.
    """
    job, draw = stage.job, stage.draw.child("one by one")
    usual, each = stage.params.step_s, draw.between(17, 38)
    many = draw.pick((96, 128, 160))
    waits = many * each / 1000
    slow = round(usual + waits, 2)
    steps = _slow_from_the_start(stage, slow, draw)
    stage.mark(job.begin - draw.span(400, 900), "a loader without processes of its own")
    reader_note(
        stage, job.begin - 200 * MS, 0, f"num_workers=0, prefetch_factor=None, batch_size={many}, in this process"
    )
    _trains_on_late_batches(stage, steps, waits, draw)
    beside(stage, commotion.throttled_in_window)
    beside(stage, former_unrest.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, own_unrest.disk_lost_in_window))
    over = job.step_at(steps) + draw.span(900, 3_900)
    for step in range(4, steps, 6):
        took = each * draw.between(0.94, 1.06)
        said = f"step {step}: {many} requests, one at a time, {took:.1f} ms each, longest {took * 2.2:.1f} ms"
        reader_note(stage, job.step_at(step + 1) + 80 * MS, 0, said)
    cancelled_by_hand(stage, over)
    also = ("software", "infrastructure")
    return stage.close(
        "It was set to zero to see exceptions of a loader better, and stayed so.",
        (of_all(stage.innocent("data_loading_stall", also=also)),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def events_go_to_a_slow_home(stage: Stage) -> Scenario:
    """Rank 0 writes events for TensorBoard in each step, to a home on NFS that answers late (pytorch#35188, #49284).

    To acquit: rank 0 prints how long it writes, the kernel of its host names the server of homes; batches come at once.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("events")
    usual = stage.params.step_s
    slow = round(usual + draw.between(1.9, 4.6), 2)
    steps = _slow_from_the_start(stage, slow, draw)
    server = f"home{draw.whole(1, 9):02d}"
    stage.mark(job.begin, f"rank 0 writes its events to {server}")
    stage.open(until_step=steps)
    beside(stage, former_unrest.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.throttled_in_window, own_unrest.tenant_full_in_window, commotion.reads_recover))
    reader_note(
        stage, job.begin - 100 * MS, 0, f"SummaryWriter: /home/train/runs/{own.task}/{own.job_id}, flushed in each step"
    )
    over, then = job.step_at(steps) + draw.span(900, 3_900), job.begin + draw.span(9_000, 24_000)
    while then < over:
        watched(stage, then, 0, f"kernel: nfs: server {server} not responding, still trying")
        then += draw.span(900, 2_400)
        watched(stage, then, 0, f"kernel: nfs: server {server} OK")
        then += draw.span(19_000, 44_000)
    for step in range(5, steps, 5):
        rest = slow - usual - draw.between(0.02, 0.2)
        shares = (
            f"data 0.0{draw.whole(1, 6)} s, compute {usual:.2f} s, {draw.whole(40, 90)} scalars written in {rest:.2f} s"
        )
        reader_note(stage, job.step_at(step + 1) + 90 * MS, 0, f"step {step}: {shares}")
    cancelled_by_hand(stage, over)
    made = stage.innocent("software", 0, also=("infrastructure", "rank_hang"))
    return stage.close("All gradients' norms are logged since last week, layer by layer.", (made,))
