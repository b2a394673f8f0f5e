"""The tables of a score: measures with intervals, by kind and hardness, the verdicts, the calibration, other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.accuracy.score.baselines import BASELINES, Blame, frtrace_program, has_dumps
from benchmarks.accuracy.score.intervals import (
    Share,
    bootstrap,
    calibration_error,
    calibration_rows,
    share_of,
)
from benchmarks.accuracy.score.judge import Judged, Opinion

_MAIN = (
    "culprits exact",
    "class right (top 1)",
    "storage falsely blamed",
    "guilty storage missed, evidence at hand",
    "wholly right (or narrower where taken away)",
)
VERDICTS = ("guilty", "innocent", "undetermined", "none")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)])


def measures(judged: Sequence[Judged]) -> dict[str, Share]:
    """The shares that sum up how right the answers are."""
    innocent = [one for one in judged if one.expected.verdict == "innocent"]
    guilty = [one for one in judged if one.expected.verdict == "guilty"]
    whole = [one for one in judged if not one.truth.may_be_undetermined]
    lesser = [one for one in judged if one.truth.may_be_undetermined]
    return {
        "failure reported": share_of([one.is_found or one.truth.hides_failure for one in judged]),
        "culprits exact": share_of([one.is_exact for one in whole]),
        "culprits exact or narrower, evidence taken away": share_of(
            [None if one.is_exact is None else bool(one.is_exact or one.is_no_other) for one in lesser]
        ),
        "class right (top 1)": share_of([one.is_class for one in whole]),
        "class among the first three": share_of([one.is_top3 for one in whole]),
        "storage falsely blamed": share_of([one.verdict == "guilty" for one in innocent]),
        "guilty storage called innocent": share_of([one.verdict == "innocent" for one in guilty]),
        "guilty storage missed, evidence at hand": share_of(
            [one.verdict != "guilty" for one in guilty if not one.truth.may_be_undetermined]
        ),
        "AIStore nodes exact, evidence at hand": share_of([one.is_nodes for one in whole if one.verdict == "guilty"]),
        "undetermined though evidence is at hand": share_of([one.verdict == "undetermined" for one in whole]),
        "undetermined where evidence was taken away": share_of([one.verdict == "undetermined" for one in lesser]),
        "wholly right (or narrower where taken away)": share_of([one.is_allowed for one in judged]),
    }


def measure_table(opinions: Sequence[Opinion]) -> str:
    """Every measure with its interval."""
    judged = [one for opinion in opinions for one in opinion.judged]
    rows: list[tuple[str, object]] = list(measures(judged).items())
    cited = Share(sum(one.cited_real for one in opinions), sum(one.cited for one in opinions))
    rows.append(("cited lines that stand where they are said to", cited))
    quiet = [opinion for opinion in opinions if not opinion.truth.expected]
    rows.append(("incidents without failure that are given one", share_of([bool(one.invented) for one in quiet])))
    rows.append(("failures too many in other incidents", sum(len(one.invented) for one in opinions if one.judged)))
    rows += [(name, _spread(judged, pick)) for name, pick in (("precision", _precision), ("recall", _recall))]
    errors = [abs(error) for one in judged if (error := one.cause_error_s) is not None]
    middle = bootstrap(errors, median)
    rows.append(("first cause, median error in s", f"{middle[0]:.2f} [{middle[1]:.2f}-{middle[2]:.2f}]"))
    return table(("measure", "value [95 %] (count)"), rows)


def _precision(one: Judged) -> float | None:
    wanted = one.expected.culprits
    return len(one.culprits & set(wanted)) / len(one.culprits) if wanted and one.culprits else None


def _recall(one: Judged) -> float | None:
    wanted = one.expected.culprits
    return len(one.culprits & set(wanted)) / len(wanted) if wanted else None


def _spread(judged: Sequence[Judged], pick: Callable[[Judged], float | None]) -> str:
    values = [value for one in judged if not one.truth.may_be_undetermined and (value := pick(one)) is not None]
    mean, low, high = bootstrap(values, lambda found: sum(found) / len(found))
    return f"{mean:.3f} [{low:.3f}-{high:.3f}] ({len(values)} failures, evidence at hand)"


def verdict_table(judged: Sequence[Judged]) -> str:
    """Storage as it was, against storage as it was judged; with all evidence, and with some taken away."""
    rows = []
    for name, may in (("all evidence", False), ("some taken away", True)):
        part = [one for one in judged if one.truth.may_be_undetermined == may]
        for truth in ("guilty", "innocent"):
            found = Counter(one.verdict for one in part if one.expected.verdict == truth)
            rows.append((f"{truth}, {name}", *(found[word] for word in VERDICTS)))
    return table(("was", *(f"said {word}" for word in VERDICTS)), rows)


def by(judged: Sequence[Judged], key: Callable[[Judged], str], head: str) -> str:
    """The main measures by kind, hardness or whatever."""
    rows: list[tuple[object, ...]] = []
    for name in sorted({key(one) for one in judged}):
        part = [one for one in judged if key(one) == name]
        found = measures(part)
        rows.append((name, len(part), *(found[column] for column in _MAIN)))
    short = ("culprits exact", "class right", "falsely blamed", "guilty missed", "wholly right or narrower")
    return table((head, "failures", *short), rows)


def calibration_table(judged: Sequence[Judged]) -> str:
    """How often answers of a confidence are right; the expected calibration error below."""
    pairs = [(one.confidence, one.is_allowed) for one in judged if one.confidence is not None]
    rows = [(name, f"{mean:.2f}", share) for name, mean, share in calibration_rows(pairs)]
    error, low, high = bootstrap(pairs, calibration_error)
    text = f"Expected calibration error: {100 * error:.1f} points [{100 * low:.1f}-{100 * high:.1f}]."
    return table(("confidence", "mean", "right"), rows) + "\n\n" + text


def tool_table(opinions: Sequence[Opinion]) -> str:
    """Other tools on the same incidents: culprits among failures that have one, and blame of storage."""
    whole = [one for one in opinions if one.truth.taken == "nothing" and len(one.judged) == 1]
    rows: list[tuple[object, ...]] = [_tool_row("aiscorr", whole, [_own_blame(one.judged[0]) for one in whole])]
    for name, tool in BASELINES.items():
        if name.startswith("torchfrtrace"):
            if frtrace_program() is None:
                rows.append((f"{name}: not installed, skipped", "-", "-", "-", "-"))
                continue
            dumped = [one for one in whole if has_dumps(one.truth)]
            rows.append(_tool_row(name, dumped, [tool(one.truth) for one in dumped]))
            rows.append(_tool_row("aiscorr on the same", dumped, [_own_blame(one.judged[0]) for one in dumped]))
        else:
            rows.append(_tool_row(name, whole, [tool(one.truth) for one in whole]))
    return table(("tool", "failures", "culprits exact", "storage falsely blamed", "guilty storage missed"), rows)


def _own_blame(one: Judged) -> Blame:
    return Blame(frozenset(one.culprits), one.verdict == "guilty")


def _tool_row(name: str, opinions: Sequence[Opinion], blames: Sequence[Blame]) -> tuple[object, ...]:
    judged = [one.judged[0] for one in opinions]
    pairs = list(zip(judged, blames, strict=True))
    has_ranks = any(one.ranks is not None for one in blames)
    has_storage = any(one.storage is not None for one in blames)
    exact = [
        (blame.ranks or frozenset()) == frozenset(one.expected.culprits)
        for one, blame in pairs
        if one.expected.culprits is not None
    ]
    false = [bool(blame.storage) for one, blame in pairs if one.expected.verdict == "innocent"]
    missed = [not blame.storage for one, blame in pairs if one.expected.verdict == "guilty"]
    return (
        name,
        len(judged),
        share_of(exact) if has_ranks else "-",
        share_of(false) if has_storage else "-",
        share_of(missed) if has_storage else "-",
    )


def wrong_list(judged: Sequence[Judged]) -> str:
    """The failures that are not wholly right, the worst first."""
    rows = [
        (
            one.truth.name,
            one.truth.taken,
            f"{one.expected.classes[0]}, ranks {list(one.expected.culprits or ())[:8]}, {one.expected.verdict}",
            f"{one.said['failure_class']}, ranks {one.said['culprit_ranks'][:8]}, {one.verdict}" if one.said else "-",
        )
        for one in sorted(judged, key=lambda one: (one.expected.verdict != "innocent", one.truth.kind))
        if not one.is_allowed
    ]
    return table(("incident", "taken away", "truth", "said"), rows)


def report(opinions: Sequence[Opinion]) -> str:
    """All tables of one set of incidents."""
    judged = [one for opinion in opinions for one in opinion.judged]
    parts = [
        ("Measures", measure_table(opinions)),
        ("Storage", verdict_table(judged)),
        ("By hardness", by(judged, lambda one: one.truth.hardness, "hardness")),
        ("By class", by(judged, lambda one: one.expected.classes[0], "class")),
        ("By kind", by(judged, lambda one: one.truth.kind, "kind")),
        ("By what was taken away", by(judged, lambda one: one.truth.taken, "taken away")),
        ("Calibration", calibration_table(judged)),
        ("Beside other tools (all evidence, one failure)", tool_table(opinions)),
        ("Not right", wrong_list(judged)),
    ]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts) + "\n"
