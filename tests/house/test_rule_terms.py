"""What a rule and a link weigh lies in sql/facts, and the SQL names just those terms."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from scenes import REPO

from aiscorr.analysis.spec import ViewSpec, view_specs

_TERM = re.compile(r"'term':(.*?)(?='file_id'|'strength'|\})", re.DOTALL)
_RESULT = re.compile(r"(?:^|\bthen|\belse)\s*'(\w+)'")
#: The weights that somebody has to keep in mind, all together.
MOST_NUMBERS = 150
MOST_TERMS = 20


def facts(name: str) -> list[dict[str, str]]:
    """The rows of a file of facts, by the names of its columns."""
    lines = [line for line in (REPO / f"sql/facts/{name}.csv").read_text("utf-8").splitlines() if line[:2] != "# "]
    head = [column.partition(" ")[0] for column in next(csv.reader(lines))]
    return [dict(zip(head, row, strict=True)) for row in csv.reader(lines[1:])]


def findings() -> Iterator[tuple[str, ViewSpec]]:
    """Each rule with its view."""
    return ((spec.name.removeprefix("finding_"), spec) for spec in view_specs() if spec.name.startswith("finding_"))


def terms_of(select: str) -> set[str]:
    """The terms that the SQL of a rule may give."""
    return {term for expression in _TERM.findall(select) for term in _RESULT.findall(expression.strip())}


def literals_of_readers(name: str) -> str:
    """The SQL of all views that read a file of facts."""
    return "\n".join(spec.select for spec in view_specs() if name in spec.reads)


def test_rules_name_the_terms_that_have_a_weight() -> None:
    """No rule has a term without a weight, and no weight lies there unused."""
    named = {(rule, term) for rule, spec in findings() for term in terms_of(spec.select)}
    assert named == {(row["rule"], row["term"]) for row in facts("rule_term")}


def test_rules_have_few_terms() -> None:
    """Who reads a rule can keep its terms in mind."""
    rules = [row["rule"] for row in facts("rule_term")]
    assert [rule for rule in set(rules) if rules.count(rule) > MOST_TERMS] == []


def test_links_and_relations_are_used() -> None:
    """Each term of a link, and each kind of relation, is named by the SQL that reads them."""
    for name, column in (("link_term", "term"), ("relation_kind", "relation")):
        select = literals_of_readers(name)
        assert [row[column] for row in facts(name) if f"'{row[column]}'" not in select] == []


def test_there_are_few_weights() -> None:
    """All weights together are few enough to be fitted and looked through."""
    relations = sum(3 for _ in facts("relation_kind"))
    assert len(facts("rule_term")) + len(facts("link_term")) + relations <= MOST_NUMBERS


def test_each_weight_has_a_reason() -> None:
    """What a term says is there in words."""
    for name in ("rule_term", "link_term", "relation_kind"):
        assert [row for row in facts(name) if len(row["why"].split()) < 3] == []
