"""Operators of the storage are at work, and a job ends for its own reasons; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.tries import again
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisoperations, chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_first")


def _no_memory_left(stage: Stage, whole: float, wanted: float) -> str:
    """What PyTorch says as a device has no room for one more tensor."""
    own, draw = stage.job.job, stage.draw.child("device")
    free, kept = draw.between(0.2, 1.9), draw.between(0.3, 1.4)
    mine = whole - free - draw.between(0.02, 0.06)
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU "
        f"{own.local_rank(stage.culprit)} has a total capacity of {whole:.2f} GiB of which {free:.2f} GiB is free. "
        f"Including non-PyTorch memory, this process has {mine:.2f} GiB memory in use. Of the allocated memory "
        f"{mine - kept - 0.6:.2f} GiB is allocated by PyTorch, and {kept:.2f} GiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


@kind(reads=True, torch_order=205, proxies=2, lead_s=60.0, without=RESTARTS)
def primary_is_set_by_hand_as_a_device_is_full(stage: Stage) -> Scenario:
    """Another proxy is made the primary, and a batch of one rank is too long for its device (docs/ha; CUDA OOM).

    To acquit: the batch has come whole, and its rank tells how long it is; the exception is of the allocator. The new
    map was taken by all nodes within milliseconds, connections that were reset were made again and served. The rank's
    process stays, so the others wait.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing))
    cluster, job, rank, at = stage.cluster, stage.job, stage.culprit, stage.at
    draw = stage.draw.child("set primary")
    then = at - draw.span(900, 6_000)
    heir = draw.pick([one for one in cluster.proxies if one is not cluster.primary(then)])
    aisoperations.primary_set(cluster, heir, then)
    for one in sorted({*speakers(stage)[:8], rank}):
        longest = draw.between(290, 420) if one == rank else draw.between(17, 35)
        said = (
            f"step {stage.step}: 32 of 32 recordings here, longest {longest:.1f} s, {longest * 32:.0f} s with padding"
        )
        told(stage, at - draw.span(20, 90), one, "batches", said)
    stage.mark(at, f"the device of rank {rank} has no memory left")
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            "/workspace/asr/encoder.py", 88, "forward", "scores = torch.matmul(query, key.transpose(-2, -1))", True
        ),
    )
    text = _no_memory_left(stage, draw.pick((39.38, 79.11, 139.72)), draw.between(6.1, 28.9))
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    stage.hang(at + 240 * MS, rank)
    made = stage.innocent("software", rank, also=("gpu", "data", "rank_hang"))
    return stage.close("A lecture that was never cut stands in the list of the corpus.", (made,))


def _rolled(stage: Stage, down: int, away: int) -> None:
    """A target is restarted in its turn, and ranks that need it wait for it and are served."""
    cluster, node, draw = stage.cluster, stage.cluster.target(away), stage.draw.child("rolled", away)
    faults.terminate(cluster, node, down)
    up = down + draw.span(7_500, 10_500)
    for one in (*readers(stage)[away % 3 : away % 3 + draw.whole(1, 3)], stage.culprit):
        then, tries = down + draw.span(30, 900), draw.whole(2, 3)
        for turn in range(tries):
            designated = stage.other_target(node, draw.whole(0, 50))
            failed = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(3, 9))
            again(stage, then + 8 * MS, one, failed, turn + 1, 6)
            then += seconds(2.0 * (turn + 1)) + draw.span(5, 60)
        then = max(then, up + draw.span(1_200, 1_900))
        stage.job.note(then, one, f"get-batch served after {tries + 1} attempts, {(then - down) / SEC:.1f} s", "W", 99)
    joined = faults.start_again(cluster, node, up)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(node))


@kind(reads=True, lead_s=182.0, without=(*RESTARTS, "kalive_hiccup"))
def beam_search_outlasts_all_others_after_a_rollout(stage: Stage) -> Scenario:
    """Targets are restarted in turn, later one rank decodes a lecture as a sample (docs/lifecycle_node; NeMo).

    To acquit: the rank that all wait for tells to the end how far it is with its own decoding, on the host's
    processor; what it decodes had come in milliseconds. The last restart is over for a minute by then, and all that
    was asked for during it was served.
    """
    stage.open()
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("beam")
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.tenant_meets_bad_data))
    for turn, before in enumerate((151.0, 78.0)):
        down = at - seconds(before) - draw.span(1, 2_000)
        stage.mark(down, f"{cluster.target(stage.params.victim + turn).name} is restarted in its turn")
        _rolled(stage, down, stage.params.victim + turn)
    begins = f"step {stage.step}: decoding one recording as a sample, beam 16, with the language model on the CPU"
    name, length = utterance(draw), draw.whole(2_700, 6_900)
    for one in sorted({*speakers(stage), rank}):
        told(stage, at - draw.span(70, 100), one, "decode", begins)
        if one != rank:
            own = draw.between(4, 17)
            said = f"{utterance(draw)} read in {draw.between(2, 9):.0f} ms, {own:.1f} s of audio: done in 0.1 s"
            told(stage, at - draw.span(1, 20), one, "decode", said)
    told(stage, at - 40 * MS, rank, "decode", f"{name} read in {draw.between(4, 30):.0f} ms, {length}.0 s of audio")
    stage.mark(at - 30 * MS, f"rank {rank} decodes a recording of hours")
    over, then, frame = at + stage.job.job.timeout_s * SEC, at + draw.span(9_000, 11_000), 0
    while then < over - SEC:
        frame += draw.whole(900, 1_700)
        told(stage, then, rank, "decode", f"{name}: frame {frame} of {length * 25}, 16 hypotheses")
        then += draw.span(9_600, 10_600)
    stage.hang(at, rank)
    made = stage.innocent("software", rank, also=("rank_hang", "data"))
    return stage.close("The sample is drawn from the rank's own part of the corpus, whatever its length.", (made,))
