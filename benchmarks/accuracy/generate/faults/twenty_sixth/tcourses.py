"""Programs that part from the others, wait for something else or end, of the twenty-sixth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import (
    data_folder,
    loader_killed,
    loader_name,
    next_frames,
    script_folder,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_sixth")

#: What DDP says of parameters that had no gradient.
UNFINISHED = (
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error "
    "indicates that your module has parameters that were not used in producing loss. You can enable unused parameter "
    "detection by passing the keyword argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by \n"
    "making sure all `forward` function outputs participate in calculating loss. \n"
    "If you already have done the above, then the distributed data parallel module wasn't able to locate the output "
    "tensors in the return value of your module's `forward` function. Please include the loss function and the "
    "structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\n"
    "Parameter indices which did not receive grad for rank {rank}: {names}\n"
    " In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out "
    "information about which particular parameters did not receive gradient on this rank as part of this error"
)


@kind(culprit=0, lead_s=60.0)
def scoring_outlasts_the_watchdog(stage: Stage) -> Scenario:
    """Rank 0 alone decodes a test set while all others wait for it (accelerate: evaluation and NCCL timeout).

    To acquit: rank 0 tells how far it is with its decoding all the time until the watchdog of the others speaks; its
    test set was read before; a rebalance runs, and is over or not without any matter.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, unrest.entries_missing))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("scoring")
    name, many = draw.pick(("test-other", "dev-noisy", "tedlium-test", "voxpop-de")), draw.whole(1_100, 5_200)
    said = f"step {stage.step}: {name}, {many} utterances in memory, beam 16, rank 0 only"
    told(stage, at - 900 * MS, 0, "score", said)
    stage.mark(at - 60 * MS, "rank 0 begins to score a test set")
    over, pace = at + own.timeout_s * SEC, many / (own.timeout_s * draw.between(2.2, 5.0))
    then, rate = at + draw.span(4_000, 8_000), draw.between(7.0, 19.0)
    while then < over - SEC:
        done = int((then - at) / SEC * pace)
        error = rate * draw.between(0.97, 1.03)
        told(stage, then, 0, "score", f"{name}: {done}/{many} utterances, {pace:.1f}/s, WER {error:.2f} so far")
        then += seconds(max(8.0, own.timeout_s / 12)) + draw.span(20, 400)
    stage.hang(at, 0)
    made = stage.innocent("rank_hang", 0, also=("software", "collective_mismatch"))
    return stage.close("Beam search was switched on for the scores.", (made,))


