"""An exception whose first line tells no cause: the cause stands in a later line of its message."""

from __future__ import annotations

import pytest
from lines import TRACEBACK, events, read_worker, told

pytestmark = pytest.mark.usefixtures("either_reader")

PIPELINE = """RuntimeError: Critical error in pipeline:
Error when executing CPU operator readers__File, encountered:
S3 Object not found. bucket=speech object=a/b.jpg:
Current pipeline object is no longer valid."""


def labelled(text: str, label: str) -> str:
    """A text with a label in front of each of its lines."""
    return "".join(f"{label}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize("label", ["[rank3]: ", ""])
def test_a_message_whose_cause_comes_later(label: str) -> None:
    """Where the first line of an exception's message tells no cause, a later one that does is a row of its own."""
    found = read_worker(labelled(TRACEBACK + PIPELINE, label), "/logs/j/n.log")
    assert told(found, "pattern", "line_no", "exception", "is_chained", "object") == [
        ("dali_failed", 6, "RuntimeError", True, None),
        ("dali_object_missing", 8, "RuntimeError", False, "a/b.jpg"),
    ]


INTERNAL = (
    "torch.distributed.DistBackendError: NCCL error in: /c10d/NCCLUtils.cpp:77, internal error - please report this"
    " issue to the NCCL developers, NCCL version 2.21.5\nncclInternalError: Internal check failed.\n"
    "Last error:\nBootstrap : no socket interface found"
)
SYSTEM = (
    "torch.distributed.DistBackendError: NCCL error in: /c10d/ProcessGroupNCCL.cpp:19, unhandled system error,"
    " NCCL version 2.20.5\nncclSystemError: System call failed.\nLast error:\n"
    "nvmlInit_v2() failed: Driver/library version mismatch"
)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        (INTERNAL, ("nccl_internal_error", "nccl_no_interface")),
        (SYSTEM, ("nccl_system_error", "cuda_driver_too_old")),
    ],
)
@pytest.mark.parametrize(("label", "rank"), [("[rank3]: ", 3), ("", None)])
def test_the_last_error_of_nccl(text: str, patterns: tuple[str, str], label: str, rank: int | None) -> None:
    """NCCL's internal or system error stands for the cause that its message ends with, also where no rank labels it."""
    found = read_worker(labelled(TRACEBACK + text, label), "/logs/j/n.log")
    told_by, cause = patterns
    assert told(found, "pattern", "rank", "is_chained") == [(told_by, rank, True), (cause, rank, False)]


def test_a_line_behind_an_exception_is_not_its_cause() -> None:
    """Without a tag only what a colon announced goes on with a message, and a log's own line never does."""
    lost = "S3 Object not found. bucket=speech object=a/b.jpg"
    for text in (f"RuntimeError: gave up\n{lost}", f"RuntimeError: gave up:\n2026-01-02 10:00:00 {lost}"):
        found = read_worker(TRACEBACK + text + "\n", "/logs/j/n.log")
        assert told(found, "pattern", "is_chained")[0] == ("storage_client_error", False)
        assert ("dali_object_missing", None) in told(found, "pattern", "exception")
    known = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB:\n" + lost
    found = read_worker(labelled(TRACEBACK + known, "[rank3]: "), "/logs/j/n.log")
    assert len(told(found, "pattern")) == 1


def test_the_reason_of_an_abort_is_no_part_of_what_it_falls_into() -> None:
    """What C++ prints of an abort is indented like a frame or a row of torchrun's table, and is read inside of both."""
    reason = (
        "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 6] Process group watchdog thread terminated with exception: x\n"
    )
    frame = '  File "/w/train.py", line 7, in main\n'
    found = events(read_worker(f"Traceback (most recent call last):\n{frame}{reason}{frame}KeyError: 'a'\n"))
    assert [row["pattern"] for row in found] == ["nccl_watchdog_thread_terminated", "python_exception"]
    table = (
        "{0}\ntrain.py FAILED\nFailures:\n[1]:\n  time      : 2026-09-14_10:22:40\n{1}  exitcode  : -6 (pid: 7)\n{0}\n"
    )
    rows = events(read_worker(table.format("=" * 60, reason)))
    assert "nccl_watchdog_thread_terminated" in [row["pattern"] for row in rows]
    assert [row["exit_code"] for row in rows if row["pattern"] == "torchrun_failure_entry"] == [-6]


def test_a_traceback_whose_end_is_cut_off() -> None:
    """Where the traceback that a loader's worker handed over is cut off, the exception of the rank is the last."""
    text = TRACEBACK + "OSError: Caught OSError in DataLoader worker process 3.\nOriginal " + TRACEBACK
    found = read_worker(text, "/logs/j/n.log")
    assert told(found, "pattern", "exception", "is_chained") == [("dataloader_worker_exception", "OSError", False)]
    whole = read_worker(text + "OSError: [Errno 116] Stale file handle\n", "/logs/j/n.log")
    assert told(whole, "is_chained") == [(True,), (False,)]


@pytest.mark.parametrize(("end", "count"), [('  File "/w/tra', 1), ("", 0)])
def test_a_text_that_ends_inside_of_the_first_call(end: str, count: int) -> None:
    """Where a text ends inside of the first call an exception was raised; a header alone may be anything's."""
    found = read_worker(f"step 3\nTraceback (most recent call last):\n{end}")
    assert told(found, "pattern", "severity") == [("python_traceback", "error")] * count


@pytest.mark.parametrize(
    ("end", "pattern"),
    [("RuntimeErr", "python_traceback"), ("RuntimeErr\nstep 4", "python_exception"), ("KeyError", "python_exception")],
)
def test_a_text_that_ends_inside_of_an_exceptions_name(end: str, pattern: str) -> None:
    """Where a text ends with a word that may be half a name, nobody knows what was raised."""
    assert told(read_worker(f"{TRACEBACK}{end}\n", "/logs/j/n.log"), "pattern") == [(pattern,)]


