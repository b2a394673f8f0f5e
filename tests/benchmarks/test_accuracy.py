"""The scorer of the accuracy benchmark sees what is wrong with a report, and its tables count it."""

from __future__ import annotations

import gzip
import io
import math
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from said_of_truths import EXPECT, INNOCENT, LINE, Json, incident, said

from aiscorr.analysis.spec import build_views, view_specs
from aiscorr.store.database import in_memory
from benchmarks.accuracy.score.baselines import any_ais_error, first_exit, first_fatal_line, torchrun_root_cause
from benchmarks.accuracy.score.calibration import bins, calibration_line
from benchmarks.accuracy.score.evidence import CitedFiles
from benchmarks.accuracy.score.fit import GROUPS, Answered, fitted, reason, seen_counts
from benchmarks.accuracy.score.intervals import Share, share_of
from benchmarks.accuracy.score.judge import judge
from benchmarks.accuracy.score.mistakes import Claim
from benchmarks.accuracy.score.soft import lasted_days
from benchmarks.accuracy.score.tables import Scored, measures, summary
from benchmarks.accuracy.score.truth import Truth, truth_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An incident with one line of a worker."""
    return incident(tmp_path)


def kinds(truth: Truth, *failures: Json) -> list[str]:
    """The kinds of mistakes of a report."""
    return sorted(one.kind for one in judge({"failures": list(failures)}, truth).mistakes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"failure_class": "data_loading_stall"}, []),
        ({"storage_verdict": "innocent", "failure_class": "gpu"}, ["acquitted", "wrong"]),
        ({"storage_verdict": "undetermined"}, ["modest"]),
        ({"failure_class": "undetermined"}, ["modest"]),
        ({"culprit_ranks": []}, ["modest"]),
        ({"culprit_ranks": [6]}, ["wrong"]),
        ({"ais_nodes": []}, ["missed"]),
        ({"ais_nodes": [{"node_id": "t2"}]}, ["missed", "wrong"]),
        ({"root_causes": []}, ["evidence"]),
        ({"confidence": None}, ["wrong"]),
        ({"job_id": "8"}, ["wrong"]),
    ],
)
def test_every_mistake_has_its_kind(changes: Json, expected: list[str], folder: Path) -> None:
    """A verdict turned, a culprit or node too many or too few, a class, evidence, confidence or job each count."""
    assert kinds(truth_of(folder, {"expect": [EXPECT]}), said(**changes)) == expected


def test_failures_missed_and_too_many(folder: Path) -> None:
    """A failure that is not reported is missed; a second one, or any of a quiet run, is false, and blames if guilty."""
    truth, quiet = truth_of(folder, {"expect": [EXPECT]}), truth_of(folder, {})
    assert kinds(truth) == ["missed"] and kinds(quiet) == []
    assert kinds(truth, said(), said(storage_verdict="innocent")) == ["wrong"]
    assert kinds(quiet, said()) == ["blamed"]
    two = truth_of(folder, {"expect": [EXPECT, {**EXPECT, **INNOCENT}]})
    assert kinds(two, said(), said(**{**INNOCENT, "ais_nodes": []})) == []


def test_innocent_storage_is_blamed(folder: Path) -> None:
    """Storage that is guilty where another side is shown is blamed, also where the truth states no verdict."""
    stated = truth_of(folder, {"expect": [INNOCENT]})
    assert "blamed" in kinds(stated, said())
    unstated = truth_of(folder, {"expect": [{"failure_class": "gpu"}]})
    assert kinds(unstated, said(failure_class="gpu")) == ["blamed"]
    open_one = truth_of(folder, {"expect": [{"failure_class": "network"}]})
    assert kinds(open_one, said(failure_class="network", culprit_ranks=[1, 2])) == []


def test_less_is_right_where_evidence_was_taken_away(folder: Path) -> None:
    """A generated incident may allow an answer that is narrower, or none; a false one never is right."""
    made = {"may_be_undetermined": True, "hides_failure": True}
    truth = truth_of(folder, {"accuracy": made, "expect": [EXPECT]})
    open_one = said(storage_verdict="undetermined", failure_class="undetermined", culprit_ranks=[], ais_nodes=[])
    assert kinds(truth) == kinds(truth, open_one) == []
    assert kinds(truth, said(storage_verdict="innocent")) == ["acquitted", "wrong"]
    whole = truth_of(folder, {"accuracy": {}, "expect": [EXPECT]})
    assert kinds(whole) == ["missed"] and kinds(whole, open_one) == ["missed", "modest", "modest", "modest"]


def test_soft_truth_allows_and_forbids(folder: Path) -> None:
    """Of an excerpt each failure fits every list that is given, breaks none, and no more are reported than it shows."""

    def of(**soft: object) -> Truth:
        return truth_of(folder, {"soft": soft})

    assert (
        kinds(of()) == ["missed"] and kinds(of(report="may")) == [] and kinds(of(report="never"), said()) == ["blamed"]
    )
    assert kinds(of(storage_any=["innocent"]), said()) == ["blamed"]
    assert kinds(of(storage_not=["undetermined"]), said(storage_verdict="undetermined")) == ["modest"]
    assert kinds(of(class_any=["gpu"]), said()) == kinds(of(class_not=["storage_io"]), said()) == ["wrong"]
    assert kinds(of(culprit_any=[[5], [1, 5]]), said()) == [] and kinds(of(culprit_any=[[1, 5]]), said()) == ["modest"]
    assert kinds(of(culprit_not=[5]), said()) == ["wrong"]
    assert kinds(of(statement_not=["rank \\d"]), said(statement="rank 5 failed")) == ["wrong"]
    assert kinds(of(), said(), said()) == ["wrong"] and kinds(of(failures_max=2), said(), said()) == []
    aged = said(job={"started_at": "2026-01-01T00:00:00Z"}, first_error_at="2026-01-02T12:00:00Z")
    assert lasted_days(aged) == 1.5 and kinds(of(days_max=1), aged) == ["wrong"] and kinds(of(days_max=2), aged) == []


def test_claims_are_right_unless_something_is_false(folder: Path) -> None:
    """A claim is right if nothing it states is false, less than all included; who leaves all open claims nothing."""
    truth = truth_of(folder, {"expect": [EXPECT]})

    def claims(**changes: object) -> list[tuple[float, bool, bool]]:
        found = judge({"failures": [said(**changes)]}, truth).claims
        return [(one.confidence, one.is_right, one.is_about_storage) for one in found]

    assert claims() == claims(storage_verdict="undetermined") == [(0.9, True, False)]
    assert claims(culprit_ranks=[6]) == [(0.9, False, False)]
    assert claims(storage_verdict="innocent") == claims(ais_nodes=[{"node_id": "x"}]) == [(0.9, False, True)]
    assert claims(storage_verdict="undetermined", failure_class="undetermined", culprit_ranks=[]) == []


def test_cited_lines_are_opened(tmp_path: Path) -> None:
    """A line stands if its file holds it there: plain or packed, cut, in colours, broken by a terminal, in a mail."""
    text = f"first\n\x1b[31m{LINE}\x1b[0m\n> quoted and bro\nken by a terminal\n"
    (tmp_path / "plain.log").write_text(text, "utf-8")
    (tmp_path / "packed.log.gz").write_bytes(gzip.compress(text.encode()))
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as packed:
        packed.add(tmp_path / "plain.log", "d/plain.log")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("inner.tar", inner.getvalue())
    (tmp_path / "all.tar.zst").write_bytes(pa.Codec("zstd").compress(inner.getvalue(), asbytes=True))
    files = CitedFiles([tmp_path])
    members = ("all.zip!inner.tar!d/plain.log", "all.tar.zst!d/plain.log")
    for path in ("plain.log", str(tmp_path / "plain.log"), "packed.log.gz", *members):
        assert files.stands({"path": path, "line_no": 2, "text": LINE}) is True, path
        assert files.stands({"path": path, "line_no": 1, "text": LINE}) is False, path
    for shown in ("[rank5]: AISBatch … 48 objects", "", "quoted"):
        assert files.stands({"path": "plain.log", "line_no": 2, "text": shown}) is (shown.startswith("[")), shown
    assert files.stands({"path": "plain.log", "line_no": 3, "text": "quoted and broken by"}) is True
    assert files.stands({"path": "plain.log", "line_no": 99, "text": LINE}) is False
    assert files.stands({"path": "plain.log", "locator": "frame=3"}) is True
    for nowhere in ({"path": "plain.log"}, {"path": "none.log", "line_no": 1}, {"path": "all.zip!none", "line_no": 1}):
        assert files.stands(nowhere) is None


def test_intervals() -> None:
    """Wilson's interval is that of a worked example; what is not judged counts nowhere."""
    low, high = Share(0, 100).wilson
    assert low == 0 and math.isclose(high, 0.0370, abs_tol=1e-4)
    assert str(share_of([True, None, False])) == "50.0 % [9.5-90.5] (1/2)" and str(share_of([None])) == "-"


