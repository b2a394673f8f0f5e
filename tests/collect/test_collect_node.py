"""What the collector does on a node: stacks and dumps of its ranks, and what is said where they cannot be had."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

import pytest
from fake_proc import FakeProc, fake_py_spy

from aiscorr.collect import dumps, gather, node, stacks, wire
from aiscorr.collect.processes import read_processes


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    """A /proc of our own with an init."""
    made = FakeProc(tmp_path / "proc")
    made.add(1, 0, "/sbin/init", name="systemd")
    return made


def records_of(options: node.NodeOptions) -> list[wire.Record]:
    """What a node tells."""
    told: list[wire.Record] = []
    node.collect(options, told.append)
    assert [told[0]["kind"], told[-1]["kind"]] == ["hello", "end"]
    return told


def test_stacks(proc: FakeProc, tmp_path: Path) -> None:
    """Every rank and child gives a file with rank and host in its name, holding what py-spy prints."""
    proc.add(20, 1, "python train.py", "RANK=3 WORLD_SIZE=5 SLURM_JOB_ID=71")
    proc.add(21, 20, "python train.py", "RANK=3 WORLD_SIZE=5 SLURM_JOB_ID=71", name="pt_data_worker")
    program = fake_py_spy(tmp_path, 'echo "Process $3: python train.py $*"')
    folder = wire.Folder(str(tmp_path / "out"))
    options = node.NodeOptions(
        "stacks", "gpu4.site", proc=str(proc.root), stack=stacks.StackOptions(program, native=True, nonblocking=True)
    )
    node.collect(options, folder.take)
    texts = {Path(path).name: Path(path).read_text() for path in folder.files}
    assert texts == {
        "job71_gpu4_rank3_pid20.txt": "Process 20: python train.py dump --pid 20 --native --nonblocking\n",
        "job71_gpu4_rank3_pid20_child21.txt": "Process 21: python train.py dump --pid 21 --native --nonblocking\n",
    }
    summary = gather.summarise(folder, (), ())
    assert (summary.ranks, summary.missing_ranks, summary.is_complete) == ((3,), (0, 1, 2, 4), False)


@pytest.mark.parametrize(
    ("script", "what", "try_this"),
    [
        ("echo 'Error: Permission Denied: Try running again' >&2; exit 1", "Permission Denied", "SYS_PTRACE"),
        ("echo 'Error: Failed to suspend process' >&2; exit 1", "suspend", "--nonblocking"),
        ("echo 'Error: No such process (os error 3)' >&2; exit 1", "No such process", "has ended meanwhile"),
        ("exit 1", "code 1 and no word", "by hand"),
        ("exec sleep 60", "within the time limit", "--nonblocking"),
    ],
)
def test_stacks_that_fail(proc: FakeProc, tmp_path: Path, script: str, what: str, try_this: str) -> None:
    """A stack that cannot be had is a note with the reason and what to do, and takes no longer than the limit."""
    proc.add(20, 1, "python train.py", "RANK=3")
    options = node.NodeOptions("stacks", "gpu4", 0.5, proc=str(proc.root),
                               stack=stacks.StackOptions(fake_py_spy(tmp_path, script)))  # fmt: skip
    (note,) = [record for record in records_of(options) if record["kind"] == "note"]
    assert what in note["what"] and try_this in note["try_this"] and note["rank"] == 3


def test_without_py_spy(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where py-spy is not installed that is said, with how to get it."""
    monkeypatch.setenv("PATH", "/nowhere")
    proc.add(20, 1, "python train.py", "RANK=3")
    told = records_of(node.NodeOptions("stacks", "a", proc=str(proc.root)))
    (note,) = [record for record in told if record["kind"] == "note"]
    assert "py-spy is not installed" in note["what"] and "pip install py-spy" in note["try_this"]


@pytest.mark.parametrize(
    ("scope", "uid", "words"),
    [("1", 500, "kernel.yama.ptrace_scope=0"), ("3", 500, "reboot"), ("0", 500, ""), ("0", 501, "uid 501")],
)
def test_permission(
    proc: FakeProc, monkeypatch: pytest.MonkeyPatch, scope: str, uid: int, words: str
) -> None:  # fmt: skip
    """What forbids to look into a process is told from its user and Yama's scope; root and CAP_SYS_PTRACE may."""
    monkeypatch.setattr(os, "geteuid", lambda: 500)
    yama = proc.root / "sys/kernel/yama"
    yama.mkdir(parents=True)
    (yama / "ptrace_scope").write_text(f"{scope}\n")
    proc.add(20, 1, "python train.py")
    process = read_processes(str(proc.root))[20]
    owned = type(process)(**{**vars(process), "uid": uid})
    said = stacks.permission_advice(owned, str(proc.root))
    assert words in said and bool(words) == bool(said)
    (proc.root / "self").mkdir()
    (proc.root / "self" / "status").write_text("CapEff:\t0000000000080000\n")
    assert stacks.permission_advice(owned, str(proc.root)) == ""


