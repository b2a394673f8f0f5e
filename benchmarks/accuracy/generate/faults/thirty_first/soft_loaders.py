"""Loader processes that die or stand still over a program of their own; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import (
    forked_loader,
    loader_killed,
    loader_name,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_first")


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def loader_dies_of_a_division_in_its_decoder(stage: Stage) -> Scenario:
    """A header says zero channels, and a loader's decoder divides by them: SIGFPE (signal(7); wording from memory).

    To acquit: the loader has all of its batch and names the file that it decodes, of which an audit has said the same;
    the kernel reports the division within the decoder's library. A target was restarted before, and reads went on.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (tunrest.readers_resume, past_unrest.turned_away_in_window, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("division")
    node, worker = own.node_of(rank), draw.whole(0, 5)
    pid, name = own.rank_pids[rank] + draw.whole(60, 400), f"{utterance(draw).removesuffix('.flac')}.wav"
    many = draw.whole(2, 7)
    said = f"audit of the bucket before its upload: {many} files have 0 channels in their header, {name} is the first"
    told(stage, job.begin - 460 * MS, 0, "data", said, "WARNING")
    for one in (rank, *readers(stage)[:2]):
        fetched = f"48 of 48 recordings fetched in {draw.between(0.1, 0.4):.2f} s"
        told(stage, at - draw.span(40, 190), one, "data", f"worker {worker}: {fetched}, decoding")
    told(stage, at - 12 * MS, rank, "data", f"worker {worker} (pid {pid}): decoding {name}, {draw.whole(40, 900)} KiB")
    stage.mark(at - 8 * MS, f"a loader of rank {rank} divides by zero")
    base, offset = f"7f{draw.token(4, HEX)}", draw.whole(0x2000, 0x7F000)
    where = f"ip:{base}{0x12000 + offset:06x} sp:7ffd{draw.token(8, HEX)} error:0 in libsox.so.3.0.0"
    said = f"kernel: traps: {loader_name(stage)}[{pid}] trap divide error {where}[{base}012000+7f000]"
    watched(stage, at - 6 * MS, node, said)
    loader_killed(stage, at, rank, pid, "Floating point exception")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("The recorder of one campaign left the header to be filled in at its end.", (made,))


def _drain_failed(stage: Stage, at: int, rank: int, name: str) -> None:
    """The thread that writes what loaders have to say meets a name that is no UTF-8, and ends."""
    place = f"{script_folder(stage)}/logs.py"
    frames = (
        sdk.Frame(f"{PYTHON}/threading.py", 1045, "_bootstrap_inner", "self.run()"),
        sdk.Frame(f"{PYTHON}/threading.py", 982, "run", "self._target(*self._args, **self._kwargs)"),
        sdk.Frame(place, 52, "drain", 'file.write(queue.get() + "\\n")'),
    )
    text = f"UnicodeEncodeError: 'utf-8' codec can't encode character '\\udce9' in position {len(name) + 31}: "
    raised = sdk.Raised(frames, f"{text}surrogates not allowed")
    stage.job.say(at, rank, f"Exception in thread log-drain of rank {rank}:\n{sdk.traceback(raised)}")


@kind(reads=True, lead_s=75.0)
def loaders_wait_for_their_own_log(stage: Stage) -> Scenario:
    """Loaders log into a queue of limited length, and the thread that empties it has ended (Python docs, queues).

    To acquit: that thread's exception stands seconds before; the rank waits for a batch, and its loader for room in
    the queue of the log, below its own call of logging.debug; its socket has nothing to come.
    """
    stage.open()
    beside(stage, unrest.entries_missing)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, tunrest.batches_fall_back, tunrest.withdrawn_left_out))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("log queue")
    many = draw.pick((500, 1_000, 2_000))
    said = f"loaders log at DEBUG into a queue of {many} lines, thread log-drain writes it to the disk of the host"
    told(stage, job.begin - 380 * MS, 0, "logs", said)
    died = stage.mark(at - draw.span(6_000, 21_000), f"the thread that empties the queue of rank {rank} ends")
    _drain_failed(stage, died, rank, utterance(draw))
    said = f"step {stage.step - 1}: 48 of 48 recordings, {draw.between(0.1, 0.3):.2f} s, 0 batches ahead"
    told(stage, at - draw.span(200, 300), rank, "data", said)
    pid = own.rank_pids[rank] + draw.whole(60, 400)
    handlers, log, folder = f"{PYTHON}/logging/handlers.py", f"{PYTHON}/logging/__init__.py", script_folder(stage)
    child = forked_loader(
        stage,
        ("put", f"{PYTHON}/multiprocessing/queues.py", 89),
        ("enqueue", f"{folder}/logs.py", 33),
        ("emit", handlers, 1481),
        ("handle", log, 978),
        ("callHandlers", log, 1714),
        ("handle", log, 1644),
        ("_log", log, 1634),
        ("debug", log, 1477),
        ("decode", f"{folder}/dataset.py", 92),
        ("__getitem__", f"{folder}/dataset.py", 74),
    )
    after = min(draw.between(18, 35), own.timeout_s - 13)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, child, pid)
    said = f"hang-watcher: ss -tnp: pid {pid}, 1 connection to port 51081, Recv-Q 0, Send-Q 0"
    job.agent(at + seconds(after + 1.3), own.node_of(rank), said)
    stage.hang(at, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("software", "data_loading_stall"))
    return stage.close("A name in the list of the bucket is Latin-1.", (made,))
