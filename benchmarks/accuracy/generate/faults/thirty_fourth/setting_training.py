"""Innocent storage in awkward set-ups: a host without its link, a neighbour's trouble, a recording of hours.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object
from benchmarks.accuracy.generate.faults.words.sitters import as_of, tasks_end, without_torchrun
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import chains, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit
from fixtures.generator.trainend import JobRun

kind = kinds_of("training", "thirty_fourth")
NOISE = (*RESTARTS, "kalive_hiccup")


def _told_by_kernel(stage: Stage, at: int, node: int, text: str) -> None:
    """A monitor on a host copies a line of the kernel into the log of the host."""
    clock = f"{local(at, stage.job.job.zone):%a %b %e %H:%M:%S %Y}"
    stage.job.agent(at, node, f"node-monitor: [{clock}] {text}")


def _does_not_connect(stage: Stage, at: int, rank: int, draw: Draw) -> None:
    """What a rank was reading does not go on; from then on it does not even get a connection to its proxy."""
    job, proxy, over = stage.job, stage.proxy_of(rank), over_at(stage) - SEC
    node = stage.cluster.target(draw.whole(0, 99))
    cause = sdk.read_timeout(node.address, node.ports[0])
    name = utterance(draw)
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, name), cause)
    then = at + seconds(20.02) + draw.span(0, 40)
    for turn in range(6):
        if then >= over:
            return
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout" if turn else "ConnectionError", text))
        path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
        refused = sdk.connect_timeout(proxy.address, draw.whole(*HANDLES))
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, refused)
        then += seconds(wait) + seconds(3.0) + draw.span(2, 9)
    if then < over:
        exhausted(stage, then, rank, text, "ConnectTimeout", one_object(stage))


@kind(hosts=2, hangs=False, reads=True, min_timeout_s=90, lead_s=52.0, without=(*RESTARTS, "second_job"))
def storage_link_of_one_host_goes_down(stage: Stage) -> Scenario:
    """The port of one worker host to the storage network loses its link (mlx5_core; a pulled or broken cable).

    To acquit: the kernel of that host tells of its port in the moment; all ranks there, and no others, first miss
    answers of several targets and then get no connection to their proxy. All daemons go on, keepalives are answered,
    nobody leaves the map. The collectives go by other ports: all others wait for the ranks of that host.
    """
    job, at = stage.job, stage.at
    draw, node = stage.draw.child("link"), stage.job.job.node_of(stage.culprit)
    ranks = tuple(job.job.ranks_of(node))
    client_told(stage, "one GET for each utterance, read time-out 20 s, retries of the SDK only")
    stage.open()
    down = stage.mark(at - draw.span(60, 300), f"the storage port of {job.job.hosts[node]} loses its link")
    port = f"mlx5_core 0000:{draw.pick(('21', '5e', 'a1', 'e1'))}:00.1 {draw.pick(('stor0', 'eth2', 'ens5f1np1'))}"
    _told_by_kernel(stage, down, node, f"{port}: Link down")
    for rank in ranks:
        _does_not_connect(stage, at + draw.span(0, 90), rank, draw.child("rank", rank))
    stage.hang(at + 400 * MS, *ranks)
    made = stage.innocent("network", *ranks, also=("infrastructure",))
    return stage.close("A cable in the rack had been pulled with its neighbour.", (made,))


def _gets_over_it(stage: Stage, other: JobRun, step: int, first: int, joined: int, draw: Draw) -> None:
    """A rank of another job has short batches until the killed target is back; its job goes on and ends well."""
    second, then = step % other.job.world, first
    with as_of(stage, other, step):
        for turn in range(3):
            designated = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, designated, stage.victim, second, draw.whole(0, 30), 48)
            again(stage, then + 7 * MS, second, failed, turn + 1, 5)
            then += seconds(2.0 + turn) + draw.span(6, 30)
    told_at = max(then, joined + seconds(3.7)) + draw.span(30, 90)
    other.note(told_at, second, f"get-batch served after 4 attempts, {(told_at - first) / SEC:.1f} s", "W", 99)
    other.delay(step, told_at - first)
    last = step + draw.whole(60, 90)
    other.train(0, last)
    stage.load(other, other.begin + 60 * MS, first)
    other.finish(last)
    stage.load(other, told_at, other.step_at(last))


@kind(hangs=False, reads=True, ais_order=450, lead_s=62.0, without=(*NOISE, "second_job"))
def only_the_neighbour_met_the_target_that_died(stage: Stage) -> Scenario:
    """A loader of one job is killed for its memory as another job loses a target (PyTorch issues, worker killed).

    To acquit: the rank raises for a loader process that the kernel of its host has killed by name and pid, in a line
    with the memory that it had. The dead target is met by ranks of the other job alone, which try again and are served,
    and that job ends well. No rank of the first job was refused or had a short batch.
    """
    victim, rank, at, job = stage.victim, stage.culprit, stage.at, stage.job
    draw, own = stage.draw.child("neighbour's"), stage.job.job
    alike = replace(stage.params, ranks=8, ranks_per_node=4, layout="slurm", style="nemo", culprit=0)
    other = stage.new_job("neighbour", alike, job.begin + draw.span(4_000, 11_000))
    client_told(stage, "DataLoader: 6 workers a rank, forkserver, 8 GB of shared memory")
    stage.open()
    step = int((at - draw.span(1_500, 4_000) - other.begin) / seconds(alike.step_s))
    first = other.step_at(step) + draw.span(20, 60)
    stage.mark(other.begin, f"job {other.job.job_id} starts training")
    other.start()
    died = stage.mark(first - draw.span(10, 30), f"kill -9 {victim.name}")
    joined = killed_for_a_while(stage, died, (4_300, 5_200), 1)
    _gets_over_it(stage, other, step, first, joined, draw)
    pid = own.rank_pids[rank] + draw.whole(200, 420)
    rss = draw.whole(51_000_000, 96_000_000)
    killed = stage.mark(at - draw.span(30, 200), f"the kernel kills loader {pid} of rank {rank}")
    oom = f"Memory cgroup out of memory: Killed process {pid} ({loader_name(stage)}) total-vm:{rss + 31_443_120}kB, "
    oom += f"anon-rss:{rss}kB, file-rss:{draw.whole(60_000, 99_000)}kB, shmem-rss:{draw.whole(0, 9)}kB, UID:1000"
    _told_by_kernel(stage, killed, own.node_of(rank), f"{oom} pgtables:{rss // 470}kB oom_score_adj:0")
    loader_killed(stage, at, rank, pid, "Killed")
    job.agents_end([Exit(rank, at + 710 * MS, 1)], at + 710 * MS)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("Loaders had kept each decoded recording.", (made,), until=died + seconds(100))


def _no_room_for(stage: Stage, longest: float, draw: Draw) -> str:
    """The traceback of a spectrogram that is larger than what is left of the device."""
    own, torch = stage.job.job, stage.params.torch_release
    module = f"{own.build['site']}/torch/nn/modules/module.py"
    name = "torch.OutOfMemoryError" if torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    wants, free = longest / 560, draw.between(5, 11)
    device = f"GPU {own.local_rank(stage.culprit)} has a total capacity of 79.10 GiB of which {free:.2f} GiB is free."
    used = f"Including non-PyTorch memory, this process has {79.08 - free:.2f} GiB memory in use."
    text = f"{name}: CUDA out of memory. Tried to allocate {wants:.2f} GiB. {device} {used}"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 191, "main", "loss = criterion(model(batch), batch)", True),
        sdk.Frame(module, 1751, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
        sdk.Frame(module, 1762, "_call_impl", "return forward_call(*args, **kwargs)", True),
        sdk.Frame(
            own.script,
            58,
            "forward",
            "spec = torch.stft(wave, self.n_fft, window=self.window, return_complex=True)",
            True,
        ),
    )
    return sdk.traceback(sdk.Raised(frames, text))


@kind(hangs=False, reads=True, slurm=True, lead_s=55.0)
def recording_of_hours_fills_the_device(stage: Stage) -> Scenario:
    """A batch has one recording of hours, and its spectrogram does not fit (NeMo issues; max_duration not set).

    To acquit: the rank has read its batch and tells the longest recording of it; right after that it has no memory left
    on its device, and exits. It is a job of plain srun whose tasks write into one file without labels: the rank stands
    in its own line before the exception, and srun names the task.
    """
    job, rank, at = stage.job, stage.culprit, stage.at
    draw = stage.draw.child("hours")
    stage.open()
    for step in range(stage.step - 40, stage.step, 10):
        if step > 0:
            usual = f"48 cuts, {draw.between(520, 690):.1f} s, longest {draw.between(17, 30):.1f} s"
            told(stage, job.step_at(step) + draw.span(20, 90), rank, "sampler", f"batch {step}: {usual}")
    longest = draw.between(7_300, 15_800)
    said = f"48 cuts, {longest + draw.between(480, 620):.1f} s, longest {longest:.1f} s (ais://{stage.bucket}"
    told(stage, at - draw.span(400, 900), rank, "sampler", f"batch {stage.step}: {said}/{utterance(draw)})")
    stage.mark(at, f"rank {rank} has a recording of {longest / 3600:.1f} hours")
    job.raise_on(at, rank, _no_room_for(stage, longest, draw))
    left = at + draw.span(600, 1_100)
    job.agents_end([Exit(rank, left, 1)], left)
    if without_torchrun(stage, in_one=True):
        tasks_end(stage, rank, left, "Exited with exit code 1")
    made = stage.innocent("gpu", rank, also=("data", "software"))
    return stage.close("The segmentation of one broadcast had been lost, so that it was one recording.", (made,))
