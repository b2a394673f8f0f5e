"""Operators of the storage are at work, and a job ends for its own reasons; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.foremen import held_up, steps_before
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdeeds, aisforemen, aisoperations, sdk
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_second")
#: What is spoken in letters that ISO 8859-1 lacks.
SPOKEN = ("dnes je pondělí a prší", "сегодня хорошая погода", "η μέρα είναι καλή", "żółta łódź na jeziorze")


def _not_printed(line: str) -> str:
    """What Python says of a line that has letters which the codec of its output lacks."""
    try:
        line.encode("latin-1")
    except UnicodeEncodeError as error:
        return f"UnicodeEncodeError: {error}"
    return ""


@kind(reads=True, lead_s=76.0, without=(*RESTARTS, *DISKS, "second_job"))
def filter_for_an_odd_rate_is_built_as_a_bucket_is_copied(stage: Stage) -> Scenario:
    """Recordings of 44101 Hz are resampled, logs are rotated and a bucket is copied (torchaudio, resample and gcd).

    To acquit: the rank that all wait for tells of each recording how long its filter is, and of the next one up to the
    end; its stack stands in the making of the filter, on the host's processor. Its batch came whole, slowly as others'
    did while disks were busy with the copy, which was over by then; no line of AIStore names an error of the job.
    """
    cluster, rank = stage.cluster, stage.culprit
    draw, site = stage.draw.child("odd rate"), stage.job.job.build["site"]
    late = {one: draw.between(2, 8) for one in steps_before(stage, 45, 28, draw.whole(2, 4), draw)}
    asked = held_up(stage, late)
    at, began = stage.at, min(asked.values()) - draw.span(3_000, 9_000)
    to = f"{stage.bucket}-{draw.pick(('eval', 'backup', 'fast'))}"
    job, ended = aisdeeds.copy_begins(cluster, began, to, draw), at - draw.span(10_000, 16_000)
    aisforemen.copied(cluster, began + 10 * SEC, ended - 9 * SEC, draw)
    aisdeeds.copy_ends(cluster, cluster.up(at), began, ended - 9 * SEC, to, job, draw)
    rotated = began + draw.span(9_000, 16_000)
    for node in cluster.nodes:
        cluster.last_process(node).rotations.append(rotated + draw.span(1, 9))
    for step, then in asked.items():
        said = f"batch of 48 entries whole after {late[step]:.1f} s"
        told(stage, then + seconds(late[step]), draw.pick(readers(stage)), "data", said, "WARNING")
    for one in sorted({*speakers(stage), rank}):
        came = draw.between(0.03, 0.2)
        told(stage, at - draw.span(60, 90), one, "data", f"step {stage.step}: 48 of 48 entries in {came:.2f} s")
        if one != rank:
            said = f"step {stage.step}: 48 recordings of 16000 or 8000 Hz, resampled in {draw.between(0.02, 0.2):.2f} s"
            told(stage, at - draw.span(4, 40), one, "augment", said)
    many = draw.whole(31, 48)
    stage.mark(at - 50 * MS, f"rank {rank} resamples {many} recordings of 44101 Hz")
    told(stage, at - 48 * MS, rank, "augment", f"step {stage.step}: {many} of 48 recordings are of 44101 Hz")
    then, turn, over = at - 40 * MS, 1, over_at(stage)
    while then < over - SEC:
        said = f"{utterance(draw)}: 44101 to 16000 Hz, gcd 1, filter of 16000 x 44135, {turn} of {many}"
        told(stage, then, rank, "augment", said)
        then, turn = then + draw.span(21_000, 29_000), turn + 1
    place = f"{site}/torchaudio/functional/functional.py"
    stack = (
        ("_get_sinc_resample_kernel", place, 1414),
        ("resample", place, 1511),
        ("to_rate", f"{script_folder(stage)}/augment.py", 58),
        ("__call__", f"{script_folder(stage)}/augment.py", 77),
        ("next_batch", stage.job.job.script, 96),
    )
    works = replace(main_thread(stage, *stack), state="active")
    py_spy(stage, min(draw.between(18, 44), stage.params.timeout_s - 11), (works,))
    stage.hang(at + 260 * MS, rank)
    made = stage.innocent("software", rank, also=("rank_hang", "data", "data_loading_stall"))
    return stage.close("A recorder of one speaker had written its rate as it had measured it.", (made,))


def _decommissioned(stage: Stage) -> None:
    """A target leaves for good, in order; ranks whose batch the rebalance has ended are served at their next try."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("decommission")
    step = steps_before(stage, 116, 88, 1, draw)[0]
    asked = held_up(stage, {step: 2.42})[step]
    ended = asked + draw.span(40, 90)
    began = stage.mark(ended - 2 * SEC - draw.span(11, 19), f"{victim.name} is decommissioned")
    for one in readers(stage)[: draw.whole(2, 4)]:
        then, got = ended + draw.span(1, 9), draw.whole(2, 40)
        wid = cluster.wid(stage.proxy_of(one), draw)
        aisoperations.stream_cut(cluster, draw.pick(other_targets(stage, then)), then, wid, got, then - asked)
        failed = Failed(*sdk.short_batch(stage.job.job, step, got, 48))
        again(stage, then + 6 * MS, one, failed, 1, 4)
        served = then + draw.span(2_060, 2_260)
        stage.job.note(served, one, f"get-batch served after 2 attempts, {(served - asked) / SEC:.1f} s", "W", 99)
    number = aisforemen.decommissioned(cluster, victim, began, draw)
    cluster.start_batches(ended + draw.span(700, 1_300), draw.pick(other_targets(stage, ended)))
    done = ended + draw.span(45_700, 47_300)
    aisforemen.rebalanced(cluster, done, number, draw)
    aisforemen.leaves_for_good(cluster, victim, done + draw.span(1_300, 2_900), draw)


