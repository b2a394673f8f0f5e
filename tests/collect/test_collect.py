"""Collecting from a running job: which processes are ranks, and how hosts are reached."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command
from fake_proc import FakeProc, fake_py_spy

from aiscorr.collect import fleet, gather, node, stacks, wire
from aiscorr.collect.processes import read_processes
from aiscorr.collect.ranks import Found, find_ranks
from aiscorr.errors import UsageError

TORCH = "/opt/lib/libtorch_cuda.so"


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    """A /proc of our own with an init."""
    made = FakeProc(tmp_path / "proc")
    made.add(1, 0, "/sbin/init", name="systemd")
    return made


def found_in(proc: FakeProc, **options: object) -> Found:
    """The ranks of a fake /proc."""
    return find_ranks(read_processes(str(proc.root)), str(proc.root), **options)  # type: ignore[arg-type]


def ranks_of(found: Found) -> dict[int | None, tuple[int, list[int]]]:
    """Rank to process id and those of its children."""
    return {item.rank: (item.process.pid, [child.pid for child in item.children]) for item in found.ranks}


LAUNCHERS = {
    "torchrun": "/venv/bin/python /venv/bin/torchrun --nproc-per-node 2 train.py",
    "torch.distributed.run": "python -u -m torch.distributed.run train.py",
    "torch.distributed.launch": "python -X dev -m torch.distributed.launch train.py",
    "accelerate": "/venv/bin/python3.11 /venv/bin/accelerate launch train.py",
    "deepspeed": "python -u -m deepspeed.launcher.launch --world_info=e30= train.py",
    "own": "python start_all.py",
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_of_launchers(proc: FakeProc, launcher: str) -> None:
    """Whatever launches them, the ranks are found with their DataLoader workers, and the launcher is none."""
    proc.add(10, 1, LAUNCHERS[launcher], "SLURM_PROCID=0 SLURM_JOB_ID=77")
    for rank in (0, 1):
        own = f"RANK={4 + rank} WORLD_SIZE=8 SLURM_PROCID=0 SLURM_JOB_ID=77"
        proc.add(20 + rank, 10, "python -u train.py", own, maps=TORCH)
        proc.add(30 + rank, 20 + rank, "python -u train.py", own, name="pt_data_worker", maps=TORCH)
        proc.add(40 + rank, 20 + rank, "python -c from multiprocessing.resource_tracker import main;main(5)", own)
        proc.add(50 + rank, 20 + rank, "sh -c nvidia-smi", own, name="sh")
    found = found_in(proc)
    assert ranks_of(found) == {4: (20, [30]), 5: (21, [31])}
    assert {(item.world_size, item.job_id, item.rank_source) for item in found.ranks} == {(8, "77", "RANK")}
    assert 10 in dict(found.skipped)


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ("SLURM_PROCID=3 SLURM_NTASKS=4", 3),
        ("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 SLURM_PROCID=0", 2),
        ("PMI_RANK=1 PMI_SIZE=2", 1),
        ("RANK=6 SLURM_PROCID=1", 6),
        ("RANK= SLURM_PROCID=1", 1),
    ],
)
def test_rank_variables(proc: FakeProc, environment: str, rank: int) -> None:
    """The rank is that of RANK, of MPI, of PMI, or of SLURM, in this order; shells around it are none."""
    proc.add(20, 1, "bash run.sh", environment, name="bash")
    proc.add(21, 20, "python train.py", environment)
    assert ranks_of(found_in(proc)) == {rank: (21, [])}


def test_wrapper_with_the_same_rank(proc: FakeProc) -> None:
    """A Python program without torch that starts the trainer is a wrapper, although it has the rank too."""
    proc.add(20, 1, "python wrap.py", "RANK=3")
    proc.add(21, 20, "python train.py", "RANK=3", maps=TORCH)
    proc.add(22, 21, "python -c spawn_main(tracker_fd=5) --multiprocessing-fork", "RANK=3", maps=TORCH)
    assert ranks_of(found_in(proc)) == {3: (21, [22])}


def test_lightning(proc: FakeProc) -> None:
    """Lightning's script launcher makes the other ranks of a node children of rank 0, which has no variables."""
    proc.add(20, 1, "python train.py fit", "SLURM_PROCID=0", maps=TORCH)
    for rank in (1, 2):
        made = f"LOCAL_RANK={rank} NODE_RANK=0 WORLD_SIZE=3 SLURM_PROCID=0"
        proc.add(20 + rank, 20, "/usr/bin/python train.py fit", made, maps=TORCH)
    proc.add(30, 20, "python train.py fit", "SLURM_PROCID=0", name="pt_data_worker", maps=TORCH)
    assert ranks_of(found_in(proc)) == {0: (20, [30]), 1: (21, []), 2: (22, [])}


