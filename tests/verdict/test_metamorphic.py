"""What is concluded of an incident stays, or follows, when the incident is told in another way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import retold
from scenes import SHARED, Library, parts_of, truth_of
from truths import Json, failures_of


@dataclass(frozen=True)
class Scene:
    """An incident, how many ranks run on each node, and of how many ranks output is left where ranks are missing.

    Of a cut one, AIStore's logs end before the failure.
    """

    source: str
    verdict: str
    first: int
    size: int = 4
    is_cut: bool = False

    def copied(self, library: Library, target: Path) -> Path:
        """A copy that may be changed."""
        shutil.copytree(library.folder(self.source), target)
        if self.is_cut:
            retold.cut_storage(target / "ais")
        return target


SCENES = {
    "node killed": Scene("target_killed_short_batch", "guilty", first=4),
    "node not reached": Scene("stale_membership_stall", "guilty", first=6),
    "rank in a checkpoint": Scene("noisy_storage_then_deadlock", "innocent", first=2),
    "storage not seen": Scene("target_stopped_plain_get", "undetermined", first=7, is_cut=True),
    "object missing": Scene("incidents/k13_missing_object_after_rebalance", "undetermined", first=2, size=2),
}
AT_HAND = {name: scene for name, scene in SCENES.items() if "/" not in scene.source or SHARED.is_dir()}
#: One of each verdict is told in each run, others where slow tests are asked for.
MORE = ("node not reached", "object missing")
MISSING = f"the recorded incident is not available: {SHARED} is missing"


def _rename(scene: Scene, folder: Path) -> None:
    retold.permute_ranks(folder, scene.size)
    retold.rename_all(folder)


def _add_more(scene: Scene, folder: Path) -> None:
    retold.add_earlier_download(folder)
    retold.add_day_after(folder)


Change = Callable[[Scene, Path], None]
CHANGES: dict[str, Change] = {
    "as it is": lambda scene, folder: None,
    "first ranks": lambda scene, folder: retold.keep_first_ranks(folder, scene.first),
    "more logs": _add_more,
    "other names": _rename,
}
SHIFTS = [900, 2700, 7200]
CHANGES |= {f"shifted {s}": partial(lambda scene, folder, by: retold.shift_storage(folder, by), by=s) for s in SHIFTS}


@dataclass(frozen=True)
class Answer:
    """What is said of a job's failure."""

    failure_class: str
    verdict: str
    ranks: frozenset[int]
    hosts: frozenset[str]
    nodes: frozenset[str]
    confidence: float


def answer_of(failure: Json) -> Answer:
    """The answer in a report."""
    ranks = frozenset(failure["culprit_ranks"])
    return Answer(
        failure["failure_class"],
        failure["storage_verdict"],
        ranks,
        frozenset(rank["host"] for rank in failure["ranks"] if rank["rank"] in ranks and rank["host"]),
        frozenset(node["node_id"] for node in failure["ais_nodes"]),
        failure["confidence"],
    )


def surer(was: Answer, now: Answer) -> list[str]:
    """What is said now beyond what was said; of a verdict left open, the confidence is that it must be."""
    more = []
    if now.verdict not in (was.verdict, "undetermined"):
        more.append(f"storage {was.verdict} -> {now.verdict}")
    if now.failure_class not in (was.failure_class, "undetermined"):
        more.append(f"class {was.failure_class} -> {now.failure_class}")
    if now.ranks - was.ranks or now.nodes - was.nodes:
        more.append(f"blamed {sorted(was.ranks)} {sorted(was.nodes)} -> {sorted(now.ranks)} {sorted(now.nodes)}")
    if now.verdict == was.verdict != "undetermined" and now.confidence > was.confidence + 0.05:
        more.append(f"confidence {was.confidence} -> {now.confidence}")
    return more


