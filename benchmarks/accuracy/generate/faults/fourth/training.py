"""Faults of one rank's program or device, of the fourth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import restart_before, tenant_out_of_space, tenant_rejected
from fixtures.generator import sdk, watchdog
from fixtures.generator.model import Job, Scenario
from fixtures.generator.moment import MS, comma_stamp, python_stamp, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fourth")


def _fingerprint(seq: int, op: str, numel: int, dtype: str) -> str:
    """A collective as TORCH_DISTRIBUTED_DEBUG=DETAIL names it; the options are those of a default tensor."""
    options = "dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), "
    options += "pinned_memory=false (default), memory_format=(nullopt)"
    shape = f"SequenceNumber={seq}, OpType={op}, TensorShape=[{numel}], TensorDtypes={dtype}"
    return f"CollectiveFingerPrint({shape}, TensorDeviceTypes=TensorOptions({options}))"


@kind(hangs=False)
def mismatch_detected(stage: Stage) -> Scenario:
    """One rank skips a reduction that stands behind a condition; with the detailed checks on, all ranks are told."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} skips the reduction of a mask that is empty")
    seq = job.seq_of(stage.step) + 2
    usual, odd = _fingerprint(seq, "ALLREDUCE", job.numel, "Float"), _fingerprint(seq, "BROADCAST", 1, "Int")
    for one in range(job.job.world):
        mine, other, theirs = (odd, 0, usual) if one == rank else (usual, rank, odd)
        types = ("BROADCAST", "ALLREDUCE") if one == rank else ("ALLREDUCE", "BROADCAST")
        sizes = (1, job.numel) if one == rank else (job.numel, 1)
        differ = f"\t Op type: {types[0]}vs {types[1]}\t Tensor Tensor shapes: {sizes[0]}vs {sizes[1]}"
        text = (
            f"RuntimeError: Detected mismatch between collectives on ranks. Rank {one} is running collective: {mine}, "
            f"but Rank {other} is running collective: {theirs}.Collectives differ in the following aspects: {differ}"
        )
        code = "dist.broadcast(stop_flag, src=0)" if one == rank else "dist.all_reduce(masked_sums)"
        raised = sdk.Raised(loss_frames(stage, code), text)
        job.raise_on(at + 20 * MS + one * 270_000, one, sdk.traceback(raised))
    exits = [Exit(first, at + 800 * MS + first * MS, 1) for first in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made = stage.innocent("collective_mismatch", rank, also=("software",))
    return stage.close("A rank whose mask is empty does not come to the reduction in the branch.", (made,))


@kind(hangs=False)
def gpu_lost(stage: Stage) -> Scenario:
    """A GPU falls off its bus; NCCL and the watchdog thread of its rank meet it. A target is full for others."""
    beside(stage, tenant_out_of_space)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"the GPU of rank {rank} falls off the bus")
    host, pid = job.job.hosts[job.job.node_of(rank)], job.job.rank_pids[rank]
    head = f"\n{host}:{pid}:{pid + 74} [{job.job.local_rank(rank)}] include/alloc.h:228 NCCL WARN"
    job.say(at + 2 * MS, rank, f"{head} Cuda failure 'unspecified launch failure'")
    cause = cuda_error(job.job.torch.order, "unspecified launch failure", "cudaErrorLaunchFailure")
    for text in watchdog.taken_down(job.job, rank, at + 70 * MS, cause, timed_out=False):
        job.say(at + 70 * MS, rank, text)
    job.agents_end([Exit(rank, at + 500 * MS, -6)], at + 500 * MS)
    also = ("infrastructure", "gpu_fabric")
    return stage.close("Xid 79: the card does not answer any more.", (stage.innocent("gpu", rank, also=also),))


def _recompiling(job: Job, rank: int, at: int, times: int) -> str:
    """What torch._dynamo prints about a function that it compiles once more, if asked to tell of recompilations."""
    was, now = 240_000 + 2_560 * times, 242_560 + 2_560 * times
    rows = (
        f"Recompiling function encode in {job.script}:133",
        "    triggered by the following guard failure(s):",
        f"    - 0/{times - 1}: tensor 'L['signal']' size mismatch at index 1. expected {was}, actual {now}",
    )
    if job.torch.order < 203:
        head = f"[{comma_stamp(at, job.zone)}] [0/{times}] torch._dynamo.guards.__recompiles: [DEBUG] "
        return "\n".join(f"[rank{rank}]:{head}{row}" for row in rows)
    module = "torch/_dynamo/guards.py:2830" if job.torch.order < 206 else "site-packages/torch/_dynamo/guards.py:3006"
    head = f"[rank{rank}]:V{python_stamp(at, job.zone)} {job.rank_pids[rank]} {module}] [0/{times}] [__recompiles] "
    return "\n".join(head + row for row in rows)


@kind(may_be_undetermined=True)
def graph_recompiles(stage: Stage) -> Scenario:
    """A rank has signals of ever new lengths and compiles its model anew, then tunes kernels; others are rejected."""
    beside(stage, tenant_rejected)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    for times in (6, 7):
        then = at - seconds(9.1 * (8 - times))
        job.say(then, rank, _recompiling(job.job, rank, then, times))
    stage.mark(at, f"rank {rank} compiles its model once more and tunes kernels")
    job.say(at + 15 * MS, rank, _recompiling(job.job, rank, at + 15 * MS, 8))
    tuned = "AUTOTUNE mm(16384x1024, 1024x4096)\n  mm 0.4219 ms 100.0% \n  triton_mm_41 0.4403 ms 95.8% \n"
    job.say(at + seconds(23.4), rank, f"{tuned}SingleProcess AUTOTUNE benchmarking takes 19.8711 seconds")
    stage.hang(at + 20 * MS, rank)
    also = ("software", "undetermined", "data_loading_stall")
    return stage.close("Lengths of batches are not bucketed.", (stage.innocent("rank_hang", rank, also=also),))


