"""What comes out of a worker's log: whose line it is, records of several lines, attempts, damage."""

from __future__ import annotations

import json

import pytest
from lines import TRACEBACK, Row, events, read_worker, told
from timed_lines import text_of

pytestmark = pytest.mark.usefixtures("either_reader")

WATCHDOG = (
    "[rank{0}]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank {0}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=629, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000) ran for 60044"
    " milliseconds before timing out.\n"
)
RETRY = "{} [rank{}] ERROR root: All retries exhausted; request failed\n"


def tagged(text: str, tag: str) -> list[str]:
    """The lines of a text, each behind a tag."""
    return [f"{tag}{line}\n" for line in text.splitlines()]


# --- whose line it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("", (None, None, None, None)),
        ("[rank5]: ", (5, "tag", None, None)),
        ("[default1]:[rank5]: ", (5, "tag", 1, None)),
        ("[default1]:", (None, None, 1, None)),
        (" 3: [rank5]: ", (5, "tag", None, 3)),
        ("12: ", (None, None, None, 12)),
        ("2026-11-20T23:05:53.3Z stderr F [rank5]: ", (5, "tag", None, None)),
        ("(Worker[rank=8] pid=77, ip=10.0.0.1) ", (8, "field", None, None)),
        ("\x1b[36m(WorkerDict pid=77)\x1b[0m [rank5]: ", (5, "tag", None, None)),
        ("[1,3]<stderr>:", (3, "field", None, None)),
        ("g002: [rank5]: ", (5, "tag", None, None)),
    ],
)
def test_labels(prefix: str, expected: tuple[object, ...]) -> None:
    """Rank, local rank and task are read from whatever stands in front of each line of a traceback."""
    text = "".join(tagged(TRACEBACK + "RuntimeError: boom", prefix))
    found = read_worker(text, "/logs/job7/node.log")
    assert told(found, "exception") == [("RuntimeError",)]
    assert told(found, "rank", "rank_source", "local_rank", "task") == [expected]


def test_the_rank_of_a_file() -> None:
    """Lines without a rank are of the rank in the file's name, lines with one of their own."""
    found = read_worker(TRACEBACK + "ValueError: x\n\n" + WATCHDOG.format(9), "/logs/job7/rank3.log")
    assert told(found, "line_no", "rank", "rank_source") == [(6, 3, "file"), (8, 9, "tag")]


def test_interleaved_tracebacks_stay_apart() -> None:
    """Tracebacks of ranks whose lines mix in one file give each rank its own exception, block and place."""
    first = tagged(TRACEBACK + "RuntimeError: one", "[rank0]: ")
    second = tagged(TRACEBACK.replace("train.py", "other.py") + "ValueError: two", "[rank1]: ")
    text = "".join(line for pair in zip(first, second, strict=True) for line in pair)
    assert told(read_worker(text, "/logs/j/n.log"), "rank", "exception", "block_line_no", "user_location") == [
        (0, "RuntimeError", 1, "/w/train.py:9"),
        (1, "ValueError", 2, "/w/other.py:9"),
    ]


def test_marks_below_a_call_are_no_exception() -> None:
    """Marks that underline a call belong to its traceback, also where a prefix took the blanks before them."""
    text = TRACEBACK.rstrip("\n") + "\n~~~~^^^^^^^\nRuntimeError: one"
    found = read_worker("".join(tagged(text, "[default0]:")), "/logs/j/n.log")
    assert told(found, "exception", "line_no") == [("RuntimeError", 7)]


def test_tagged_ranks_and_tasks_do_not_mix() -> None:
    """Lines of srun -l belong to the block of their task."""
    first, second = tagged(TRACEBACK + "KeyError: 'a'", "0: "), tagged(TRACEBACK + "KeyError: 'b'", "1: ")
    text = "".join(line for pair in zip(first, second, strict=True) for line in pair)
    assert told(read_worker(text, "/logs/j/n.log"), "task", "block_line_no") == [(0, 1), (1, 2)]


# --- tracebacks ----------------------------------------------------------------------------------------------------


