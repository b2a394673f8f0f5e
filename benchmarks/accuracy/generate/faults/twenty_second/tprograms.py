"""Faults of a program that trains, of the twenty-second part; storage is innocent, and loud beside some of them.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import caught_in_loader, data_folder, script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, python_stamp, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_second")


def _amount(gib: float) -> str:
    """Bytes as the allocator prints them."""
    return f"{gib:.2f} GiB" if gib >= 1 else f"{gib * 1024:.2f} MiB"


def _out_of_memory(stage: Stage, draw: Draw) -> str:
    """What the allocator of a device says when a request does not fit, by release."""
    order, device = stage.job.job.torch.order, stage.job.job.local_rank(stage.culprit)
    asked, free = draw.between(2.1, 9.6), draw.between(0.2, 1.9)
    used = 79.11 - free
    held = used - draw.between(4.2, 7.5)
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    setting = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    return (
        f"{name}: CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU {device} has a total capacity of "
        f"79.11 GiB of which {_amount(free)} is free. Including non-PyTorch memory, this process has {used:.2f} GiB "
        f"memory in use. Of the allocated memory {held:.2f} GiB is allocated by PyTorch, and "
        f"{_amount(draw.between(0.6, 3.1))} is reserved by PyTorch but unallocated. If reserved but unallocated memory "
        f"is large try setting {setting}=expandable_segments:True to avoid fragmentation.  See documentation for "
        "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def longest_batch_exceeds_the_device(stage: Stage) -> Scenario:
    """A bucket of long recordings needs more memory than a device has (Lhotse docs on max_duration).

    To acquit: the rank says how much audio its batch has, all of it here, and the allocator of its device names
    what it asked for.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (past_unrest.neighbour_reads_cold, commotion.reads_recover, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("longest")
    for turn, one in enumerate((*readers(stage)[:3], rank)):
        is_last = one == rank
        cuts, total = draw.whole(48, 64), draw.between(1150, 1400) if is_last else draw.between(480, 620)
        longest = draw.between(31.0, 34.9) if is_last else draw.between(14.0, 19.0)
        said = f"batch of {cuts} cuts, {total:.0f} s of audio, longest {longest:.1f} s, complete"
        reader_note(stage, at - (140 * MS if is_last else seconds(6 + 5 * turn)), one, said)
    stage.mark(at, f"rank {rank} has a batch that its device cannot hold")
    encoder = f"{script_folder(stage)}/encoder.py"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(encoder, 141, "forward", "scores = torch.matmul(query, key.transpose(-2, -1))", True),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, _out_of_memory(stage, draw))))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("gpu", "data"))
    return stage.close("The limit of a bucket is in cuts and not in seconds.", (made,))


