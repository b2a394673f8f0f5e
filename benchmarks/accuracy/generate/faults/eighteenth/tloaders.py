"""Loaders, samples and their settings that no storage has harmed, of the eighteenth part; storage is loud beside most.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "eighteenth")


def _sent(stage: Stage, at: int, size: int, spent: int) -> None:
    """Some target has sent an object as a whole."""
    node = stage.cluster.target(stage.draw.child("sent").whole(0, 99))
    stage.cluster.count(node, at, get_n=1, get_ns_total=spent, get_size=size)


def _forked(stage: Stage, after: float, pid: int, innermost: str) -> None:
    """A watcher takes the stack of a loader process that was forked: below its own frames stand those of the rank."""
    own, rank = stage.job.job, stage.culprit
    script = own.script.rsplit("/", 1)[-1]
    rows = [
        f"hang-watcher: py-spy dump --pid {pid}, a child of {own.rank_pids[rank]} (rank {rank})",
        f"Process {pid}: {own.build['python']} -u {own.script}",
        f"Python v3.11.9 ({own.build['bin']}/python3.11)",
        "",
        f'Thread {pid} (idle): "MainThread"',
        f"    {innermost}",
        "    __getitem__ (pictures.py:41)",
        "    fetch (torch/utils/data/_utils/fetch.py:52)",
        "    _worker_loop (torch/utils/data/_utils/worker.py:349)",
        "    run (multiprocessing/process.py:108)",
        "    _bootstrap (multiprocessing/process.py:314)",
        "    _launch (multiprocessing/popen_fork.py:71)",
        "    __init__ (torch/utils/data/dataloader.py:1150)",
        f"    main ({script}:176)",
        f"    <module> ({script}:212)",
    ]
    stage.job.agent(stage.at + seconds(after), own.node_of(rank), "\n".join(rows))


@kind(reads=True, lead_s=60.0)
def picture_library_hangs_after_fork(stage: Stage) -> Scenario:
    """OpenCV has a pool of threads that a forked loader does not have: it waits for it (pytorch#1838, opencv#5150).

    The loader process stands in cv2's resize with the sample in its hands, the rank waits for the process; no socket is
    in either stack.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("fork")
    loader = f"{own.build['site']}/torch/utils/data/dataloader.py"
    stage.mark(at, f"a loader process of rank {rank} waits for threads that it does not have")
    after = min(draw.between(24, 44), own.timeout_s - 14)
    waiting = main_thread(
        stage,
        ("wait", f"{PYTHON}/multiprocessing/connection.py", 930),
        ("_poll", f"{PYTHON}/multiprocessing/connection.py", 424),
        ("_try_get_data", loader, 1243),
        ("_next_data", loader, 1448),
        ("next_batch", own.script, 94),
    )
    py_spy(stage, after, (waiting,))
    library = draw.pick(("resize", "warpAffine", "cvtColor"))
    _forked(stage, after + 1.4, own.rank_pids[rank] + draw.whole(140, 900), f"{library} (pictures.py:58)")
    stage.hang(at + 340 * MS, rank)
    own_unrest.killed_in_the_hang(stage)
    return stage.close(
        "A validation in the rank itself has opened the pool before loaders were forked.",
        (stage.innocent("software", rank, also=("rank_hang", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def table_left_by_a_killed_converter(stage: Stage) -> Scenario:
    """A converter was killed before it wrote the end of a file of Parquet (datasets#4077, petastorm#462).

    The rank's line gives the size and the digest that its list has as well: what was uploaded is what is read.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, commotion.reads_recover, commotion.throttled_in_window))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("converter")
    size, name = draw.whole(90, 700) << 20, f"train/part-{draw.whole(0, 4095):05d}.parquet"
    stage.mark(at, f"rank {rank} comes to a table without its end")
    _sent(stage, at - 40 * MS, size, draw.span(300, 900))
    digest = f"sha256 {draw.token(16, HEX)} as listed"
    reader_note(stage, at - 20 * MS, rank, f"s3://{stage.bucket}/{name}: {size} bytes read, {digest}")
    module = f"{stage.job.job.build['site']}/pyarrow/parquet/core.py"
    frames = (
        sdk.Frame("/workspace/asr/tables.py", 44, "rows", "table = pq.ParquetFile(pa.BufferReader(content))"),
        sdk.Frame(module, 328, "__init__", "self.reader.open("),
        sdk.Frame("pyarrow/_parquet.pyx", 1656, "pyarrow._parquet.ParquetReader.open", "check_status("),
        sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
    )
    text = "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file."
    in_worker(stage, at, rank, "pyarrow.lib.ArrowInvalid", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Files are listed by what lies in a folder, whoever has finished them.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, slurm=True, lead_s=60.0)
def decoding_reaches_the_time_limit(stage: Stage) -> Scenario:
    """Loaders decode on too few cores, each step waits for them, and the limit ends the job (NeMo docs, tarred; Slurm).

    The program's own shares give hundredths of a second for reading and seconds for decoding; SLURM gives the reason.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("decoding")
    usual, slow = stage.params.step_s, round(draw.between(4.1, 8.8), 2)
    job.params = replace(job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(14, 25)
    stage.mark(job.begin - draw.span(400, 900), "loaders have to decode more than their cores can")
    stage.open(until_step=steps)
    beside(stage, own_unrest.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.tenant_backend_fails, commotion.reads_recover))
    for step in range(5, steps, 5):
        rest = slow - usual - draw.between(0.1, 0.3)
        shares = f"read 0.0{draw.whole(2, 9)} s, decode and augment {rest:.2f} s, compute {usual:.2f} s"
        reader_note(stage, job.step_at(step + 1) + 90 * MS, 0, f"step {step}: {shares}")
    over = job.step_at(steps) + draw.span(400, 3_900)
    stage.mark(over, "the time limit is reached")
    job.slurm(over, 0, torchrun.step_cancelled(own, over, "TIME LIMIT"))
    for host in range(len(own.hosts)):
        job.agent_signalled(over + 40 * MS, host)
    job.ended_at = over + seconds(2)
    made = of_all(stage.innocent("infrastructure", also=("data_loading_stall", "software")))
    return stage.close("Recordings are MP3 since the last part of the corpus.", (made,))


@kind(reads=True, hangs=False, lead_s=130.0, may_be_undetermined=True)
def total_timeout_below_a_transfer(stage: Stage) -> Scenario:
    """A client of aiohttp may take 60 s for an object, and one is too long for that (aiohttp#2249, datasets#7164).

    The line of the start gives the limit; all transfers, before and then, run at one rate, and this one does as well.
    """
    stage.open()
    beside(stage, commotion.tenant_backend_fails)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_meets_bad_data, tenth_unrest.tenant_batches_fail))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("total")
    site, rate = job.job.build["site"], draw.between(38, 61)
    reader_note(stage, job.begin + 60 * MS, 0, "aiohttp: ClientTimeout(total=60), one shard at a time for each loader")
    began = stage.mark(at - 60 * SEC, f"rank {rank} begins to read a shard that is too long for its limit")
    size = int(rate * 60 * draw.between(1.15, 1.6))
    for turn, other in enumerate([*readers(stage)[: draw.whole(2, 5)], rank]):
        then, less = began - draw.span(900, 5_000) + turn * 60 * MS, draw.whole(700, int(rate * 48))
        spent = less / (rate * draw.between(0.96, 1.04))
        said = f"shards/train-{draw.whole(0, 4095):06d}.tar: {less} MiB in {spent:.1f} s"
        reader_note(stage, max(then, job.begin + seconds(spent) + SEC), other, said)
        _sent(stage, then - 10 * MS, less << 20, seconds(spent))
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    for after in (20, 40):
        done = int(rate * after * draw.between(0.98, 1.02))
        said = f"{name}: {done} of {size} MiB after {after}.0 s"
        reader_note(stage, began + after * SEC, rank, said)
    frames = (
        sdk.Frame("/workspace/asr/shards.py", 49, "read", "return await response.read()"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 1102, "read", "self._body = await self.content.read()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 348, "_wait", "with self._timer:"),
        sdk.Frame(f"{site}/aiohttp/helpers.py", 735, "__exit__", "raise asyncio.TimeoutError from exc_val"),
    )
    raised = sdk.Raised(
        fetch_frames(stage, "content = self.loop.run_until_complete(self.read(name))", *frames), "TimeoutError"
    )
    job.raise_on(at, rank, sdk.traceback(raised))
    exits(stage, at, rank)
    return stage.close(
        "The part of this week has shards of another size.",
        (stage.innocent("software", rank, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def longer_than_the_positions(stage: Stage) -> Scenario:
    """A recording has more frames than a model has positions (speechbrain#827, F5-TTS#139, whisper_finetuning#2).

    The two sizes in the error are that of the sample, which the rank has printed as read, and that of the model.
    """
    beside(stage, tenant_out_of_space)
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.throttled_in_window, unrest.entries_missing, commotion.tenant_meets_bad_data))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, (frames_of, most) = stage.draw.child("positions"), stage.draw.child("most").pick(((50, 1500), (25, 2500)))
    longest = draw.between(most / frames_of * 1.04, most / frames_of * 1.7)
    many = int(longest * frames_of)
    stage.mark(at, f"rank {rank} has a recording that is longer than its model allows")
    name = f"train/{draw.token(2, LOWER)}/{utterance(draw).rsplit('/', 1)[-1]}"
    reader_note(stage, at - 210 * MS, rank, f"longest of the batch: {name}, {longest:.2f} s, {many} frames")
    _sent(stage, at - 400 * MS, int(longest * 32_000), draw.span(4, 40))
    site = own.build["site"]
    code = "hidden = inputs + self.positions(inputs)"
    raised = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/encoder.py", 88, "forward", code, True),
    )
    text = f"RuntimeError: The size of tensor a ({many}) must match the size of tensor b ({most}) at non-singleton "
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(raised, f"{text}dimension 1")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Recordings were cut at thirty seconds until the last delivery.",
        (stage.innocent("data", rank, also=("software",)),),
    )
