"""What Flight Recorder dumps alone tell of hangs in jobs with several process groups: many simulated jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from flight_jobs import CASES, shifted
from scenes import Library, rows
from truths import failures_of

HOUR_NS = 3_600_000_000_000


#: Other shapes, releases and file names of jobs that are there in another way, only where slow tests are asked for.
LATER = {
    *(f"straggler_{number}" for number in (0, 2, 3, 5, 7)),
    *(f"name_{number}" for number in (0, 2, 3, 4)),
    *("host_folders", "two_stragglers", "innocent_without_dump", "broadcast_lacks_a_leaf", "half_in_other_order"),
    *("only_active_without_stacks", "other_call_of_3", "finished"),
    *("hashed_names_False", "release_list", "release_2.10", "release_2.4_as_json"),
    *("two_groups_in_other_order", "held_up_2"),
}
Failures = dict[str, list[dict[str, Any]]]


def _made(library: Library, label: str, names: Iterable[str]) -> tuple[str, Failures]:
    """The database of the dumps of jobs, each an hour and a bit after the one before; their failures by job."""
    folder = library.base / label

    def paths() -> list[Path]:
        for number, name in enumerate(names):
            job, write, _ = CASES[name]
            write(shifted(job, number * HOUR_NS + number), folder / name)
        return [folder]

    db = library.made(label, paths)
    job_of = dict(rows(db, "select job_id, min(path) from source_file group by job_id"))
    found: Failures = {}
    for failure in failures_of(db):
        found.setdefault(Path(job_of[failure["job_id"]]).relative_to(folder).parts[0], []).append(failure)
    return db, found


@pytest.fixture(scope="module")
def usual(library: Library) -> tuple[str, Failures]:
    """The jobs that are looked at in each run."""
    return _made(library, "dumps", [name for name in CASES if name not in LATER])


@pytest.fixture(scope="module")
def later(library: Library) -> tuple[str, Failures]:
    """The jobs that are looked at where slow tests are asked for."""
    return _made(library, "more-dumps", sorted(LATER))


def _check(name: str, failures: Failures) -> None:
    told = CASES[name][2]
    if told.is_quiet:
        assert name not in failures
        return
    (failure,) = failures[name]
    assert (failure["culprit_ranks"], failure["failure_class"]) == (list(told.culprits), told.failure_class)
    assert told.words in failure["statement"]
    assert not told.blind or told.blind in [item["what"] for item in failure["blind"]]
    assert failure["storage_verdict"] != "guilty"


@pytest.mark.parametrize("name", [name for name in CASES if name not in LATER])
def test_verdict(name: str, usual: tuple[str, Failures]) -> None:
    """Dumps name the rank that kept the others waiting, or say why they cannot, and never accuse storage."""
    _check(name, usual[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LATER))
def test_verdict_of_more(name: str, later: tuple[str, Failures]) -> None:
    """So they do in jobs of other shapes, and written by other releases under other names."""
    _check(name, later[1])


def test_which_dumps_are_used(usual: tuple[str, Failures], library: Library) -> None:
    """A dump of an earlier run and the second of a rank are not used; dumps with the same bytes are of two ranks."""
    sql = "select is_json, state, count(*), min(rank) from fr_dump"

    def states(name: str) -> list[tuple[Any, ...]]:
        where = f"where path like '%/{name}/%' group by all order by all"
        return rows(usual[0], f"{sql} {where}")

    assert states("earlier_run") == [(False, "earlier_run", 1, 2), (False, "used", 3, 0)]
    assert states("pickle_and_json") == [(False, "used", 4, 0), (True, "second", 4, 0)]
    same = library.base / "dumps" / "two_of_the_same_bytes"
    assert (same / "comm_lib_trace_rank_2").read_bytes() == (same / "comm_lib_trace_rank_4").read_bytes()


def test_every_premise_names_its_place(usual: tuple[str, Failures]) -> None:
    """Each premise of a verdict from dumps alone names a file and the record or the counters in it."""
    for found in usual[1].values():
        for failure in found:
            lines = failure["root_causes"][0]["supports"]
            assert lines != []
            assert all(line["path"] and line["locator"] for line in lines), failure
