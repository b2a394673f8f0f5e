"""Clocks that differ, jump or change their zone within a job: the right node is blamed, or none."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from retold import later, rewrite
from scenes import FIXTURES, copy_with_times, parts_of, read_in, rows, truth_of

from fixtures.generator import scenarios
from fixtures.generator.stage import RECIPES, build
from fixtures.generator.write import write

#: The end of summer time in New York falls into the job, or its begin.
TIMES = {
    "summer time ends where AIStore runs": {"start": "2026-11-01T05:59:10", "ais_zone": "America/New_York"},
    "summer time ends where the job runs": {"start": "2026-11-01T05:59:10", "worker_zone": "America/New_York"},
    "summer time begins for both": {
        "start": "2026-03-08T06:59:10",
        "ais_zone": "America/New_York",
        "worker_zone": "America/New_York",
    },
}
_GLOG = re.compile(r"(?m)(?:(?<=^[WEI])|(?<=\]:\[[WEI]))(\d{1,2})(\d\d) (\d\d:\d\d:\d\d)")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T_])\d\d:\d\d:\d\d")


def generated(folder: Path, name: str, **changes: object) -> Path:
    """A scenario with other parameters."""
    assert name in RECIPES, scenarios.__doc__
    write(build(name, changes), folder)
    return folder / name


def verdicts(tmp_path: Path, scene: Path) -> list[tuple[str, str | None]]:
    """The verdict on storage, and the node blamed, of each failure found."""
    db = tmp_path / "x.duckdb"
    read_in(db, *parts_of(scene))
    return rows(db, "select storage_verdict, node_id from root_cause where place = 1 order by failure_id")


def western(text: str) -> str:
    """Moves the stamps of a worker log seven hours back, as those of a host in another zone."""

    def glog(match: re.Match[str]) -> str:
        moment = datetime.strptime(f"2026 {int(match[1])} {match[2]} {match[3]}", "%Y %m %d %H:%M:%S")
        earlier = moment - timedelta(hours=7)
        return f"{earlier.month:0{len(match[1])}d}{earlier:%d %H:%M:%S}"

    def iso(match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match[0].replace("_", " "))
        return f"{moment - timedelta(hours=7):%Y-%m-%d{match[1]}%H:%M:%S}"

    return _ISO.sub(iso, _GLOG.sub(glog, text))


def is_allowed(said: list[tuple[str, str | None]], scene: Path) -> bool:
    """Whether every verdict is the true one with the true node, or undetermined."""
    (truth,) = truth_of(scene)["expect"]
    nodes = [*truth["ais_nodes"], None]
    return bool(said) and all(v == "undetermined" or (v == truth["storage_verdict"] and n in nodes) for v, n in said)


@pytest.mark.parametrize(
    ("scenario", "change"),
    [
        pytest.param("target_killed_short_batch", "summer time ends where the job runs", marks=pytest.mark.slow),
        pytest.param("target_killed_short_batch", "summer time begins for both", marks=pytest.mark.slow),
        ("noisy_storage_then_deadlock", "summer time ends where AIStore runs"),
    ],
)
def test_summer_time_within_a_job(tmp_path: Path, scenario: str, change: str) -> None:
    """An hour that occurs twice, or never, turns no verdict."""
    scene = generated(tmp_path, scenario, uptime_h=3.0, **TIMES[change])
    assert is_allowed(verdicts(tmp_path, scene), scene)


def test_both_zones_unknown(tmp_path: Path) -> None:
    """Neither side tells its zone and they lie 12.5 hours apart: three signs tell it, and the report says which."""
    scene = generated(
        tmp_path,
        "stale_membership_stall",
        worker_zone="America/Los_Angeles",
        ais_zone="Asia/Kolkata",
        start="2026-09-18T10:46:28",
        uptime_h=18.5,
        timeout_s=600,
    )
    (truth,) = truth_of(scene)["expect"]
    assert verdicts(tmp_path, scene) == [("guilty", truth["ais_nodes"][0])]
    told = rows(tmp_path / "x.duckdb", "select distinct offset_s, evidence from clock where kind = 'ais_log'")
    assert [offset for offset, _ in told] == [45000]
    assert told[0][1].startswith("told by job") and "its zone is unknown" in told[0][1]


@pytest.mark.parametrize(
    "change",
    [pytest.param(later(-90), marks=pytest.mark.slow), later(-60, since="10:21:30")],
    ids=["90 s behind", "set a minute back within"],
)
def test_a_node_whose_clock_is_off(tmp_path: Path, change: Callable[[str], str]) -> None:
    """A node's clock that is off, or is set while it writes, leaves the blame where it belongs."""
    scene = copy_with_times(FIXTURES / "target_killed_short_batch", tmp_path / "scene")
    rewrite(sorted((scene / "ais" / "gREiOVxt").iterdir()), change)
    assert is_allowed(verdicts(tmp_path, scene), scene)


def test_a_host_in_another_zone(tmp_path: Path) -> None:
    """One of a job's hosts stands seven hours west of the other: no other rank and no other node is blamed for it."""
    scene = copy_with_times(FIXTURES / "target_killed_short_batch", tmp_path / "scene")
    rewrite([path for path in (scene / "workers").iterdir() if path.name.endswith("-1.out")], western)
    said = verdicts(tmp_path, scene)
    assert is_allowed(said, scene)
    (truth,) = truth_of(scene)["expect"]
    culprits = rows(tmp_path / "x.duckdb", "select distinct rank from rank_state where role = 'culprit'")
    assert [rank for (rank,) in culprits] == truth["culprit_ranks"]
