"""Every mistake in fixtures/bad gives exactly the message beside it: what, where, the place in a regex, what to try."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from duckdb_release import IS_1_5
from scenes import FIXTURES

from aiscorr.analysis.spec import build_views, view_specs
from aiscorr.config import load_settings
from aiscorr.errors import AiscorrError
from aiscorr.parse.spec.formats import ROLES, load_formats
from aiscorr.parse.spec.pattern_files import load_patterns
from aiscorr.query.named import named_queries
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import in_memory

BAD = FIXTURES / "bad"
MISTAKES = sorted(path.parent.name for path in BAD.glob("*/message.txt"))


def load(folder: Path) -> None:
    """Loads what lies in a folder the way the product does."""
    if (folder / "patterns").is_dir():
        load_patterns([folder / "patterns"])
    if (folder / "formats").is_dir():
        for role in ROLES:
            load_formats(role, (str(folder / "formats"),))
    if (folder / "queries").is_dir():
        named_queries([str(folder / "queries")])
    if (folder / "sql").is_dir():
        connection = in_memory()
        for table in TABLES:
            connection.execute(table.create_statement())
        build_views(connection, view_specs(str(folder / "sql")))
    load_settings(db=None, config=None, environment={}, folder=str(folder))


def test_every_mistake_has_a_message() -> None:
    """Every folder of fixtures/bad holds one mistake and the message it gives."""
    assert sorted(path.name for path in BAD.iterdir() if path.is_dir()) == MISTAKES
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    """A wrong pattern, format, view, query or setting is refused with its message, and is a usage error."""
    with pytest.raises(AiscorrError) as caught:
        load(BAD / name)
    assert caught.value.exit_code == 2
    said = str(caught.value).replace(str(BAD / name), "{here}") + "\n"
    expected = (BAD / name / "message.txt").read_text("utf-8")
    if IS_1_5 and (BAD / name / "sql").is_dir():
        expected = re.sub(r"\^+", "^", expected)  # DuckDB 2 marks the whole word
    assert said == expected


def test_what_is_right_is_taken(tmp_path: Path) -> None:
    """A folder without a mistake loads."""
    for kind in ("patterns", "formats", "sql", "queries"):
        (tmp_path / kind).mkdir()
    source = BAD / "query_in_capitals" / "queries" / "Disks.sql"
    (tmp_path / "queries" / "disks.sql").write_text(source.read_text("utf-8"))
    load(tmp_path)


PATTERN = (BAD / "pattern_without_sample" / "patterns" / "site_disk_gone.toml").read_text("utf-8")
SAMPLE = '[[sample]]\nline = "disk is gone: /a after 5s"\n'
WRONG_TYPES = {
    "priority": ('severity = "error"', 'severity = "error"\npriority = "high"'),
    "literal": ('literal = "disk is gone"', "literal = 5"),
    "convert": ('literal = "disk', 'convert = "int"\nliteral = "disk'),
    "title": ('title = "A disk is gone"', "title = 2026-01-01"),
    "sample": (SAMPLE, '[[sample]]\ntext = "disk is gone: /a after 5s"\n'),
    "expect": (SAMPLE, SAMPLE + 'expect = "x"\n'),
}


@pytest.mark.parametrize("key", WRONG_TYPES)
def test_a_value_of_the_wrong_type(key: str, tmp_path: Path) -> None:
    """A key whose value has the wrong type is refused as a mistake in the file."""
    (tmp_path / "patterns").mkdir()
    text = (PATTERN + SAMPLE).replace(*WRONG_TYPES[key])
    assert text != PATTERN + SAMPLE
    (tmp_path / "patterns" / "site.toml").write_text(text)
    with pytest.raises(AiscorrError):
        load(tmp_path)


def test_the_caret_stands_below_the_mistake(tmp_path: Path) -> None:
    """The caret stands below the mistake whatever letters stand before it."""
    (tmp_path / "patterns").mkdir()
    text = (PATTERN + SAMPLE).replace("'''disk is gone: (", "'''größe µ: ((")
    (tmp_path / "patterns" / "site.toml").write_text(text)
    with pytest.raises(AiscorrError) as caught:
        load(tmp_path)
    _, regex, caret, *_ = str(caught.value).split("\n")
    assert caret.index("^") == regex.index("((")
