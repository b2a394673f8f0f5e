"""The README is true: the demo's excerpt, the map, the verbs, the commands and the configuration it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from functools import lru_cache
from pathlib import Path

import click
import pytest
from commands import Command
from scenes import REPO

from aiscorr.cli import cli
from aiscorr.config import load_settings
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.query.named import named_queries
from aiscorr.views.spec import view_specs


@lru_cache(maxsize=1)
def readme() -> str:
    """The README."""
    return (REPO / "README.md").read_text("utf-8")


def section(title: str) -> str:
    """The text below a heading."""
    return readme().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_excerpt_is_the_head_of_the_demo(run: Command) -> None:
    """The excerpt is what the demo prints, from the verdict on, before anything else but the name of the failure."""
    excerpt = readme().partition("<!-- excerpt: demo -->\n```text\n")[2].partition("```")[0]
    assert len(excerpt.splitlines()) > 5
    outcome = run("-q", "demo")
    heading, rule, paths, blank, *rest = outcome.out.splitlines(keepends=True)
    assert heading.startswith("FAILURE ") and paths.startswith("Paths are below ") and set(rule) == {"=", "\n"}
    assert blank == "\n" and "".join(rest).startswith(excerpt)


def named_on_the_map() -> list[str]:
    """The paths on the map: each line's first words, below the folder that stands above them."""
    found, base = [], ""
    for line in section("Map").splitlines():
        match = re.match(r"^(?P<indent> {4,6})(?P<names>\S+(?:, \S+)*)(?: {2,}|$)", line)
        if match is None:
            continue
        if len(match["indent"]) == 4:
            base = match["names"]
            found.append(base)
        else:
            found += [base + name for name in match["names"].split(", ")]
    return found


def test_everything_on_the_map_is_there() -> None:
    """Every path on the map is there, folders as folders and files as files."""
    named = named_on_the_map()
    assert len(named) >= 25
    assert [name for name in named if not (REPO / name).exists()] == []
    assert [name for name in named if (REPO / name).is_dir() != name.endswith("/")] == []


def test_everything_that_is_there_is_on_the_map() -> None:
    """Every module and folder of the package, and every folder of the repository that holds tracked files, is named."""
    named = {name.rstrip("/") for name in named_on_the_map()}
    inside = {f"aiscorr/{path.name}" for path in (REPO / "aiscorr").iterdir() if path.is_dir() or path.suffix == ".py"}
    words = section("Map")
    missing = {name for name in inside - named if "__" not in name and f"{Path(name).name}/" not in words}
    assert missing == set()
    listed = subprocess.run(["git", "ls-files"], cwd=REPO, capture_output=True, text=True, check=False).stdout
    folders = {name.partition("/")[0] for name in listed.splitlines() if "/" in name}
    assert {name for name in folders - named if not any(item.startswith(f"{name}/") for item in named)} == set()


def test_verbs_and_their_options() -> None:
    """The table of verbs is that of the command line, and every option it names is there."""
    rows = re.findall(r"^\| `(\w+)([^`]*)` \| (.*) \|$", section("Your own logs"), re.MULTILINE)
    assert sorted(verb for verb, _, _ in rows) == sorted(cli.commands)
    for verb, _, words in rows:
        if cli.commands[verb].help and "not there yet" in words:
            continue
        known = {option for parameter in cli.commands[verb].params for option in parameter.opts}
        assert set(re.findall(r"`?(-{1,2}[a-z][a-z-]*)\b", words)) <= known, verb


def test_values_of_formats() -> None:
    """The formats that the table of verbs names are those of the command line."""
    for verb in ("query", "report"):
        (option,) = [item for item in cli.commands[verb].params if "--format" in item.opts]
        assert isinstance(option.type, click.Choice)
        (shown,) = re.findall(rf"^\| `{verb}[^\n]*?--format ([a-z\\|]+)", readme(), re.MULTILINE)
        assert set(shown.replace("\\", "").split("|")) <= set(option.type.choices)


def test_global_options_and_exit_codes() -> None:
    """Every global option is named, and so are the exit codes."""
    text = section("Your own logs")
    for parameter in cli.params:
        if parameter.name != "version":
            assert any(f"`{option}" in text for option in parameter.opts), parameter.opts
    assert re.search(r"Exit codes: 0 fine, 1 failed, 2 .*, 3 .*, 4 ", text.replace("\n", " "))


def test_shown_commands_are_understood() -> None:
    """Every command the README shows is one that the command line takes."""
    shown = re.findall(r"^(aiscorr [^#\n]*)", section("Your own logs"), re.MULTILINE)
    shown += re.findall(r"`(aiscorr [a-z][^`]*)`", readme())
    assert len(shown) >= 8
    for line in shown:
        _, verb, *rest = shlex.split(line.replace("…", ""))
        command = cli.commands[verb]
        context = click.Context(command, info_name=verb, resilient_parsing=True)
        command.parse_args(context, rest)
        for name in rest:
            if name.startswith("@"):
                assert name[1:] in named_queries()
            if verb == "explain":
                assert name in {pattern.name for kind in ("ais", "worker") for pattern in pattern_set(kind)}


def test_shown_configuration_is_taken(tmp_path: Path) -> None:
    """The aiscorr.toml that the README shows is one that aiscorr takes."""
    text = readme().partition("### aiscorr.toml")[2].partition("```toml\n")[2].partition("```")[0]
    for folders in tomllib.loads(text).values():
        for folder in folders if isinstance(folders, list) else []:
            (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "aiscorr.toml").write_text(text)
    settings = load_settings(db=None, config=None, environment={}, folder=str(tmp_path))
    assert settings.db_path == "/srv/aiscorr/site.duckdb" and settings.timezone_globs == (("*/tokyo/*", "Asia/Tokyo"),)


def test_numbers_of_the_views() -> None:
    """The hundreds that the map gives to the SQL files are those in use."""
    shown = {int(digit) for digit in re.findall(r"\b(\d)xx\b", section("Map"))}
    assert shown == {spec.number // 100 for spec in view_specs()}


def test_two_commands() -> None:
    """The README has the two blocks of one command each that install and run the program and its tests."""
    blocks = dict(re.findall(r"```sh (demo|test)\n(.*?)```", readme(), re.DOTALL))
    assert sorted(blocks) == ["demo", "test"]
    for name, text in blocks.items():
        assert len(text.strip().splitlines()) == 1, name
        for path in re.findall(r"-r (\S+)", text):
            assert (REPO / path).is_file()


@pytest.mark.parametrize("name", ["LICENSE", "requirements/run.txt", "requirements/test.txt", ".ci/run"])
def test_named_files(name: str) -> None:
    """Files that the README leans on are there."""
    assert (REPO / name).is_file()
