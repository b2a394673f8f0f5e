"""The tables of a score: measures with intervals, the verdicts on storage, and what simpler tools say of the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.baselines import BASELINES, Blame, frtrace_program, has_dumps
from benchmarks.accuracy.score.calibration import calibration_line, sure_and_false
from benchmarks.accuracy.score.intervals import Share, share_of
from benchmarks.accuracy.score.judge import nodes_of
from benchmarks.accuracy.score.mistakes import KINDS, Answer, Judgement
from benchmarks.accuracy.score.truth import Truth

VERDICTS = ("guilty", "innocent", "undetermined", "none")


@dataclass(frozen=True)
class Scored:
    """An incident and the judgement of its report."""

    truth: Truth
    judgement: Judgement

    def __str__(self) -> str:
        words = "; ".join(map(str, self.judgement.mistakes))
        return f"{'BAD' if words else 'ok '} {self.truth.name:44} {words}".rstrip()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)])


def measures(scored: Sequence[Scored]) -> dict[str, Share]:
    """The shares that sum up how right the answers are, of ranks, classes and nodes where all evidence is there."""
    answers = [(one.truth, answer) for one in scored for answer in one.judgement.answers]
    whole = [answer for truth, answer in answers if not truth.may_be_undetermined]
    lesser = [answer for truth, answer in answers if truth.may_be_undetermined]
    innocent = [answer for _, answer in answers if answer.expected.is_innocent]
    guilty = [answer for _, answer in answers if answer.expected.is_guilty]
    quiet = [one for one in scored if one.truth.soft is None and not one.truth.expected]
    return {
        "incidents without any mistake": share_of(not one.judgement.mistakes for one in scored),
        "failures reported": share_of(answer.said is not None or truth.hides_failure for truth, answer in answers),
        "failures right, or narrower where evidence was taken away": share_of(one.is_right for _, one in answers),
        "culprits exact": share_of(_has_culprits(one) for one in whole),
        "culprits exact or fewer, evidence taken away": share_of(_has_culprits(one, or_fewer=True) for one in lesser),
        "class right": share_of(one.said is not None and _has_class(one) for one in whole),
        "storage falsely blamed": share_of(one.verdict == "guilty" for one in innocent),
        "guilty storage called innocent": share_of(one.verdict == "innocent" for one in guilty),
        "guilty storage missed": share_of(one.verdict != "guilty" for one in whole if one.expected.is_guilty),
        "AIStore nodes exact": share_of(_has_nodes(one) for one in whole if one.verdict == "guilty"),
        "runs without a failure that are given one": share_of(bool(one.judgement.invented_count) for one in quiet),
    }


def _has_culprits(one: Answer, *, or_fewer: bool = False) -> bool | None:
    if one.expected.culprits is None:
        return None
    wanted = set(one.expected.culprits)
    return (one.said is not None and one.culprits == wanted) or (or_fewer and one.culprits <= wanted)


def _has_class(one: Answer) -> bool:
    return one.said is not None and one.said.get("failure_class") in one.expected.classes


def _has_nodes(one: Answer) -> bool | None:
    if not one.expected.nodes:
        return None
    return one.said is not None and nodes_of(one.said) == set(one.expected.nodes)


def verdict_table(scored: Sequence[Scored]) -> str:
    """Storage as it was, against storage as it was judged; with all evidence, and with some taken away."""
    rows = []
    for name, is_lesser in (("all evidence", False), ("some taken away", True)):
        part = [one for one in scored if one.truth.may_be_undetermined == is_lesser]
        for was in ("guilty", "innocent"):
            answers = [answer for one in part for answer in one.judgement.answers if answer.expected.verdict == was]
            found = Counter(answer.verdict for answer in answers)
            if found:
                rows.append((f"{was}, {name}", *(found[word] for word in VERDICTS)))
    return table(("was", *(f"said {word}" for word in VERDICTS)), rows)


def tool_table(scored: Sequence[Scored]) -> str:
    """aiscorr and simpler tools on the incidents of one failure, all whose evidence is there."""
    whole = [one for one in scored if one.truth.taken == "nothing" and len(one.judgement.answers) == 1]
    rows = [_tool_row("aiscorr", whole, [_own_blame(one) for one in whole])]
    for name, tool in BASELINES.items():
        if not name.startswith("torchfrtrace"):
            rows.append(_tool_row(name, whole, [tool(one.truth) for one in whole]))
        elif frtrace_program() is None:
            rows.append((f"{name}: not installed, skipped", *["-"] * 4))
        else:
            dumped = [one for one in whole if has_dumps(one.truth)]
            rows.append(_tool_row(name, dumped, [tool(one.truth) for one in dumped]))
            rows.append(_tool_row("aiscorr, where there are dumps", dumped, [_own_blame(one) for one in dumped]))
    return table(("tool", "failures", "culprits exact", "storage falsely blamed", "guilty storage missed"), rows)


def _own_blame(one: Scored) -> Blame:
    answer = one.judgement.answers[0]
    return Blame(answer.culprits, answer.verdict == "guilty")


def _tool_row(name: str, scored: Sequence[Scored], blames: Sequence[Blame]) -> tuple[object, ...]:
    pairs = [(one.judgement.answers[0].expected, blame) for one, blame in zip(scored, blames, strict=True)]
    with_ranks = any(blame.ranks is not None for blame in blames)
    with_storage = any(blame.storage is not None for blame in blames)
    exact = [
        (blame.ranks or frozenset()) == frozenset(expected.culprits)
        for expected, blame in pairs
        if expected.culprits is not None
    ]
    false = [bool(blame.storage) for expected, blame in pairs if expected.is_innocent]
    missed = [not blame.storage for expected, blame in pairs if expected.is_guilty]
    return (
        name,
        len(pairs),
        share_of(exact) if with_ranks else "-",
        share_of(false) if with_storage else "-",
        share_of(missed) if with_storage else "-",
    )


def tables(name: str, scored: Sequence[Scored]) -> str:
    """All tables of recorded or of generated incidents."""
    rows = table(("measure", "value [95 %] (count)"), measures(scored).items())
    titled = (("Measures", rows), ("Storage", verdict_table(scored)), ("Beside simpler tools", tool_table(scored)))
    return "\n\n".join(f"### {title}, {name}\n\n{text}" for title, text in titled)


def summary(scored: Sequence[Scored]) -> str:
    """The tables of recorded and of generated incidents apart, confidence against right, and the kinds of mistakes."""
    parts: list[str] = []
    lines: list[str] = []
    for name, is_generated in (("recorded", False), ("generated", True)):
        part = [one for one in scored if one.truth.is_generated == is_generated]
        claims = [claim for one in part for claim in one.judgement.claims]
        if part:
            parts.append(tables(name, part))
        if claims:
            lines.append(calibration_line(name, claims))
        if not is_generated:
            lines += [
                f"  {claim.confidence:.2f} {one.truth.name}: {claim.words[:150]}"
                for one in part
                for claim in sure_and_false(one.judgement.claims)
            ]
    kinds = Counter(one.judgement.worst for one in scored)
    counts = "".join(f", {kind} {kinds[kind]}" for kind in KINDS if kinds[kind])
    return "\n\n".join([*parts, "\n".join([*lines, f"{kinds[None]} of {len(scored)} right{counts}"])])
