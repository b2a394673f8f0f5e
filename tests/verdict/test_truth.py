"""Every scenario and every recorded incident is concluded as its truth.toml says, whatever way its logs come in."""

from __future__ import annotations

import tarfile
import tomllib
from collections.abc import Collection
from pathlib import Path

import pytest
from scenes import (
    FIXTURES,
    SHARED,
    Library,
    column,
    parts_of,
    read_in,
    recorded_names,
    scenario_names,
    some_names,
    truth_of,
)
from truths import failures_of, mistakes

ALL = [*scenario_names(), *recorded_names()]
INCIDENTS = [name for name in recorded_names() if name.startswith("incidents/")]
OTHERS = [name for name in recorded_names() if name not in INCIDENTS]
#: A job of eight ranks with dumps, and an incident with run files of every kind beside its logs.
WHOLE = [*OTHERS[8:9], *INCIDENTS[1:2]] or ["two_jobs"]
ARCHIVED = [name for name in ALL if (SHARED / name / "ais-archives").is_dir()][1:2]
#: What is concluded wrongly today: an incident, and what is said of it alone or together with all others.
WRONG = tomllib.loads((Path(__file__).parent / "known_wrong.toml").read_text("utf-8"))
#: Incidents whose logs alone are concluded in each run; those of all are where slow tests are asked for.
FEW = [*scenario_names(), *INCIDENTS[::8], *OTHERS[1::12]]
RECORDED = "recorded incidents are not available"
needs_recorded = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{RECORDED}: {SHARED} is missing")


def known(names: list[str], how: str, few: Collection[str]) -> list[object]:
    """The names, all but a few as slow tests; those that are known to be concluded wrongly as expected failures."""
    wrong = {name: [pytest.mark.xfail(strict=True, reason=said)] for name, said in WRONG[how].items()}
    slow = {name: [pytest.mark.slow] for name in names if name not in few}
    return [pytest.param(name, marks=[*wrong.get(name, []), *slow.get(name, [])], id=name) for name in names]


def _check(db: str, folder: Path) -> None:
    assert mistakes(folder, failures_of(db)) == []


def test_there_are_scenarios() -> None:
    """The repository brings scenarios, among them one without a failure."""
    expected = {name: truth_of(FIXTURES / name).get("expect", []) for name in scenario_names()}
    assert len(expected) >= 25
    assert any(not expect for expect in expected.values())


@needs_recorded
def test_recorded_incidents_are_found() -> None:
    """The recorded incidents and runs beside the repository are all looked at."""
    families = {name.partition("/")[0] for name in recorded_names()}
    assert families == {"fr-cases", "incidents", "torch-runs"}


@needs_recorded
def test_known_wrong_are_looked_at() -> None:
    """What is known to be concluded wrongly is there to be looked at."""
    assert [name for said in WRONG.values() for name in said if name not in ALL] == []


@pytest.mark.parametrize("name", known([*scenario_names(), *INCIDENTS, *OTHERS[1::3]], "alone", FEW))
def test_alone(name: str, library: Library) -> None:
    """The logs of one incident alone are concluded as its truth says."""
    _check(library.database(name), library.folder(name))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_folder(name: str, library: Library, tmp_path: Path) -> None:
    """Run descriptions, truth files and other tools' output beside the logs mislead nobody."""
    folder = library.folder(name)
    db = tmp_path / "whole.duckdb"
    read_in(db, folder)
    _check(str(db), folder)


@pytest.mark.parametrize("name", ARCHIVED or ["none"])
@needs_recorded
def test_archives_in_place_of_folders(name: str, library: Library, tmp_path: Path) -> None:
    """AIStore's logs as archives give the same conclusion as the folders."""
    folder = library.folder(name)
    db = tmp_path / "archives.duckdb"
    read_in(db, *parts_of(folder, ais="ais-archives"))
    _check(str(db), folder)


@pytest.mark.parametrize("name", ["clocks_new_year"])
def test_one_archive_of_all(name: str, library: Library, tmp_path: Path) -> None:
    """A scenario packed into one archive is concluded like its folder."""
    folder = library.folder(name)
    archive = tmp_path / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:  # members without "./", which the scorer does not look for
        for part in sorted(folder.iterdir()):
            packed.add(part, part.name)
    db = tmp_path / "archive.duckdb"
    read_in(db, archive)
    _check(str(db), folder)


def by_folder(library: Library, label: str, names: list[str]) -> dict[str, list[dict[str, object]]]:
    """The failures of incidents in one database, by the folder their worker logs are in."""
    db = library.together(label, names)
    found: dict[str, list[dict[str, object]]] = {name: [] for name in names}
    folders = {name: f"{library.folder(name)}/" for name in names}
    for failure in failures_of(db):
        paths = column(db, "select path from source_file where job_id = ?", [failure["job_id"]])
        owners = {name for name in names if any(path.startswith(folders[name]) for path in paths)}
        assert len(owners) == 1, (failure["failure_id"], owners)
        found[owners.pop()].append(failure)
    return found


@pytest.fixture(scope="module")
def some(library: Library) -> dict[str, list[dict[str, object]]]:
    """The failures of some incidents in one database."""
    return by_folder(library, "some", some_names())


@pytest.fixture(scope="module")
def every(library: Library) -> dict[str, list[dict[str, object]]]:
    """The failures of all incidents in one database."""
    return by_folder(library, "all", ALL)


@pytest.mark.parametrize("name", known(some_names(), "together", ALL))
def test_together(name: str, some: dict[str, list[dict[str, object]]], library: Library) -> None:
    """Logs of several clusters and jobs in one database do not change a conclusion."""
    assert mistakes(library.folder(name), some[name]) == []


@pytest.mark.parametrize("name", known(ALL, "together", ()))
def test_all_together(name: str, every: dict[str, list[dict[str, object]]], library: Library) -> None:
    """Nor do those of all of them."""
    assert mistakes(library.folder(name), every[name]) == []