class Told:
    """Scenes told in some way, several in one database for each way; what is said of them is read once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.said: dict[tuple[str, bool], list[Json]] = {}

    def _as_it_is(self, scenes: dict[str, Scene]) -> list[Json]:
        """Scenes that nothing was taken from are told alone, as other tests need them."""
        whole = [self.library.database(scene.source) for scene in scenes.values() if not scene.is_cut]
        cut = {name: scene for name, scene in scenes.items() if scene.is_cut}
        return [failure for db in whole for failure in failures_of(db)] + (self._made("as it is", cut) if cut else [])

    def _made(self, change: str, scenes: dict[str, Scene]) -> list[Json]:
        label = f"retold {change} {min(scenes)}".replace(" ", "-")

        def paths() -> list[Path]:
            found: list[Path] = []
            for name, scene in scenes.items():
                folder = scene.copied(self.library, self.library.base / label / name.replace(" ", "-"))
                CHANGES[change](scene, folder)
                found += [*parts_of(folder), *folder.glob("ais-more")]
            return found

        return failures_of(self.library.made(label, paths))

    def all(self, change: str, name: str) -> list[Answer]:
        """The answers to one scene."""
        key = change, name in MORE
        if key not in self.said:
            scenes = {other: scene for other, scene in AT_HAND.items() if (other in MORE) == (name in MORE)}
            self.said[key] = self._as_it_is(scenes) if change == "as it is" else self._made(change, scenes)
        expected = truth_of(self.library.folder(SCENES[name].source))["expect"]
        jobs = [expect["job_id"] for expect in expected]
        return [answer_of(failure) for failure in self.said[key] if failure["job_id"] in jobs]

    def one(self, change: str, name: str) -> Answer:
        """The answer to one scene, where there is to be one."""
        (answer,) = self.all(change, name)
        return answer


@pytest.fixture(scope="module")
def told(library: Library) -> Told:
    """All scenes, told in every way that is asked for."""
    return Told(library)


def _marks(name: str) -> list[pytest.MarkDecorator]:
    missing = pytest.mark.skipif(name not in AT_HAND, reason=MISSING)
    return [missing, pytest.mark.slow] if name in MORE else [missing]


every_scene = pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in SCENES])


@every_scene
def test_scenes_differ_in_their_verdict(name: str, told: Told) -> None:
    """A scene is concluded as the relations take for granted: guilty, innocent or undetermined."""
    assert told.one("as it is", name).verdict == SCENES[name].verdict


@every_scene
def test_first_ranks_only(name: str, told: Told) -> None:
    """Where the output of the last ranks is missing, no more is said, and nothing is turned round."""
    was = told.one("as it is", name)
    for now in told.all("first ranks", name):
        assert surer(was, now) == []


@every_scene
def test_more_logs_of_the_same_nodes(name: str, told: Told) -> None:
    """A quiet day after, and an earlier and shorter download beside, change nothing."""
    assert told.one("more logs", name) == told.one("as it is", name)


@every_scene
def test_other_names(name: str, told: Told) -> None:
    """Where a node's ranks are numbered the other way round, and hosts and nodes renamed, the answer follows."""
    was = told.one("as it is", name)
    ranks = frozenset(retold.within_node(rank, SCENES[name].size) for rank in was.ranks)
    hosts, nodes = (frozenset(map(retold.mirrored, names)) for names in (was.hosts, was.nodes))
    assert told.one("other names", name) == replace(was, ranks=ranks, hosts=hosts, nodes=nodes)


@pytest.mark.parametrize("seconds", [*(pytest.param(s, marks=pytest.mark.slow) for s in SHIFTS[:-1]), SHIFTS[-1]])
@every_scene
def test_clock_of_storage_shifted(name: str, seconds: int, told: Told) -> None:
    """Where the clock of all AIStore's nodes is off, no more is said, and nothing is turned round."""
    was = told.one("as it is", name)
    for now in told.all(f"shifted {seconds}", name):
        assert surer(was, now) == []
