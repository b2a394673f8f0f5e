"""The stage of an incident: that of the scenario generator, with a mesh of process groups, noise and wrong clocks.

A fault is a function of a scene, as a scenario is one of a stage. The scene adds what the plan asks for around it.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fixtures.generator.draw import Draw
from fixtures.generator.flightdump import dump
from fixtures.generator.model import Expect, LogFile, Node, Params, Scenario
from fixtures.generator.parallel import Mesh, Standstill, stand_still
from fixtures.generator.stage import Recipe, Stage
from fixtures.generator.trainend import JobRun

#: Version that a dump of a PyTorch release carries, by the first release that wrote it.
DUMP_VERSIONS = {202: "list", 203: "1.4", 204: "2.1", 205: "2.4", 208: "2.9", 209: "2.10"}
RECORDS_BY_DEFAULT = 211
#: What a fault of a disk is not drawn with: it would hide it.
DISKS = ("disk_busy", "mountpath_before")


@dataclass(frozen=True)
class Setting:
    """What an incident has beside its parameters: groups, noise, dumps, wrong clocks (seconds ahead)."""

    mesh: Mesh | None = None
    noise: tuple[str, ...] = ()
    has_dumps: bool = False
    lost_dumps: tuple[int, ...] = ()
    skews: tuple[tuple[int, float], ...] = ()
    cluster_skew_s: float = 0.0


Noise = Callable[["Scene"], None]


@dataclass
class Around:
    """The noise of an incident, by when it is made: before the fault is known, at the opening, after the fault."""

    first: list[Noise] = field(default_factory=list)
    opening: list[Noise] = field(default_factory=list)
    last: list[Noise] = field(default_factory=list)


class Scene(Stage):
    """A stage with all that a plan asks for."""

    def __init__(self, name: str, number: int, params: Params, setting: Setting, around: Around) -> None:
        super().__init__(Recipe(name, number, name, params, lambda stage: stage.close("", ())), params)
        self.setting = setting
        self.around = around
        self.hung_at: int | None = None
        self.raised: list[str] = []
        self.standstill: Standstill | None = None
        self.is_noise = False
        self.noise_marks: set[tuple[int, str]] = set()
        if setting.mesh is not None:
            self.job.job = replace(self.job.job, grid=(setting.mesh.tensor, setting.mesh.pipeline))
        self._listen()
        for noise in around.first:
            self.make_noise(noise)

    def _listen(self) -> None:
        """Remembers the last line of every exception of the job, as a witness of the truth."""
        job, speak = self.job, self.job.raise_on

        def raise_on(at: int, rank: int, text: str) -> None:
            self.raised.append(text.rstrip("\n").split("\n")[-1])
            speak(at, rank, text)

        job.raise_on = raise_on  # type: ignore[method-assign]

    def make_noise(self, noise: Noise) -> None:
        """Runs a noise; what it marks is no cause."""
        self.is_noise = True
        noise(self)
        self.is_noise = False

    def mark(self, at: int, what: str) -> int:
        """Remembers an event, and whether it is noise."""
        if self.is_noise:
            self.noise_marks.add((at, what))
        return super().mark(at, what)

    def bystander(self) -> Node:
        """A target that has no part in the fault."""
        return self.other_target(self.victim, self.draw.child("bystander").whole(0, 50))

    def other_rank(self, salt: int) -> int:
        """A rank that has no part in the fault, where there is one."""
        draw, world = self.draw.child("other rank", salt), self.params.ranks
        return (self.culprit + 1 + draw.whole(0, world - 2)) % world

    def open(self, job: JobRun | None = None, until_step: int | None = None, save_every: int = 60) -> None:
        """Opens, then makes the noise that needs a job that trains."""
        super().open(job, until_step, save_every)
        if job is None or job is self.job:
            for noise in self.around.opening:
                self.make_noise(noise)

    def hang(self, at: int, *absent: int, step: int | None = None, job: JobRun | None = None) -> int:
        """The ordinary hang, in the groups of the mesh if there is one."""
        run = job or self.job
        if run is not self.job:
            return super().hang(at, *absent, step=step, job=job)
        self.hung_at = at
        mesh = self.setting.mesh
        if mesh is None:
            return super().hang(at, *absent, step=step, job=job)
        still = stand_still(run, mesh, absent, self.step if step is None else step, at, broken=not absent)
        self.standstill = still
        self.mark(at, f"job {run.job.job_id}: {len(still.stuck)} ranks wait in collectives")
        end = run.hang(at, still.stuck, still.positions, still.positions)
        self.mark(end, f"job {run.job.job_id} has ended")
        return end

    def close(
        self, story: str, expects: tuple[Expect, ...], assumptions: tuple[str, ...] = (), until: int = 0
    ) -> Scenario:
        """The noise of the end, wrong clocks (a fault may have set one of its own), the dumps."""
        for noise in self.around.last:
            self.make_noise(noise)
        wrong = dict(self.cluster.skews)
        for node in self.cluster.nodes:
            self.cluster.skews[node.node_id] = round(self.setting.cluster_skew_s * 1e9)
        for index, ahead in self.setting.skews:
            self.cluster.skews[self.cluster.target(index).node_id] = round(ahead * 1e9)
        for node_id, ahead in wrong.items():
            self.cluster.skews[node_id] += ahead
        made = super().close(story, expects, assumptions, until)
        return replace(made, files=(*made.files, *self._dumps()))

    def _dumps(self) -> list[LogFile]:
        if self.standstill is None or not self.setting.has_dumps:
            return []
        torch = self.params.torch_release
        version = DUMP_VERSIONS[max(order for order in DUMP_VERSIONS if order <= torch.order)]
        stem = "comm_lib_trace_rank_" if torch.order >= 209 else "nccl_trace_rank_"
        found = []
        for rank in self.standstill.job.programs:
            if rank in self.setting.lost_dumps:
                continue
            data = pickle.dumps(dump(self.standstill.job, rank, version), protocol=2)
            found.append(LogFile(f"workers/{self.job.job.job_id}/{stem}{rank}", data))
        return found

    def cause(self) -> int:
        """The moment of the first cause: the first mark that is neither noise nor ordinary life."""
        ordinary = (
            "starts training",
            "logs collected",
            "rotate-logs",
            "has ended",
            "wait in collective",
            "ends normally",
        )
        found = [
            one.at
            for one in self.happenings
            if (one.at, one.what) not in self.noise_marks and not any(word in one.what for word in ordinary)
        ]
        return min(found, default=self.at)


def readers(stage: Stage) -> list[int]:
    """Ranks that read data, without the culprit, in an order of chance: those first in their tensor group and stage."""
    mesh = stage.setting.mesh if isinstance(stage, Scene) else None
    ranks = [one for one in range(stage.params.ranks) if mesh is None or not (mesh.place(one)[0] or mesh.place(one)[2])]
    return stage.draw.child("readers").shuffled([one for one in ranks if one != stage.culprit])


def writers_to(stage: Stage, draw: Draw) -> list[int]:
    """Ranks whose shard of a checkpoint lies on the victim: the culprit, and as many as chance would give it."""
    world, share = stage.params.ranks, max(1, stage.params.ranks // len(stage.cluster.targets))
    others = draw.shuffled([rank for rank in range(world) if rank != stage.culprit])
    return sorted([stage.culprit, *others[: min(share, 8) - 1]])


def describe(setting: Setting) -> str:
    """The setting as one line for the truth."""
    mesh = setting.mesh
    shape = f"tp{mesh.tensor} pp{mesh.pipeline} dp{mesh.data} ep{mesh.expert}" if mesh else "one group"
    return json.dumps(
        {"groups": shape, "dumps": setting.has_dumps, "skews": setting.skews, "all": setting.cluster_skew_s}
    )