def test_spawned_ranks(proc: FakeProc) -> None:
    """Ranks of mp.spawn, whose RANK /proc does not show, are told by the pipe for dumps, or remain unknown."""
    proc.add(20, 1, "python train.py", "HOME=/home/a")
    spawned = "python -c from multiprocessing.spawn import spawn_main --multiprocessing-fork"
    proc.add(21, 20, spawned, "HOME=/home/a", files=("/dev/nvidia0", "/tmp/fr_7.pipe"))
    proc.add(22, 20, spawned, "HOME=/home/a", files=("/dev/nvidia1",))
    assert ranks_of(found_in(proc)) == {7: (21, []), None: (22, [])}


def test_left_over(proc: FakeProc) -> None:
    """A process of an earlier start whose launcher is gone, and one that has ended, are skipped with the reason."""
    proc.add(10, 1, "torchrun train.py")
    proc.add(20, 1, "python train.py", "RANK=0 SLURM_JOB_ID=7", started=5)
    proc.add(21, 10, "python train.py", "RANK=0 SLURM_JOB_ID=7", started=50)
    proc.add(22, 10, "python train.py", "RANK=1 SLURM_JOB_ID=7", state="Z")
    found = found_in(proc)
    assert ranks_of(found) == {0: (21, [])}
    assert dict(found.skipped)[20] == "left over from an earlier start of rank 0"
    assert dict(found.skipped)[22] == "has ended already"


def test_workers_without_trainer(proc: FakeProc) -> None:
    """Workers that outlive their trainer are no ranks."""
    proc.add(20, 1, "python train.py", "RANK=0", name="pt_data_worker")
    proc.add(21, 1, "python -B -c spawn_main(tracker_fd=5) --multiprocessing-fork", "RANK=0")
    found = found_in(proc)
    assert found.ranks == [] and set(dict(found.skipped).values()) == {"a worker whose trainer is gone"}


def test_one_job_of_several(proc: FakeProc) -> None:
    """With a job or a process id only its processes are taken."""
    proc.add(20, 1, "python train.py", "RANK=0 SLURM_JOB_ID=7")
    proc.add(30, 1, "python train.py", "RANK=0 TORCHELASTIC_RUN_ID=blue")
    proc.add(40, 1, "python notebook.py")
    assert ranks_of(found_in(proc, job="7")) == {0: (20, [])}
    assert ranks_of(found_in(proc, job="blue")) == {0: (30, [])}
    assert ranks_of(found_in(proc, roots=(30,))) == {0: (30, [])}
    assert ranks_of(found_in(proc, roots=(40,))) == {None: (40, [])}
    assert len(found_in(proc).ranks) == 2


def test_files_of_proc_that_vanish(proc: FakeProc) -> None:
    """A process that ends while it is read is left out."""
    (proc.root / "99").mkdir()
    assert set(read_processes(str(proc.root))) == {1}


