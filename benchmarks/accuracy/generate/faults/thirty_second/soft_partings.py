"""Ranks that part in what they call, for a guard or a list of their own; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "thirty_second")


def _called(stage: Stage, work: Work, call: tuple[str, int], *places: tuple[str, int]) -> Work:
    """A rank waits in a collective of one number, which these functions of the script have called."""
    own = stage.job.job
    c10d = f"{own.build['site']}/torch/distributed/distributed_c10d.py"
    frames = [f"#0 {call[0]} from {c10d}:{call[1]}"]
    for place, line in (*places, ("<module>", 212)):
        frames.append(f"#{len(frames)} {place} from {own.script}:{line}")
    return replace(work, numel_in=1, numel_out=1, enqueued=work.seq, frames=tuple(frames))


@kind(reads=True, hangs=False, torch_before=215, lead_s=66.0, without=RESTARTS)
def guard_against_nan_ends_the_loop_of_a_rank(stage: Stage) -> Scenario:
    """`if loss is nan: break` looks at the loss of its own rank (nanoGPT-like loops; PyTorch forums, NaN under DDP).

    To acquit: one rank tells of a loss that is nan and of the recording without a word that made it so, leaves its loop
    and waits in the barrier of its last save; all others are at the gradient of that number, with losses like before.
    Batches were here whole on all of them; those that a restart of a target had cut came at a further try.
    """
    stage.open(save_every=10_000)
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("guard")
    told(stage, job.begin - 420 * MS, 0, "train", "a rank stops training at a loss that is nan, and saves what it has")
    usual = 4.2 / (1 + stage.step / 90)
    for one in sorted({*speakers(stage), rank}):
        came = f"step {stage.step}: 48 of 48 entries in {draw.between(0.03, 0.2):.2f} s"
        told(stage, at - draw.span(60, 95), one, "data", came)
        if one != rank:
            told(
                stage,
                at - draw.span(3, 20),
                one,
                "train",
                f"step {stage.step}: loss {usual * draw.between(0.9, 1.1):.3f}",
            )
    stage.mark(at - 9 * MS, f"the loss of rank {rank} is nan, and its loop ends")
    empty = f"{utterance(draw)} has {draw.whole(120, 900)} frames and 0 labels"
    told(stage, at - 9 * MS, rank, "train", f"step {stage.step}: loss nan, {empty}", "ERROR")
    told(
        stage, at - 8 * MS, rank, "train", f"step {stage.step}: leaving the loop, no backward; barrier, then last save"
    )
    stuck = stage.everyone_else()
    stuck[rank] = _called(stage, stuck[rank], ("barrier", 4159), ("last_save", 171), ("main", 209))
    stage.mark(job.hang(at + 14 * MS, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data", "rank_hang"))
    return stage.close("The guard was written when the job still ran on one device.", (made,))


@kind(reads=True, hangs=False, torch_before=215, lead_s=72.0, without=RESTARTS)
def validation_of_a_rank_has_a_batch_less(stage: Stage) -> Scenario:
    """The loss of each validation batch is averaged over all ranks, and one has fewer of them (Lightning, sync_dist).

    To acquit: each rank tells how many batches its part of the list makes; the one with a batch less tells that its
    validation is over and is at the next gradient, while all others average one number more. It has had all its
    batches, as they have; what a killed target was asked for half a minute ago was served at the second try.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("validation")
    many, each = draw.whole(7, 19), draw.span(240, 420)
    who = sorted({*speakers(stage), rank})
    for one in who:
        mine = 48 * many - draw.whole(0, 40) + (0 if one == rank else 48)
        batches = -(-mine // 48)
        said = f"step {stage.step}: validation begins, {mine} recordings of 1 to 30 s, {batches} batches for this rank"
        told(stage, at + draw.span(2, 40), one, "valid", said)
    for turn in range(5, many, 5):
        for one in who:
            then = at + turn * each + draw.span(2, 40)
            told(stage, then, one, "valid", f"batch {turn}: 48 entries whole, loss averaged over {own.world} ranks")
    over = at + many * each + 60 * MS
    told(stage, over, rank, "valid", f"{many} of {many} batches done in {(over - at) / SEC:.1f} s, validation is over")
    told(stage, over + draw.span(20, 50), rank, "train", f"step {stage.step}: training goes on, batch of 48 is here")
    for one in who:
        if one != rank:
            said = f"batch {many + 1} of {many + 1}: entries whole, averaging its loss"
            told(stage, over + draw.span(5, 60), one, "valid", said)
    stage.mark(over, f"rank {rank} trains on while the others validate")
    stuck = {}
    for one in range(own.world):
        work = job.work(stage.step, offset=many)
        if one != rank:
            work = _called(stage, work, ("all_reduce", 3252), ("mean_of_ranks", 147), ("validate", 156), ("main", 199))
        stuck[one] = work
    stage.mark(job.hang(over + 70 * MS, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data", "rank_hang"))
    return stage.close("Recordings are left out by length after the list was divided.", (made,))
