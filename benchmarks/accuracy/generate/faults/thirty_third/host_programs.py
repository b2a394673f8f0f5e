"""Programs of worker hosts that raise, part from the others or evaluate alone; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as neighbours
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_third")


@kind(reads=True, hangs=False, lead_s=66.0)
def host_program_meets_more_frames_than_positions(stage: Stage) -> Scenario:
    """A recording has more frames than the model has positions: sizes of two tensors differ (PyTorch forums).

    To acquit: the batch came whole, as the rank tells before; the exception is raised in the model, by the sum of two
    tensors whose sizes it names, and the process exits with 1. The errors of AIStore at the time are of another job's
    bucket, which that job names too.
    """
    stage.open()
    beside(stage, neighbours.neighbour_fails)
    unrest.unsettled(stage, (commotion.reads_recover, past_unrest.turned_away_in_window, ninth_unrest.keepalives_late))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("frames")
    limit = draw.pick((1_500, 2_000, 3_000))
    frames_of = limit + draw.whole(3, 480)
    said = f"step {stage.step}: 48 of 48 objects, longest has {frames_of} frames after subsampling"
    told(stage, at - 60 * MS, rank, "dataset", said)
    stage.mark(at, f"a batch of rank {rank} has more frames than the model has positions")
    module = f"{own.build['site']}/torch/nn/modules/module.py"
    called = (
        sdk.Frame(module, 1736, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
        sdk.Frame(module, 1747, "_call_impl", "return forward_call(*args, **kwargs)", True),
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 191, "main", "loss = criterion(model(batch), batch)", True),
        *called,
        sdk.Frame(f"{script_folder(stage)}/encoder.py", 88, "forward", "x = self.pos_enc(x)", True),
        *called,
        sdk.Frame(f"{script_folder(stage)}/encoder.py", 41, "forward", "x = x + self.pe[:, : x.size(1)]", True),
    )
    sizes = f"The size of tensor a ({frames_of}) must match the size of tensor b ({limit})"
    text = f"RuntimeError: {sizes} at non-singleton dimension 1"
    job.raise_on(at + draw.span(20, 90), rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 800 * MS, 1)], at + 800 * MS)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("The filter of long recordings is not applied to the last of the corpora.", (made,))


@kind(hangs=False, lead_s=74.0, without=RESTARTS)
def host_program_skips_a_step_on_one_rank(stage: Stage) -> Scenario:
    """One rank finds its loss NaN and goes on without the others, which reduce their gradients (PyTorch issues).

    To acquit: at one number of the sequence the rank waits in a BROADCAST of one element all others in an ALLREDUCE
    and it has said that it skips the step. A target was restarted most of a minute before; what was missing was served.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, late_unrest.disk_lost_in_window, commotion.tenant_backend_fails))
    job, rank, at = stage.job, stage.culprit, stage.at
    stuck = stage.everyone_else()
    stuck[rank] = job.work(stage.step, "BROADCAST", 1, ahead=0)
    told(stage, at - 8 * MS, rank, "train", f"step {stage.step}: loss is nan, step skipped on this rank", "WARNING")
    stage.mark(at - 8 * MS, f"rank {rank} skips the gradients of a step")
    end = job.hang(at, stuck)
    stage.mark(end, f"job {job.job.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software",))
    return stage.close("The guard against NaN was written for a single device.", (made,))


@kind(culprit=0, lead_s=64.0)
def host_of_rank_zero_evaluates_for_too_long(stage: Stage) -> Scenario:
    """Rank 0 alone evaluates on local files, for longer than the others wait in their next step (PyTorch forums).

    To acquit: rank 0 counts the recordings that it has decoded to the end of the hang, from a local folder that it has
    named, and its stack stands in the search of its decoder; all others wait for it. A target is killed when all wait
    already.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, late_unrest.tenant_full_in_window, commotion.reads_recover))
    at, over, draw = stage.at, over_at(stage), stage.draw.child("evaluates")
    many, folder = draw.pick((2_864, 2_703, 2_939)), "/local/eval/dev-other"
    said = f"step {stage.step}: rank 0 evaluates {many} recordings of {folder}, beam 64"
    told(stage, at - 30 * MS, 0, "evaluate", said)
    stage.mark(at - 30 * MS, "rank 0 evaluates, the others go on")
    span = over - at
    pace = span * draw.between(1.6, 2.9) / many
    done, then = 0, at
    while True:
        done += draw.whole(many // 24, many // 14)
        then = at + int(done * pace)
        if then > over - SEC:
            break
        wer = draw.between(6.9, 7.4)
        told(stage, then, 0, "evaluate", f"step {stage.step}: {done} of {many} recordings decoded, WER {wer:.2f} %")
    decode = f"{script_folder(stage)}/decode.py"
    inner = (
        ("_extend", decode, 133),
        ("beam_search", decode, 97),
        ("evaluate", f"{script_folder(stage)}/evaluate.py", 52),
    )
    main = standing_in(stage, 207, *inner, state="active+gil")
    py_spy(stage, min(draw.between(20, 44), stage.params.timeout_s - 12), (main,))
    stage.hang(at, 0)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The beam had been made eight times wider for a paper.", (made,))