def test_a_chained_traceback() -> None:
    """Each exception of a chain is an event; all but the last are chained, and the last is the uncaught one."""
    chain = (
        TRACEBACK
        + "ConnectionError: http://10.0.0.1:8080/v1/objects/bt/x\n\n"
        + "During handling of the above exception, another exception occurred:\n\n"
        + TRACEBACK
        + "AISBatchLoaderError: 5 of 48"
    )
    found = read_worker("".join(tagged(chain, "[rank5]: ")))
    assert told(found, "exception", "is_chained", "is_uncaught", "rank", "block_line_no", "frame_kind") == [
        ("ConnectionError", True, True, 5, 1, "storage"),
        ("AISBatchLoaderError", False, True, 5, 1, "storage"),
    ]


def test_a_message_that_goes_on_gives_its_address() -> None:
    """Further lines of an exception's message belong to it; the address in them is the exception's."""
    text = TRACEBACK + "RuntimeError: request failed\n  url http://10.0.0.1:8080/v1/objects/bt/x\n"
    found = read_worker("".join(tagged(text, "[rank5]: ")) + WATCHDOG.format(0))
    assert told(found, "exception", "endpoint", "rank")[0] == ("RuntimeError", "10.0.0.1:8080", 5)
    assert len(events(found)) == 2


def test_tracebacks_that_ranks_handed_over() -> None:
    """Tracebacks of a checkpoint that failed belong to the ranks named behind them, not to the one that prints them."""
    body = TRACEBACK.partition("\n")[2]
    text = (
        TRACEBACK
        + "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([3, 5])\n"
        + f"Traceback (most recent call last): (RANK 3)\n{body}OSError: [Errno 122] Disk quota exceeded: '/c/__3_0'\n"
        + f"Traceback (most recent call last): (RANK 5)\n{body}KeyError: 'optimizer'"
    )
    found = read_worker("".join(tagged(text, "[rank0]: ")))
    assert told(found, "exception", "rank", "is_chained") == [
        ("CheckpointException", 0, True),
        ("OSError", 3, False),
        ("KeyError", 5, False),
    ]


def test_a_stamped_line_ends_a_traceback() -> None:
    """A traceback without its exception ends where a stamped line begins, and that line is read."""
    found = read_worker(TRACEBACK + RETRY.format("2026-11-20 22:14:51,102", 1))
    assert told(found, "line_no", "rank") == [(6, 1)]


def test_a_traceback_at_the_end_of_the_file() -> None:
    """A traceback whose exception is the last line, without newline, is an event."""
    assert told(read_worker(TRACEBACK + "RuntimeError: boom"), "exception", "line_no") == [("RuntimeError", 6)]


def test_a_file_that_ends_inside_a_traceback() -> None:
    """Where no exception is named any more, the first line of the traceback is an event: something was raised."""
    torn = told(read_worker(TRACEBACK), "pattern", "severity", "exception", "block_line_no")
    assert torn == [("python_traceback", "error", None, told(read_worker(TRACEBACK), "line_no")[0][0])]
    assert told(read_worker(TRACEBACK.splitlines()[0] + "\n"), "pattern") == []
    assert told(read_worker(TRACEBACK + "torch.distributed.elastic."), "pattern") == [("python_traceback",)]
    ignored = "Exception ignored in: <function f at 0x7f>\n" + TRACEBACK
    assert "python_traceback" not in [pattern for (pattern,) in told(read_worker(ignored), "pattern")]


def test_a_traceback_whose_header_is_lost() -> None:
    """A rank's traceback whose first lines are gone ends in its exception all the same, with the place it is from."""
    body = TRACEBACK.partition("\n")[2] + "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly"
    found = read_worker("".join(tagged(body, "[rank5]: ")), "/logs/j/n.log")
    assert told(found, "exception", "is_uncaught", "user_location", "frame_kind") == [
        ("RuntimeError", True, "/w/train.py:9", "storage")
    ]
    assert told(read_worker(body, "/logs/j/n.log"), "is_uncaught") == [(None,)], "no tag, so it may be a quotation"