@kind(reads=True, hangs=False, lead_s=65.0)
def recordings_of_a_batch_differ_in_length(stage: Stage) -> Scenario:
    """The default collate stacks waveforms of which one is shorter (PyTorch forum, default_collate).

    To acquit: the loader's own traceback ends in torch.stack, which names both sizes; the rank says that all
    recordings were read and decoded, and how many samples the short one has by its manifest.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, loud.neighbour_reads_slowly, own_unrest.neighbour_fails))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("ragged")
    whole, worker, entry = 16_000 * draw.whole(8, 16), draw.whole(0, 7), draw.whole(2, 15)
    short = whole - draw.whole(40, 9_000)
    pid = stage.job.job.rank_pids[rank] + 31 + worker
    name = f"ais://{stage.bucket}/train/{draw.token(2, 'abcdef0123456789')}/utt-{draw.whole(0, 99_999):05d}.flac"
    said = f"loader {worker} (pid {pid}): 16 of 16 recordings read and decoded, no padding is set"
    reader_note(stage, at - 55 * MS, rank, said)
    reader_note(stage, at - 52 * MS, rank, f"{name}: {short} samples at 16000 Hz, as its manifest says")
    stage.mark(at, f"a loader of rank {rank} cannot stack its batch")
    fetch, collate = f"{data_folder(stage)}/_utils/fetch.py", f"{data_folder(stage)}/_utils/collate.py"
    frames = (
        sdk.Frame(fetch, 55, "fetch", "return self.collate_fn(data)", True),
        sdk.Frame(collate, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)"),
        sdk.Frame(collate, 155, "collate", "return collate_fn_map[elem_type](batch, collate_fn_map=collate_fn_map)"),
        sdk.Frame(collate, 272, "collate_tensor_fn", "return torch.stack(batch, 0, out=out)", True),
    )
    text = "RuntimeError: stack expects each tensor to be equal size, but got "
    text += f"[1, {whole}] at entry 0 and [1, {short}] at entry {entry}"
    caught_in_loader(stage, at, rank, worker, frames, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Recordings were cut to one length up to the last release of the corpus.", (made,))


@kind(hangs=False, lead_s=60.0)
def loss_is_not_a_number(stage: Stage) -> Scenario:
    """A rank's loss is NaN and the script leaves with 1 (engine.py of DETR and of MAE).

    To acquit: the rank says so in one line, after lines of a growing gradient; its inputs are finite and complete.
    """
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("nan")
    norm = draw.between(3.0, 9.0)
    for back in (4, 3, 2, 1):
        said = f"step {stage.step - back}: grad norm {norm:.1f}, lr 1.2e-03, scale {65536 >> (4 - back)}"
        reader_note(stage, job.step_at(stage.step - back + 1) - draw.span(20, 60), rank, said)
        norm *= draw.between(6, 40)
    stage.mark(at, f"the loss of rank {rank} is no number")
    cuts = draw.whole(16, 48)
    said = f"step {stage.step}: {cuts} of {cuts} inputs here, all finite, max {draw.between(0.7, 1.0):.3f}"
    reader_note(stage, at - 30 * MS, rank, said)
    job.say(at, rank, "Loss is nan, stopping training")
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("The learning rate was raised with the number of ranks.", (made,))


@kind(reads=True, lead_s=60.0, torch_order=206)
def compiles_for_a_new_length(stage: Stage) -> Scenario:
    """One rank meets a length it has no kernel for, and tunes longer than others wait (pytorch#140229).

    To acquit: Dynamo says on that rank why it compiles anew, and its stack is active in Triton, the batch here.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_backend_fails, own_unrest.neighbour_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("compiles")
    length, known = 32 * draw.whole(40, 99), 32 * draw.whole(10, 38)
    cuts, turn = draw.whole(8, 24), draw.whole(4, 7)
    reader_note(stage, at - 70 * MS, rank, f"step {stage.step}: {cuts} of {cuts} cuts here, padded to {length} frames")
    stage.mark(at - 20 * MS, f"rank {rank} compiles for a new length")
    stamp = python_stamp(at - 20 * MS, own.zone)
    head = f"[rank{rank}]:V{stamp} {own.rank_pids[rank]} torch/_dynamo/guards.py:2991] [2/{turn}] [__recompiles] "
    rows = (
        f"Recompiling function forward in {script_folder(stage)}/encoder.py:88",
        "    triggered by the following guard failure(s):",
        f"    - 2/{turn - 1}: tensor 'x' size mismatch at index 1. expected {known}, actual {length}",
    )
    stage.job.say(at - 20 * MS, rank, "\n".join(head + row for row in rows))
    heuristics = f"{own.build['site']}/torch/_inductor/runtime/triton_heuristics.py"
    main = standing_in(
        stage,
        191,
        ("make_cubin", f"{own.build['site']}/triton/backends/nvidia/compiler.py", 397),
        ("compile", f"{own.build['site']}/triton/compiler/compiler.py", 284),
        ("_precompile_config", heuristics, 478),
        ("precompile", heuristics, 244),
        ("compile_fx_inner", f"{own.build['site']}/torch/_inductor/compile_fx.py", 547),
        ("_compile", f"{own.build['site']}/torch/_dynamo/convert_frame.py", 924),
        state="active",
    )
    py_spy(stage, min(draw.between(28, 46), own.timeout_s - 12), (main,))
    stage.hang(at + 40 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("software",))
    return stage.close("Kernels are tuned at their first use, with mode max-autotune.", (made,))


@kind(culprit=0, lead_s=75.0)
def first_rank_validates_alone(stage: Stage) -> Scenario:
    """Only rank 0 validates, longer than the others' collectives may last (forums of PyTorch and Lightning).

    To acquit: rank 0 reports how far its validation is, with short reads of its own disk, up to the end of the job.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.rebalance_running))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("validates")
    total, rate = draw.whole(9_000, 40_000), draw.between(14, 40)
    stage.mark(at, "rank 0 validates alone")
    reader_note(
        stage, at - 10 * MS, 0, f"validation at step {stage.step}: {total} utterances of /scratch/dev-all, on rank 0"
    )
    every = draw.between(7.0, 12.0)
    for turn in range(1, int((own.timeout_s - 2) / every) + 1):
        done, read = int(rate * every * turn), draw.between(0.2, 0.6)
        error = draw.between(7.2, 7.9)
        said = f"validation: {min(done, total - 1)}/{total}, wer {error:.2f}, read {read:.1f} s of {every:.1f} s"
        reader_note(stage, at + seconds(every * turn), 0, said)
    stage.hang(at + 30 * MS, 0)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software", "collective_mismatch"))
    return stage.close("A larger set of utterances was put in for validation.", (made,))
