"""The accuracy benchmark asks about incidents, whole and with evidence taken away, and scores what it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from said_of_truths import EXPECT, INNOCENT, incident, said
from scenes import Library
from truths import failures_of

from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.score import narrow
from benchmarks.accuracy.score.truth import truth_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An incident with one line of a worker."""
    return incident(tmp_path)


def test_score_of_a_scenario(library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario is asked about and scored; what was kept of it is scored without asking; wrong is exit 1."""
    scenario = library.folder("target_killed_short_batch")
    assert main(["score", str(scenario)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("ok  target_killed_short_batch") and "| culprits exact | 100.0 %" in shown
    failures = failures_of(library.database("target_killed_short_batch"))
    failures[0]["storage_verdict"] = "innocent"
    row = {"name": f"{scenario.parent.name}/{scenario.name}", "exit": [0, 0], "report": {"failures": failures}}
    kept = tmp_path / "kept.jsonl"
    kept.write_text(json.dumps(row).replace(str(scenario.parent), "") + "\n", "utf-8")
    assert main(["score", "--kept", str(kept), str(scenario)]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("BAD target_killed_short_batch") and "of 1 right, acquitted 1\n" in shown
    with pytest.raises(SystemExit):
        main(["score", "--kept", str(kept), str(library.folder("healthy_run"))])
    assert "nothing is kept of scenarios/healthy_run" in capsys.readouterr().err


def test_an_error_is_a_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incident that cannot be read counts as an error, and the others go on."""
    (folder / "truth.toml").write_text("", "utf-8")
    monkeypatch.setattr("benchmarks.accuracy.score.ask.ingest", lambda *_, **__: 1 / 0)
    assert main(["score", str(folder)]) == 1


def test_cuts_are_sides_nodes_and_files(folder: Path) -> None:
    """Each side, node and file of the job is taken away once; the only side is not."""
    assert [path.name for path in narrow.cuts(folder)] == ["rank5.log"]
    for node in ("t1", "t2"):
        (folder / "ais" / node).mkdir(parents=True)
    assert [path.name for path in narrow.cuts(folder)] == ["ais", "workers", "t1", "t2", "rank5.log"]


def test_flips_are_contradictions(folder: Path) -> None:
    """Less than the truth is no flip; another verdict, node, rank or class is, unless another job may be meant."""
    truth = truth_of(folder, {"expect": [EXPECT]})
    lesser = said(storage_verdict="undetermined", failure_class="network", culprit_ranks=[], ais_nodes=[])
    assert narrow.flips([said(), lesser], truth) == [] == narrow.flips([], truth)
    (found,) = narrow.flips([said(storage_verdict="innocent", culprit_ranks=[1], failure_class="gpu")], truth)
    assert found == "storage guilty -> innocent 0.9; culprits [1] too many; class gpu"
    either = truth_of(folder, {"expect": [EXPECT, {**INNOCENT, "job_id": "8"}]})
    assert narrow.flips([said(job_id="9", **INNOCENT)], either) == []
    assert narrow.flips([said()], truth_of(folder, {})) == ["false alarm storage_io/guilty"]


#: The node that is guilty, and what one host of an innocent job printed.
CUTS = [
    ("target_killed_short_batch", "ais/AZq6Oo53"),
    ("noisy_storage_then_deadlock", "workers/error-8225791-0.out"),
]


@pytest.mark.parametrize(("name", "cut"), [CUTS[0], pytest.param(*CUTS[1], marks=pytest.mark.slow)])
def test_less_evidence_turns_no_verdict_round(name: str, cut: str, library: Library) -> None:
    """With a node or a file gone, a verdict is the same or narrower."""
    scenario = library.folder(name)
    assert scenario / cut in narrow.cuts(scenario)
    assert narrow.flips_without(scenario, scenario / cut) == []