@pytest.mark.parametrize("prefix", ["", "node4: ", "3: ", "  7: "])
def test_lines_come_back(prefix: str) -> None:
    """Files survive as lines behind the prefix of any launcher, in any order and between other output."""
    content = os.urandom(20_000) + b"x" * 100_000
    lines = wire.encode(wire.file_record("a", "one", content, 5.0)) + wire.encode({"kind": "end", "host": "a"})
    assert max(map(len, lines)) < 4096
    told: list[wire.Record] = []
    receiver = wire.Receiver(told.append)
    for line in [b"Warning: added key\n", *reversed(lines), b"@aiscorr1 {half\n", b"@aiscorr1 7\n"]:
        receiver.take(prefix.encode() + line)
    receiver.close()
    assert [record["kind"] for record in told] == ["end", "file"] and told[1]["content"] == content
    assert len(receiver.talk) == 3


def test_lost_lines() -> None:
    """A file of which a line is lost is not written, and said."""
    told: list[wire.Record] = []
    receiver = wire.Receiver(told.append)
    for line in wire.encode(wire.file_record("a", "one", os.urandom(9000), 5.0))[1:]:
        receiver.take(line)
    receiver.close()
    assert [record["kind"] for record in told] == ["note"] and "one did not come through" in told[0]["what"]


def test_names_of_nodes_are_not_trusted(tmp_path: Path) -> None:
    """A file name of a node stays inside the folder, and never replaces a file."""
    folder = wire.Folder(str(tmp_path / "out"))
    for name in ("../../etc/x", "a.txt", "a.txt", ""):
        folder.take(wire.file_record("h", name, b"1", 5.0))
    assert sorted(folder.files) == sorted(str(path) for path in (tmp_path / "out").iterdir())
    assert {Path(path).name for path in folder.files} >= {"a.txt", "again2_a.txt", "unnamed"}


def test_hosts() -> None:
    """Hosts are taken from lists with ranges and from host files of DeepSpeed and MPI."""
    assert fleet.expand_hosts("gpu[01-03,07],b1") == ("gpu01", "gpu02", "gpu03", "gpu07", "b1")
    assert fleet.expand_hosts("r[1-2]n[1-2]") == ("r1n1", "r1n2", "r2n1", "r2n2")
    listed = "# all\nnode1 slots=8\n\nnode2:8\nroot@node3 # x\nnode1\n"
    assert fleet.hosts_of_file(listed) == ("node1", "node2", "root@node3")
    for bad in ("-oProxyCommand=x", "a;b", "$(x)"):
        with pytest.raises(UsageError):
            fleet.expand_hosts(bad)


def test_commands_of_launchers() -> None:
    """Each launcher gets the node program in one argument, SLURM without GPU and beside the job's step."""
    options = node.NodeOptions("stacks", "", job="77")
    made = {
        via: [command for _, command in fleet.commands(fleet.Fleet(via, "77", ("n1", "n2"), "/job/hostfile"), options)]
        for via in fleet.VIA
    }
    assert shlex.join(made["slurm"][0]).startswith(
        "srun --jobid 77 --gres=gpu:0 --overlap --ntasks-per-node=1 --nodes 2 --nodelist n1,n2 "
    )
    assert made["pdsh"][0][:8] == ["pdsh", "-R", "ssh", "-t", "10", "-u", "65", "-w"] and made["pdsh"][0][8] == "n1,n2"
    assert made["ds_ssh"][0][:3] == ["ds_ssh", "-f", "/job/hostfile"]
    assert [command[-2] for command in made["ssh"]] == ["n1", "n2"]
    remote = made["pdsh"][0][-1]
    assert {command[-1] for commands in made.values() for command in commands} == {remote}
    # ds_ssh hands its words on unquoted: they are split at blanks, expanded, and joined again.
    assert " ".join(remote.split()) == remote and not set("*?[]%$`\\\n") & set(remote) and len(remote) < 100_000


def test_options_travel() -> None:
    """The options of a node are what they were when they have gone through its command line."""
    options = node.NodeOptions(
        "dumps", socket.gethostname(), 7.5, "77", (3, 4), False,
        stacks.StackOptions("/x y/py-spy", True, True, True, True), ("/tmp/a_",), False,
    )  # fmt: skip
    assert node.options_of(node.arguments_of(options)) == options


