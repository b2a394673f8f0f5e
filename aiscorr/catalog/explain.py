"""What a name means: pattern, counter, view, column, failure class, fault, rule, role, step, threshold or query.

Everything comes from the files that define it, so it cannot differ from what the program does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from aiscorr.analysis.spec import ViewSpec, view_specs
from aiscorr.catalog.columns import column_file, column_meanings
from aiscorr.catalog.glossary import words
from aiscorr.catalog.state_flags import flags_in, flags_told
from aiscorr.errors import UsageError
from aiscorr.parse.spec.pattern import FORMAT_TABLES, Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.query.named import named_queries
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import in_memory
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

_WRITERS = {
    "ais": "AIStore logs",
    "worker": "worker logs",
    "tail": "last words of a rank",
    "step": "progress lines of a rank",
    "repeated": "lines of a rank that repeat with a number that grows",
}
_CONSTANTS = {
    "counter": ("counter_kind", "counter"),
    "failure class": ("failure_class", "failure_class"),
    "failure kind": ("failure_kind", "failure_kind"),
    "fault": ("fault_kind", "fault_kind"),
    "role of a rank": ("rank_role", "role"),
    "activity of a rank": ("activity", "activity"),
    "step of a chain": ("chain_step_kind", "step"),
    "threshold": ("threshold", "name"),
    "basis of a suspicion": ("suspect_basis", "basis"),
    "kind of link": ("link_kind", "link_kind"),
    "setting": ("capture_setting", "variable"),
    "trouble": ("trouble", "trouble"),
    "rule of manuals": ("manual_rule", "rule"),
    "synchronisation point": ("sync_point", "sync_point"),
    "status of InfiniBand": ("ib_status", "name"),
    "flag of state.flags": ("state_flag", "flag"),
}

#: What a column of the constants is called; a flag that is set is said with `also`.
_LABELS = {
    "advice": "do",
    "takes_away": "also: its objects are not there while it lasts",
    "is_refusing": "also: who asks the node is refused at once",
    "is_alert": "also: AIStore takes it for an alert",
    "is_loud": "also: whoever it hits gets an error at once",
    "takes_connections": "also: it still takes connections",
    "is_error": "also: it counts errors",
}
#: The column of a constant that says what it is, with what stands before it.
_SAYS = {
    "counter": ("meaning", ""),
    "failure class": ("says", ""),
    "failure kind": ("says", ""),
    "fault": ("broke_words", "an AIStore node "),
    "role of a rank": ("meaning", ""),
    "activity of a rank": ("meaning", ""),
    "step of a chain": ("meaning", ""),
    "basis of a suspicion": ("words", ""),
    "kind of link": ("words", ""),
}
#: What stands before the words of a record of AIStore: level, time, place in the source.
_RECORD_HEAD = re.compile(r"^[IWEF] \d\d:\d\d:\d\d\.\d+ (?:[\w.]+:\d+ )?")
_NUMBERED = re.compile(r"(?i)^rank[ =]?\d+$")
_UNSAID = ("stalled_words", "position", "has_parted", "is_proof")


def explain(
    name: str, pattern_folders: tuple[str, ...] = (), query_folders: tuple[str, ...] = (), *, may_be_flags: bool = True
) -> list[str]:  # fmt: skip
    """A paragraph for each thing of that name, else for a value of state.flags, or the pattern of a pasted line.

    A number that is the id of a job is no value of state.flags: `may_be_flags` says that nothing has it for a name.

    Raises UsageError where there is neither, with names that are near, or of patterns whose lines hold the word.
    """
    wanted = _NUMBERED.sub("rank", name.strip().removeprefix("@"))
    found: list[str] = []
    folded, known = _folded(wanted), set[str]()
    readers: tuple[Callable[[], Iterable[tuple[str, str]]], ...] = (
        _words, lambda: _constants(pattern_folders), _rules, lambda: _patterns(pattern_folders), _views,
        lambda: _queries(query_folders), _columns,
    )  # fmt: skip
    for reader in readers:
        for key, text in reader():
            known.add(key)
            if _folded(key) == folded:
                found.append(text)
    found = found or (_flags(wanted) if may_be_flags else []) or _matching(wanted, pattern_folders)
    if not found:
        near = _holding(wanted, pattern_folders) + difflib.get_close_matches(wanted, known, n=6, cutoff=0.5)
        near += [key for key in sorted(known) if wanted.lower() in key.lower() and key not in near][:6]
        raise UsageError(
            f"nothing is called {name!r}", where="aiscorr explain", try_this=", ".join(near) or "aiscorr query --list"
        )
    return found


def _matching(line: str, folders: tuple[str, ...]) -> list[str]:
    """What the patterns say that match a line, as an AIStore log and as a worker log has it."""
    texts = {"ais": _RECORD_HEAD.sub("", line).encode(), "worker": line.encode()}
    matching = []
    for kind, data in texts.items() if " " in line else ():
        alone = (one for one in pattern_set(kind, folders) if one.inside is None)
        likely = (one for one in alone if any(word in data for word in one.literals))
        first = next((one for one in likely if one.regex.search(data)), None)
        matching += [] if first is None else [_pattern_text(first, kind)]
    return matching


def _flags(text: str) -> list[str]:
    """What a value of state.flags says of its node."""
    value = flags_in(text)
    if value is None:
        return []
    connection = constants()
    try:
        told = flags_told(value, connection)
    finally:
        connection.close()
    head = f"value {value}, as state.flags of an AIStore node: {len(told) or 'no'} flag{'s' * (len(told) != 1)} set"
    return [_paragraph(head, [("set", one) for one in told])]


def _holding(word: str, folders: tuple[str, ...]) -> list[str]:
    """The first patterns whose samples or explanations hold a word."""
    wanted, names = word.lower(), dict[str, None]()
    for kind in ("ais", "worker"):
        for one in pattern_set(kind, folders):
            text = " ".join((one.title, one.means, *(sample.line for sample in one.samples)))
            if wanted in text.lower():
                names[one.name] = None
    return list(names)[:6]


def _folded(name: str) -> str:
    """The name as it may be written: `Stream break`, `stream-break` and `stream_break` are one."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _patterns(folders: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    for kind in FORMAT_TABLES:
        for pattern in pattern_set(kind, folders):
            yield pattern.name, _pattern_text(pattern, kind)


