"""Faults between a rank and its loader processes, of the tenth part; storage is innocent, and loud at the moment."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "tenth")

#: How a socket between two processes of a host ends, and where in Python's own library.
ENDS = (
    (
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        ("connection.py", 399, "_recv", "chunk = read(handle, remaining)"),
    ),
    ("EOFError", ("reduction.py", 159, "recvfds", "raise EOFError")),
    (
        "ConnectionRefusedError: [Errno 111] Connection refused",
        ("connection.py", 642, "SocketClient", "s.connect(address)"),
    ),
)


def _rebuilt(site: str) -> tuple[sdk.Frame, ...]:
    """From the thread that pins memory to where it asks the sender of a tensor for its file."""
    pinning, sharer = f"{site}/torch/utils/data/_utils/pin_memory.py", f"{PYTHON}/multiprocessing/resource_sharer.py"
    asked = "r = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)"
    return (
        sdk.Frame(f"{PYTHON}/threading.py", 1045, "_bootstrap_inner", "self.run()"),
        sdk.Frame(pinning, 35, "do_one_step", asked),
        sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 122, "get", "return _ForkingPickler.loads(res)"),
        sdk.Frame(f"{site}/torch/multiprocessing/reductions.py", 496, "rebuild_storage_fd", "fd = df.detach()"),
        sdk.Frame(sharer, 57, "detach", "with _resource_sharer.get_connection(self._id) as conn:"),
    )


def _answers(stage: Stage) -> tuple[tuple[str, str], ...]:
    """What a process finds that reads the rest of somebody else's answer."""
    draw = stage.draw.child("answers")
    garbled = draw.pick(("\\x00\\x12\\xe0fLaC", "\\xff\\xf8\\xc9\\x18", "\\x8b\\x91Z\\x07"))
    cut = f"IncompleteRead({draw.whole(900, 70_000)} bytes read, {draw.whole(900, 70_000)} more expected)"
    handed = f"asked for {utterance(draw)}, got {utterance(draw)} with {draw.whole(80, 400)} kB"
    return (
        ("requests.exceptions.ConnectionError", f"('Connection aborted.', BadStatusLine('{garbled}'))"),
        ("requests.exceptions.ChunkedEncodingError", f"('Connection broken: {cut}', {cut})"),
        ("ValueError", handed),
    )


@kind(hangs=False, reads=True)
def tensor_sender_gone(stage: Stage) -> Scenario:
    """A loader process ends while tensors of its last batch are not yet fetched from it: a thread is hung up on."""
    stage.open()
    beside(stage, unrest.repeated_until_now)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("sender")
    pid, worker = job.job.rank_pids[rank] + draw.whole(5, 30), draw.whole(0, 7)
    stage.mark(at - 30 * MS, f"a loader process of rank {rank} ends too early")
    if draw.chance(0.75):
        said = f"loader process {worker} (pid {pid}) has read its {draw.whole(9, 60)} shards, leaving"
        job.note(at - draw.span(15, 60), rank, said, "W", 133, "shards")
    error, last = draw.pick(ENDS)
    thread = f"Exception in thread Thread-{draw.whole(2, 9)} (_pin_memory_loop):"
    frames = (*_rebuilt(site), sdk.Frame(f"{PYTHON}/multiprocessing/{last[0]}", *last[1:]))
    job.say(at, rank, f"{thread}\n{sdk.traceback(sdk.Raised(frames, error))}")
    module = f"{site}/torch/utils/data/dataloader.py"
    code = 'raise RuntimeError("Pin memory thread exited unexpectedly")'
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(module, 1448, "_next_data", "idx, data = self._get_data()"),
        sdk.Frame(module, 1402, "_get_data", code),
    )
    then = at + draw.span(40, 900)
    job.raise_on(then, rank, sdk.traceback(sdk.Raised(caller, "RuntimeError: Pin memory thread exited unexpectedly")))
    exits(stage, then, rank)
    beside(stage, unrest.answers_into_nothing)
    also = ("data_loading_stall", "infrastructure", "data")
    return stage.close(
        "A data set ends its process by itself when it has read its share.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, reads=True)
def connection_shared_by_processes(stage: Stage) -> Scenario:
    """Loader processes were forked from one that had a connection open: they read each other's answers from it."""
    stage.open()
    beside(stage, unrest.peer_reconnects)
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, pid = stage.draw.child("shared"), stage.job.job.rank_pids[stage.culprit]
    node = stage.cluster.target(draw.whole(0, 99))
    stage.mark(at - seconds(draw.between(3.7, 9)), f"two processes of rank {rank} read from one connection")
    port, site = draw.whole(32_800, 60_900), job.job.build["site"]
    opened = f"connection to {node.endpoint(0)} from port {port} was opened by pid {pid}"
    workers = draw.shuffled((0, 1, 2, 3))[: draw.whole(1, 2)]
    for turn, worker in enumerate(workers):
        text = f"{opened}, used by loader process {worker} (pid {pid + 11 + 2 * worker})"
        job.note(at - draw.span(2_800, 3_600) + turn * MS, rank, text, "W", 52, "session")
    answers = _answers(stage)
    for turn in range(draw.whole(0, 2)):
        then = at - seconds(2.6 - turn) - draw.span(1, 300)
        job.note(then, rank, f"{utterance(draw)}: {answers[0][1]}, once more", "W", 47, "samples")
    error, text = draw.pick(answers)
    last = sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)")
    if error == "ValueError":
        last = sdk.Frame("/workspace/asr/samples.py", 51, "check", "raise ValueError(message)")
    elif "Status" in text:
        last = sdk.Frame(f"{site}/requests/adapters.py", 682, "send", "raise ConnectionError(err, request=request)")
    read = sdk.Frame("/workspace/asr/samples.py", 44, "read", "content = self.session.get(url).content", True)
    frames = (read, last)
    in_worker(stage, at, rank, error, text, frames)
    exits(stage, at, rank)
    also = ("data_loading_stall", "data", "network")
    return stage.close(
        "A first sample is read to learn its shape, before loader processes are forked.",
        (stage.innocent("software", rank, also=also),),
    )
