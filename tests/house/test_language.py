"""What aiscorr prints is plain English of the field: no private words, no sentence that has to be read twice."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRIVATE = re.compile(
    r"\b(?:at hand|told from|the tie|ties? by|without a word|by itself|at the latest|anew|be it|stood|stands?|told)\b",
    re.IGNORECASE,
)
MOST_WORDS = 30
#: A quoted literal of SQL; two quotes inside are one.
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
_KEYS = ("title", "means", "look_at", "fix")


def _patterns() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "aiscorr/patterns").glob("*.toml")):
        found = tomllib.loads(path.read_text("utf-8"))
        yield from ((f"{path.name} {key}", found[key]) for key in _KEYS if key in found)


def _views() -> Iterator[tuple[str, str]]:
    """Texts in the SQL of findings and of what is shown of a failure; words without a space are names of things."""
    for path in sorted((ROOT / "sql").glob("[5-7]*.sql")):
        lines = (line for line in path.read_text("utf-8").splitlines() if not line.startswith("--"))
        for text in _LITERAL.findall("\n".join(lines)):
            if " " in text.strip():
                yield path.name, text


def _words() -> Iterator[tuple[str, str]]:
    for word in tomllib.loads((ROOT / "aiscorr/catalog/words.toml").read_text("utf-8"))["word"]:
        yield f"words.toml {word['word']}", word["means"]


def _sections() -> Iterator[tuple[str, str]]:
    """Texts in the modules that write a report; docstrings are not printed."""
    for path in sorted((ROOT / "aiscorr/report").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
                yield f"{path.name}:{node.lineno}", node.value


@pytest.mark.parametrize("texts", [_patterns, _views, _words, _sections])
def test_no_private_words(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    """Nobody outside a project knows its private words, so aiscorr prints none."""
    found = list(texts())
    assert len(found) > 20
    assert [f"{where}: {text}" for where, text in found if " " in text and PRIVATE.search(text)] == []


def test_sentences_are_short() -> None:
    """No sentence of a report has more than 30 words; commands and lines of logs are none."""
    sentences: list[str] = []
    for path in sorted(ROOT.glob("fixtures/*/expected/report.txt")):
        text = re.sub(r"\n {2,}(?![-\d$])", " ", path.read_text("utf-8"))
        sentences += re.split(r"(?<=[.:;?])\s|\n| — |  +|aiscorr \w+ ", text)
    assert len(sentences) > 1000
    long = [one for one in sentences if len(re.findall(r"[A-Za-z]{2,}", one)) > MOST_WORDS]
    assert [one for one in long if not re.search(r"^ *\$ |--> |\.\d{6} |\S:\d+ ", one)] == []