@kind(hangs=False, reads=True, lead_s=150.0)
def wrong_sample_rate(stage: Stage) -> Scenario:
    """A recording has another sample rate than its manifest says: a loader process raises, minutes after a restart."""
    beside(stage, restart_before)
    stage.open()
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} reads a recording of 44100 Hz")
    name, worker = utterance(stage.draw.child("rate")), stage.draw.child("worker").whole(0, 3)
    lines = (
        f"ValueError: Caught ValueError in DataLoader worker process {worker}.",
        "Original Traceback (most recent call last):",
        f'  File "{site}/torch/utils/data/_utils/worker.py", line 351, in _worker_loop',
        "    data = fetcher.fetch(index)  # type: ignore[possibly-undefined]",
        "           ^^^^^^^^^^^^^^^^^^^^",
        f'  File "{site}/torch/utils/data/_utils/fetch.py", line 33, in fetch',
        "    data.append(next(self.dataset_iter))",
        "                ^^^^^^^^^^^^^^^^^^^^^^^",
        f'  File "{stage.job.job.script}", line 83, in decode',
        "    raise ValueError(",
        f"ValueError: {name}: expected 16000 Hz, found 44100 Hz (1 channel, 12.418 s)",
    )
    raise_and_exit(stage, at, rank, "\n".join(lines), "batch = next(iterator)")
    return stage.close(
        "A supplier has sent recordings as they were.", (stage.innocent("data", rank, also=("software",)),)
    )


@kind(words_only=True)
def slow_augmentation(stage: Stage) -> Scenario:
    """A rank convolves recordings of an hour with rooms, on one core, for minutes; it says so. Others are rejected."""
    beside(stage, tenant_rejected)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} augments very long recordings")
    job.note(at - 35 * MS, rank, "batch of 6 cuts has 21804 s of audio, augmentation will take long", "W", 101)
    for index, after in enumerate((17.2, 35.9), 1):
        text = f"reverberation of cut {index}/6 took {after / index:.1f} s (1 thread)"
        if after < job.job.timeout_s - 5:
            job.note(at + seconds(after), rank, text, "W", 107)
    stage.hang(at + 20 * MS, rank)
    also = ("software", "rank_hang", "data")
    return stage.close("Cuts are not limited in length.", (stage.innocent("data_loading_stall", rank, also=also),))


@kind(hangs=False)
def mapped_file_gone(stage: Stage) -> Scenario:
    """An index that a rank has mapped into memory is cut short by somebody who tidies up /tmp: a bus error."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"the mapped index of rank {rank} is cut short")
    file, thread = job.job.script, f"0x00007f{stage.draw.child('thread').token(10, '0123456789abcdef')}"
    frames = (
        f'  File "{job.job.build["site"]}/numpy/_core/memmap.py", line 358 in __getitem__',
        f'  File "{file}", line 71 in lengths',
        f'  File "{file}", line 94 in next_batch',
        f'  File "{file}", line 187 in main',
        f'  File "{file}", line 212 in <module>',
    )
    job.say(
        at, rank, f"Fatal Python error: Bus error\n\nThread {thread} (most recent call first):\n" + "\n".join(frames)
    )
    job.agents_end([Exit(rank, at + 300 * MS, -7)], at + 300 * MS)
    also = ("software", "data")
    return stage.close("A cron job empties /tmp.", (stage.innocent("infrastructure", rank, also=also),))


@kind(hangs=False, culprit=0, lead_s=60.0)
def writer_out_of_room(stage: Stage) -> Scenario:
    """Rank 0 cannot finish a checkpoint on the local disk of its host; AIStore is full too, for another tenant only."""
    beside(stage, tenant_out_of_space)
    stage.open()
    job, rank, at, order = stage.job, stage.culprit, stage.at, stage.params.torch_release.order
    path = f"/raid/local/{job.job.task}/step={stage.step}.pt"
    job.note(at - seconds(2.2), rank, f"saving checkpoint to {path}", line=115)
    stage.mark(at, "the local disk of a host is full")
    write, end = (593, 424) if order < 205 else (778, 603) if order < 208 else (857, 664)
    module, head = (
        f"{job.job.build['site']}/torch/serialization.py",
        "RuntimeError: [enforce fail at inline_container.cc",
    )
    first = sdk.Raised(
        (
            sdk.Frame(module, 944, "save", "_save("),
            sdk.Frame(module, 1214, "_save", "zip_file.write_record(name, storage, num_bytes)"),
        ),
        f"{head}:{write}] . PytorchStreamWriter failed writing file data/413: file write failed",
        sdk.DURING,
    )
    then = sdk.Raised(
        (
            *loss_frames(stage, "torch.save(state, path)"),
            sdk.Frame(module, 943, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
            sdk.Frame(module, 784, "__exit__", "self.file_like.write_end_of_file()"),
        ),
        f"{head}:{end}] . unexpected pos 7340032064 vs 7340031952",
    )
    job.raise_on(at, rank, sdk.traceback(first, then))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software",)
    return stage.close("Old checkpoints fill a disk of the host.", (stage.innocent("infrastructure", rank, also=also),))
