"""The papers name what the program has: every command, option, view, key, word and address, and lead where they say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import click
import pytest
from papers import blocks, first_cells, in_code, papers, prose, section
from scenes import REPO

from aiscorr import config, errors
from aiscorr.analysis.spec import view_specs
from aiscorr.catalog.explain import constants
from aiscorr.catalog.glossary import words
from aiscorr.cli import cli
from aiscorr.parse.spec import formats, pattern_files
from aiscorr.query.named import named_queries
from aiscorr.report.sections import sections
from aiscorr.serve import plan
from aiscorr.serve.mcp import Tools
from aiscorr.serve.web import app
from aiscorr.serve.web import settings as http

_LINK = re.compile(r"\[[^\]]+\]\((?!https?:)(?P<path>[^)#]*)(?:#(?P<anchor>[^)]*))?\)")
_PATH = re.compile(r"`((?:aiscorr|sql|tests|benchmarks|fixtures|docs|requirements|\.ci)/[\w./-]+)`")
#: Words that an engineer reads twice.
_ODD = re.compile(
    r"\b(?:anew|be it|of which|as far as|whatever|stands?|stood|told|heard|beside|at hand|the ties?)\b", re.IGNORECASE
)


def leaves(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that has no commands below it, by the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def documented(verb: str) -> str:
    """What docs/commands.md says of a command."""
    found = re.findall(rf"^## aiscorr {verb}\b[^\n]*\n(.*?)(?=^## |\Z)", papers()["docs/commands.md"], re.M | re.S)
    assert len(found) == 1, verb
    return str(found[0])


def options_of(command: click.Command) -> set[str]:
    """The names of a command's own options."""
    known = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    return {name for option in known for name in (*option.opts, *option.secondary_opts)}


def options_named(text: str) -> set[str]:
    """The options in the first cells of a text's tables."""
    return {code.split(" ")[0] for cell in first_cells(text) for code in in_code(cell)}


@pytest.mark.parametrize(("verb", "command"), list(leaves()), ids=[verb for verb, _ in leaves()])
def test_options(verb: str, command: click.Command) -> None:
    """docs/commands.md names every option of a command, and no other."""
    assert options_named(documented(verb)) == options_of(command)


@pytest.mark.parametrize(("verb", "command"), list(leaves()), ids=[verb for verb, _ in leaves()])
def test_choices(verb: str, command: click.Command) -> None:
    """docs/commands.md names every value that an option of a command takes."""
    text = documented(verb) if verb != "collect dumps" else documented("collect stacks")
    for option in command.params:
        if isinstance(option.type, click.Choice):
            assert [value for value in option.type.choices if f"`{value}`" not in text] == [], option.name


def test_commands() -> None:
    """docs/commands.md has the commands that there are, and the options of all of them."""
    headings = re.findall(r"^## aiscorr ((?:[a-z]+ ?)+)", papers()["docs/commands.md"], re.MULTILINE)
    assert sorted(heading.strip() for heading in headings) == sorted(verb for verb, _ in leaves())
    assert options_named(section("docs/commands.md", "Global options")) == options_of(cli) | {"-h", "--help"}


