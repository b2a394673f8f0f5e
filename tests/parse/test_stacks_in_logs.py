"""Stacks that stand in a log: of faulthandler, or of py-spy called by what watches the job."""

from __future__ import annotations

import json

import pytest
from lines import Reading, events, read_text

from aiscorr.parse.stamps import iso_ns

STEP = (
    "[NeMo I 2026-11-20 23:02:{second:02} nemo_logging:381] Epoch 0: step 1, "
    "global_step={second}, train_step_timing in s=0.5\n"
)
TIMER = """\
Timeout (0:05:00)!
Thread 0x00007f33662e5240 (most recent call first):
  File "/env/lib/python3.11/threading.py", line 327 in wait
  File "/app/prefetch.py", line 117 in _fill

Thread 0x00007f7b0b01e640 (most recent call first):
  File "/app/prefetch.py", line 61 in next_batch
  File "/app/train.py", line 212 in <module>
"""
WATCHED = """\
1: watcher: rank 12 made no step for 26 s, py-spy dump --pid 8101
1: Process 8101: /env/bin/python3 -u train.py
1: Python v3.11.9 (/env/bin/python3.11)
1:
1: Thread 8101 (idle): "MainThread"
1:     _try_get_data (torch/utils/data/dataloader.py:1275)
1:         Arguments:
1:             self: <Iterator at 0x7fb657ad88e0>
1:             url: "http://10.0.0.1:51080/v1/objects/b/x.tar"
1:     <module> (train.py:212)
1: watcher: rank 12 made no step for 27 s, py-spy dump --pid 8222
1: Process 8222: /env/bin/python3 -c from multiprocessing.spawn import spawn_main
1: Python v3.11.9 (/env/bin/python3.11)
1:
1: Thread 8222 (active+gil): "MainThread"
1:     normalize (textnorm.py:160)
1: another process 8300 is not looked at
1: nor is this
1: nor this
1:     sub (re.py:1)
"""


def frames(found: Reading, *names: str) -> list[tuple[object, ...]]:
    """Columns of every frame, in the order of the file."""
    return [tuple(row[name] for name in names) for row in found.stack_frame]


def test_timer_of_faulthandler() -> None:
    """A log keeps its lines, its stacks have its time, and the thread that began in a module is the main one."""
    found = read_text(STEP.format(second=7) + TIMER + STEP.format(second=9), "/job/rank5.log")
    assert found.summary.kind == "worker_log"
    assert frames(found, "function", "line_no", "is_main", "rank", "dump_no") == [
        ("wait", 4, False, 5, 0),
        ("_fill", 5, False, 5, 0),
        ("next_batch", 8, True, 5, 0),
        ("<module>", 9, True, 5, 0),
    ]
    assert set(frames(found, "local_ns", "attempt_no")) == {(iso_ns("2026-11-20 23:02:07"), 0)}
    assert [row["step"] for row in found.step_line if row["kept"] == "last"] == [9, 7]
    assert {row["rank"] for row in found.worker_tail} == {5}
    assert not [row for row in found.worker_tail if "Thread" in row["text"] or "Timeout" in row["text"]]


def test_timers_of_two_processes() -> None:
    """Each timer that fires begins another process; a log of several ranks does not tell whose it is."""
    found = read_text(STEP.format(second=7) + TIMER + TIMER, "/job/node0.log")
    assert sorted(set(frames(found, "dump_no", "rank"))) == [(0, None), (1, None)]


def test_ranks_of_one_file_that_print_their_own_stacks() -> None:
    """Behind the line in which a rank says why, its stacks are its own; another rank's begin anew."""
    said = '{{"ts": 1795212355.1, "rank": {rank}, "msg": "{msg}"}}\n'
    stacks = TIMER.partition("\n")[2].replace("Thread", "Current thread", 1)
    text = "".join(said.format(rank=rank, msg="watchdog: no step for 45 s") + stacks for rank in (1, 0))
    found = read_text(text + said.format(rank=1, msg="bye") + stacks)
    assert sorted(set(frames(found, "dump_no", "rank"))) == [(0, 1), (1, 0), (2, None)]


