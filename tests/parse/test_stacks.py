"""Stack dumps as people gather them: of many processes, behind labels, with variables, of the debug server."""

from __future__ import annotations

import json

import pytest
from lines import Reading, read_text

from aiscorr.parse.batches import RowBatch
from aiscorr.schema.tables import FILE_TABLES

WAITING = """\
Process {pid}: /env/bin/python -u train.py
Python v3.11.7 (/env/bin/python3.11)

Thread {pid} (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    main (train.py:130)
    <module> (train.py:146)
"""


def innermost(found: Reading, *names: str) -> list[tuple[object, ...]]:
    """Columns of the innermost frame of each main thread, in the order of the file."""
    return [tuple(row[name] for name in names) for row in found.stack_frame if row["frame_no"] == 0 and row["is_main"]]


@pytest.mark.parametrize(("first", "second"), [("gpu004", "gpu-05.site"), ("0", "12")])
def test_labels_of_a_launcher(first: str, second: str) -> None:
    """Lines of two nodes, mixed behind the host of pdsh or the task of srun, are taken apart."""
    dumps = zip(WAITING.format(pid=71).splitlines(), WAITING.format(pid=72).splitlines(), strict=True)
    text = "".join(f"{first}: {one}\n{second}: {two}\n" for one, two in dumps)
    found = read_text(text, "/job/stacks/all.txt")
    assert found.summary.kind == "stack_dump"
    place = ("host", "task_no") if not first.isdigit() else ("task_no", "host")
    values = (first, second) if not first.isdigit() else (int(first), int(second))
    assert innermost(found, "pid", *place, "function", "line_no") == [
        (71, values[0], None, "all_reduce", 9),
        (72, values[1], None, "all_reduce", 10),
    ]


def test_headings_between_dumps() -> None:
    """`tail` names the file before each dump, dshbak the host; the rank in a file's name counts."""
    text = f"==> n1/rank3.txt <==\n{WAITING.format(pid=71)}\n==> gpu005 <==\n{WAITING.format(pid=72)}"
    found = read_text(text, "/job/stacks/all.txt")
    assert innermost(found, "pid", "rank", "host") == [(71, 3, None), (72, None, "gpu005")]
    rule = "-" * 16
    text = "".join(f"{rule}\n{host}\n{rule}\n{WAITING.format(pid=7)}" for host in ("gpu1", "gpu2"))
    assert innermost(read_text(text, "/job/all.txt"), "dump_no", "host") == [(0, "gpu1"), (1, "gpu2")]


def test_children() -> None:
    """With --subprocesses a child names its parent; the line of dashes between them is no heading."""
    child = WAITING.format(pid=72).replace("\n\nThread", "\nParent Process 71: /env/bin/python -u train.py\n\nThread")
    found = read_text(f"{WAITING.format(pid=71)}\n{'-' * 80}\n{child}", "/job/rank0.txt")
    assert innermost(found, "pid", "parent_pid", "rank", "host") == [(71, None, 0, None), (72, 71, 0, None)]
    assert {row["command"] for row in found.stack_frame} == {"/env/bin/python -u train.py"}


VARIABLES = """\
Process 77: python train.py
Python v3.11.7 (/env/bin/python3.11)

Thread 77 (idle): "MainThread"
    recv (libc.so.6)
    SocketIO.readinto (socket.py:706)
        Arguments:
            self: <SocketIO at 0x7fb657ad88e0>
    get (aistore/sdk/obj.py:9)
        Arguments:
            url: "http://10.0.0.1:51080/v1/objects/b/shard-1.tar?provider=ais"
            n: 3
        Locals:
            obj_name: "shard-1.tar"
            options: {"a": 1}
"""


def test_variables() -> None:
    """Of --locals the variables that may name what is read are kept, with their frame; native calls are frames too."""
    found = read_text(VARIABLES, "/job/rank1.txt")
    kept = {"url": '"http://10.0.0.1:51080/v1/objects/b/shard-1.tar?provider=ais"', "obj_name": '"shard-1.tar"'}
    assert [(row["function"], row["locals"]) for row in found.stack_frame] == [
        ("recv", None),
        ("SocketIO.readinto", None),
        ("get", json.dumps(kept)),
    ]


def thread(pid: int, function: str, variables: list[dict[str, object]] | None = None) -> dict[str, object]:
    """A thread as py-spy 0.4 writes it."""
    frame = {"name": function, "filename": "/app/train.py", "module": None, "short_filename": "train.py", "line": 4,
             "locals": variables, "is_entry": True}  # fmt: skip
    return {"pid": pid, "thread_id": 1, "thread_name": None, "os_thread_id": pid, "active": True, "owns_gil": False,
            "frames": [frame], "process_info": None}  # fmt: skip


