"""Every registered thing is documented: verbs, views, columns, counters, thresholds, patterns, queries, sections."""

from __future__ import annotations

import tomllib

import click
import pytest
from scenes import REPO

from aiscorr.analysis.spec import view_specs
from aiscorr.catalog.columns import all_columns, column_meanings
from aiscorr.catalog.explain import constants
from aiscorr.cli import cli
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.query.named import named_queries
from aiscorr.report.sections import sections

PUBLIC = [
    "source_file",
    "clock",
    "node",
    "node_process",
    "node_coverage",
    "ais_event",
    "counter_delta",
    "job",
    "worker_event",
    "failure",
    "rank_state",
    "failure_counter_delta",
    "rank_target",
    "get_batch_chain",
    "get_batch_chain_step",
    "chain_rank_match",
    "timeline",
    "root_cause",
    "evidence",
    "blind_spot",
    "recommendation",
    "conclusion_change",
    "reject",
    "ingest_run",
    "pull_gap",
    "coverage",
    "episode",
    "contact",
    "observation",
    "suspect",
]
VERBS = [
    "copy",
    "ingest",
    "pull",
    "query",
    "report",
    "lines",
    "verify",
    "explain",
    "serve",
    "mcp",
    "demo",
    "collect",
    "completion",
]


def public_views() -> list[str]:
    """The views marked public."""
    return [spec.name for spec in view_specs() if spec.is_public]


def test_public_views_are_the_contract() -> None:
    """Every view that the contract promises is there and marked public."""
    assert set(PUBLIC) - set(public_views()) == set()


def test_verbs_are_the_contract() -> None:
    """The commands are those of the contract."""
    assert sorted(cli.commands) == sorted(VERBS)


def test_options_have_help() -> None:
    """Every command has help, and so has every option whose name does not say it all."""
    for verb, command in cli.commands.items():
        assert command.help, verb
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name != "form":
                assert parameter.help, f"{verb} {parameter.opts}"


@pytest.mark.parametrize("view", public_views())
def test_columns_of_public_views_are_documented(view: str) -> None:
    """Every column of a public view has a meaning."""
    assert [name for name in all_columns()[view] if not column_meanings().get(name)] == []


def test_no_column_is_documented_in_vain() -> None:
    """Every column that columns.toml explains is a column of some view."""
    known = {column for columns in all_columns().values() for column in columns}
    told = tomllib.loads((REPO / "aiscorr" / "catalog" / "columns.toml").read_text("utf-8"))
    views = {name: texts for name, texts in told.items() if isinstance(texts, dict)}
    assert sorted(told.keys() - views.keys() - known) == []
    assert [(view, name) for view, texts in views.items() for name in texts if name not in all_columns()[view]] == []


def test_times_of_public_views() -> None:
    """Columns of public views called …_at hold UTC moments with nanoseconds."""
    wrong = [
        (view, name, kind)
        for view in public_views()
        for name, kind in all_columns()[view].items()
        if name.endswith("_at") and kind != "TIMESTAMP_NS"
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        ("threshold", ("name", "value", "reason")),
        ("counter_kind", ("counter", "kind", "unit", "meaning")),
        ("failure_class", ("failure_class",)),
        ("fault_kind", ("fault_kind",)),
        ("rank_role", ("role",)),
        ("chain_step_kind", ("step",)),
    ],
)
def test_constants_are_explained(view: str, columns: tuple[str, ...]) -> None:
    """Every constant is listed once and every cell that explains it is filled."""
    connection = constants()
    rows = connection.execute(f"select {', '.join(columns)} from {view}").fetchall()
    connection.close()
    assert len(rows) == len({row[0] for row in rows}) > 3
    assert [row for row in rows if any(cell in (None, "") for cell in row)] == []


def test_every_threshold_is_used() -> None:
    """Every threshold is read by some view."""
    connection = constants()
    names = [row[0] for row in connection.execute("select name from threshold").fetchall()]
    connection.close()
    text = "".join(spec.select for spec in view_specs() if not spec.name.endswith("threshold"))
    assert [name for name in names if f"'{name}'" not in text] == []


def test_failure_classes_are_the_contract() -> None:
    """The failure classes are those of the contract."""
    connection = constants()
    found = {row[0] for row in connection.execute("select failure_class from failure_class").fetchall()}
    connection.close()
    assert found == {
        "storage_io",
        "data_loading_stall",
        "data",
        "network",
        "gpu",
        "gpu_fabric",
        "collective_mismatch",
        "rank_hang",
        "software",
        "infrastructure",
        "undetermined",
    }


def test_patterns_are_explained() -> None:
    """Every pattern says what it means, where to look, what to do and where the fact is from."""
    every = [pattern for kind in ("ais", "worker", "tail") for pattern in pattern_set(kind)]
    for pattern in every:
        for key in ("title", "means", "look_at", "fix", "source"):
            assert getattr(pattern, key).strip(), f"{pattern.name}: {key}"
    sent_on = {f"See {pattern.name}." for pattern in every}
    assert [pattern.name for pattern in every if pattern.fix in sent_on] == [], "a name is no advice"


def test_queries_and_sections_are_titled() -> None:
    """Every named query has a sentence, and every section of the report a title and a place of its own."""
    assert [query.name for query in named_queries().values() if not query.sentence.endswith(".")] == []
    found = sections()
    assert len({section.order for section in found}) == len({section.title for section in found}) == len(found)
