"""Storage faults of the fifteenth part that keep a job waiting, or that have taken their own evidence away."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import LogFile, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "fifteenth")


def _joining(stage: Stage) -> Thread:
    """The main thread of a rank that waits for the process which writes its share of the checkpoint before."""
    popen, saver = f"{PYTHON}/multiprocessing/popen_fork.py", f"{stage.job.job.build['site']}/megatron/core"
    frames = (
        ("poll", popen, 27),
        ("wait", popen, 43),
        ("join", f"{PYTHON}/multiprocessing/process.py", 149),
        ("close", f"{saver}/dist_checkpointing/strategies/async_utils.py", 248),
        ("is_current_async_call_done", f"{saver}/dist_checkpointing/strategies/async_utils.py", 236),
        ("maybe_finalize_async_calls", f"{saver}/dist_checkpointing/strategies/async_utils.py", 537),
        ("save", f"{saver}/dist_checkpointing/strategies/base.py", 228),
        ("save_checkpoint", stage.job.job.script, 124),
        ("main", stage.job.job.script, 203),
        ("<module>", stage.job.job.script, 212),
    )
    return Thread("MainThread", frames)


@kind(min_timeout_s=90, lead_s=90.0, without=DISKS)
def writer_process_not_joined(stage: Stage) -> Scenario:
    """A checkpoint is to be written, and that before it is not yet: a disk writes by drops (Megatron-LM#2422)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, over = stage.draw.child("writer"), over_at(stage)
    absent = writers_to(stage, draw)
    stage.open()
    before = max(1, stage.step - int(draw.between(31, 52) / stage.params.step_s))
    sent, place = job.step_at(before), f"s3://checkpoints/{job.job.task}"
    job.note(sent, 0, f"scheduled async checkpoint of step {before}: {place}/iter_{before:07d}", line=123)
    began = stage.mark(sent - draw.span(900, 9_000), f"a disk of {victim.name} writes next to nothing")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(40), draw)
    others = [node for node in cluster.targets if node is not victim]
    for rank in range(job.job.world):
        if rank not in absent:
            spent, size = draw.span(2_900, 9_100), draw.whole(210, 640) << 20
            cluster.count(draw.pick(others), sent + spent, put_n=1, put_ns_total=spent, put_size=size)
    job.note(at - 60 * MS, 0, f"saving {place}/iter_{stage.step:07d}, the call before is to be done first", line=116)
    py_spy(stage, draw.between(44, 71), (_joining(stage), Thread("Thread-2 (_pin_memory_loop)", _SELECTS)))
    stage.hang(at + 340 * MS, *absent)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang"))
    return stage.close(
        "The disk is at the end of its life and has no word for it.", (replace(made, culprit_ranks=tuple(absent)),)
    )


_SELECTS = (
    ("select", f"{PYTHON}/selectors.py", 415),
    ("wait", f"{PYTHON}/multiprocessing/connection.py", 947),
    ("get", f"{PYTHON}/multiprocessing/queues.py", 113),
)


def _of_new_pod(files: tuple[LogFile, ...], node_id: str) -> tuple[LogFile, ...]:
    """Without what a node wrote before its last start."""
    own = [one.path for one in files if one.path.startswith(f"ais/{node_id}/") and ".INFO." in one.path]
    last = max(path.rsplit(".INFO.", 1)[1].rsplit(".", 1)[0] for path in own)
    return tuple(one for one in files if not one.path.startswith(f"ais/{node_id}/") or last in one.path)


def _reads_refused(stage: Stage, until: int, draw: Draw) -> None:
    """Ranks ask a target that is gone: one of them gives up, some others are served in the end."""
    victim, at = stage.victim, stage.at
    for other in readers(stage)[: draw.whole(1, 3)]:
        path = object_path(stage, other, utterance(draw))
        text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        retries(stage, at + draw.span(200, 4_000), other, draw, 0.004, text, until)
    path = object_path(stage, stage.culprit, utterance(draw))
    text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    over = retries(stage, at, stage.culprit, draw, 0.004, text, at + seconds(draw.between(9, 16)))
    exhausted(stage, over, stage.culprit, text, "ConnectionError", one_object(stage))
    stage.job.agents_end([Exit(stage.culprit, over + 700 * MS, 1)], over + 700 * MS)


@kind(reads=True, hangs=False, lead_s=60.0, may_be_undetermined=True, without=(*RESTARTS, "mountpath_before"))
def log_gone_with_its_pod(stage: Stage) -> Scenario:
    """A pod of storage is replaced, and what it wrote was in it: only the new log is left (ais-k8s docs, logs)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("pod")
    stage.open()
    died = stage.mark(at - draw.span(30, 300), f"the pod of {victim.name} is killed and set up anew")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(21), 2)
    back = died + draw.span(21_000, 25_500)
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    _reads_refused(stage, back, draw)
    until = max(stage.job.ended_at, joined + 50 * SEC)
    made = stage.close(
        "Logs lie on a volume that lives as long as its pod.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "undetermined")),),
        until=until,
    )
    return replace(made, files=_of_new_pod(made.files, victim.node_id))
