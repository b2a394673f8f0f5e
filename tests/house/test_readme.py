"""The README is short and true: the demo's excerpt, the map, the verbs, and the two commands."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache

import pytest
from commands import Command
from scenes import REPO

from aiscorr.analysis.spec import view_specs
from aiscorr.cli import cli

MOST_LINES = 150
#: What every package has; it needs no place on a map.
_PLAIN = {"__init__.py", "__main__.py", "__pycache__"}


@lru_cache(maxsize=1)
def readme() -> str:
    """The README."""
    return (REPO / "README.md").read_text("utf-8")


def named_on_the_map() -> list[str]:
    """The paths on the map: each line's first words, below the folder that stands above them."""
    found, base = [], ""
    for line in readme().partition("\n## Map\n")[2].partition("```text\n")[2].partition("```")[0].splitlines():
        match = re.match(r"(?P<indent>(?:  )?)(?P<names>[\w./]+(?:, [\w./]+)*)(?: {2,}|$)", line)
        if match is None:
            continue
        names = match["names"].split(", ")
        base = base if match["indent"] else names[0]
        found += [base + name for name in names] if match["indent"] else names
    return found


def test_the_readme_is_short() -> None:
    """The README has at most 150 lines; the rest is in docs/."""
    assert len(readme().splitlines()) <= MOST_LINES


def test_excerpt_is_the_head_of_the_demo(run: Command) -> None:
    """The excerpt is what the demo prints, from the verdict on, before anything else but the name of the failure."""
    excerpt = readme().partition("<!-- excerpt: demo -->\n```text\n")[2].partition("```")[0]
    assert len(excerpt.splitlines()) > 5
    outcome = run("-q", "demo")
    heading, rule, paths, blank, *rest = outcome.out.splitlines(keepends=True)
    assert heading.startswith("FAILURE ") and paths.startswith("Paths are below ") and set(rule) == {"=", "\n"}
    assert blank == "\n" and "".join(rest).startswith(excerpt)


def test_everything_on_the_map_is_there() -> None:
    """Every path on the map is there, folders as folders and files as files."""
    named = named_on_the_map()
    assert len(named) >= 30
    assert [name for name in named if not (REPO / name).exists()] == []
    assert [name for name in named if (REPO / name).is_dir() != name.endswith("/")] == []


def test_every_part_of_the_package_is_on_the_map() -> None:
    """Every module and folder at the root of the package is named on the map."""
    there = {
        f"aiscorr/{path.name}{'/' * path.is_dir()}"
        for path in (REPO / "aiscorr").iterdir()
        if path.name not in _PLAIN and (path.is_dir() or path.suffix == ".py")
    }
    assert there - set(named_on_the_map()) == set()


def test_every_folder_of_the_repository_is_on_the_map() -> None:
    """Every folder at the root that holds tracked files is named on the map."""
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no git here to list tracked files")
    folders = {name.partition("/")[0] for name in listed.splitlines() if "/" in name}
    assert folders - {name.partition("/")[0] for name in named_on_the_map()} == set()


def test_numbers_of_the_views() -> None:
    """The hundreds that the map gives to the SQL files are those in use."""
    shown = {int(digit) for digit in re.findall(r"\b(\d)xx\b", readme())}
    assert shown == {spec.number // 100 for spec in view_specs()}


def test_verbs() -> None:
    """The table of verbs is that of the command line."""
    assert sorted(re.findall(r"^\| `(\w+)[^`]*` \|", readme(), re.MULTILINE)) == sorted(cli.commands)


def test_two_commands() -> None:
    """The README has the two blocks of one command each that install and run the program and its tests."""
    blocks = dict(re.findall(r"```sh (demo|test)\n(.*?)```", readme(), re.DOTALL))
    assert sorted(blocks) == ["demo", "test"]
    for name, text in blocks.items():
        assert len(text.strip().splitlines()) == 1, name
        for path in re.findall(r"-r (\S+)", text):
            assert (REPO / path).is_file()
