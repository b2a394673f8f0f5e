"""Collecting from several hosts at once, over stand-ins for srun, pdsh, ds_ssh and ssh that run the command here."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import Command
from fake_proc import fake_py_spy

#: Runs the last word of the command for each host, which sees the processes of its own only; n3 cannot be reached.
LAUNCHER = """\
#!{python}
import os, subprocess, sys
name, folder = os.path.basename(sys.argv[0]), {folder!r}
words = sys.argv[1:]
with open(os.path.join(folder, "calls"), "a") as calls:
    calls.write(name + " " + " ".join(words[:-1]) + "\\n")
failed = 0
for host in ["n1", "n2", "n3"]:
    if name == "ssh" and host not in words:
        continue
    if host == "n3":
        print(f"{{name}}: n3: No route to host", file=sys.stderr)
        failed = 1
        continue
    pids = open(os.path.join(folder, host)).read().split()
    command = words[-1] + "".join(f" --pid {{pid}}" for pid in pids)
    environment = {{**os.environ, "FAKE_HOST": host, "PYTHONPATH": folder}}
    ended = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True)
    label = f"{{host}}: " if name in ("pdsh", "ds_ssh") else ""
    for line in ended.stdout.splitlines():
        print(label + line)
    sys.stderr.write(ended.stderr)
sys.exit(failed)
"""
#: Gives a process the name of the host it stands for.
SITE = 'import os, socket\nif "FAKE_HOST" in os.environ:\n    socket.gethostname = lambda: os.environ["FAKE_HOST"]\n'
SLEEPER = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two hosts with two ranks each of a job of five, and a third that does not answer."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITE)
    for name in ("srun", "pdsh", "ds_ssh", "ssh"):
        (folder / name).write_text(LAUNCHER.format(python=sys.executable, folder=str(folder)))
        (folder / name).chmod(0o755)
    squeue = folder / "squeue"
    squeue.write_text('#!/bin/sh\necho "n[1-3]"\n')
    squeue.chmod(0o755)
    (folder / "hostfile").write_text("n1 slots=2\nn2 slots=2\nn3 slots=2\n")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with ExitStack() as stack:
        for rank in range(4):
            environment = {"RANK": str(rank), "WORLD_SIZE": "5", "SLURM_JOB_ID": "5120341", "PATH": "/usr/bin:/bin"}
            ranks = subprocess.Popen(SLEEPER, env=environment, stdout=subprocess.PIPE)
            trainer = stack.enter_context(ranks)
            stack.callback(trainer.kill)
            assert trainer.stdout is not None and trainer.stdout.readline()
            with open(folder / f"n{1 + rank // 2}", "a") as host:
                host.write(f"{trainer.pid} ")
        yield folder


WAYS = {
    "slurm": ("--job", "5120341"),
    "pdsh": ("--hosts", "n[1-3]", "--via", "pdsh"),
    "ds_ssh": ("--hostfile", "fleet/hostfile", "--via", "ds_ssh"),
    "ssh": ("--hostfile", "fleet/hostfile"),
}


@pytest.mark.parametrize("way", WAYS)
def test_all_ranks_in_one_folder(way: str, fleet: Path, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of all ranks arrive with host and rank in the name; the rank and the host that are missing are named."""
    monkeypatch.chdir(fleet.parent)
    spy = fake_py_spy(fleet.parent, 'echo "Process $3: python train.py"')
    outcome = run("collect", "stacks", *WAYS[way], "--py-spy", spy, "--python", sys.executable, "-o", "out")
    assert outcome.code == 3
    names = sorted(path.name.partition("_pid")[0] for path in Path("out").iterdir())
    assert names == [f"job5120341_{place}" for place in ("n1_rank0", "n1_rank1", "n2_rank2", "n2_rank3")]
    assert "4 files of 4 ranks in " in outcome.out and "missing ranks: 4\n" in outcome.out
    assert "n3" in outcome.out and "No route to host" in outcome.err
    calls = (fleet / "calls").read_text()
    assert calls.startswith({"slurm": "srun --jobid 5120341", "ds_ssh": "ds_ssh -f"}.get(way, way))
    assert way != "slurm" or "--gres=gpu:0 --overlap" in calls


def test_the_time_limit(fleet: Path, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A py-spy that never ends does not keep the collection: its ranks are named, with what to try."""
    monkeypatch.chdir(fleet.parent)
    spy = fake_py_spy(fleet.parent, "sleep 60")
    began = time.monotonic()
    outcome = run("collect", "stacks", *WAYS["pdsh"], "--py-spy", spy, "--python", sys.executable, "--limit", "2")
    assert time.monotonic() - began < 30
    assert outcome.code == 1 and "no answer of py-spy within the time limit" in outcome.out
    assert "missing ranks: 0, 1, 2, 3, 4" in outcome.out and "--nonblocking" in outcome.out