@kind(hangs=False, lead_s=60.0)
def parameter_without_gradient(stage: Stage) -> Scenario:
    """From a step on a branch of the model is left out of the loss (DDP: find_unused_parameters).

    To acquit: DDP says on all ranks that parameters had no gradient, one step after the log tells that a loss is
    switched off; batches are there, and a target that gives up a disk has copies.
    """
    stage.open()
    beside(stage, late_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, commotion.tenant_meets_bad_data))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("unused")
    branch, first = draw.pick(("ctc head", "adapter", "intermediate loss", "speaker branch")), draw.whole(180, 640)
    before = at - seconds(stage.params.step_s)
    said = f"step {stage.step - 1}: schedule of losses: weight of {branch} 0.3 -> 0.0, left out"
    told(stage, before, 0, "train", said)
    stage.mark(before, f"{branch} takes no part in the loss")
    names = " ".join(str(first + turn) for turn in range(draw.whole(2, 6)))
    site = own.build["site"]
    module = f"{site}/torch/nn/modules/module.py"
    frames = (
        *loss_frames(stage, "loss = model(batch)"),
        sdk.Frame(module, 1773, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
        sdk.Frame(module, 1784, "_call_impl", "return forward_call(*args, **kwargs)", True),
        sdk.Frame(f"{site}/torch/nn/parallel/distributed.py", 1637, "forward", "inputs = self._pre_forward(*inputs)"),
        sdk.Frame(
            f"{site}/torch/nn/parallel/distributed.py",
            1526,
            "_pre_forward",
            "if torch.is_grad_enabled() and self.reducer._rebuild_buckets():",
        ),
    )
    last = at
    for rank in speakers(stage):
        then = at + draw.span(1, 140)
        text = UNFINISHED.format(rank=rank, names=names)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        last = max(last, then)
    all_exit(stage, last)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", also=("collective_mismatch",))
    return stage.close("A schedule sets the weight to zero by leaving the branch out.", (of_all(made),))


@kind(culprit=0, lead_s=60.0)
def metrics_server_blocks_rank_zero(stage: Stage) -> Scenario:
    """Rank 0 sends its metrics to a tracking server that does not answer (mlflow, log_batch has 120 s of time-out).

    To acquit: the stack of rank 0 stands in mlflow's log_metrics, its one open request goes to the tracking server; the
    429 that AIStore gave before were repeated and served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, loud.neighbour_reads_slowly))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("metrics")
    site, host = own.build["site"], draw.pick(("mlflow.ml.internal", "tracking.research.lan", "mlflow-2.infra.local"))
    told(stage, job.begin - 900 * MS, 0, "track", f"run {draw.token(32, HEX)} at http://{host}:5000")
    stage.mark(at - 30 * MS, f"{host} does not answer rank 0")
    after = min(draw.between(22, 39), own.timeout_s - 12)
    rest = f"{site}/mlflow/utils/rest_utils.py"
    main = standing_in(
        stage,
        199,
        ("readinto", f"{PYTHON}/socket.py", 718),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("begin", f"{PYTHON}/http/client.py", 325),
        ("getresponse", f"{PYTHON}/http/client.py", 1395),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 534),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/requests/adapters.py", 667),
        ("http_request", rest, 189),
        ("call_endpoint", rest, 401),
        ("log_batch", f"{site}/mlflow/store/tracking/rest_store.py", 1041),
        ("log_metrics", f"{site}/mlflow/tracking/fluent.py", 1140),
    )
    py_spy(stage, after, (main,))
    local = f"10.9.0.{draw.whole(2, 250)}:{draw.whole(33_000, 60_000)}"
    said = f"hang-watcher: ss -tnpir: pid {own.rank_pids[0]} ESTAB 0 0 {local} {host}:5000, lastrcv {after + 2:.0f} s"
    job.agent(at + seconds(after + 0.8), 0, said)
    for turn in range(1, (own.timeout_s - 1) // 121 + 1):
        left = f"total={7 - turn}, connect=7, read={7 - turn}, redirect=7, status=7"
        late = f"ReadTimeoutError(\"HTTPConnectionPool(host='{host}', port=5000): Read timed out. (read timeout=120)\")"
        said = f"Retrying (JitteredRetry({left})) after connection broken by '{late}': /api/2.0/mlflow/runs/log-batch"
        told(stage, at + turn * (seconds(120.4) + draw.span(1, 300)), 0, "urllib3.connectionpool", said, "WARNING")
    stage.hang(at + 20 * MS, 0)
    made = stage.innocent("rank_hang", 0, also=("software", "network", "infrastructure"))
    return stage.close("The database of the tracking server was full.", (made,))


@kind(hangs=False, slurm=True, lead_s=60.0, without=RESTARTS)
def time_limit_of_the_queue(stage: Stage) -> Scenario:
    """The job has used up its time in the queue (SLURM: DUE TO TIME LIMIT), in the middle of its training.

    To acquit: SLURM itself says why it ends the step; ranks train up to then; the target that was killed half a minute
    before is back and serves.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("limit")
    hours, told_at = draw.pick((4, 8, 12, 24)), job.begin - 800 * MS
    spent = hours * 3600 - (at - told_at) // SEC
    clock = f"{spent // 3600:02d}:{spent // 60 % 60:02d}:{spent % 60:02d}"
    said = (
        f"SLURM_JOB_PARTITION={draw.pick(('gpu-short', 'batch', 'a100'))}, {clock} of {hours:02d}:00:00 used, 3rd start"
    )
    told(stage, told_at, 0, "launch", said)
    stage.mark(at, f"the time of job {own.job_id} is over")
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "TIME LIMIT"))
    job.slurm(at + 3 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 260)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 1_800), node, f"srun: error: {own.hosts[node]}: task {node}: Terminated")
    job.ended_at = at + 3 * SEC
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("Nobody had asked for more hours.", (of_all(made),))


@kind(reads=True, hangs=False, lead_s=60.0)
def decoder_segfaults_in_worker(stage: Stage) -> Scenario:
    """A library that decodes video crashes in a loader (decord and torchvision issues: Segmentation fault).

    To acquit: the host's core dump of the loader has its last frame in libavcodec, after the clip was read whole; what
    breaks off or is denied at targets is other tenants' affair.
    """
    stage.open()
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, commotion.tenant_backend_fails))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("segfault")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(50, 400)
    name, size = f"clips/{draw.token(11, LOWER)}.mp4", draw.whole(900_000, 9_900_000)
    said = f"ais://{stage.bucket}/{name}: {size} of {size} bytes in {draw.whole(8, 60)} ms, decoding 16 frames"
    told(stage, at - 150 * MS, rank, "video", said)
    stage.mark(at - 25 * MS, f"a loader of rank {rank} crashes as it decodes")
    job.say(at - 25 * MS, rank, "ERROR: Unexpected segmentation fault encountered in worker.")
    library = draw.pick(("libavcodec.so.58", "libavcodec.so.60", "libavcodec-decord.so.58"))
    name, where = loader_name(stage), f"0x00007f{draw.token(10, HEX)} n/a ({library} + 0x{draw.token(6, HEX)})"
    said = f"systemd-coredump: Process {pid} ({name}) of user 0 dumped core. Stack trace of thread {pid}: #0 {where}"
    watched(stage, at - 9 * MS, node, said)
    loader_killed(stage, at, rank, pid, "Segmentation fault")
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("The image had another build of FFmpeg.", (made,))