@pytest.mark.parametrize("word", ["Fatal Python error: Segmentation fault", "Fatal Python error: Aborted"])
def test_a_dying_process_is_no_witness(word: str) -> None:
    """Where a process was killed says nothing of what it waited for."""
    text = STEP.format(second=7) + f"{word}\n\n" + TIMER.partition("\n")[2] + STEP.format(second=9)
    found = read_text(text, "/job/rank5.log")
    assert found.stack_frame == []
    assert found.summary.event_count > 0


def test_a_process_that_its_own_watchdog_ended() -> None:
    """Where another thread aborts a process, the main thread is shown where it waited."""
    guard = 'Current thread 0x00007f409dd246c0 (most recent call first):\n  File "guard.py", line 40 in run\n\n'
    main = 'Thread 0x00007f40bffdbb80 (most recent call first):\n  File "/py/socket.py", line 706 in readinto\n'
    main += '  File "train.py", line 80 in <module>\n'
    found = read_text(STEP.format(second=7) + "Fatal Python error: Aborted\n\n" + guard + main, "/job/rank5.log")
    assert frames(found, "function", "is_main", "rank") == [
        ("run", False, 5),
        ("readinto", True, 5),
        ("<module>", True, 5),
    ]
    alone = main.replace("Thread", "Current thread", 1)
    assert read_text(f"Fatal Python error: Aborted\n\n{alone}", "/job/rank5.log").stack_frame == []


def test_py_spy_of_a_watcher() -> None:
    """The line above a dump that names its process tells the rank; the label tells the task."""
    found = read_text(f"1: {STEP.format(second=7)}" * 2 + WATCHED, "/job/slurm-1.out")
    assert frames(found, "pid", "rank", "task_no", "function", "dump_no", "owns_gil") == [
        (8101, 12, 1, "_try_get_data", 0, False),
        (8101, 12, 1, "<module>", 0, False),
        (8222, 12, 1, "normalize", 1, True),
    ]
    shown = json.loads(found.stack_frame[0]["locals"])
    assert shown == {"url": '"http://10.0.0.1:51080/v1/objects/b/x.tar"'}


def test_ranks_that_dump_at_once() -> None:
    """Lines of two ranks behind their tags are taken apart, and so are the lines of a log between them."""
    lines = [f"[rank{rank}]: {line}\n" for line in TIMER.splitlines() for rank in (2, 3)]
    lines.insert(5, STEP.format(second=8))
    found = read_text(STEP.format(second=7) + "".join(lines), "/job/node0.log")
    assert sorted(set(frames(found, "rank", "function"))) == [
        *((2, name) for name in ("<module>", "_fill", "next_batch", "wait")),
        *((3, name) for name in ("<module>", "_fill", "next_batch", "wait")),
    ]


def test_numbers_of_stacks() -> None:
    """Stacks that a log holds at several places are counted on."""
    text = STEP.format(second=7) + TIMER + STEP.format(second=9) * 3 + TIMER
    found = read_text(text, "/job/rank5.log")
    assert sorted(set(frames(found, "dump_no", "local_ns"))) == [
        (0, iso_ns("2026-11-20 23:02:07")),
        (1, iso_ns("2026-11-20 23:02:09")),
    ]


@pytest.mark.parametrize("line", ["Process 12: done", "Process 12: reading shard 7 of 9"])
def test_words_that_only_look_alike(line: str) -> None:
    """A line about a process without stacks behind it stays a line of the log."""
    found = read_text(STEP.format(second=7) + f"{line}\n" + STEP.format(second=9) * 4, "/job/rank5.log")
    assert found.stack_frame == []
    assert found.rejected_line == []


def test_lines_that_all_begin_like_a_process() -> None:
    """A program that puts its process before every line loses none of them."""
    error = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    words = "".join(f"Process {number}: {error}\n" for number in range(3))
    found = read_text(STEP.format(second=7) * 4 + "Process 9: ready\n" + words, "/job/rank5.log")
    assert found.stack_frame == []
    assert [row["line_no"] for row in events(found) if "out of memory" in row["text"]] == [6, 7, 8]
