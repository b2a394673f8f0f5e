"""Memory and processor time of workers that run out, of the twenty-fourth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import (
    data_folder,
    in_pods,
    loader_killed,
    meter,
    queue_frames,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fourth")

#: What PyTorch's allocator advises, by the first release that names its variable like that.
ADVICE = "If reserved but unallocated memory is large try setting {name}=expandable_segments:True to avoid "
TAIL = "fragmentation.  See documentation for Memory Management  "
PAGE = "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"


def _out_of_memory(order: int, device: int, wanted: float, free: float, whole: float, reserved: float) -> str:
    """The exception of PyTorch's allocator, in GiB; what is neither free nor reserved by it is CUDA's own."""
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    used, variable = whole - free, "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    text = f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {device} has a total capacity of "
    text += f"{whole:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
    text += f"{used:.2f} GiB memory in use. Of the allocated memory {used - reserved - 0.61:.2f} GiB is allocated by "
    text += f"PyTorch, and {reserved:.2f} GiB is reserved by PyTorch but unallocated. "
    return text + ADVICE.format(name=variable) + TAIL + PAGE


@kind(reads=True, hangs=False, lead_s=60.0)
def longest_bucket_does_not_fit(stage: Stage) -> Scenario:
    """A batch of the longest utterances needs more device memory than there is (NeMo and lhotse, discussions of OOMs).

    To acquit: the rank names the batch that it has in full, its seconds and the memory before it; PyTorch's allocator
    says that its device has too little; what was turned away with 429 had been served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, unrest.entries_missing, commotion.reads_recover))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("longest")
    site, whole = job.job.build["site"], draw.pick((39.38, 79.11, 79.18, 139.71))
    buckets, many, longest = draw.pick((12, 24, 30)), draw.pick((12, 16, 24)), draw.between(36.5, 39.9)
    said, most = f"dynamic bucketing: {buckets} buckets, max_duration 40.0 s", (int(many * longest) // 100 + 1) * 100
    told(stage, job.begin - 80 * MS, rank, "sampler", f"{said}, batch_duration {most} s")
    for one in (rank, *readers(stage)[:3]):
        then, bucket = at - draw.span(3_000, 14_000), draw.whole(3, buckets - 4)
        said = f"bucket {bucket} of {buckets}, peak {whole * draw.between(0.55, 0.74):.2f} GiB"
        told(stage, max(then, job.begin + SEC), one, "train", said)
    said = f"bucket {buckets} of {buckets}: {many} of {many} cuts here, {many * longest * 0.97:.0f} s of audio, "
    told(stage, at - 120 * MS, rank, "train", f"{said}longest {longest:.1f} s")
    stage.mark(at, f"the device of rank {rank} has too little memory for its batch")
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1751, "_wrapped_call_impl", "return self._call_impl(*args)"),
        sdk.Frame(
            f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)", True
        ),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/attention.py", 118, "forward", "scores = q @ k.mT", True),
    )
    wanted, reserved = draw.between(2.6, 9.4), draw.between(0.4, 2.3)
    text = _out_of_memory(
        job.job.torch.order, job.job.local_rank(rank), wanted, wanted * draw.between(0.2, 0.8), whole, reserved
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("software", "data"))
    return stage.close("The corpus got longer utterances with its last release.", (made,))


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def shuffle_buffers_fill_a_pod(stage: Stage) -> Scenario:
    """Each loader keeps thousands of pictures to shuffle them, until the pod's limit (WebDataset's FAQ; Kubernetes).

    To acquit: memory of the pod grows with its buffers, its kernel names the cgroup and a loader that it kills; the
    target that was killed had been back, and batches had been served since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_skips_bad_reads, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("buffers")
    node, limit = job.job.node_of(rank), draw.pick((128, 200, 256, 480))
    pid, loaders = job.job.rank_pids[rank] + draw.whole(40, 99), draw.pick((6, 8, 12))
    size = draw.pick((2_000, 3_000))
    told(stage, job.begin - 60 * MS, rank, "pipeline", f"{loaders} loaders, shuffle({size}) in each, no initial fill")
    then, span = job.begin + draw.span(4_000, 8_000), at - job.begin
    while then < at - 2 * SEC:
        share = (then - job.begin) / span
        held, used = int(size * min(0.97, share)), limit * (0.31 + 0.68 * share)
        told(stage, then, rank, "pipeline", f"shuffle buffers hold {held} samples on average")
        watched(stage, then + draw.span(50, 900), node, f"{meter(stage)}: memory.current {used:.1f}Gi of {limit}Gi")
        then += draw.span(8_000, 13_000)
    stage.mark(at - 90 * MS, f"the kernel kills a loader of rank {rank}")
    rss = int(limit * (1 << 20) / loaders / len(job.job.ranks_of(node)) * draw.between(0.9, 0.97))
    said = f"Memory cgroup out of memory: Killed process {pid} (pt_data_worker) total-vm:{rss + 19_702_144}kB, "
    said += f"anon-rss:{rss}kB, file-rss:41216kB, shmem-rss:69632kB, UID:0 pgtables:{rss // 498}kB "
    said += f"oom_score_adj:{996 if in_pods(stage) else 0}"
    watched(stage, at - 80 * MS, node, f"kernel: {said}")
    loader_killed(stage, at, rank, pid, "Killed")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The buffer was sized for texts and is used for pictures.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def one_core_for_all_loaders(stage: Stage) -> Scenario:
    """A job asks for no processors and gets one: its loaders decode on it in turns (SLURM docs, --cpus-per-task).

    To acquit: PyTorch warns of the one core at the start, the host shows a load far above it, and the loader tells how
    little of its time was reading; PyTorch's own time limit of the loader ends the rank.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("one core")
    node, loaders, limit = job.job.node_of(rank), draw.pick((8, 12, 16)), draw.pick((30, 40, 45))
    folder, files = data_folder(stage), draw.whole(24, 48)
    said = f"This DataLoader will create {loaders} worker processes in total. Our suggested max number of worker in "
    said += "current system is 1, which is smaller than what this DataLoader is going to create. Please be aware that "
    said += "excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to "
    said += "avoid potential slowness/freeze if necessary."
    job.say(job.begin - 400 * MS, rank, f"{folder}/dataloader.py:627: UserWarning: {said}\n  warnings.warn(")
    stage.mark(at, f"rank {rank} waits for loaders that share one core")
    then, over = at - seconds(17), at + limit * SEC
    while then < over:
        spent, late = draw.between(9, 14), max(0.0, (then - at) / SEC + 6)
        if then < over - 2 * SEC and then > job.begin + seconds(15):
            said = (
                f"clip of {draw.whole(8, 30)} min decoded in {spent + late / 2:.1f} s, {draw.between(0.1, 0.4):.2f} s"
            )
            told(stage, then, rank, "loader", f"{said} of it reading")
            load = f"load average {loaders * draw.between(0.9, 1.1):.2f}, Cpus_allowed_list 0, {files} open files"
            watched(stage, then + draw.span(200, 900), node, f"job-stat: pid {job.job.rank_pids[rank]}: {load}")
        then += seconds(draw.between(7, 11))
    waits = queue_frames(stage)[:-1]
    last = sdk.Frame(f"{folder}/dataloader.py", 1409, "_get_data", "raise RuntimeError(")
    text = f"RuntimeError: DataLoader timed out after {limit} seconds"
    job.raise_on(over, rank, sdk.traceback(sdk.Raised((*waits, last), text)))
    exits(stage, over, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The new launch script leaves the processors to the queue's default.", (made,))
