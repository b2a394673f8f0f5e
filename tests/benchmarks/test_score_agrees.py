"""The project's scorer judges as the reference beside the repository does: ../shared/tools/score.py."""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scenes import REPO, Library, truth_of
from truths import failures_of

from benchmarks.accuracy.score import truth as score_truth
from benchmarks.accuracy.score.judge import judge
from benchmarks.accuracy.score.mistakes import KINDS, Claim
from benchmarks.accuracy.score.narrow import turned
from benchmarks.accuracy.score.together import judged_together

Json = dict[str, Any]
REFERENCE = (REPO.parent / "shared" / "tools" / "score.py").resolve()
SCENARIOS = ("target_killed_short_batch", "two_jobs")
SOFT: tuple[Json, ...] = (
    {},
    {"report": "may", "failures_max": 0},
    {"report": "never"},
    {"class_any": ["storage_io"], "storage_any": ["guilty"], "culprit_any": [[5], [2, 5]]},
    {"class_not": ["storage_io", "undetermined"], "storage_not": ["guilty", "undetermined"], "culprit_not": [5]},
    {"failures_max": 2, "statement_not": ["Rank 5", "^$"], "days_max": 0.0001},
    {"failures_max": 3, "days_max": 1.0, "storage_any": ["innocent", "undetermined"], "culprit_any": [[]]},
)
HIDING: tuple[Json, ...] = (
    {},
    {"hides_failure": True},
    {"may_be_undetermined": True},
    {"hides_failure": True, "may_be_undetermined": True},
)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The reference scorer, loaded by its path."""
    if not REFERENCE.is_file():
        pytest.skip(f"the reference scorer is not beside the repository: {REFERENCE} is missing")
    spec = importlib.util.spec_from_file_location("reference_score", REFERENCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reported(library: Library) -> list[tuple[Path, list[Json]]]:
    """Scenarios and the failures that are reported of them; of a healthy run there is none."""
    found = [(library.folder(name), failures_of(library.database(name))) for name in SCENARIOS]
    return [*found, (library.folder("healthy_run"), [])]


def each(change: Callable[[Json], object]) -> Callable[[list[Json]], list[Json]]:
    """A change of a report that changes the first failure in its place."""

    def changed(failures: list[Json]) -> list[Json]:
        if failures:
            change(failures[0])
        return failures

    return changed


def line_of(failure: Json) -> Json:
    """The first line that a failure cites."""
    return next(line for cause in failure["root_causes"] for line in cause["supports"])


def uncited(failure: Json) -> None:
    """No line is cited any more."""
    for cause in failure["root_causes"]:
        cause.update(supports=[], contradicts=[])


CHANGES: dict[str, Callable[[list[Json]], list[Json]]] = {
    "nothing": lambda failures: failures,
    "no failure": lambda failures: [],
    "a failure dropped": lambda failures: failures[1:],
    "a failure twice": lambda failures: [*failures, *copy.deepcopy(failures[:1])],
    "every failure twice, other order": lambda failures: [*failures[::-1], *failures],
    "ten failures": lambda failures: [copy.deepcopy(one) for one in failures * 5],
    "jobs swapped": lambda failures: [
        {**one, "job_id": other["job_id"]} for one, other in zip(failures, failures[::-1], strict=True)
    ],
    "another job": each(lambda one: one.update(job_id="storage-7")),
    "verdict guilty": each(lambda one: one.update(storage_verdict="guilty")),
    "verdict innocent": each(lambda one: one.update(storage_verdict="innocent")),
    "verdict undetermined": each(lambda one: one.update(storage_verdict="undetermined")),
    "class storage_io, innocent": each(lambda one: one.update(failure_class="storage_io", storage_verdict="innocent")),
    "class gpu": each(lambda one: one.update(failure_class="gpu")),
    "class undetermined": each(lambda one: one.update(failure_class="undetermined")),
    "all left open": each(
        lambda one: one.update(failure_class="undetermined", storage_verdict="undetermined", culprit_ranks=[])
    ),
    "a culprit more": each(lambda one: one.update(culprit_ranks=[*one["culprit_ranks"], 7])),
    "no culprit": each(lambda one: one.update(culprit_ranks=[])),
    "another culprit": each(lambda one: one.update(culprit_ranks=[6])),
    "no node": each(lambda one: one.update(ais_nodes=[])),
    "another node": each(lambda one: one.update(ais_nodes=[{"node_id": "other"}])),
    "a node more": each(lambda one: one.update(ais_nodes=[*one["ais_nodes"], {"node_id": "other"}])),
    "a line too late": each(lambda one: line_of(one).update(line_no=line_of(one)["line_no"] + 1)),
    "a line after the end": each(lambda one: line_of(one).update(line_no=10**6)),
    "a line of another text": each(lambda one: line_of(one).update(text="nobody has printed this")),
    "a line cut in the middle": each(
        lambda one: line_of(one).update(text=line_of(one)["text"][:20] + " … " + line_of(one)["text"][-9:])
    ),
    "a line in colours": each(lambda one: line_of(one).update(text=f"\x1b[31m{line_of(one)['text']}\x1b[0m")),
    "a line without text": each(lambda one: line_of(one).update(text=None)),
    "a place in a dump": each(lambda one: line_of(one).update(line_no=None, locator="record_id=8")),
    "a place nowhere": each(lambda one: line_of(one).update(line_no=None, locator=None)),
    "a path that leads nowhere": each(lambda one: line_of(one).update(path="/no/such/file")),
    "a path relative to the incident": each(
        lambda one: line_of(one).update(path="/".join(Path(line_of(one)["path"]).parts[-3:]))
    ),
    "no evidence": each(uncited),
    "sure": each(lambda one: one.update(confidence=1.0)),
    "no confidence": each(lambda one: one.update(confidence=None)),
    "no statement": each(lambda one: one.update(statement="")),
    "an hour earlier": each(lambda one: one["job"].update(started_at="2020-01-01T00:00:00Z")),
    "times unknown": each(lambda one: one.update(job=None, first_error_at=None, hang_started_at=None)),
}


def truths(folder: Path) -> list[Json]:
    """The exact truth of a scenario, weaker ones made of it, soft ones and those of generated incidents."""
    exact = truth_of(folder).get("expect", [])
    kept = ("culprit_ranks", "failure_class")
    nameless = [{key: value for key, value in one.items() if key != "job_id"} for one in exact]
    other = {"also_ok": ["gpu"], "also_storage_ok": ["undetermined"]}
    expected = [
        exact,
        [],
        exact[:1],
        nameless,
        exact * 2,
        [{key: one[key] for key in kept} for one in exact],
        [{**one, "failure_class": "software"} for one in nameless],
        [{"job_id": one["job_id"], "failure_class": "software"} for one in exact],
        [{**one, **other} for one in exact],
        [{**one, "storage_verdict": "undetermined"} for one in exact],
    ]
    generated = [{"accuracy": made, "expect": wants} for made in HIDING for wants in expected[::3]]
    return [*({"expect": wants} for wants in expected), *generated, *({"soft": soft} for soft in SOFT)]


@pytest.mark.parametrize("change", CHANGES)
def test_judgement_is_that_of_the_reference(
    change: str, reference: ModuleType, reported: list[tuple[Path, list[Json]]]
) -> None:
    """A report, as it is and changed, is judged alike against exact, soft and generated truths: mistakes and claims."""
    for folder, failures in reported:
        report = {"failures": CHANGES[change](copy.deepcopy(failures))}
        for text in truths(folder):
            expected = reference.judge(report, text, [folder, folder.parent, Path.cwd()])
            found = judge(report, score_truth.truth_of(folder, text))
            assert sorted((one.kind, one.words) for one in found.mistakes) == sorted(expected.bad), text
            assert sorted(map(claim_row, found.claims)) == sorted(expected.claims), text
            assert found.worst == (expected.worst() if expected.bad else None)


def claim_row(one: Claim) -> tuple[float, bool, bool, str]:
    """A claim as the reference keeps it."""
    return one.confidence, one.is_right, one.is_about_storage, one.words


def test_changes_make_every_kind_of_mistake(reported: list[tuple[Path, list[Json]]]) -> None:
    """The changed reports hold every kind of mistake that a report can make, so that each is compared."""
    found = {
        mistake.kind
        for change in CHANGES.values()
        for folder, failures in reported
        for text in truths(folder)[:2]
        for mistake in judge({"failures": change(copy.deepcopy(failures))}, score_truth.truth_of(folder, text)).mistakes
    }
    assert found == set(KINDS) - {"error"}


@pytest.mark.parametrize("change", CHANGES)
def test_flips_are_those_of_the_reference(
    change: str, reference: ModuleType, reported: list[tuple[Path, list[Json]]]
) -> None:
    """What counts as a verdict that turned round when evidence was taken away is the same."""
    for folder, failures in reported:
        for failure in CHANGES[change](copy.deepcopy(failures)):
            for text in truths(folder):
                expected = score_truth.truth_of(folder, text).expected
                for mine, want in zip(expected, text.get("expect", []), strict=True):
                    assert bool(turned(mine, failure)) == bool(reference.turned(want, failure))


def test_many_incidents_in_one_report(reported: list[tuple[Path, list[Json]]]) -> None:
    """In one report of many incidents each failure is found by its job; those of other jobs are listed."""
    (folder, one), (_, two), _ = reported
    truth = score_truth.read_truth(folder)
    assert judged_together({"failures": one}, [truth]) == ([(truth.name, [])], [])
    found, others = judged_together({"failures": two}, [truth])
    assert found == [(truth.name, [f"0 failures of job {truth.expected[0].job_id}"])] and len(others) == len(two)
