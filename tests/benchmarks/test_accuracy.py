"""The accuracy benchmark: its incidents hold together, its scorer sees what is wrong, and answers do not turn round."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from scenes import REPO

from aiscorr.store.database import in_memory
from aiscorr.views.spec import build_views, view_specs
from benchmarks.accuracy.generate.incident import write_incident
from benchmarks.accuracy.generate.kinds import KINDS
from benchmarks.accuracy.generate.parts import PARTS
from benchmarks.accuracy.generate.plan import Plan, draw_plan
from benchmarks.accuracy.score.answer import answer
from benchmarks.accuracy.score.baselines import any_ais_error, first_exit, torchrun_root_cause
from benchmarks.accuracy.score.fit import GROUPS, Answered, fitted
from benchmarks.accuracy.score.intervals import Share, calibration_error
from benchmarks.accuracy.score.judge import Judged, citations, judge, stands
from benchmarks.accuracy.score.robust import CHANGES, changed
from benchmarks.accuracy.score.tables import measures, report
from benchmarks.accuracy.score.truth import Expected, Truth, read_truth

GENERATORS = (REPO / "benchmarks" / "accuracy" / "generate", REPO / "fixtures" / "generator")
STORAGE, INNOCENT = "killed_plain_get", "deadlock_in_checkpoint"


def small(part: str, seed: int, count: int) -> list[Plan]:
    """The first incidents of a part that are small."""
    plans = (draw_plan(seed, number, part) for number in range(10_000))
    return [plan for plan, _ in zip((p for p in plans if p.params.ranks <= 16), range(count), strict=False)]


def plan_of(kind: str, part: str = "tune", seed: int = 7) -> Plan:
    """A small incident of a kind with all its evidence."""
    plans = (draw_plan(seed, number, part) for number in range(10_000))
    found = next(plan for plan in plans if plan.kind.name == kind and plan.params.ranks == 8)
    return replace(found, taken="nothing")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Truth]:
    """Ten small incidents of the tuned part."""
    out = tmp_path_factory.mktemp("accuracy")
    return [read_truth(write_incident(plan, out)) for plan in small("tune", 3, 10)]


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_generator_knows_nothing_of_aiscorr() -> None:
    """The generator imports nothing of aiscorr and nothing of the scorer."""
    paths = [path for folder in GENERATORS for path in folder.rglob("*.py")]
    found = {name for path in paths for name in imports(path)}
    assert len(paths) > 30
    assert [name for name in found if name.startswith(("aiscorr", "benchmarks.accuracy.score", "tests"))] == []


def test_parts_are_apart() -> None:
    """No two parts share a release or a framework, and each shows every kind that is held back for it and no other."""
    held = {part: {kind.name for kind in KINDS.values() if kind.held == part} for part in PARTS}
    drawn = {part: [draw_plan(1, number, part) for number in range(400 + 10 * len(held[part]))] for part in PARTS}
    for one, two in combinations(PARTS, 2):
        for shown in (lambda plan: plan.params.ais, lambda plan: plan.params.torch, lambda plan: plan.params.style):
            assert not {shown(plan) for plan in drawn[one]} & {shown(plan) for plan in drawn[two]}
    for part, plans in drawn.items():
        assert {plan.kind.name for plan in plans if plan.kind.held} == held[part]
        assert len(held[part]) >= 8 or part == "tune"


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    """The same seed and number give the same files."""
    plan = small("tune", 5, 1)[0]
    one, two = write_incident(plan, tmp_path / "one"), write_incident(plan, tmp_path / "two")
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert files and all((one / path).read_bytes() == (two / path).read_bytes() for path in files)


def test_witnesses_stand(written: list[Truth]) -> None:
    """Every line that a truth cites stands in its file at its number."""
    cited = [(truth.folder / path, line_no, text) for truth in written for path, line_no, text in truth.witnesses]
    assert len(cited) >= 3
    for path, line_no, text in cited:
        assert text in path.read_bytes().decode().split("\n")[line_no - 1]


def test_truth_fits_the_logs(written: list[Truth]) -> None:
    """A truth names ranks of its world and nodes whose folders are there unless they were taken away."""
    for truth in written:
        for expected in truth.expected:
            assert all(0 <= rank < truth.made_of["world"] for rank in expected.culprits or ())
            if truth.taken == "nothing":
                assert all((truth.folder / "ais" / node).is_dir() for node in expected.nodes or ())


def test_score_has_every_measure(written: list[Truth]) -> None:
    """Incidents give a report with every table, every cited line is real, and no failure is passed over."""
    opinions = [judge(truth, answer(truth.logs())) for truth in written[:5]]
    text = report(opinions)
    for title in ("Measures", "Storage", "By hardness", "Calibration", "Beside other tools"):
        assert f"### {title}" in text
    assert all(one.cited == one.cited_real for one in opinions) and sum(one.cited for one in opinions) > 10
    found = measures([one for opinion in opinions for one in opinion.judged])
    assert found["failure reported"].value == 1
    assert found["storage falsely blamed"].count == 0


def test_wrong_answers_are_seen(tmp_path: Path) -> None:
    """A report that blames another rank, acquits guilty storage or cites a line that is not there is not right."""
    truth = read_truth(write_incident(plan_of(STORAGE), tmp_path))
    (failure,) = answer(truth.logs())
    right = judge(truth, [failure])
    assert right.judged[0].is_allowed and right.judged[0].is_verdict
    other = {**failure, "culprit_ranks": [(failure["culprit_ranks"][0] + 1) % 8]}
    acquitted = {**failure, "storage_verdict": "innocent"}
    unsure = {**failure, "storage_verdict": "undetermined"}
    assert not any(judge(truth, [said]).judged[0].is_allowed for said in (other, acquitted, unsure))
    lesser = replace(truth, may_be_undetermined=True)
    assert judge(lesser, [unsure]).judged[0].is_allowed and not judge(lesser, [acquitted]).judged[0].is_allowed
    path, line_no, text = citations(failure)[0]
    assert stands(path, line_no, text, {}) and not stands(path, line_no + 1, text, {})
    log = tmp_path / "target.log"
    log.write_text("I 16:07:08.957505 {get.bps:409,get.n:177838}\nI 16:07:08.957611 nvme0n1: 1MiB/s\n")
    assert stands(str(log), 1, "", {}) and not stands(str(log), 2, "", {})
    assert not judge(truth, []).judged[0].is_allowed
    assert judge(truth, [failure, failure]).invented == (failure,)


def test_simple_tools_are_simple(tmp_path: Path) -> None:
    """The simple tools answer, and are wrong where an innocent rank exits first or innocent storage is noisy."""
    plan = plan_of(INNOCENT)
    noisy = replace(plan, setting=replace(plan.setting, noise=("tenant_errors",), mesh=None))
    truth = read_truth(write_incident(noisy, tmp_path))
    assert any_ais_error(truth).storage is True
    for tool in (first_exit, torchrun_root_cause):
        assert tool(truth).ranks not in (None, frozenset(truth.expected[0].culprits or ()))


def test_intervals() -> None:
    """Wilson's interval and the calibration error are those of worked examples."""
    low, high = Share(0, 100).wilson
    assert low == 0 and math.isclose(high, 0.0370, abs_tol=1e-4)
    assert math.isclose(calibration_error([(0.9, True)] * 9 + [(0.9, False)]), 0, abs_tol=1e-9)
    assert math.isclose(calibration_error([(0.8, False)] * 5), 0.8)


