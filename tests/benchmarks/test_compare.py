"""Reports of two versions of aiscorr are kept and compared; incidents are found in folders and archives."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.compare import ask, differences, kept_reports
from benchmarks.accuracy.places import incidents, logs

#: Stands for aiscorr: its report cites the file that it was given and holds what the file says.
PROGRAM = """#!{python}
import json, pathlib, sys
_, _, db, verb, *rest = sys.argv
kept = pathlib.Path(db)
if verb == "ingest":
    kept.write_text(json.dumps(rest))
    sys.exit(3 if "broken" in rest[0] else 0)
paths = [str(path) for folder in json.loads(kept.read_text()) for path in pathlib.Path(folder).rglob("*.log")]
if any("unusable" in path for path in paths):
    sys.exit("no such thing")
words = pathlib.Path(paths[0]).read_text()
print(json.dumps({{"generated_at": db, "failures": [{{"path": paths[0], "words": words, "db": db}}]}}))
"""


def incident(folder: Path, text: str = "fine") -> Path:
    """An incident of one log."""
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "a.log").write_text(text, "utf-8")
    (folder / "truth.toml").write_text("", "utf-8")
    return folder


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A program that answers as aiscorr does."""
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable), "utf-8")
    path.chmod(0o755)
    return str(path)


def test_places(tmp_path: Path) -> None:
    """Incidents lie in a folder, in a folder of folders, in an archive; every n-th is counted within each of these."""
    family = tmp_path / "family"
    for name in "cab":
        incident(family / name)
    with tarfile.open(tmp_path / "part.tar.xz", "w:xz") as packed:
        packed.add(family, "part")
    single = [incident(tmp_path / "x"), incident(tmp_path / "y"), incident(tmp_path / "z")]
    found = incidents([family, tmp_path / "part.tar.xz", *single], tmp_path / "unpacked")
    assert [f"{one.parent.name}/{one.name}" for one in found][3:] == [
        *("family/a", "family/b", "family/c"),
        *("part/a", "part/b", "part/c"),
    ]
    some = incidents([family, *single], tmp_path / "unpacked", every=2)
    assert [one.name for one in some] == ["x", "z", "a", "c"]
    (family / "a" / "ais-archives").mkdir()
    assert [one.name for one in logs(family / "a", "ais-archives")] == ["ais-archives", "logs"]
    assert logs(tmp_path) == [tmp_path]
    (tmp_path / "empty").mkdir()
    for place, words in (("empty", "no truth.toml"), ("none", "neither a folder nor a file")):
        with pytest.raises(ValueError, match=words):
            incidents([tmp_path / place], tmp_path / "unpacked")
    with pytest.raises(ValueError, match="given twice"):
        incidents([tmp_path / "part.tar.xz"], tmp_path / "unpacked")


def test_same_reports_do_not_differ(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reports of the same incidents, wherever these lie, differ neither in paths nor in times of making."""
    for place in ("one", "two"):
        incident(tmp_path / place / "family" / "a")
        incident(tmp_path / place / "family" / "broken")
        incident(tmp_path / place / "family" / "unusable")
        asked = ["compare", "ask", program, "--out", str(tmp_path / f"{place}.jsonl"), "--jobs", "2"]
        assert main([*asked, str(tmp_path / place / "family")]) == 0
    before, after = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert before.read_text() != after.read_text() and differences(before, after) == []
    assert main(["compare", "differences", str(before), str(after)]) == 0
    assert capsys.readouterr().out == "0 differences\n"


def test_every_difference_is_listed(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value, a key, a length, an exit code or an incident that only one side has is a line, and the exit is 1."""
    for place, text in (("one", "fine"), ("two", "broken")):
        incident(tmp_path / place / "family" / "a", text)
        ask(program, [tmp_path / place], tmp_path / f"{place}.jsonl")
    before, after = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    row = json.loads(after.read_text())
    failure: dict[str, Any] = row["report"]["failures"][0]
    row["exit"], failure["new"] = [0, 3], None
    more = {**row, "name": "family/b"}
    after.write_text(f"{json.dumps(row)}\n{json.dumps(more)}\n", "utf-8")
    assert differences(before, after) == [
        f"family/b: only in {after}",
        "family/a: exit[1]: 0 -> 3",
        'family/a: report.failures[0].words: "fine" -> "broken"',
        "family/a: report.failures[0].new: (absent) -> null",
    ]
    row["report"]["failures"] = []
    after.write_text(json.dumps(row) + "\n", "utf-8")
    (_, found) = differences(before, after)
    assert found.startswith("family/a: report.failures: [{") and found.endswith("-> []")
    assert main(["compare", "differences", str(before), str(after)]) == 1
    assert capsys.readouterr().out.endswith("2 differences\n")


def test_failed_commands_are_kept_as_words(program: str, tmp_path: Path) -> None:
    """Exit codes are kept; where no report is made, what was printed instead is."""
    folder = incident(tmp_path / "family" / "unusable")
    ask(program, [folder], tmp_path / "kept.jsonl")
    assert kept_reports(tmp_path / "kept.jsonl") == {
        "family/unusable": {"exit": [0, 1], "report": "no such thing\n"},
    }
    with pytest.raises(ValueError, match="given twice"):
        ask(program, [folder, folder], tmp_path / "kept.jsonl")