@kind(reads=True, hangs=False, targets=4, lead_s=132.0, without=(*RESTARTS, "kalive_hiccup"))
def transcript_is_printed_in_latin_after_a_target_has_left(stage: Stage) -> Scenario:
    """A host's locale has no such letters as a rank prints; a target was decommissioned (UnicodeEncodeError; NeMo, k2).

    To acquit: the exception is of print(), and names the codec; the same rank and others of its host have printed
    before, in letters that the codec has. Its batch was whole. The target has left in order, after its rebalance was
    done, and ranks whose batches that had ended were served at their second try, more than a minute before.
    """
    rank, job, draw = stage.culprit, stage.job, stage.draw.child("latin")
    client_told(stage, "get-batch: 48 entries, streaming, tries 4")
    _decommissioned(stage)
    at = stage.at
    host = job.job.node_of(rank)
    locale = "LANG=en_US.ISO-8859-1, sys.stdout.encoding iso8859-1"
    for node in range(len(job.job.hosts)):
        first = job.job.ranks_of(node)[0]
        said = locale if node == host else "LANG=C.UTF-8, sys.stdout.encoding utf-8"
        told(stage, job.begin - 380 * MS, first, "env", f"{job.job.hosts[node]}: {said}")
    told(stage, at - 70 * MS, rank, "data", f"step {stage.step}: 48 of 48 entries in {draw.between(0.03, 0.2):.2f} s")
    before = max(1, stage.step - 40)
    for one in sorted({*speakers(stage)[:8], rank}):
        told(stage, job.step_at(before) + draw.span(20, 90), one, "wer", f"step {before}: ref: good morning to all")
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 193, "main", "wer.show(step, refs, hyps)"),
        sdk.Frame(f"{script_folder(stage)}/wer.py", 64, "show", 'print(f"step {step}: ref: {refs[0]}", flush=True)'),
    )
    stage.mark(at, f"rank {rank} cannot print a transcript")
    error = _not_printed(f"step {stage.step}: ref: {draw.pick(SPOKEN)}")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, error)))
    leaves(stage, at + 4 * MS, rank)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("The locale came from the shell of whoever had set that host up.", (made,))