def test_fit_is_modest_and_never_falls() -> None:
    """Seen answers count for little beside unseen ones, odd ones for a quarter; a higher score is never less sure."""
    guilty, shown, data, other, unknown, left_open = GROUPS
    right, wrong = Answered("guilty", "storage_io", 0.85, True), Answered("guilty", "storage_io", 0.75, False)
    none, many = fitted([], guilty), fitted([right] * 1000 + [replace(right, is_right=False)] * 150, guilty)
    assert (many[2].right, many[2].count) == (1000, 1150) and none[2].confidence > many[2].confidence > 0.9
    steps = [one.confidence for one in fitted([right] * 100 + [wrong] * 400, guilty)]
    assert steps == sorted(steps) and steps[1] < none[1].confidence
    groups = [Answered("innocent", name, 0.8, True).group for name in ("gpu", "data", "software")]
    assert groups == [shown, data, other]
    groups = [Answered("undetermined", name, 0.4, True).group for name in ("undetermined", "network")]
    assert groups == [unknown, left_open] and fitted([], unknown)[0].confidence > fitted([], left_open)[0].confidence
    assert fitted([right], shown)[0].count == 0


def test_confidence_steps_are_those_that_were_fitted() -> None:
    """The steps of the SQL are those the fit has, group for group, and their confidences never fall."""
    with in_memory() as connection:
        build_views(connection, [spec for spec in view_specs() if spec.name == "confidence_step"])
        for group in GROUPS:
            asked = (
                "select score_from, confidence from confidence_step where storage_verdict = ? "
                "and coalesce(failure_classes, []) = ?::varchar[] order by score_from"
            )
            rows = connection.execute(asked, [group.verdict, list(group.classes)]).fetchall()
            assert tuple(float(row[0]) for row in rows) == tuple(group.usual)
            assert [row[1] for row in rows] == sorted(row[1] for row in rows)


def test_an_unjudged_field_counts_nowhere() -> None:
    """What a truth does not state is not judged."""
    expected = Expected("1", ("network",), None, None, None)
    truth = Truth(Path("x"), "tune", "k", "training", "easy", "nothing", False, False, None, (expected,))
    said = {"culprit_ranks": [3], "failure_class": "network", "storage_verdict": "guilty", "ais_nodes": []}
    one = Judged(truth, expected, {**said, "root_causes": [], "confidence": 0.5, "first_error_at": None})
    assert one.is_exact is None and one.is_verdict is None and one.is_nodes is None and one.is_allowed


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, tuple[Judged, ...]]:
    """An incident and what is said of it with all its evidence."""
    truth = read_truth(write_incident(plan_of(request.param), tmp_path_factory.mktemp("asked")))
    return truth, judge(truth, answer(truth.logs())).judged


#: What is taken from an incident of guilty storage, and what of one of an innocent: what could have it blamed.
TAKEN = [(STORAGE, change) for change in sorted(CHANGES)]
TAKEN += [(INNOCENT, change) for change in ("drop_file", "drop_lines", "drop_node", "shift_storage")]


@pytest.mark.parametrize(("asked", "change"), TAKEN, indirect=["asked"])
def test_less_evidence_turns_no_verdict_round(asked: tuple[Truth, tuple[Judged, ...]], change: str) -> None:
    """With a file, a node, a side, lines, known names or a clock gone, a verdict is the same or narrower."""
    truth, before = asked
    turn = changed(truth, change, 1, before)
    assert before[0].is_allowed
    assert not turn.is_turned and not turn.is_blaming and not turn.is_wrong