def test_a_traceback_without_exception_ends_in_nothing() -> None:
    """A line behind the calls that is no exception ends the traceback and is none."""
    assert told(read_worker(TRACEBACK + "--- rank 3 exits ---\n", "/logs/j/n.log"), "exception") == []


def test_two_tracebacks_behind_each_other() -> None:
    """A traceback below an exception without a word of how both are connected is another's."""
    text = TRACEBACK + "ValueError: one\n" + TRACEBACK + "KeyError: 'two'\n"
    found = read_worker(text, "/logs/j/n.log")
    assert told(found, "exception", "is_chained", "block_line_no") == [("ValueError", False, 1), ("KeyError", False, 7)]
    joined = TRACEBACK + "ValueError: one\n\nDuring handling of the above exception, another exception occurred:\n\n"
    found = read_worker(joined + TRACEBACK + "KeyError: 'two'\n", "/logs/j/n.log")
    assert told(found, "exception", "is_chained") == [("ValueError", True), ("KeyError", False)]


@pytest.mark.parametrize(
    "head", ["Exception ignored in: <finalize object at 0x7f11>", "Exception ignored while calling x:"]
)
def test_what_python_ignores_is_no_cause(head: str) -> None:
    """The traceback of an exception that Python ignores is noise, the next one is not."""
    text = f"{head}\n{TRACEBACK}TimeoutError: late\nstep 3\n\n\n\n{TRACEBACK}ValueError: one\n"
    assert told(read_worker(text, "/logs/j/n.log"), "pattern", "severity") == [
        ("python_exception_ignored", "info"),
        ("python_exception_ignored", "info"),
        ("python_exception", "error"),
    ]


def test_a_traceback_of_pdsh() -> None:
    """Each line of a traceback that pdsh labels belongs to the host's."""
    text = "".join(f"g002: {line}\n" for line in (TRACEBACK + "ValueError: one").splitlines())
    assert told(read_worker(text, "/logs/j/n.log"), "exception", "host") == [("ValueError", "g002")]


@pytest.mark.parametrize(
    ("place", "error", "pattern"),
    [
        ("nvidia/dali/pipeline.py", "RuntimeError: operator 4 gave up", "loader_failed"),
        ("webdataset/tariterators.py", "Exception: 7", "loader_failed"),
        ("webdataset/tariterators.py", "ValueError: no field of this name", "python_exception"),
        ("nvidia/dali/pipeline.py", "RuntimeError: CUDA error: feature disabled", "cuda_error"),
        ("torch/nn/modules/module.py", "RuntimeError: operator 4 gave up", "python_exception"),
    ],
)
def test_what_a_loader_raises_in_unknown_words(place: str, error: str, pattern: str) -> None:
    """What a library that reads data raises may be a read that failed, unless a mistake of the program is named so."""
    frames = f'  File "/w/a.py", line 3, in main\n  File "/opt/lib/python3.11/site-packages/{place}", line 7, in get\n'
    assert told(read_worker(f"Traceback (most recent call last):\n{frames}{error}\n"), "pattern") == [(pattern,)]


@pytest.mark.parametrize("rest", ["p", "package.errors_"])
def test_a_word_that_is_the_rest_of_a_call(rest: str) -> None:
    """A word alone that is the name of no exception ends no traceback: one follows, or the text is cut there."""
    text = TRACEBACK + rest + "\n"
    assert told(read_worker(text), "pattern", "severity") == [("python_traceback", "error")]
    assert told(read_worker(text + "socket.timeout\n"), "exception") == [("timeout",)]


@pytest.mark.parametrize("name", ["torch.multiprocessing.spawn.ProcessRaisedException", "Exception"])
def test_an_exception_whose_message_is_a_traceback(name: str) -> None:
    """What a spawner raises tells no cause: the traceback that it carries does, where it is not cut off."""
    text = f"{TRACEBACK}{name}: \n\n-- Process 1 terminated with the following error:\n{TRACEBACK}"
    for end, pattern in (("", "python_traceback"), ("ValueError: one\n", "python_exception")):
        found = [row for (row,) in told(read_worker(text + end), "pattern")]
        assert found == ["process_exception_wrapper", "torch_child_failed", pattern]
    below = read_worker(f"{TRACEBACK}{name}: \ncat: /mnt/nfs/a: Input/output error\n")
    assert told(below, "pattern", "is_chained") == [("process_exception_wrapper", True), ("fs_io_error", False)]


def test_a_chain_that_is_cut_off_tells_of_no_cause() -> None:
    """What came up while an unknown exception was handled is not in the text; one that is known, or a cause, stays."""
    torn = TRACEBACK.rpartition("\n")[0].rpartition("\n")[0] + "\n"
    handling = "\n\nDuring handling of the above exception, another exception occurred:\n\n" + torn
    found = read_worker(labelled(TRACEBACK + "ValueError: one" + handling, "[rank5]: "))
    assert told(found, "pattern", "exception", "is_chained", "rank") == [
        ("python_traceback", None, False, 5),
        ("python_exception", "ValueError", True, 5),
    ]
    found = read_worker(labelled(TRACEBACK + "OSError: [Errno 5] Input/output error" + handling, "[rank5]: "))
    assert told(found, "exception", "is_chained") == [("OSError", False)]
    direct = "\n\nThe above exception was the direct cause of the following exception:\n\n" + torn
    found = read_worker(labelled(TRACEBACK + "ValueError: one" + direct, "[rank5]: "))
    assert told(found, "exception", "is_chained") == [("ValueError", False)]
