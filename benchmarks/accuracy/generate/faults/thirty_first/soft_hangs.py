"""Ranks that stand still in their own code or in their own saving; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_first")


@kind(lead_s=60.0)
def two_threads_of_a_rank_hold_each_others_lock(stage: Stage) -> Scenario:
    """The loop and the thread that writes its meters take two locks in turn, each in its own order (Python docs).

    To acquit: the other ranks say that their meters are written and this one only that it begins; its two threads
    stand at the two locks of one file; its batches were repeated and served, and a target dies when all wait already.
    """
    stage.open(save_every=10_000)
    beside(stage, tenth_unrest.repeated_until_now)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing, loud.neighbour_reads_slowly))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("two locks")
    points = draw.whole(80, 700)
    for one in speakers(stage):
        told(stage, at - draw.span(60, 110), one, "meters", f"step {stage.step}: {points} points to be written")
        if one != rank:
            spent = draw.between(0.01, 0.03)
            said = f"step {stage.step}: {points} points written, {spent:.3f} s"
            told(stage, at - draw.span(5, 28), one, "meters", said)
    if rank not in speakers(stage):
        told(stage, at - 88 * MS, rank, "meters", f"step {stage.step}: {points} points to be written")
    stage.mark(at - 4 * MS, f"two threads of rank {rank} wait for each other")
    place = f"{script_folder(stage)}/meters.py"
    main = standing_in(stage, 199, ("snapshot", place, 96), ("update", place, 71))
    writer = Thread("meter-writer", (("totals", place, 118), ("write", place, 133), ("_loop", place, 150), *BOOTSTRAP))
    py_spy(stage, min(draw.between(18, 37), own.timeout_s - 12), (main, writer))
    stage.hang(at, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("software",))
    return stage.close(
        "snapshot() holds the lock of the table and wants that of the file, write() the reverse.", (made,)
    )


@kind(culprit=0, lead_s=70.0)
def checkpoint_creeps_onto_a_shared_file_system(stage: Stage) -> Scenario:
    """Rank 0 saves to a file system that others of the site have filled with work (nfs(5), mountstats; PyTorch docs).

    To acquit: the path is below /mnt, the earlier checkpoint was there in seconds and this one grows by some MiB/s
    until the end; no line of AIStore names it, where a disk or room is lacking for another tenant's bucket.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (late_unrest.disk_lost_in_window, upload_unrest.tenant_uploads_break_off))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("creeps")
    mount, size = draw.pick(("/mnt/vast", "/mnt/projects", "/mnt/netapp2")), draw.between(14, 44)
    folder = f"{mount}/runs/{own.task}"
    told(
        stage,
        job.begin - 450 * MS,
        0,
        "config",
        f"train: ais://{stage.bucket}, read only; checkpoints: {folder} (nfs4)",
    )
    early = max(1, stage.step // 3)
    before, spent = job.step_at(early), draw.between(6, 13)
    told(stage, before, 0, "checkpoint", f"step {early} is copied to the host, {size:.1f} GiB, written by a thread")
    done = before + seconds(spent)
    told(stage, done, 0, "checkpoint", f"{folder}/step_{early:06d}.ckpt: {size:.1f} of {size:.1f} GiB, {spent:.1f} s")
    path = f"{folder}/step_{stage.step:06d}.ckpt"
    told(
        stage, at - 70 * MS, 0, "checkpoint", f"saving {path}, {size:.1f} GiB, the loop waits for the last of an epoch"
    )
    stage.mark(at - 60 * MS, f"{mount} takes some MiB a second")
    rate, then, got, over = draw.between(9, 40), at, 0.0, at + own.timeout_s * SEC
    while then < over - 9 * SEC:
        span = draw.span(8_000, 14_000)
        then, now = then + span, rate * draw.between(0.7, 1.3)
        got = min(got + now * span / SEC / 1024, size * 0.9)
        told(stage, then, 0, "checkpoint", f"{path}: {got:.2f} of {size:.1f} GiB, {now:.0f} MiB/s")
    after = min(draw.between(20, 36), own.timeout_s - 12)
    site = own.build["site"]
    main = standing_in(
        stage,
        203,
        ("write", f"{script_folder(stage)}/checkpoint.py", 57),
        ("_save", f"{site}/torch/serialization.py", 1225),
        ("save", f"{site}/torch/serialization.py", 964),
        ("save_checkpoint", own.script, 121),
    )
    py_spy(stage, after, (main,))
    said = f"hang-watcher: /proc/self/mountstats of {mount}: WRITE {draw.whole(900, 9_000)} ops, average RTT "
    job.agent(at + seconds(after + 0.9), 0, f"{said}{draw.whole(900, 4_800)} ms, {draw.whole(60, 128)} in the backlog")
    stage.hang(at, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("infrastructure", "network", "storage_io", "software"))
    return stage.close("Another project unpacks its archives on the same server.", (made,))
