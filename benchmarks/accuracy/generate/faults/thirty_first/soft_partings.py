"""Ranks that call another collective than the others; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "thirty_first")

LANGUAGES = ("cs", "de", "en", "es", "fr", "hu", "it", "nl", "pl", "pt", "ro", "sv", "tr", "uk")
#: Of what only a few recordings of the bucket are.
RARE = ("ga", "is", "mt", "sq")


def _spoken(stage: Stage) -> list[int]:
    """Those that tell something, the culprit among them in a large world as well."""
    return sorted({*speakers(stage), stage.culprit})


def _summing(stage: Stage, work: Work, numel: int) -> Work:
    """A rank sums up a vector for each language that it knows."""
    own, site = stage.job.job, stage.job.job.build["site"]
    frames = (
        f"#0 all_reduce from {site}/torch/distributed/distributed_c10d.py:3252",
        f"#1 reduce_means from {own.script}:141",
        f"#2 main from {own.script}:205",
        f"#3 <module> from {own.script}:212",
    )
    return replace(work, numel_in=numel, numel_out=numel, enqueued=work.seq, frames=frames)


@kind(reads=True, hangs=False, torch_before=215, lead_s=75.0, without=RESTARTS)
def table_of_languages_is_longer_on_a_rank(stage: Stage) -> Scenario:
    """A rank keeps a mean vector for each language that it has met, and all sum these up (PyTorch docs, all_reduce).

    To acquit: each rank tells its languages and one has one more; in the collective that times out this one sums up
    that many vectors, the others one fewer; its batches were all here, those of a restart a minute ago as well.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("languages")
    known = sorted(draw.shuffled(LANGUAGES)[: draw.whole(5, 12)])
    rare = draw.pick(RARE)
    wide = draw.pick((16_384, 32_768, 65_536))
    told(stage, job.begin - 400 * MS, 0, "train", f"a mean of {wide} numbers by language, summed up now and then")
    met = at - draw.span(300, 2_000)
    told(stage, met, rank, "train", f"first recording of a language that has no mean yet: {rare}")
    for one in _spoken(stage):
        mine = sorted([*known, rare]) if one == rank else known
        said = f"step {stage.step}: means of {len(mine)} languages ({' '.join(mine)}), 48 of 48 recordings"
        told(stage, at - draw.span(4, 60), one, "train", said)
    stage.mark(at, f"rank {rank} sums up one vector more")
    stuck = {
        one: _summing(stage, work, wide * (len(known) + (one == rank))) for one, work in stage.everyone_else().items()
    }
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    also = ("software", "data", "rank_hang")
    made = stage.innocent("collective_mismatch", rank, also=also)
    return stage.close("The table of means is a dict that grows with what is read.", (made,))


def _in_barrier(stage: Stage, work: Work) -> Work:
    """A rank waits in the barrier before the checkpoint that a signal asks for."""
    own, site = stage.job.job, stage.job.job.build["site"]
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4159",
        f"#1 save_and_requeue from {own.script}:129",
        f"#2 main from {own.script}:207",
        f"#3 <module> from {own.script}:212",
    )
    return replace(work, numel_in=1, numel_out=1, enqueued=work.seq, frames=frames)


@kind(hangs=False, slurm=True, torch_before=215, lead_s=60.0)
def warning_of_slurm_reaches_a_rank_a_step_earlier(stage: Stage) -> Scenario:
    """Each rank looks at its own flag for SIGUSR1 and does not ask the others (sbatch, --signal; Lightning#20832).

    To acquit: all ranks note the signal within milliseconds, one before the end of its step and all others after it;
    that one is in the barrier of its save, the others at the next gradient. Nothing was read or written at that time.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window, tunrest.withdrawn_left_out))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("usr1")
    left = own.timeout_s + draw.pick((300, 600))
    said = f"#SBATCH --signal=USR1@{left}: on SIGUSR1 save at the end of the step, then requeue"
    told(stage, job.begin - 700 * MS, 0, "train", said)
    stage.mark(at - 9 * MS, "SLURM sends SIGUSR1 to all ranks")
    done = stage.step - 1
    for one in _spoken(stage):
        if one == rank:
            told(stage, at - 8 * MS, one, "train", f"SIGUSR1 in step {done}")
            told(stage, at - 2 * MS, one, "train", f"step {done} done, SIGUSR1 was received: barrier, then save")
        else:
            told(stage, at - 7 * MS + draw.span(6, 12), one, "train", f"step {done} done")
            told(stage, at + 5 * MS + draw.span(1, 9), one, "train", f"SIGUSR1 in step {stage.step}")
    stuck = stage.everyone_else()
    stuck[rank] = _in_barrier(stage, stuck[rank])
    stage.mark(job.hang(at + 16 * MS, stuck), f"job {own.job_id} has ended")
    also = ("software", "rank_hang", "infrastructure")
    made = stage.innocent("collective_mismatch", rank, also=also)
    return stage.close("The flag is not reduced over the ranks.", (made,))