def test_a_silent_ranks_traceback_is_over() -> None:
    """A traceback of a rank that writes nothing more ends while the others go on, and its next line is another's."""
    dead = "".join(tagged(TRACEBACK + "RuntimeError: boom", "[rank5]: "))
    others = "".join(f"[rank{n % 4}]: step {n}\n" for n in range(3_000))
    found = read_worker(dead + others + "[rank5]: KeyError: 'late'\n", "/logs/j/n.log")
    assert told(found, "line_no", "rank", "exception") == [(6, 5, "RuntimeError"), (3007, 5, "KeyError")]
    assert told(read_worker(dead + "[rank5]: url http://10.0.0.1:80/x\n"), "endpoint") == [("10.0.0.1:80",)]
    assert told(read_worker(dead + others + "[rank5]: url http://10.0.0.1:80/x\n"), "endpoint") == [(None,)]


# --- torchrun, NCCL, SLURM -----------------------------------------------------------------------------------------

TABLE = """============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-20_21:42:51
  host      : gpu-1.cluster
  rank      : 3 (local_rank: 1)
  exitcode  : -15 (pid: 27161)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 27161
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_21:42:50
  host      : gpu-1.cluster
  rank      : 0 (local_rank: 0)
  exitcode  : -6 (pid: 27160)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 27160
============================================================
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("prefix", ["", "E1120 21:42:52.000000 12860 torch/distributed/run.py:9] ", "2: "])
def test_a_failure_table(prefix: str, ending: str) -> None:
    """torchrun's table gives each process with rank, exit code and pid, and which one it takes for the root cause."""
    plain = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n" + TABLE
    text = "".join(tagged(plain, prefix)).replace("\n", ending) + WATCHDOG.format(7)
    found = read_worker(text, "/logs/job7/node.log")
    entries = [row for row in events(found) if row["pattern"] == "torchrun_failure_entry"]
    assert [(row["rank"], row["local_rank"], row["exit_code"], row["pid"], row["host"]) for row in entries] == [
        (3, 1, -15, 27161, "gpu-1.cluster"),
        (0, 0, -6, 27160, "gpu-1.cluster"),
    ]
    assert [json.loads(row["capture"])["is_root_cause"] for row in entries] == [False, True]
    assert [row["rank"] for row in events(found) if row["pattern"] == "nccl_watchdog_timeout"] == [7]


@pytest.mark.parametrize("lost", [4, 5, 13, 14])
def test_the_end_of_a_failure_table(lost: int) -> None:
    """An entry of torchrun's table is read too where the lines above it are lost, as in a log that was cut."""
    found = read_worker("".join(TABLE.splitlines(keepends=True)[lost:]) + WATCHDOG.format(7), "/logs/job7/node.log")
    entries = [row for row in events(found) if row["pattern"] == "torchrun_failure_entry"]
    every = [(3, 1, -15, "gpu-1.cluster"), (0, 0, -6, "gpu-1.cluster")]
    assert [(row["rank"], row["local_rank"], row["exit_code"], row["host"]) for row in entries] == every[lost // 10 :]
    assert [row["rank"] for row in events(found) if row["pattern"] == "nccl_watchdog_timeout"] == [7]


def test_tables_of_two_nodes_stay_apart() -> None:
    """Failure tables of two tasks whose lines mix keep their entries, and lines of others between them are read."""
    first, second = tagged(TABLE, "0: "), tagged(TABLE.replace("gpu-1", "gpu-2").replace("-6", "-9"), "1: ")
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    found = read_worker("".join([*mixed[:20], WATCHDOG.format(7), *mixed[20:]]), "/logs/job7/node.log")
    entries = [row for row in events(found) if row["pattern"] == "torchrun_failure_entry"]
    assert [(row["host"], row["rank"], row["exit_code"]) for row in entries] == [
        ("gpu-1.cluster", 3, -15),
        ("gpu-2.cluster", 3, -15),
        ("gpu-1.cluster", 0, -6),
        ("gpu-2.cluster", 0, -9),
    ]
    assert [row["rank"] for row in events(found) if row["pattern"] == "nccl_watchdog_timeout"] == [7]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_stack_of_a_collective(ending: str) -> None:
    """The frames after `Stack trace of the failed collective` give the place in the user's code."""
    text = (
        "[rank0]:[E1120 23:05:53.399878061 ProcessGroupNCCL.cpp:801] Stack trace of the failed collective: \n"
        "#0 all_reduce from /opt/conda/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:3252\n"
        "#1 sync_gradients from /workspace/asr/train_ctc.py:163\n"
        "#2 main from /workspace/asr/train_ctc.py:200\n" + WATCHDOG.format(1)
    )
    found = read_worker(text.replace("\n", ending), "/logs/j/n.log")
    row = events(found)[0]
    assert (row["rank"], row["user_location"]) == (0, "/workspace/asr/train_ctc.py:163")
    assert len(json.loads(row["capture"])["frames"]) == 3
    assert [event["rank"] for event in events(found)] == [0, 1]


def test_a_watchdog_line() -> None:
    """The watchdog's line gives sequence number, operation, sizes and times."""
    (row,) = events(read_worker(WATCHDOG.format(4), "/logs/j/n.log"))
    names = ("rank", "seq_num", "op_type", "numel_in", "numel_out", "timeout_ms", "ran_for_ms", "group_rank")
    assert tuple(row[name] for name in names) == (4, 629, "ALLREDUCE", 8, 8, 60000, 60044, 4)


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=37205392.0. Some of your processes may have been"
        " killed by the cgroup out-of-memory handler.",
        "srun: error: node107: task 0: Out Of Memory",
        "[Fri Nov 20 23:05:55 2026] Out of memory: Killed process 3112 (python)",
        "RuntimeError: DataLoader worker (pid 27205) is killed by signal: Killed. ",
    ],
)
def test_memory_kills(line: str) -> None:
    """Every form in which SLURM, the kernel and PyTorch tell of a kill is recognised."""
    found = read_worker("step 5\n" + line + "\n")
    assert len(events(found)) == 1 and events(found)[0]["severity"] == "error"


