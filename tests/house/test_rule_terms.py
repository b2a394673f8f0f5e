"""What a rule and a link weigh lies in sql/facts, and the SQL names just those terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from aiscorr.analysis.spec import view_specs
from aiscorr.catalog.explain import constants
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.store.records import records

_TERM = re.compile(r"'term':(.*?)(?='file_id'|'strength'|\})", re.DOTALL)
_RESULT = re.compile(r"(?:^|\bthen|\belse)\s*'(\w+)'")
#: The weights that somebody has to keep in mind, all together.
MOST_NUMBERS = 150
MOST_TERMS = 20


def facts(name: str) -> list[dict[str, Any]]:
    """The rows of a file of facts, by the names of its columns."""
    with closing(constants()) as connection:
        return records(connection, f"from {name}")


def findings() -> Iterator[tuple[str, str]]:
    """Each rule with its select, which follows its name."""
    for spec in view_specs():
        if spec.name.startswith("finding_"):
            _, *parts = re.split(r"'(\w+)' as finding\b", spec.select)
            yield from zip(parts[::2], parts[1::2], strict=True)


def terms_of(select: str) -> set[str]:
    """The terms that the SQL of a rule may give."""
    return {term for expression in _TERM.findall(select) for term in _RESULT.findall(expression.strip())}


def literals_of_readers(name: str) -> str:
    """The SQL of all views that read a file of facts, and of those that they read."""
    readers = [spec for spec in view_specs() if name in spec.reads]
    read = {other for spec in readers for other in spec.reads}
    return "\n".join(spec.select for spec in view_specs() if spec in readers or spec.name in read)


def test_contents_are_of_patterns() -> None:
    """What a line says of the data that was asked for is said of patterns that there are."""
    names = {pattern.name for pattern in pattern_set("worker")}
    assert [row for row in facts("pattern_content") if row["pattern"] not in names] == []


def test_rules_name_the_terms_that_have_a_weight() -> None:
    """No rule has a term without a weight, and no weight lies there unused."""
    named = {(rule, term) for rule, select in findings() for term in terms_of(select)}
    assert named == {(row["rule"], row["term"]) for row in facts("rule_term")}


def test_rules_have_few_terms() -> None:
    """Who reads a rule can keep its terms in mind."""
    rules = [row["rule"] for row in facts("rule_term")]
    assert [rule for rule in set(rules) if rules.count(rule) > MOST_TERMS] == []


def test_links_and_relations_are_used() -> None:
    """Each term of a link, and each kind of relation, is named by the SQL that leads to them."""
    for name, column in (("link_term", "term"), ("relation_kind", "relation")):
        select = literals_of_readers(name)
        assert [row[column] for row in facts(name) if f"'{row[column]}'" not in select] == []


def test_there_are_few_weights() -> None:
    """All weights together are few enough to be fitted and looked through."""
    assert len(facts("rule_term")) + len(facts("link_term")) + 3 * len(facts("relation_kind")) <= MOST_NUMBERS


def test_each_weight_has_a_reason() -> None:
    """What a term says is there in words."""
    for name in ("rule_term", "link_term", "relation_kind"):
        assert [row for row in facts(name) if len(row["why"].split()) < 3] == []
