"""The generator of the scenarios: what it writes is what fixtures/ holds, and what it cannot write it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import FIXTURES, scenario_names

from fixtures.generator.__main__ import main as generate


def written(folder: Path) -> dict[str, bytes]:
    """The files of a scenario, but for its expected reports."""
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in files.items() if name.parts[0] != "expected"}


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_is_what_the_generator_writes(name: str, tmp_path: Path) -> None:
    """The logs, the parameters and the truth of a scenario are written again byte for byte."""
    assert generate(["--out", str(tmp_path), "--scenario", name]) == 0
    assert written(tmp_path / name) == written(FIXTURES / name)


def test_the_generator_lists_its_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` names every scenario of fixtures/, and no other."""
    assert generate(["--list"]) == 0
    assert sorted(line.split()[1] for line in capsys.readouterr().out.splitlines()) == scenario_names()


def test_parameters_change_a_scenario(tmp_path: Path) -> None:
    """A seed and parameters of one's own give another incident of the same story."""
    changed = ["--seed", "9", "--set", "ranks=16", "--set", "torch=2.7", "--set", "layout=torchrun"]
    assert generate(["--out", str(tmp_path), "--scenario", "nobody_finishes", *changed]) == 0
    files = written(tmp_path / "nobody_finishes")
    assert len([name for name in files if name.endswith("stderr.log")]) == 16
    assert b'torch = "2.7"' in files["scenario.toml"] and b"seed = 9" in files["scenario.toml"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("torch=1.0", "no torch 1.0; known: 2.1, 2.4, 2.6, 2.7, 2.9, 2.12"),
        ("style=prose", "no style prose; known: nemo, nemo_plain, bar, pylog"),
        ("proxies=1", "primary_proxy_killed needs proxies >= 2, not 1"),
        ("colour=red", "--set colour=red: KEY=VALUE with KEY one of after_s, ais, "),
    ],
)
def test_impossible_parameters(change: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parameters under which a scenario cannot happen are refused with a reason."""
    with pytest.raises(SystemExit):
        generate(["--out", str(tmp_path), "--scenario", "primary_proxy_killed", "--set", change])
    assert message in capsys.readouterr().err