def test_a_signal_banner_has_an_epoch() -> None:
    """A signal banner in epoch seconds needs no zone."""
    (row,) = events(read_worker("*** SIGABRT received at time=1731932000 on cpu 3 ***\n"))
    assert (text_of(row["local_ns"]), row["zone_offset_s"]) == ("2024-11-18 12:13:20", 0)


# --- times ---------------------------------------------------------------------------------------------------------


def test_lines_borrow_the_stamp_before_them() -> None:
    """A line without a stamp has the time of the nearest stamped line before it, else of the first after it."""
    text = (
        TRACEBACK
        + "KeyError: 1\n2026-11-20 10:00:00,000 INFO start\nplain\n2026-11-20 10:00:07,000 INFO step\nplain\n"
        + TRACEBACK
        + "KeyError: 2\n"
    )
    found = read_worker(text)
    assert [(text_of(row["local_ns"]), row["stamp_source"]) for row in events(found)] == [
        ("2026-11-20 10:00:00", "after"),
        ("2026-11-20 10:00:07", "before"),
    ]


@pytest.mark.parametrize("before", range(270_000, 330_000, 8_000))
def test_a_stamp_far_back_is_found(before: int) -> None:
    """The stamp before a traceback is found also where one of the reader's blocks ends between the two."""
    plain = "loss is falling slowly\n"
    text = plain * (before // len(plain)) + "2026-11-20 10:09:59,000 INFO [rank 0] step 7\n" + plain * 2_000
    rows = events(read_worker(WATCHDOG.format(0) + text + TRACEBACK + "KeyError: 1\n", "/logs/j/n.log"))
    assert text_of(rows[-1]["local_ns"]) == "2026-11-20 10:09:59"


def test_the_span_of_a_file() -> None:
    """First and last time of a file are those of its first and last stamped lines, recognised or not."""
    text = (
        "2026-11-20 10:00:00,000 INFO start\nplain\n" + WATCHDOG.format(0) + "2026-11-21 10:00:07,000 INFO end\nplain\n"
    )
    summary = read_worker(text).summary
    assert (text_of(summary.first_ns), text_of(summary.last_ns)) == ("2026-11-20 10:00:00", "2026-11-21 10:00:07")


# --- attempts and last words ---------------------------------------------------------------------------------------

START = "Initializing distributed: GLOBAL_RANK: {0}, MEMBER: {1}/2\n"


def test_attempts_in_one_file() -> None:
    """After the failure table a start line begins the next attempt; ranks that announce themselves late do not."""
    run = START.format(0, 1) + START.format(1, 2) + "Epoch 0: 5\n" + WATCHDOG.format(0) + TABLE
    found = read_worker("torchrun\n" + run + run, "/logs/j/n.log")
    attempts = [(row["pattern"], row["attempt_no"]) for row in events(found)]
    assert {number for _, number in attempts} == {0, 1}
    assert [number for _, number in attempts] == sorted(number for _, number in attempts)
    assert sum(number for pattern, number in attempts if pattern == "nccl_watchdog_timeout") == 1
    assert {row["attempt_no"] for row in found.worker_tail} == {0, 1}


# --- damage --------------------------------------------------------------------------------------------------------


def test_progress_bars_share_a_line() -> None:
    """A message behind a progress bar on one line is read, with its line number; the bar before it is left out."""
    bar = "\r  0%|          | 0/9 [00:01<?, 1.47s/it]\r 11%|█         | 1/9 [00:02<?, 1.47s/it]"
    text = "start\n" + bar + "\r" + WATCHDOG.format(2) + bar + WATCHDOG.format(3)
    found = read_worker(text, "/logs/j/n.log")
    assert told(found, "line_no", "rank") == [(2, 2), (3, 3)]
    assert events(found)[0]["text"].startswith("[rank2]:")
    assert found.summary.line_count == 3


def test_colours_are_taken_out() -> None:
    """Terminal colours change neither what is recognised nor what is stored."""
    plain = RETRY.format("2026-11-20 22:14:51,102", 1) + "".join(tagged(TRACEBACK + "KeyError: 1", "[rank2]: "))
    coloured = "".join(f"\x1b[31;1m{line[:9]}\x1b[0m{line[9:-1]}\x1b[K\n" for line in plain.splitlines(keepends=True))
    cleaned = [
        [{k: v for k, v in row.items() if k != "byte_offset"} for row in events(read_worker(text, "/logs/j/n.log"))]
        for text in (plain, coloured)
    ]
    assert cleaned[0] == cleaned[1] != []


def test_two_messages_on_one_line() -> None:
    """Of messages that processes wrote into one line the line is read, and keeps what stands on it."""
    line = WATCHDOG.format(0).rstrip() + WATCHDOG.format(1)
    found = read_worker(line, "/logs/j/n.log")
    assert told(found, "line_no", "rank", "seq_num") == [(1, 0, 629)]
    assert events(found)[0]["text"] == line.rstrip()


def test_nul_bytes_and_bad_utf8() -> None:
    """NUL runs and bytes that are no UTF-8 cost no event around them."""
    text = (
        b"\0" * 500
        + WATCHDOG.format(0).encode()
        + b"\0" * 500
        + b"\n"
        + b"\xff\xfe broken \xc3\n"
        + WATCHDOG.format(1).encode()
    )
    found = read_worker(text.rstrip(b"\n") + b"\0" * 9, "/logs/j/n.log")
    assert told(found, "rank", "line_no") == [(0, 1), (1, 4)]
    raw = "".join(tagged(TRACEBACK + "RuntimeError: caf", "[rank5]: ")).encode().rstrip() + b"\xe9 \xff\n"
    (row,) = events(read_worker(raw))
    assert row["text"].endswith("RuntimeError: caf\ufffd \ufffd")


def test_carriage_returns_change_nothing() -> None:
    """A log with Windows line ends gives the rows of the log itself."""
    text = (
        "2026-11-20 10:00:00,000 INFO x\n"
        + "".join(tagged(TRACEBACK + "KeyError: 1", "[rank2]: "))
        + WATCHDOG.format(0)
        + TABLE
    )
    cleaned = []
    for version in (text, text.replace("\n", "\r\n")):
        found = read_worker(version, "/logs/j/n.log")
        tables: dict[str, list[Row]] = {
            name: getattr(found, name) for name in ("worker_line", "worker_tail", "rejected_line")
        }
        cleaned.append(
            {n: [{k: v for k, v in r.items() if k != "byte_offset"} for r in rows] for n, rows in tables.items()}
        )
    assert cleaned[0] == cleaned[1]
