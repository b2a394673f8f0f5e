"""Programs of users that go wrong while they train, of the twenty-fourth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fourth")

#: Cuts of a batch of one rank.
BATCH = 48


@kind(reads=True, hangs=False, lead_s=60.0, torch_before=215, sizes_only=True)
def filtered_rank_is_a_batch_short(stage: Stage) -> Scenario:
    """A filter leaves a rank a batch less than the others: it validates while they train (pytorch#141069, #38174).

    To acquit: the rank says that its epoch is over, with how many cuts it has filtered; its collective has two elements
    and that of the others a bucket, at one number; nobody waits for a batch.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, reset_unrest.neighbour_is_reset, unrest.entries_missing))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("filtered")
    many, batches, others = draw.whole(95, 140), stage.step, readers(stage)[:5]
    share, left = batches * BATCH + many, {one: draw.whole(9, 40) for one in others}
    for one in (rank, *others):
        lost = many if one == rank else many - BATCH - left[one]
        said = f"shard of this rank: {share} cuts, {lost} longer than 20 s are filtered when they come"
        told(stage, job.begin - draw.span(100, 500), one, "dataset", said)
    for one in others:
        said = f"step {batches}: batch {batches} of epoch 0 here, {left[one]} cuts left for the next"
        told(stage, at - draw.span(20, 200), one, "train", said)
    stage.mark(at, f"rank {rank} is through with its epoch")
    told(stage, at - 30 * MS, rank, "train", f"epoch 0 is over after {batches} batches, no cuts left; validating")
    frames = (
        f"#0 all_reduce from {own.build['site']}/torch/distributed/distributed_c10d.py:3252",
        f"#1 validate from {own.script}:176",
        f"#2 main from {own.script}:207",
        f"#3 <module> from {own.script}:212",
    )
    stuck = stage.everyone_else()
    stuck[rank] = replace(stuck[rank], numel_in=2, numel_out=2, enqueued=stuck[rank].seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data"))
    return stage.close("The limit of 20 s is new, and long cuts are not spread evenly.", (made,))


@kind(culprit=0, lead_s=60.0)
def only_rank_zero_decodes(stage: Stage) -> Scenario:
    """Rank 0 decodes a whole test set by itself, longer than others wait (accelerate#3861, finetrainers#114).

    To acquit: rank 0 says how far its decoding is, again and again until the end; its stack is in the beam search; the
    test set had been read before.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_skips_bad_reads, past_unrest.neighbour_reads_cold))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("decodes")
    many, folder = draw.whole(2_600, 14_000), own.script.rsplit("/", 1)[0]
    each = own.timeout_s * draw.between(1.3, 3.1) / many
    said = f"test set: {many} utterances in memory ({many // 310 + 1} shards read), beam 10, batch 1"
    told(stage, at - 400 * MS, 0, "evaluate", said)
    stage.mark(at, "rank 0 decodes a test set")
    then = at + seconds(draw.between(7, 11))
    while then < at + (own.timeout_s - 2) * SEC:
        told(stage, then, 0, "evaluate", f"decoded {int((then - at) / SEC / each)} of {many}, {1 / each:.1f} a second")
        then += seconds(max(9.0, own.timeout_s / 9) * draw.between(0.9, 1.2))
    stack = standing_in(
        stage,
        205,
        ("topk", f"{folder}/beam.py", 88),
        ("decode_one", f"{folder}/beam.py", 61),
        ("evaluate", f"{folder}/evaluate.py", 47),
        state="active+gil",
    )
    py_spy(stage, min(draw.between(26, 44), own.timeout_s - 13), (stack,))
    stage.hang(at + 50 * MS, 0)
    own_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The test set has grown fourfold, the time-out has not.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def manifest_lacks_a_field(stage: Stage) -> Scenario:
    """A line of a manifest has no duration, and the data set of the user asks for it (NeMo, issues on manifests).

    To acquit: a loader raises a KeyError in the user's own module, for a cut whose bytes it has counted; the target
    that was killed had been back before.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("manifest")
    field, folder = draw.pick(("duration", "text", "speaker_id")), job.job.script.rsplit("/", 1)[0]
    stage.mark(at, f"a loader of rank {rank} asks for a field that a line does not have")
    line, size = draw.whole(40_000, 900_000), draw.whole(90_000, 700_000)
    told(
        stage, job.begin - 40 * MS, rank, "dataset", f"manifest: {line + draw.whole(9_000, 90_000)} lines, not checked"
    )
    said = f"line {line}: {size} of {size} bytes here, flac 16000 Hz"
    told(stage, at - 14 * MS, rank, "dataset", said)
    inner = (
        sdk.Frame(f"{folder}/dataset.py", 93, "__iter__", "yield self.to_sample(entry, audio)", True),
        sdk.Frame(f"{folder}/dataset.py", 57, "to_sample", f'value = entry["{field}"]', True),
    )
    in_worker(stage, at, rank, "KeyError", f"'{field}'", inner)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("Lines of a new source were appended by another script.", (made,))


@kind(hangs=False, lead_s=75.0)
def loss_is_not_finite(stage: Stage) -> Scenario:
    """A loss becomes NaN and the script stops all ranks, as it was written to (MAE and DETR, engine.py).

    To acquit: the scale of mixed precision falls and norms grow before; all ranks print why they stop in the same
    moment, after a collective that all of them had come to.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, own_unrest.tenant_asks_for_removed_names))
    job, at, draw = stage.job, stage.at, stage.draw.child("finite")
    scale, norm, steps = 65_536.0, draw.between(2, 6), draw.whole(6, 9)
    for turn in range(steps):
        step, norm = stage.step - steps + turn, norm * draw.between(1.8, 4.1)
        then, scale = job.step_at(step + 1) + draw.span(1, 9), scale / (2 if turn > 2 else 1)
        if then < at - 20 * MS:
            size = f"{norm:.1f}," if turn < 3 else "inf, step skipped,"
            told(stage, then, 0, "optim", f"step {step}: grad norm {size} loss scale {scale:.0f}")
    stage.mark(at, "the loss of all ranks is NaN")
    told(stage, at - 15 * MS, 0, "optim", f"step {stage.step}: grad norm nan, loss scale {scale / 2:.0f}")
    for rank in range(0, job.job.world, 1 if job.job.world <= 64 else job.job.ranks_per_node):
        then = at + draw.span(1, 30)
        job.say(then, rank, f"{{'loss_ctc': tensor(nan, device='cuda:{job.job.local_rank(rank)}')}}")
        told(stage, then + MS, rank, "engine", "Loss is nan, stopping training", "ERROR")
    all_exit(stage, at + 50 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", also=("data", "gpu"))
    return stage.close("The learning rate was doubled with the number of hosts.", (of_all(made),))