def test_calibration_names_what_is_over() -> None:
    """Claims are binned by confidence; a bin of 15 or more that says a tenth more than is right is over."""
    right, wrong = Claim(0.95, True, False, ""), Claim(0.95, False, True, "blamed")
    assert [one.is_over for one in bins([right] * 12 + [wrong] * 2)] == [False]
    found = bins([right] * 12 + [wrong] * 3 + [Claim(0.5, True, False, "")])
    assert [(one.confidence_from, one.count, one.is_over) for one in found] == [(0.0, 1, False), (0.9, 15, True)]
    assert "false above 0.8: 3 of 15, about storage 3" in calibration_line("x", [right] * 12 + [wrong] * 3)


def test_tables_count_recorded_and_generated_apart(folder: Path) -> None:
    """Measures count culprits, blame and misses where they are judged, and every table names its set."""
    exact, made = {"expect": [EXPECT]}, {"accuracy": {}, "expect": [{**EXPECT, **INNOCENT}]}
    texts = [(exact, [said()]), (exact, [said(storage_verdict="innocent", culprit_ranks=[6])]), (exact, [])]
    texts += [(made, [said()]), (made, [said(**INNOCENT)]), ({"accuracy": {}}, [said()])]
    truths = [(truth_of(folder, text), failures) for text, failures in texts]
    scored = [Scored(truth, judge({"failures": failures}, truth)) for truth, failures in truths]
    recorded, generated = measures(scored[:3]), measures(scored[3:])
    assert (recorded["culprits exact"], recorded["failures reported"]) == (Share(1, 3), Share(2, 3))
    assert (recorded["guilty storage missed"], recorded["guilty storage called innocent"]) == (Share(2, 3), Share(1, 3))
    assert (generated["storage falsely blamed"], generated["culprits exact"]) == (Share(1, 2), Share(2, 2))
    assert generated["runs without a failure that are given one"] == Share(1, 1)
    assert (recorded["incidents without any mistake"], recorded["AIStore nodes exact"]) == (Share(1, 3), Share(1, 1))
    text = summary(scored)
    for title in ("Measures", "Storage", "Beside simpler tools"):
        assert f"### {title}, recorded" in text and f"### {title}, generated" in text
    assert text.endswith("2 of 6 right, blamed 2, acquitted 1, missed 1")