def _pattern_text(pattern: Pattern, kind: str) -> str:
    where = _WRITERS[kind]
    facts = [
        ("means", pattern.means),
        ("look at", pattern.look_at),
        ("do", pattern.fix),
        ("done by", pattern.fix_by),
        ("severity", pattern.severity),
        ("tier", pattern.tier),
        ("role", pattern.role),
        ("failure class", pattern.failure_class),
        ("step of a chain", pattern.chain_step),
        ("effect on the node", pattern.node_effect),
        ("matches", pattern.regex.pattern.decode("utf-8", "replace")),
        ("source", pattern.source),
    ]
    return _paragraph(f"pattern {pattern.name} ({where}): {pattern.title}", facts)


def _views() -> Iterable[tuple[str, str]]:
    for spec in view_specs():
        facts = [
            ("grain", spec.grain),
            ("reads", ", ".join(spec.reads)),
            ("note", spec.note),
            ("rows", _where_rows_are(spec)),
        ]
        yield spec.name, _paragraph(f"view {spec.name}: {spec.sentence}", facts)
    for table in TABLES:
        yield table.name, _paragraph(f"table {table.name}: {table.sentence}", [])


def _where_rows_are(spec: ViewSpec) -> str:
    if spec.is_stored:
        return "a table that ingest computes"
    if spec.is_kept:
        return "a table of what judging each failure gave"
    return f"only while a failure is judged: aiscorr query --case latest 'from {spec.name}'" if spec.is_case else ""


