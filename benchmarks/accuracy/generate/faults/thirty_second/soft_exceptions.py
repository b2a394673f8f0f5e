"""One rank raises for want of memory or of a number, and its process stays; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aistickets, aistroubles, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_second")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Frames that the header of a WAV file claims whose writer could not go back to it: 0xFFFFFFFF bytes of 16 bits.
CLAIMED = 0xFFFFFFFF // 2


@kind(lead_s=68.0, without=("second_job", *DISKS))
def library_of_matrices_gets_no_memory_beside_a_notebook(stage: Stage) -> Scenario:
    """A notebook holds what a device has left, and cuBLAS cannot begin (pytorch forums and issues, ALLOC_FAILED).

    To acquit: before its first validation each rank tells how much its device has free; one has nearly nothing, though
    it holds no more than others do, and its host lists a second process there. The error is cuBLAS's own, in a linear
    layer. A disk of AIStore failed and reads were reset seconds before, and all of these were served.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, past_unrest.turned_away_in_window))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("cublas")
    site, host, local = own.build["site"], own.hosts[own.node_of(rank)], own.local_rank(rank)
    whole, mine, left = 81_559, draw.whole(48_000, 61_000), draw.whole(3, 29)
    told(stage, job.begin - 390 * MS, 0, "train", f"first validation at step {stage.step}, in a thread of its own")
    came = stage.mark(at - draw.span(14_000, 36_000), f"somebody opens a notebook on GPU {local} of {host}")
    apps = (
        f"{own.rank_pids[rank]}, {own.build['python']}, {mine} MiB",
        f"{own.rank_pids[rank] + draw.whole(900, 9_000)}, /usr/bin/python3, {whole - mine - left} MiB",
    )
    listed = "nvidia-smi --query-compute-apps=pid,process_name,used_gpu_memory --format=csv,noheader"
    job.agent(came + draw.span(2_000, 9_000), own.node_of(rank), "\n".join([f"{host}: {listed} -i {local}", *apps]))
    for one in sorted({*speakers(stage), rank}):
        free = left if one == rank else whole - mine - draw.whole(300, 900)
        held = f"{mine - draw.whole(500, 800)} MiB reserved by this process"
        said = f"step {stage.step}: validation begins, {free} of {whole} MiB free, {held}"
        told(stage, at - draw.span(12, 60), one, "device", said, "WARNING" if one == rank else "INFO")
    stage.mark(at, f"cuBLAS gets no memory on rank {rank}")
    module = f"{site}/torch/nn/modules/module.py"
    called = (
        sdk.Frame(module, 1736, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
        sdk.Frame(module, 1747, "_call_impl", "return forward_call(*args, **kwargs)", True),
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 198, "main", "wer = pool.submit(validate, model, step).result()", True),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 456, "result", "return self.__get_result()", True),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 401, "__get_result", "raise self._exception"),
        sdk.Frame(f"{PYTHON}/concurrent/futures/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
        sdk.Frame(own.script, 152, "validate", "logits = model(batch)", True),
        *called,
        sdk.Frame(f"{script_folder(stage)}/model.py", 97, "forward", "feats = self.projection(batch.feats)", True),
        *called,
        sdk.Frame(
            f"{site}/torch/nn/modules/linear.py", 125, "forward", "return F.linear(input, self.weight, self.bias)", True
        ),
    )
    text = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    over, many = at + draw.span(2_400, 4_800), draw.whole(4, 9)
    for one in speakers(stage):
        if one != rank:
            then = over + draw.span(-60, 0)
            said = (
                f"step {stage.step}: {many} of {many} validation batches in {(then - at) / SEC:.1f} s, training goes on"
            )
            told(stage, then, one, "train", said)
    stage.hang(over + 25 * MS, rank)
    made = stage.innocent("gpu", rank, also=("software", "rank_hang"))
    return stage.close("The host was also one of those for notebooks, by mistake.", (made,), ALIVE)


