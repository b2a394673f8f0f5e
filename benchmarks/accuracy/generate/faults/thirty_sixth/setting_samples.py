"""Innocent storage in awkward set-ups: a launcher that blames who waited, samples of hours, a step slow before.

The docstring of a kind says where it is from, and which lines acquit.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import caught_in_loader, loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_sixth")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: What the kernel counts of a process that it ends, in kB: least and most.
RESIDENT = (61_000_000, 92_000_000)


@kind(reads=True, hosts=2, lead_s=60.0)
def tables_of_the_launcher_name_who_only_waited(stage: Stage) -> Scenario:
    """A loader cannot stack what it was given; the tables have the ranks that their watchdogs ended (PyTorch, collate).

    To acquit: one rank raises, in its collate function and for sizes of tensors, a time-out before any table; whoever
    the tables call the root cause has waited in the collective that this one never launched. A read of a rank of
    another host, some seconds before, was reset once and was answered at its second try.
    """
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, site = stage.draw.child("tables"), own.build["site"]
    stage.open()
    node = stage.cluster.target(draw.whole(0, 50))
    other = next((one for one in readers(stage) if own.node_of(one) != own.node_of(rank)), stage.culprit - 1)
    then, path = at - draw.span(4_000, 9_000), object_path(stage, other, utterance(draw))
    reset = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
    job.sdk_warning(then, other, sdk.retrying(round(draw.between(1.0, 1.5), 2), "ConnectionError", reset))
    told(stage, then + seconds(1.7), other, "reader", f"{path.split('?')[0]} read from {node.address} at try 2")
    stage.mark(at, f"rank {rank} cannot stack a batch")
    long, entry = draw.whole(1_200, 1_700), draw.whole(1, 7)
    text = "RuntimeError: stack expects each tensor to be equal size, but got "
    text += f"[80, {long}] at entry 0 and [80, {long - draw.whole(3, 40)}] at entry {entry}"
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 55, "fetch", "return self.collate_fn(data)", True),
        sdk.Frame(
            "/workspace/asr/collate.py", 41, "collate", 'features = torch.stack([one["mel"] for one in batch])', True
        ),
    )
    caught_in_loader(stage, at, rank, draw.whole(0, 3), frames, text)
    stage.hang(at + 300 * MS, rank)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("Padding had been moved to where not every set of data goes by.", (made,), ALIVE)


@kind(reads=True, hangs=False, lead_s=58.0)
def recording_of_hours_is_too_long_for_a_device(stage: Stage) -> Scenario:
    """Nobody has cut a recording of hours: its batch asks for more than a device has (lhotse and NeMo, issues).

    To acquit: the rank says how long the longest sample of its batch is before it raises, and that it was read to its
    end; the error is of memory of the device, in the forward pass, for one huge tensor. That the read took seconds is
    its size: nothing failed, and no target counted an error for it.
    """
    own, rank, at = stage.job.job, stage.culprit, stage.at
    draw, torch = stage.draw.child("hours"), stage.params.torch_release
    stage.open()
    stage.mark(at - 900 * MS, f"rank {rank} has a recording of hours in its batch")
    spent, length = draw.between(4.0, 11.0), draw.between(19_000, 41_000)
    name = f"meetings/{draw.whole(2016, 2024)}/council-{draw.whole(1, 400):03d}.flac"
    size = length * 16_000 * 2 * 0.55 / 2**20
    told(stage, at - 880 * MS, rank, "reader", f"{name}: {size:.1f} MiB of {size:.1f} MiB in {spent:.1f} s", "WARNING")
    told(
        stage,
        at - 310 * MS,
        rank,
        "batches",
        f"longest of the batch: {length:.1f} s ({name}), median 14.2 s",
        "WARNING",
    )
    wanted, used = draw.between(90, 240), draw.between(31, 48)
    error = "torch.OutOfMemoryError" if torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    text = (
        f"{error}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {own.local_rank(rank)} has a total "
        f"capacity of 79.10 GiB of which {79.10 - used - 0.6:.2f} GiB is free. Including non-PyTorch memory, this "
        f"process has {used:.2f} GiB memory in use."
    )
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    made = stage.innocent("gpu", rank, also=("data", "software"))
    return stage.close("The list of this source was made without a greatest length.", (made,))


@kind(reads=True, lead_s=112.0, without=("disk_busy", *RESTARTS))
def loader_is_killed_long_after_a_slow_step(stage: Stage) -> Scenario:
    """Disks were busy for some steps, which were slow; a minute later a host ends a loader for its memory (Linux, oom).

    To acquit: the kernel of the host names the loader's process that it killed, and the rank raises for that same
    process. The slow steps were over long before: all of them were done, and those after them had their usual time.
    """
    job, own, rank, cluster = stage.job, stage.job.job, stage.culprit, stage.cluster
    draw = stage.draw.child("slow before")
    slow = max(2, stage.step // 3 // 10 * 10)
    spent = seconds(draw.between(5.0, 9.5))
    job.delay(slow, spent)
    stage.at += spent
    first = job.step_at(slow)
    job.start()
    job.train(0, stage.step, slow={slow: spent / seconds(1)})
    stage.mark(job.begin, f"job {own.job_id} starts training")
    node = stage.cluster.target(draw.whole(0, 50))
    cluster.start_batches(job.begin + 40 * MS, node)
    disk.disk_pressure(cluster, node, first - seconds(6), first + spent + seconds(9), draw.child("busy"))
    stage.load(job, job.begin + 60 * MS, job.step_at(stage.step))
    for one in readers(stage)[: draw.whole(1, 3)]:
        waited = spent / seconds(1) - draw.between(0.1, 0.9)
        said = f"batch of step {slow} was waited for {waited:.1f} s, 48 of 48 objects"
        told(stage, first + spent - draw.span(5, 90), one, "reader", said, "WARNING")
    at, pid = stage.at, own.rank_pids[rank] + draw.whole(210, 390)
    hit = stage.mark(at - draw.span(60, 400), f"the kernel kills a loader of rank {rank}")
    held = draw.whole(*RESIDENT)
    said = f"kernel: Out of memory: Killed process {pid} ({loader_name(stage)}) total-vm:{held + 31_412_380}kB, "
    said += f"anon-rss:{held}kB, file-rss:{draw.whole(80, 900) * 4}kB, shmem-rss:{draw.whole(9_000, 90_000) * 4}kB, "
    said += f"UID:1000 pgtables:{held // 490 // 4 * 4}kB oom_score_adj:0"
    watched(stage, hit, own.node_of(rank), said)
    loader_killed(stage, at, rank, pid, "Killed")
    stage.hang(at + 300 * MS, rank)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("The loader kept each recording that it had ever decoded.", (made,), ALIVE)