def test_json_with_variables() -> None:
    """The line of a frame is found although its variables have names too; its number tells the main thread."""
    shown = [{"name": "url", "addr": 1, "arg": True, "repr": '"ais://b/o.tar"'}, {"name": "n", "repr": "3"}]
    text = json.dumps([thread(5, "fetch", shown), {**thread(5, "wait"), "os_thread_id": 6}], indent=2)
    found = read_text(text, "/job/rank1.json")
    names = text.split("\n")
    lines = [number for number, line in enumerate(names, 1) if '"name": "fetch"' in line or '"name": "wait"' in line]
    assert [(row["function"], row["is_main"], row["line_no"]) for row in found.stack_frame] == [
        ("fetch", True, lines[0]),
        ("wait", False, lines[1]),
    ]
    assert found.stack_frame[0]["locals"] == json.dumps({"url": '"ais://b/o.tar"'})


def test_json_dumps_behind_each_other() -> None:
    """A file to which two dumps of one process were appended holds both."""
    text = json.dumps([thread(5, "a")]) + "\n" + json.dumps([thread(5, "b"), thread(6, "c")]) + "\n"
    found = read_text(text, "/job/rank1.json")
    assert innermost(found, "dump_no", "pid", "function") == [(0, 5, "a"), (1, 5, "b"), (2, 6, "c")]
    broken = read_text(text[:-20], "/job/rank1.json")
    assert broken.summary.reject_count == 1


SERVER = """\
PARTIAL DATA: 2/3 workers responded
  Rank 2: ConnectionError: refused

=== Rank 0: http://gpu004:43665/handler/dump_traceback? ===
Current thread 0x00007fc222ffd6c0 (most recent call first):
  <no Python frame>

Thread 0x00007fc24b240b80 (most recent call first):
  File "/env/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/app/train.py", line 10 in <module>

=== Rank 1: http://gpu005:34135/handler/dump_traceback? ===
Current thread 0x00007fb2467fc6c0 [python] (most recent call first):
  File "/app/train.py", line 9 in waits
  File "/app/train.py", line 10 in <module>

=== Rank 2: http://gpu006:34135/handler/dump_traceback? ===
Error: 503
"""


def test_files_of_the_debug_server() -> None:
    """stacks_<time>.txt of torch.distributed.debug gives rank, host and moment; a rank that did not answer is said."""
    found = read_text(SERVER, "/job/debug_dumps/stacks_20261120_213810.txt")
    assert found.summary.kind == "stack_dump"
    assert innermost(found, "rank", "host", "function", "source_line", "line_no") == [
        (0, "gpu004", "all_reduce", 3252, 9),
        (1, "gpu005", "waits", 9, 14),
    ]
    assert {row["taken_ns"] for row in found.stack_frame} == {1795210690000000000}
    assert [row["text"] for row in found.rejected_line] == ["Rank 2: ConnectionError: refused", "Error: 503"]


def test_pages_of_the_debug_server() -> None:
    """A saved page is read as well, of py-spy and of faulthandler."""
    body = WAITING.format(pid=71).replace("<module>", "&lt;module&gt;")
    page = (
        "\n<!doctype html>\n<head>\n</head>\n<nav>\n    <h1>Torch Distributed Debug Server</h1>\n</nav>\n"
        "        <h2>Rank 0: http://gpu004:43665/handler/pyspy_dump?nonblocking=1</h2>\n        \n"
        f"            <pre>{body}</pre>\n        <h2>Rank 1: http://gpu005:4/handler/pyspy_dump?</h2>\n"
        "            <p>Failed to fetch: status=503</p>\n"
    )
    found = read_text(page, "/job/pyspy.html")
    assert [(row["rank"], row["host"], row["pid"], row["function"]) for row in found.stack_frame] == [
        (0, "gpu004", 71, "all_reduce"),
        (0, "gpu004", 71, "main"),
        (0, "gpu004", 71, "<module>"),
    ]
    assert found.summary.reject_count == 1


def test_a_crash_stays_a_log() -> None:
    """Stacks that faulthandler prints into a log behind an error are part of the log."""
    text = "Fatal Python error: Segmentation fault\n\n" + SERVER.partition("===\n")[2].partition("===")[0]
    assert read_text(text, "/job/rank0.log").summary.kind == "worker_log"