def test_simple_tools_are_simple(folder: Path) -> None:
    """The simple tools answer by the first line of their kind, and accuse storage of any warning that it logged."""
    truth = truth_of(folder, {"expect": [EXPECT]})
    table = "time      : 2026-01-01_10:00:0{}\nhost      : h\nrank      : {} (local_rank: 0)\n"
    text = "Root Cause (first observed failure):\n[0]:\n" + table.format(5, 3) + table.format(2, 1)
    (folder / "workers" / "agent.log").write_text("timeout=60 is set\n" + text, "utf-8")
    assert torchrun_root_cause(truth).ranks == {3} and first_exit(truth).ranks == {1}
    assert first_fatal_line(truth).ranks == {5} and first_fatal_line(truth).storage is True
    assert any_ais_error(truth).storage is None
    (folder / "ais").mkdir()
    log = folder / "ais" / "target.log"
    log.write_text("I 10:00:00.000001 all is well\n", "utf-8")
    assert any_ais_error(truth).storage is False
    log.write_text("W 10:00:00.000001 it is not\n", "utf-8")
    assert any_ais_error(truth).storage is True


def test_fit_is_modest_and_never_falls() -> None:
    """Seen answers count for little against unseen ones; a higher score is never less sure."""
    guilty, shown, data, other, unknown, left_open = GROUPS
    right, wrong = Answered("guilty", "storage_io", 0.85, True), Answered("guilty", "storage_io", 0.75, False)
    none = fitted(seen_counts([], guilty), guilty)
    many = fitted(seen_counts([right] * 1000 + [Answered("guilty", "", 0.85, False)] * 150, guilty), guilty)
    assert (many[2].right, many[2].count) == (1000, 1150) and none[2].confidence > many[2].confidence > 0.9
    steps = [one.confidence for one in fitted(seen_counts([right] * 100 + [wrong] * 400, guilty), guilty)]
    assert steps == sorted(steps) and steps[1] < none[1].confidence
    groups = [Answered("innocent", name, 0.8, True).group for name in ("gpu", "data", "software")]
    assert groups == [shown, data, other]
    assert [Answered("undetermined", name, 0.4, True).group for name in ("undetermined", "gpu")] == [unknown, left_open]


def test_confidence_steps_follow_from_their_counts() -> None:
    """Each step of the SQL is one of the fit, and its confidence is what the fit makes of the counts it states."""
    asked = "select score_from, confidence, reason from confidence_step where storage_verdict = ? and "
    asked += "coalesce(failure_classes, []) = ?::varchar[] order by score_from"
    with in_memory() as connection:
        build_views(connection, [spec for spec in view_specs() if spec.name == "confidence_step"])
        found = [connection.execute(asked, [group.verdict, [*group.classes]]).fetchall() for group in GROUPS]
    for group, rows in zip(GROUPS, found, strict=True):
        seen = {float(step): seen_in(words) for step, _, words in rows}
        steps = [(one.score_from, one.confidence, reason(one)) for one in fitted(seen, group)]
        assert steps == [(float(step), float(confidence), words) for step, confidence, words in rows]


def seen_in(words: str) -> tuple[int, int]:
    """The counts of seen answers that a reason states: `7 of 7 such answers were right, …`."""
    right, _, rest = words.partition(" of ")
    return (int(right), int(rest.split()[0])) if " such answers were right" in words else (0, 0)