def _changes_pitch(stage: Stage) -> Thread:
    """The main thread of a loader that resamples a clip."""
    site = stage.job.job.build["site"]
    frames = (
        ("resample", f"{site}/librosa/core/audio.py", 683),
        ("pitch_shift", f"{site}/librosa/effects.py", 382),
        ("__getitem__", f"{script_folder(stage)}/dataset.py", 77),
        ("fetch", f"{data_folder(stage)}/_utils/fetch.py", 52),
        ("_worker_loop", f"{data_folder(stage)}/_utils/worker.py", 349),
    )
    return Thread("MainThread", frames, "active")


@kind(reads=True, hangs=False, lead_s=60.0)
def augmenting_too_slow_for_timeout(stage: Stage) -> Scenario:
    """Loaders change pitch and speed on few cores and do not hand over in time (forum: DataLoader timed out after).

    To acquit: objects come in milliseconds, and the loader is active in librosa when its stack is taken; the host's
    cores are all busy; disks of AIStore are busy for another tenant.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("augment")
    own, limit = job.job, draw.pick((30, 40, 45))
    node, cores, pid = own.node_of(rank), draw.pick((8, 12, 16)), own.rank_pids[rank] + draw.whole(60, 300)
    said = f"pitch_shift p=0.9, time_stretch p=0.9, timeout={limit}, {cores} cores"
    told(stage, job.begin - 290 * MS, 0, "data", said)
    for one in (rank, *readers(stage)[:2]):
        said = f"batch: 48 objects read in {draw.whole(12, 90)} ms, augmented in {draw.between(9.0, 21.0):.1f} s"
        told(stage, at - draw.span(1_500, 11_000), one, "dataset", said)
    told(stage, at + 30 * MS, rank, "dataset", f"batch: 48 objects read in {draw.whole(12, 90)} ms, augmenting")
    stage.mark(at, f"loaders of rank {rank} are late with augmenting")
    py_spy(stage, draw.between(18, 27), (_changes_pitch(stage),), pid)
    said = f"node-exporter: load1 {cores * draw.between(3.1, 6.2):.2f} on {cores} cores, iowait 0.1%, run queue full"
    watched(stage, at + seconds(draw.between(9, 16)), node, said)
    over = at + seconds(limit) + 40 * MS
    loader = f"{data_folder(stage)}/dataloader.py"
    raised = next_frames(
        stage,
        sdk.Frame(loader, 1458, "_next_data", "idx, data = self._get_data()", True),
        sdk.Frame(loader, 1415, "_get_data", "raise RuntimeError("),
    )
    text = f"RuntimeError: DataLoader timed out after {limit} seconds"
    job.raise_on(over, rank, sdk.traceback(sdk.Raised(raised, text)))
    exits(stage, over, rank)
    made = stage.innocent("data_loading_stall", rank, also=("software", "infrastructure"))
    return stage.close("Pods of the new template have a third of the cores.", (made,))


@kind(hangs=False, lead_s=60.0)
def loss_not_a_number(stage: Stage) -> Scenario:
    """The loss is NaN, and the script stops on all ranks, as it is told to (MAE and DINO: "Loss is nan, stopping").

    To acquit: the norm of gradients runs away over some steps, then the script itself says why it ends; batches were
    there, and no read failed.
    """
    stage.open()
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, unrest.entries_missing))
    at, draw = stage.at, stage.draw.child("nan")
    norm, scale = draw.between(2.0, 6.0), draw.whole(12, 15)
    stage.mark(at - seconds(6 * stage.params.step_s), "gradients run away")
    for turn in range(6):
        then = at - seconds((6 - turn) * stage.params.step_s) + draw.span(1, 40)
        said = f"step {stage.step - 6 + turn}: grad_norm {norm:.2f}, loss_scale {1 << (scale - turn)}"
        told(stage, then, 0, "optim", f"{said}, lr {draw.between(0.9, 1.1) * 3e-3:.2e}", "WARNING")
        norm *= draw.between(3, 9)
    last = at
    for rank in speakers(stage):
        then = at + draw.span(1, 120)
        told(stage, then, rank, "train", f"Loss is nan, stopping training (step {stage.step})", "ERROR")
        last = max(last, then)
    all_exit(stage, last)
    made = stage.innocent("software", also=("data",))
    return stage.close("Warm-up was left out of a new configuration.", (of_all(made),))