@kind(culprit=0, lead_s=64.0, without=(*RESTARTS, *DISKS, "tenant_out_of_space"))
def report_of_a_save_holds_a_tensor(stage: Stage) -> Scenario:
    """Rank 0 writes what it has measured as JSON beside a checkpoint, and one of it is a tensor (Python docs, json).

    To acquit: a target answers 500 to the upload once, which urllib3 repeats without a word; its disk is then found
    healthy, and rank 0 tells that all is stored. The exception comes after that, from the encoder of JSON, and names
    the type of a value.
    """
    stage.open(save_every=10_000)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.turned_away_in_window))
    cluster, victim, at, job, own = stage.cluster, stage.victim, stage.at, stage.job, stage.job.job
    draw, step = stage.draw.child("report"), stage.step
    path = f"/v1/objects/checkpoints/{own.task}/step={step}.ckpt"
    told(stage, at - 80 * MS, 0, "checkpoint", f"step {step}: saving to ais:/{path[11:]}")
    failed = stage.mark(at + draw.span(700, 1_900), f"{victim.name} cannot write a first time")
    error = aistickets.put_failed(cluster, victim, failed, path, "input/output error", 0, draw)
    aistroubles.examined(cluster, victim, failed + 2 * MS, error.split(".put.")[0] + ": input/output error", True, draw)
    stored = failed + draw.span(1_900, 4_100)
    size = draw.whole(400, 2_900) << 20
    cluster.count(victim, stored - 3 * MS, put_n=1, put_size=size, put_ns_total=stored - failed - SEC)
    spent = (stored - at) / SEC
    told(stage, stored, 0, "checkpoint", f"step {step}: {size >> 20} MiB stored in {spent:.1f} s")
    raised = stage.mark(stored + draw.span(4, 30), "rank 0 cannot write its report")
    told(stage, raised - 2 * MS, 0, "report", f"step {step}: writing /results/{own.task}/metrics.json")
    place = f"{PYTHON}/json"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(own.script, 127, "save_checkpoint", "report.write(step, metrics)"),
        sdk.Frame(
            f"{script_folder(stage)}/report.py", 38, "write", 'file.write(json.dumps({"step": step, **metrics}))'
        ),
        sdk.Frame(f"{place}/__init__.py", 231, "dumps", "return _default_encoder.encode(obj)", True),
        sdk.Frame(f"{place}/encoder.py", 200, "encode", "chunks = self.iterencode(o, _one_shot=True)", True),
        sdk.Frame(f"{place}/encoder.py", 258, "iterencode", "return _iterencode(o, 0)", True),
        sdk.Frame(f"{place}/encoder.py", 180, "default", "raise TypeError(f'Object of type {o.__class__.__name__} '"),
    )
    text = "TypeError: Object of type Tensor is not JSON serializable"
    job.raise_on(raised, 0, sdk.traceback(sdk.Raised(frames, text)))
    waits = (("wait", f"{PYTHON}/threading.py", 327), ("get", f"{PYTHON}/queue.py", 171))
    sender = Thread("metrics-push", (*waits, ("_push", f"{script_folder(stage)}/report.py", 61), *BOOTSTRAP))
    ends = Thread("MainThread", (("_shutdown", f"{PYTHON}/threading.py", 1590),))
    py_spy(stage, min(draw.between(19, 38), stage.params.timeout_s - 12), (ends, sender))
    stage.hang(at + 210 * MS, 0)
    made = stage.innocent("software", 0, also=("rank_hang",))
    return stage.close("The gradient's norm had been added to the report, as it came from clip_grad_norm_.", (made,))


@kind(reads=True, lead_s=70.0, without=RESTARTS)
def header_of_a_piped_recording_asks_for_all_memory(stage: Stage) -> Scenario:
    """ffmpeg wrote a WAV into a pipe, whose header says 0xFFFFFFFF bytes (ffmpeg docs; CPython wave; alloc_cpu.cpp).

    To acquit: the batch came whole; the rank tells how many frames its longest header claims, and how few bytes that
    recording has, as many as the list of the corpus says. The allocator of the host is asked for 48 times as much.
    What AIStore finds changed lies in another tenant's bucket, and no error of it is of the job's. Number of the line
    in alloc_cpu.cpp from memory.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.connects_repeated, commotion.reads_recover))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("header")
    name, size = utterance(draw).replace(".flac", ".wav"), 2 * draw.whole(40_000, 290_000) + 78
    said = "recordings are opened by wave, batches padded to the longest; 251 GiB of memory on each host"
    told(stage, job.begin - 400 * MS, 0, "collate", said)
    for one in (rank, *readers(stage)[:4]):
        got = (
            f"step {stage.step}: 48 of 48 recordings, {draw.between(6.1, 14.9):.1f} MB, {draw.between(0.1, 0.3):.2f} s"
        )
        told(stage, at - draw.span(30, 90), one, "data", got)
        longest = CLAIMED if one == rank else draw.whole(160_000, 560_000)
        if one != rank:
            pad = f"step {stage.step}: longest of 48 has {longest} frames, {longest / 16_000:.1f} s"
            told(stage, at - draw.span(4, 24), one, "collate", pad)
    pad = f"step {stage.step}: longest of 48 has {CLAIMED} frames, {CLAIMED / 16_000:.1f} s"
    which = f"ais://{stage.bucket}/{name}, {size} bytes read, {size} in the list"
    told(stage, at - 3 * MS, rank, "collate", f"{pad}: {which}")
    stage.mark(at, f"rank {rank} asks its host for 48 times what a header claims")
    frames = sdk.main_frames(
        own,
        stage.step,
        sdk.Frame(own.script, 68, "fetch", "return self.collate(batch)", True),
        sdk.Frame(
            f"{script_folder(stage)}/collate.py", 44, "__call__", "audio = torch.zeros(len(cuts), longest)", True
        ),
    )
    text = (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        f"tried to allocate {48 * CLAIMED * 4} bytes. Error code 12 (Cannot allocate memory)"
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    stage.hang(at + 30 * MS, rank)
    made = stage.innocent("data", rank, also=("software", "rank_hang"))
    return stage.close("One of the owners of the corpus had converted his recordings in a pipe.", (made,), ALIVE)
