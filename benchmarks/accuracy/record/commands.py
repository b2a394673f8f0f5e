"""How a node of a job is started: the command of its launcher, its environment, where its output goes."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.record.scenario import Layout, Scenario, Start

_SLURM_JOB = 482913


@dataclass(frozen=True)
class Plan:
    """A node of a scenario that is to be started."""

    scenario: Scenario
    node: int
    port: int
    work: Path
    logs: Path

    def command(self, python: str, endpoint: str) -> list[str]:
        """The command line of the launcher."""
        script, *given = [self._filled(one, endpoint) for one in self.scenario.job]
        if self.scenario.start is Start.SPAWN:
            return [python, script, *given]
        if self.scenario.start is Start.TASKS:
            return [python, "run_tasks.py", *self._tasks(), script, *given]
        return [python, "-m", "torch.distributed.run", *self._torchrun(endpoint), script, *given]

    def with_own_shared_memory(self, command: list[str]) -> list[str]:
        """The same command, below a small /dev/shm of its own where the scenario wants one."""
        size = self.scenario.shared_memory_mib.get(self.node)
        if size is None:
            return command
        mount = f"mount -t tmpfs -o size={size}m tmpfs /dev/shm && exec {shlex.join(command)}"
        return ["unshare", "--mount", "sh", "-c", mount]

    def streams(self) -> tuple[Path, Path]:
        """Where stdout and stderr of the launcher go."""
        layout = self.scenario.layout
        if layout is Layout.TASKS:
            return self.work / f"launcher-{self.node}.out", self.work / f"launcher-{self.node}.out"
        if layout.is_merged:
            name = f"slurm-{_SLURM_JOB}" if layout is Layout.LABELS else f"error-{_SLURM_JOB}-{self.node}"
            return self.logs / f"{name}.out", self.logs / f"{name}.out"
        name = "torchrun" if self.scenario.start is Start.TORCHRUN else "train"
        name = name if self.scenario.nodes == 1 else f"{name}.node{self.node}"
        return self.logs / f"{name}.out", self.logs / f"{name}.err"

    def environment(self, endpoint: str) -> dict[str, str]:
        """The environment of the launcher."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        own = {
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "PG_TIMEOUT_S": str(self.scenario.timeout_s),
            "AIS_ENDPOINT": endpoint,
            "NO_PROXY": "127.0.0.1",
            "LOG_STYLE": self.scenario.style,
        }
        if self.scenario.start is not Start.TORCHRUN:
            own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port)}
        per_node = self.scenario.node_env.get(self.node, {}).items()
        return {**kept, **own, **self.scenario.env, **{name: self._filled(value, endpoint) for name, value in per_node}}

    def _filled(self, text: str, endpoint: str) -> str:
        """The text with the job's port and the address and port of the object server in place of their names."""
        text = text.replace("{port}", str(self.port)).replace("{store_port}", endpoint.rpartition(":")[2])
        return text.replace("{store}", endpoint)

    def _torchrun(self, endpoint: str) -> list[str]:
        scenario, layout = self.scenario, self.scenario.layout
        options = [f"--nnodes={scenario.nodes}", f"--nproc-per-node={scenario.ranks_per_node}"]
        options += [f"--node-rank={self.node}", "--master-addr=127.0.0.1", f"--master-port={self.port}"]
        if layout.has_files:
            name = "torchrun-logs" if scenario.nodes == 1 else f"torchrun-logs-node{self.node}"
            options += [f"--log-dir={self.logs / name}", "--redirects=3"]
        if layout is Layout.SRUN_TEE:
            options += [f"--log-dir={self.work / f'elastic-{self.node}'}"]
        if layout in (Layout.TEE, Layout.SRUN_TEE):
            options += ["--tee=3"]
        return [*options, *(self._filled(one, endpoint) for one in scenario.launcher)]

    def _tasks(self) -> list[str]:
        scenario = self.scenario
        count = scenario.ranks_per_node
        options = [f"--first={self.node * count}", f"--count={count}", f"--world={scenario.nodes * count}"]
        if scenario.layout is Layout.LABELS:
            options += ["--label"]
        if scenario.layout is Layout.TASKS:
            options += [f"--output={self.logs}/error-{_SLURM_JOB}-%t.out"]
        return [*options, *scenario.launcher]