def _rules() -> Iterable[tuple[str, str]]:
    """Each rule with its terms and what they weigh; a link with its parts."""
    sentences = {rule: spec.sentence for spec in view_specs() for rule in spec.rules}
    parts = [(f"link, {row['term']}", f"times {row['factor']:.2f}: {row['why']}") for row in _facts()["link_term"]]
    weighed = groupby(_facts()["rule_term"], lambda row: str(row["rule"]))
    weights = {rule: {row["term"]: f"{row['weight']:+.2f}: {row['why']}" for row in own} for rule, own in weighed}
    for rule, sentence in sentences.items():
        terms = weights.get(rule, {})
        yield rule, _paragraph(f"rule {rule}: {sentence}", [*terms.items(), *(parts if "link" in terms else [])])


def _columns() -> Iterable[tuple[str, str]]:
    views = {view: texts for view, texts in column_file().items() if isinstance(texts, dict)}
    for name, meaning in column_meanings().items():
        other = [(f"in {view}", texts[name]) for view, texts in views.items() if name in texts]
        yield name, _paragraph(f"column {name}: {meaning}", other)


def _words() -> Iterable[tuple[str, str]]:
    for word in words():
        for name in word.names:
            yield name, f"word {word.names[0]}: {word.means}"


def _queries(folders: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    for query in named_queries(folders).values():
        yield (
            query.name,
            _paragraph(f"query @{query.name}: {query.sentence}", [("parameters", ", ".join(query.parameters))]),
        )


def _constants(folders: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    for title, (view, key) in _CONSTANTS.items():
        for row in _facts()[view]:
            record = dict(row)
            label = str(record.pop(key))
            more = _told_by(label, folders) if title == "step of a chain" else ()
            yield label, _paragraph(_head(title, label, record), [*map(_fact, record.items()), *more])


@lru_cache(maxsize=1)
def _facts() -> dict[str, list[dict[str, Any]]]:
    """The rows of what is known beforehand, by view; they stay as they are while the program runs."""
    views = [view for view, _ in _CONSTANTS.values()]
    with closing(constants()) as connection:
        return {view: records(connection, f"from {view}") for view in (*views, "rule_term", "link_term")}


def _head(title: str, label: str, record: dict[str, Any]) -> str:
    """What a constant is, in a sentence; the weight of a fault as what it means. The columns used leave the record."""
    column, before = _SAYS.get(title, ("", ""))
    says = record.pop(column, None)
    if title == "fault":
        weight = float(record.pop("weight"))
        share = "It is enough" if weight == 1 else "It is not enough" if weight == 0 else f"It weighs {weight:g} of 1"
        return f"{title} {label}: {before}{says}. {share} to explain a rank that waits or fails."
    return f"{title} {label}: {before}{says}" if says else f"{title} {label}"


def _told_by(step: str, folders: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    """The patterns of the lines that are a step of a chain, with their titles."""
    return (("told by", f"{one.name}: {one.title}") for one in pattern_set("ais", folders) if one.chain_step == step)


def _fact(item: tuple[str, Any]) -> tuple[str, str | None]:
    """A label and its value; nothing for a flag that is not set and for words that only rules put together."""
    name, value = item
    label, _, told = _LABELS.get(name, name.replace("_", " ")).partition(": ")
    if value is None or name in _UNSAID or (told and not value):
        return label, None
    return label, told or ({True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value))


def constants() -> duckdb.DuckDBPyConnection:
    """A database in memory with the views that read no rows of logs: meanings, thresholds, weights."""
    connection, made = in_memory(), set[str]()
    for spec in view_specs():
        if made.issuperset(spec.reads) and "select" in spec.select:
            connection.execute(f"create view {spec.name} as {spec.select}")
            made.add(spec.name)
    return connection


def _paragraph(head: str, facts: Iterable[tuple[str, str | None]]) -> str:
    lines = [head] + [f"  {label}: {value}" for label, value in facts if value]
    return "\n".join(lines)