class Rank:
    """A thread that reads a pipe as PyTorch's monitor thread does, and then writes a dump."""

    def __init__(self, stem: str, dump: Path, content: bytes) -> None:
        self.path, self.dump, self.content = f"{stem}.pipe", dump, content
        self.read = b""
        os.mkfifo(self.path)
        self.handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        end = time.monotonic() + 20
        while not self.read and time.monotonic() < end:
            try:
                self.read = os.read(self.handle, 128)
            except BlockingIOError:
                pass
            time.sleep(0.01)
        self.dump.write_bytes(self.content)

    def close(self) -> None:
        """Ends it."""
        self.thread.join()
        os.close(self.handle)


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Rank]:
    """Rank 5, with an older dump of its own."""
    (tmp_path / "nccl_trace_rank_5").write_bytes(b"older.")
    made = Rank(str(tmp_path / "fr_5"), tmp_path / "nccl_trace_rank_5", b"\x80\x02}.")
    yield made
    made.close()


def test_dump_by_pipe(proc: FakeProc, tmp_path: Path, rank: Rank) -> None:
    """A rank is told through its pipe to dump, once, and the dump that it then writes is gathered."""
    pipe, file = f"PIPE_FILE={tmp_path}/fr_", f"TEMP_FILE={tmp_path}/nccl_trace_rank_"
    stems = f"TORCH_NCCL_DEBUG_INFO_{pipe} TORCH_NCCL_DEBUG_INFO_{file}"
    proc.add(20, 1, "python train.py", f"RANK=5 SLURM_JOB_ID=71 {stems}")
    told = records_of(node.NodeOptions("dumps", "gpu4", 10, proc=str(proc.root)))
    (given,) = [record for record in told if record["kind"] == "file"]
    assert (given["name"], given["content"]) == ("job71_gpu4_nccl_trace_rank_5", b"\x80\x02}.")
    assert rank.read == b"1\n" and not [record for record in told if record["kind"] == "note"]


def test_pipe_is_found_among_open_files(proc: FakeProc, tmp_path: Path, rank: Rank) -> None:
    """The pipe that a process has open is used when its environment does not name it."""
    proc.add(20, 1, "python train.py", "HOME=/home/a", files=(rank.path, "/dev/nvidia0"))
    prefixes = (f"{tmp_path}/nccl_trace_rank_",)
    options = node.NodeOptions("dumps", "gpu4", 10, dump_prefixes=prefixes, proc=str(proc.root))
    (file,) = [record for record in records_of(options) if record["kind"] == "file"]
    assert file["name"] == "gpu4_nccl_trace_rank_5" and rank.read == b"1\n"


def test_nobody_reads_the_pipe(proc: FakeProc, tmp_path: Path) -> None:
    """A pipe without reader, one that is full, and a file that is no pipe never make the collector wait."""
    os.mkfifo(tmp_path / "a")
    (tmp_path / "b").write_text("")
    (tmp_path / "c").symlink_to(tmp_path / "b")
    assert "nobody reads the pipe" in dumps.press_pipe(str(tmp_path / "a"), 0.1)
    assert dumps.press_pipe(str(tmp_path / "b"), 0.1) == "is no pipe" and (tmp_path / "b").read_text() == ""
    assert "cannot be written" in dumps.press_pipe(str(tmp_path / "c"), 0.1)
    reader = os.open(tmp_path / "a", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "a", os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while os.write(writer, b"x" * 4096):
            pass
    assert "full" in dumps.press_pipe(str(tmp_path / "a"), 0.1)
    os.close(reader)
    os.close(writer)


def test_dump_without_pipe(proc: FakeProc, tmp_path: Path) -> None:
    """Without pipe the dump written since the start of the process is taken and said to be so; an older one is not."""
    stem = tmp_path / "nccl_trace_rank_"
    for number, second in ((0, 1005), (1, 1500)):
        Path(f"{stem}{number}").write_bytes(b"}.")
        os.utime(f"{stem}{number}", (second, second))
        proc.add(20 + number, 1, "python train.py", f"RANK={number} TORCH_FR_DUMP_TEMP_FILE={stem}", started=10)
    told = records_of(node.NodeOptions("dumps", "gpu4", 5, proc=str(proc.root)))
    assert [record["name"] for record in told if record["kind"] == "file"] == ["gpu4_nccl_trace_rank_1"]
    said = [record["what"] for record in told if record["kind"] == "note" and record["rank"] == 0]
    assert len(said) == 1 and "no pipe for dumps" in said[0]
    calm = records_of(node.NodeOptions("dumps", "gpu4", 5, is_triggered=False, proc=str(proc.root)))
    assert [record["what"] for record in calm if record["kind"] == "note"] == ["process 20 has written no dump"]


class Plane(BaseHTTPRequestHandler):
    """A worker control plane."""

    def do_POST(self) -> None:
        """Hands out a dump."""
        body = b"\x80\x02}." if self.path == "/handler/dump_nccl_trace_pickle" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""

    def address_string(self) -> str:
        """Nobody."""
        return "unix"


def test_dump_by_control_plane(proc: FakeProc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the worker control plane is on the dump comes from it, and where it does not answer that is said."""
    monkeypatch.chdir(tmp_path)
    proc.add(20, 1, "python train.py", f"RANK=5 TORCH_WORKER_SERVER_SOCKET={tmp_path}/plane HOME={tmp_path}")
    with UnixStreamServer("plane", Plane) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        told = records_of(node.NodeOptions("dumps", "gpu4", 5, proc=str(proc.root)))
        server.shutdown()
        thread.join()
    (file,) = [record for record in told if record["kind"] == "file"]
    assert (file["name"], file["content"]) == ("gpu4_nccl_trace_rank_5", b"\x80\x02}.")
    told = records_of(node.NodeOptions("dumps", "gpu4", 5, proc=str(proc.root)))
    assert any("does not answer" in str(record.get("what")) for record in told)