def test_the_program_of_a_node_stands_alone(tmp_path: Path) -> None:
    """The node program runs on a Python without aiscorr, finds a real process by its rank and tells it."""
    assert "aiscorr.collect" not in fleet.node_program()
    environment = {"RANK": "2", "WORLD_SIZE": "3", "PATH": "/usr/bin:/bin"}
    sleeper = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    with subprocess.Popen(sleeper, env=environment, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None and trainer.stdout.readline()
        # The stand-in for py-spy prints the process it is asked for.
        program = fake_py_spy(tmp_path, 'echo "Process $3: train"')
        options = node.NodeOptions("stacks", "", 20, roots=(trainer.pid,), stack=stacks.StackOptions(program))
        command = fleet.node_command(fleet.Fleet("ssh", python=f"{sys.executable}"), options)
        told: list[wire.Record] = []
        receiver = wire.Receiver(told.append, "n1")
        talk = gather.run_one(["sh", "-c", f"cd / && {command}"], 30, receiver)
        trainer.kill()
    assert talk == []
    (file,) = [record for record in told if record["kind"] == "file"]
    assert file["name"].endswith(f"_rank2_pid{trainer.pid}.txt")
    assert file["content"] == f"Process {trainer.pid}: train\n".encode()


def fake_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ssh for which n1 and n2 are this host and n3 is not reachable."""
    path = folder / "bin" / "ssh"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\nfor last; do :; done\ncase "$*" in *" n3 "*) echo "n3: No route to host" >&2; exit 255;; esac\n'
        'exec sh -c "$last"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


def test_over_ssh(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts that answer are collected from, the other is named, and the exit code says that something is missing."""
    fake_ssh(tmp_path, monkeypatch)
    spy = fake_py_spy(tmp_path, 'echo "Process $3: train"')
    environment = {"RANK": "1", "WORLD_SIZE": "2", "PATH": "/usr/bin:/bin"}
    sleeper = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    with subprocess.Popen(sleeper, env=environment, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None and trainer.stdout.readline()
        outcome = run(
            "collect", "stacks", "--hosts", "n[1-3]", "--pid", str(trainer.pid), "--py-spy", spy,
            "--python", sys.executable, "-o", "out",
        )  # fmt: skip
        trainer.kill()
    assert outcome.code == 3
    assert "no answer from n3" in outcome.err and "No route to host" in outcome.err
    assert "2 files of 1 ranks in " in outcome.out and "missing ranks: 0\n" in outcome.out
    assert len(list(Path("out").iterdir())) == 2


def test_print(run: Command) -> None:
    """--print gives a command for a shell and does nothing else."""
    outcome = run("collect", "dumps", "--job", "77", "--via", "slurm", "--print", "-o", "here")
    assert outcome.code == 0 and "must be on a file system that they share" in outcome.err
    words = shlex.split(outcome.out)
    assert words[:5] == ["srun", "--jobid", "77", "--gres=gpu:0", "--overlap"]
    assert words[-1].endswith(f"dumps --limit 60 --job 77 --out {Path.cwd()}/here")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("stacks", "--via", "ssh"), "ssh needs hosts"),
        (("stacks", "--via", "slurm"), "SLURM needs a job"),
        (("dumps", "--via", "ds_ssh", "--hosts", "a"), "needs a host file"),
        (("dumps", "--hosts", "a;b"), "is no list of hosts"),
        (("dumps", "--via", "pdsh", "--hosts", "a"), "pdsh cannot be run"),
        (("stacks", "--via", "slurm", "--job", "7"), "squeue cannot be run"),
    ],
)
def test_usage(run: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str) -> None:
    """What is asked for in a wrong way, and a launcher that is not there, is a usage error."""
    monkeypatch.setenv("PATH", "/nowhere")
    outcome = run("collect", *arguments)
    assert (outcome.code, outcome.out) == (2, "") and words in outcome.err