def test_exit_codes() -> None:
    """docs/commands.md names every exit code."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AiscorrError)]
    codes = {0} | {kind.exit_code for kind in kinds}
    assert {int(cell) for cell in first_cells(section("docs/commands.md", "Exit codes"))} == codes


def test_environment() -> None:
    """docs/commands.md names every variable of aiscorr's own and of AIStore's clients that the program reads."""
    text = "\n".join(path.read_text("utf-8") for path in [*(REPO / "aiscorr").rglob("*.py"), REPO / "hatch_build.py"])
    read = set(re.findall(r'"((?:AISCORR|AIS)_[A-Z_]+)"', text))
    cells = first_cells(section("docs/commands.md", "Environment variables"))
    named = {code for cell in cells for code in in_code(cell)}
    assert read - named == set()
    assert {name for name in named if name.startswith("AIS") and not name.startswith(tuple(read))} == set()


def test_public_views() -> None:
    """docs/database.md has a row for every public view, and for no other."""
    cells = [code for cell in first_cells(section("docs/database.md", "Public views")) for code in in_code(cell)]
    assert sorted(cells) == sorted(spec.name for spec in view_specs() if spec.is_public)


def test_named_queries() -> None:
    """docs/database.md names every named query."""
    assert set(re.findall(r"`@(\w+)`", section("docs/database.md", "Ask with SQL"))) == set(named_queries())


def test_sections_of_a_report() -> None:
    """docs/report.md has a row for every section of a report."""
    assert first_cells(section("docs/report.md", "The sections")) == [one.title for one in sections()]


@pytest.mark.parametrize(("view", "column"), [("failure_class", "failure_class"), ("rank_role", "role")])
def test_constants(view: str, column: str) -> None:
    """docs/decisions.md has a row for every class of failures and every role of a rank."""
    connection = constants()
    known = {f"`{row[0]}`" for row in connection.execute(f"select {column} from {view}").fetchall()}
    connection.close()
    assert known <= set(first_cells(papers()["docs/decisions.md"]))


def test_glossary() -> None:
    """Every word of reports is in docs/glossary.md, or a section in docs/report.md, and `explain` knows all of them."""
    glossary = first_cells(papers()["docs/glossary.md"])
    named = {part for cell in glossary for part in [cell, *cell.split(", ")]}
    named |= set(first_cells(section("docs/report.md", "The sections")))
    shown = [word.names[0] for word in words()]
    assert [word for word in shown if word not in named and not set(word.split(", ")) <= named] == []
    known = {name for word in words() for name in word.names}
    assert [cell for cell in glossary if cell not in known and not set(cell.split(", ")) <= known] == []


def test_addresses() -> None:
    """docs/service.md names every address that the server answers, and every tool for assistants."""
    shown = set(in_code(papers()["docs/service.md"]))
    addresses = {route[0].replace(":path}", "}") for route in (*app._PROGRAMS, *app._PAGES)}
    tools = {name for name, value in vars(Tools).items() if callable(value) and not name.startswith("_")}
    assert (addresses | tools) - shown == set()


def test_keys_of_files() -> None:
    """docs/extend.md has a row for every key of a pattern, and names every key of a format."""
    text = papers()["docs/extend.md"]
    named = {code for cell in first_cells(text) for code in in_code(cell)}
    assert named == pattern_files._KEYS
    assert {key for key in formats._KEYS if not re.search(rf"\b{key}\b", text)} == set()


def test_keys_of_the_configuration() -> None:
    """The aiscorr.toml of docs/configuration.md has every key that there is."""
    (text,) = (text for name, _, text in blocks("toml") if name == "docs/configuration.md")
    values: dict[str, Any] = tomllib.loads(text)
    serve = values["serve"]
    assert set(values) == set(config._KEYS)
    assert set(values["pull"]) == set(config._PULL_KEYS)
    assert set(serve) == set(plan._KEYS)
    assert set(serve["retention"]) == set(plan._RETENTION_KEYS)
    assert set(serve["http"]) == set(http._KEYS)
    for key, known in (("cluster", plan._CLUSTER_KEYS), ("jobs", plan._JOB_KEYS), ("notify", plan._TARGET_KEYS)):
        assert {name for table in serve[key] for name in table} == set(known)


def anchors(text: str) -> set[str]:
    """The anchors of a file's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", list(papers()))
def test_links(name: str) -> None:
    """Every link leads to a file that is there, and to a heading in it; every path that is named is there."""
    text = prose(papers()[name])
    for match in _LINK.finditer(text):
        path = (REPO / name).parent / match["path"] if match["path"] else REPO / name
        assert path.exists(), match.group()
        if match["anchor"]:
            assert match["anchor"] in anchors(path.read_text("utf-8")), match.group()
    assert [path for path in _PATH.findall(text) if not (REPO / path).exists()] == []


def test_the_index_names_every_file() -> None:
    """docs/README.md leads to every file in docs/."""
    linked = {match["path"] for match in _LINK.finditer(papers()["docs/README.md"])}
    assert {path.name for path in (REPO / "docs").iterdir()} - {"README.md"} - linked == set()


def test_layers() -> None:
    """The layers in CONTRIBUTING.md are those of the import contract."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    (shown,) = (text for name, title, text in blocks("text") if title == "layers")
    layers = [sorted(re.findall(r"\w+", layer)) for layer in shown.split(">")]
    assert layers == [sorted(re.findall(r"aiscorr\.(\w+)", layer)) for layer in contract["layers"]]


def test_the_source_archive_has_the_papers() -> None:
    """The source archive holds the README, docs/, CONTRIBUTING.md and CHANGELOG.md."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
    include = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"README.md", "docs", "CONTRIBUTING.md", "CHANGELOG.md"} - set(include) == set()


@pytest.mark.parametrize("name", [name for name in papers() if not name.startswith("benchmarks/")])
def test_plain_words(name: str) -> None:
    """The papers use none of the words that an engineer reads twice, but where they quote a report."""
    text = re.sub(r"`[^`]*`", "", prose(papers()[name]))
    for word in sorted((each for one in words() for each in one.names), key=len, reverse=True):
        text = text.replace(f"| {word} |", "").replace(f", {word} |", "")
    assert _ODD.findall(text) == []
