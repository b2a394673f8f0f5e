"""What Flight Recorder dumps alone tell of hangs in jobs with several process groups: many simulated jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flight_jobs import CASES, shifted
from scenes import read_in, rows
from truths import failures_of

HOUR_NS = 3_600_000_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dumps of all jobs, each an hour and a bit after the one before, and the database of them."""
    folder = tmp_path_factory.mktemp("verdicts")
    for number, (name, (job, write, _)) in enumerate(CASES.items()):
        write(shifted(job, number * HOUR_NS + number), folder / "jobs" / name)
    read_in(folder / "all.duckdb", folder / "jobs")
    return folder


@pytest.fixture(scope="module")
def failures(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The failures of all jobs, by the folder of the job."""
    job_of = dict(rows(folder / "all.duckdb", "select job_id, min(path) from source_file group by job_id"))
    found: dict[str, list[dict[str, Any]]] = {}
    for failure in failures_of(str(folder / "all.duckdb")):
        place = Path(job_of[failure["job_id"]]).relative_to(folder / "jobs")
        found.setdefault(place.parts[0], []).append(failure)
    return found


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str, failures: dict[str, list[dict[str, Any]]]) -> None:
    """Dumps name the rank that kept the others waiting, or say why they cannot, and never accuse storage."""
    told = CASES[name][2]
    if told.is_quiet:
        assert name not in failures
        return
    (failure,) = failures[name]
    assert (failure["culprit_ranks"], failure["failure_class"]) == (list(told.culprits), told.failure_class)
    assert told.words in failure["statement"]
    assert not told.blind or told.blind in [item["what"] for item in failure["blind"]]
    assert failure["storage_verdict"] != "guilty"


def test_which_dumps_are_used(folder: Path) -> None:
    """A dump of an earlier run and the second of a rank are not used; dumps with the same bytes are of two ranks."""
    sql = "select is_json, state, count(*), min(rank) from fr_dump"

    def states(name: str) -> list[tuple[Any, ...]]:
        where = f"where path like '%/{name}/%' group by all order by all"
        return rows(folder / "all.duckdb", f"{sql} {where}")

    assert states("earlier_run") == [(False, "earlier_run", 1, 2), (False, "used", 3, 0)]
    assert states("pickle_and_json") == [(False, "used", 4, 0), (True, "second", 4, 0)]
    same = folder / "jobs" / "two_of_the_same_bytes"
    assert (same / "comm_lib_trace_rank_2").read_bytes() == (same / "comm_lib_trace_rank_4").read_bytes()


def test_every_premise_names_its_place(failures: dict[str, list[dict[str, Any]]]) -> None:
    """Each premise of a verdict from dumps alone names a file and the record or the counters in it."""
    for found in failures.values():
        for failure in found:
            lines = failure["root_causes"][0]["supports"]
            assert lines != []
            assert all(line["path"] and line["locator"] for line in lines), failure