def test_errors_of_py_spy() -> None:
    """A process that py-spy could not look into is a rejected line with its words; the others are read."""
    text = f"{WAITING.format(pid=71)}\nError: Permission Denied: Try running again with elevated permissions\n"
    found = read_text(text, "/job/rank0.txt")
    assert [row["line_no"] for row in found.rejected_line] == [9]
    assert len(innermost(found, "pid")) == 1


def test_equal_bytes_of_two_ranks() -> None:
    """Two ranks in containers, or one rank at two moments, may give the same bytes; each file counts."""
    paths = ("/job/t10/rank0.txt", "/job/t10/rank1.txt", "/job/t40/rank0.txt", "/copy/job/t10/rank0.txt")
    hashes = [read_text(WAITING.format(pid=1), path).summary.content_hash for path in paths]
    assert len(set(hashes)) == 3
    assert hashes[3] == hashes[0]


TRACE = """\
 --- modulename: train, funcname: main
0.00 train.py(6):     for i in range(3):
0.00 train.py(7):         g(i)
step 1 loss 3.0
 --- modulename: train, funcname: g
0.01 train.py(3):     x=n+1
0.02 train.py(6):     for i in range(3):
"""
NICER = """\
4712         torch.distributed.distributed_c10d:3201 all_reduce
4712 0:00:12 loader.py:   131:         batch = next(it)
4713 0:00:13 loader.py:   131:         batch = next(it)
4712 0:00:14 loader.py:   132:         use(batch)
"""


def test_traces_are_counted() -> None:
    """A trace gives each place once, with its count and where it stands first and last; other lines are left out."""
    found = read_text(TRACE, "/job/trace-gpu-04-3-4711.txt")
    assert (found.summary.kind, found.summary.line_count, found.summary.path_local_rank) == ("stack_dump", 7, 3)
    names = ("function", "source_line", "call_count", "first_line_no", "line_no", "is_last")
    assert [tuple(row[name] for name in names) for row in found.trace_call] == [
        ("train:main", None, 1, 1, 1, False),
        (None, 6, 2, 2, 7, True),
        (None, 7, 1, 3, 3, False),
        ("train:g", None, 1, 5, 5, True),
        (None, 3, 1, 6, 6, False),
    ]
    assert {(row["host"], row["local_rank"], row["pid"]) for row in found.trace_call} == {("gpu-04", 3, 4711)}


def test_traces_of_nicer_trace() -> None:
    """NicerTrace prints module, line and process; processes are counted apart."""
    found = read_text(NICER, "/job/trace.txt")
    names = ("pid", "function", "source_file", "source_line", "clock", "is_last")
    assert [tuple(row[name] for name in names) for row in found.trace_call] == [
        (4712, "torch.distributed.distributed_c10d:all_reduce", None, 3201, None, True),
        (4712, None, "loader.py", 131, "0:00:12", False),
        (4713, None, "loader.py", 131, "0:00:13", True),
        (4712, None, "loader.py", 132, "0:00:14", True),
    ]


BIG = "9" * 30
ABSURD = {
    "text": f'Process {BIG}: x\nPython v3.1\n\nThread {BIG} (idle): "MainThread"\n    f (a.py:{BIG})\n    g (a.py)\n',
    "json": json.dumps([{**thread(10**30, "f"), "frames": [{"name": 5, "filename": 7, "line": 10**20}, 3]}, [1]]),
    "server": f"=== Rank {BIG}: http://x/handler/dump_traceback? ===\nThread 0x0 (most recent call first):\n",
    "trace": f"{BIG} 0:00:01 a.py:     {BIG}: x\n" * 9,
}


@pytest.mark.parametrize("text", ABSURD.values(), ids=ABSURD)
def test_absurd_numbers(text: str) -> None:
    """Numbers that no column holds, and values of a wrong kind, lose themselves and nothing else."""
    found = read_text(text, "/job/rank0.txt")
    for name in ("stack_frame", "trace_call"):
        batch = RowBatch(next(table for table in FILE_TABLES if table.name == name))
        for row in found.tables.get(name, []):
            batch.add(row)
        assert batch.take().num_rows == len(found.tables.get(name, []))


def test_a_log_with_places_is_no_trace() -> None:
    """A log whose lines begin with file and line number is a log, for it enters no function."""
    lines = [f"train.py(131): step {number} loss 3.0" for number in range(20)]
    lines.append("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert read_text("\n".join(lines), "/job/rank3.log").summary.kind == "worker_log"
