"""Programs that train and go wrong of themselves, of the twenty-third part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.launchers import throttled_neighbour
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_third")


@kind(hangs=False, lead_s=70.0, culprit=0, sizes_only=True)
def only_rank_zero_stops_early(stage: Stage) -> Scenario:
    """Rank 0 alone decides to stop and meets nobody in its barrier (pytorch forum).

    To acquit: rank 0 says that it stops; at one number it has a barrier of one element, the others their gradients.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, throttled_neighbour, loud.neighbour_reads_slowly))
    disk_unrest.killed_when_all_is_over(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("early stop")
    site, script, best = job.job.build["site"], job.job.script, draw.between(0.04, 0.2)
    stage.mark(at, "rank 0 stops, and the others do not know")
    for turn in range(3):
        then = at - (3 - turn) * draw.span(11_000, 14_000)
        if then > job.begin + 2 * SEC:
            worse = best + (turn + 1) * 0.0021
            reader_note(stage, then, 0, f"validation: wer {worse:.4f}, best {best:.4f}, patience {turn + 1}/3")
    reader_note(stage, at - 25 * MS, 0, f"step {stage.step}: early stop, leaving the loop")
    frames = (
        f"#0 all_reduce from {site}/torch/distributed/distributed_c10d.py:3252",
        f"#1 barrier from {site}/torch/distributed/distributed_c10d.py:4819",
        f"#2 finish from {script}:206",
        f"#3 <module> from {script}:212",
    )
    stuck = stage.everyone_else()
    stuck[0] = replace(stuck[0], numel_in=1, numel_out=1, enqueued=stuck[0].seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {job.job.job_id} has ended")
    made = stage.innocent("collective_mismatch", 0, also=("software", "rank_hang"))
    return stage.close("The decision is not broadcast.", (made,))


@kind(hangs=False, lead_s=60.0)
def parameters_without_a_gradient(stage: Stage) -> Scenario:
    """A batch takes no part of the model that has parameters (PyTorch docs, DDP, find_unused_parameters).

    To acquit: DDP names the parameters and the rank; its batch was here.
    """
    stage.open()
    beside(stage, ninth_unrest.keepalives_late)
    unrest.unsettled(stage, (commotion.rebalance_running, unrest.entries_missing, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("unused")
    site = job.job.build["site"]
    stage.mark(at, f"parameters of rank {rank} get no gradient")
    many, first = draw.pick((16, 24, 48)), draw.whole(180, 700)
    reader_note(stage, at - 700 * MS, rank, f"step {stage.step}: {many} of {many} objects here, none has a translation")
    said = "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
    said += "that your module has parameters that were not used in producing loss. You can enable unused parameter "
    said += "detection by passing the keyword argument `find_unused_parameters=True` to "
    said += "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
    said += "participate in calculating loss. \nIf you already have done the above, then the distributed data parallel "
    said += "module wasn't able to locate the output tensors in the return value of your module's `forward` function. "
    said += "Please include the loss function and the structure of the return value of `forward` of your module when "
    said += "reporting this issue (e.g. list, dict, iterable).\n"
    indices = " ".join(str(first + one) for one in range(draw.whole(4, 14)))
    said += f"Parameter indices which did not receive grad for rank {rank}: {indices}\n In addition, you can set the "
    said += (
        "environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information about which "
    )
    said += "particular parameters did not receive gradient on this rank as part of this error"
    wrapper = f"{site}/torch/nn/parallel/distributed.py"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1747, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(wrapper, 1637, "forward", "inputs, kwargs = self._pre_forward(*inputs, **kwargs)"),
        sdk.Frame(wrapper, 1526, "_pre_forward", "if torch.is_grad_enabled() and self.reducer._rebuild_buckets():"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {said}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "collective_mismatch"))
    return stage.close("Batches without a translation came with a new corpus.", (made,))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def long_batch_does_not_fit(stage: Stage) -> Scenario:
    """A batch is longer than all before it, and a device has no room for it (PyTorch docs, notes/cuda).

    To acquit: the rank has its batch and says how long it is; CUDA's allocator names a device, no target a disk.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (disk_unrest.tenant_full_in_window, throttled_neighbour, tenth_unrest.peer_reconnects))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("long")
    order, site = job.job.torch.order, job.job.build["site"]
    stage.mark(at, f"a batch of rank {rank} does not fit into its device")
    many, longest = draw.pick((24, 32, 48)), draw.between(34, 61)
    reader_note(
        stage, at - 300 * MS, rank, f"step {stage.step}: {many} of {many} objects here, longest {longest:.1f} s"
    )
    setting = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    whole, free, asked = 79.10, draw.between(0.2, 1.9), draw.between(2.1, 6.4)
    spare = draw.between(0.6, 2.4)
    used = whole - free
    size = f"Tried to allocate {asked:.2f} GiB. GPU {job.job.local_rank(rank)} has a total capacity of {whole:.2f} GiB"
    text = f"CUDA out of memory. {size} of which {free:.2f} GiB is free. Including non-PyTorch memory, this process "
    text += f"has {used:.2f} GiB memory in use. Of the allocated memory {used - spare - 0.6:.2f} GiB is allocated by "
    text += f"PyTorch, and {spare:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "
    text += f"is large try setting {setting}=expandable_segments:True to avoid fragmentation.  See "
    text += "documentation for Memory Management  "
    text += "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1747, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(f"{script_folder(stage)}/attention.py", 118, "forward", "scores = q @ k.transpose(-2, -1)"),
    )
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("gpu", "data", "infrastructure"))
    return stage.close("The limit of a batch is a number of items, not of seconds.", (made,))


@kind(hangs=False, lead_s=60.0)
def loss_is_no_number(stage: Stage) -> Scenario:
    """A loss becomes NaN, and the program ends itself, as it was written to (MAE's and DETR's engines).

    To acquit: the rank says so and exits with 1, with no exception; the scale of its gradients fell before.
    """
    stage.open()
    beside(stage, tenth_unrest.repeated_until_now)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, commotion.tenant_meets_bad_data))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("nan")
    stage.mark(at, f"the loss of rank {rank} is no number")
    scale = 65_536.0
    for turn in range(4):
        scale /= 2
        then = at - int((4 - turn) * job.params.step_s * SEC)
        reader_note(stage, then, rank, f"amp: step {stage.step - 4 + turn} skipped, gradients overflow, scale {scale}")
    many = draw.pick((16, 32))
    reader_note(stage, at - 60 * MS, rank, f"step {stage.step}: {many} of {many} objects here, digests checked")
    job.say(at, rank, f"Loss is nan, stopping training (rank {rank}, step {stage.step}, lr 1.0e-04)")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("The learning rate has no warm-up since yesterday.", (made,))


@kind(lead_s=60.0, culprit=0)
def rank_zero_decodes_alone(stage: Stage) -> Scenario:
    """Rank 0 decodes a whole test set while all others go on (pytorch forum).

    To acquit: rank 0 says what it decodes and how far it is, all the time; its stack is active in a beam search, its
    recordings were all read before; what was turned away was served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (throttled_neighbour, disk_unrest.disk_lost_in_window, past_unrest.neighbour_reads_cold))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("decodes")
    total, beam = draw.whole(1_900, 9_000), draw.pick((8, 16, 64))
    stage.mark(at, "rank 0 decodes a test set alone")
    for one in readers(stage)[:2]:
        reader_note(stage, stage.job.begin - draw.span(90, 300), one, f"validation every {stage.step} steps")
    said = f"step {stage.step}: validation on rank 0, test set of {total} recordings in memory, beam {beam}"
    reader_note(stage, at - 30 * MS, 0, said)
    speed, then = total / own.timeout_s / draw.between(1.6, 3.4), at + draw.span(8_000, 10_000)
    while then < at + (own.timeout_s - 3) * SEC:
        reader_note(stage, then, 0, f"decoded {int((then - at) / SEC * speed)} of {total}")
        then += draw.span(14_000, 19_000)
    folder = script_folder(stage)
    inner = (
        ("extend", f"{folder}/beam.py", 96),
        ("decode", f"{folder}/beam.py", 141),
        ("validate", f"{folder}/test.py", 38),
    )
    py_spy(stage, min(draw.between(24, 46), own.timeout_s - 12), (standing_in(stage, 202, *inner, state="active"),))
    stage.hang(at + 30 * MS, 0)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The test set was made ten times as large.", (made,))


@kind(hangs=False, lead_s=60.0)
def label_beyond_the_classes(stage: Stage) -> Scenario:
    """A batch has a label that the model has no class for (pytorch forum, device-side assert).

    To acquit: a kernel of the loss asserts that labels are in range, the rank prints that one is not; all had come.
    """
    stage.open()
    unrest.unsettled(stage, (loud.backup_until_now, unrest.entries_missing, tenth_unrest.peer_reconnects))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("label")
    classes, many = draw.pick((1_024, 5_994, 17_982)), draw.pick((64, 128))
    stage.mark(at, f"a label of rank {rank} is beyond the classes")
    reader_note(stage, job.begin - 60 * MS, 0, f"projection: {classes} classes")
    label = classes + draw.whole(0, 40)
    reader_note(stage, at - 45 * MS, rank, f"batch: {many} of {many} objects here, labels {draw.whole(0, 30)}..{label}")
    place = f"{job.job.torch.source_tree}aten/src/ATen/native/cuda/Loss.cu:{draw.pick((245, 250))}"
    kernel = f"nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [{draw.whole(0, 31)},0,0]"
    job.say(at - 4 * MS, rank, f"{place}: {kernel} Assertion `t >= 0 && t < n_classes` failed.")
    text = cuda_error(job.job.torch.order, "device-side assert triggered", "cudaErrorAssert")
    name = "torch.AcceleratorError" if job.job.torch.order >= 208 else "RuntimeError"
    frames = loss_frames(stage, "loss_value = loss.item()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("Speakers of a new corpus were added to the lists only.", (made,))
