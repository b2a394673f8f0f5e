"""Judges what a report says of an excerpt: `[soft]` of its truth says what may and may not be said."""

from __future__ import annotations

import re
from datetime import datetime

from benchmarks.accuracy.score.evidence import CitedFiles
from benchmarks.accuracy.score.mistakes import Judgement, Mistake, claimed, summed
from benchmarks.accuracy.score.pairing import false_alarms
from benchmarks.accuracy.score.truth import Json, Soft

_DAY_S = 86_400


def judge_soft(failures: list[Json], soft: Soft, files: CitedFiles) -> Judgement:
    """Every failure has to fit; more than the excerpt shows are wrong, none at all is missed where one has to be."""
    if not failures:
        return Judgement((Mistake("missed", "no failure"),) if soft.report == "must" else ())
    if soft.report == "never":
        return summed(false_alarms(failures, "a failure where none is shown"), invented_count=len(failures))
    judged = []
    for number, failure in enumerate(failures):
        found = _storage(failure, soft) + _class(failure, soft) + _culprits(failure, soft)
        found += _statement(failure, soft) + _days(failure, soft)
        if number >= soft.failures_max:
            words = f"{len(failures)} failures, at most {soft.failures_max} are shown"
            found.append(Mistake("wrong", words))
        judged.append(claimed(failure, found + files.mistakes(failure, is_strict=False)))
    return summed(judged, invented_count=max(0, len(failures) - soft.failures_max))


def _storage(failure: Json, soft: Soft) -> list[Mistake]:
    verdict = failure.get("storage_verdict")
    if verdict not in soft.verdicts_not and (soft.verdicts_any is None or verdict in soft.verdicts_any):
        return []
    kind = {"guilty": "blamed", "innocent": "acquitted"}.get(str(verdict), "modest")
    return [Mistake(kind, f"storage {verdict} {failure.get('confidence')}")]


def _class(failure: Json, soft: Soft) -> list[Mistake]:
    name, confidence, found = failure.get("failure_class"), failure.get("confidence"), []
    if name in soft.classes_not or not (soft.classes_any is None or name in soft.classes_any):
        found.append(Mistake("modest" if name == "undetermined" else "wrong", f"class {name} {confidence}"))
    if name == "storage_io" and failure.get("storage_verdict") == "innocent":
        found.append(Mistake("wrong", f"class storage_io with storage innocent {confidence}"))
    return found


def _culprits(failure: Json, soft: Soft) -> list[Mistake]:
    ranks = frozenset(failure.get("culprit_ranks", []))
    allowed = (ranks,) if soft.culprits_any is None else soft.culprits_any
    if not ranks & soft.culprits_not and ranks in allowed:
        return []
    kind = "modest" if any(ranks < one for one in allowed) else "wrong"
    return [Mistake(kind, f"blames rank {sorted(ranks)}")]


def _statement(failure: Json, soft: Soft) -> list[Mistake]:
    statement = failure.get("statement") or ""
    return [Mistake("wrong", f"says {statement[:90]!r}") for regex in soft.statement_not if re.search(regex, statement)]


def _days(failure: Json, soft: Soft) -> list[Mistake]:
    days = None if soft.days_max is None else lasted_days(failure)
    if days is None or soft.days_max is None or 0 <= days <= soft.days_max:
        return []
    return [Mistake("wrong", f"ran {days:.1f} days")]


def lasted_days(failure: Json) -> float | None:
    """Days from the start of the job to the last time that its failure gives; None where only one is known.

    Worked example: started on the 1st at 00:00, first error on the 2nd at 12:00, nothing else known: 1.5 days.
    """
    job = failure.get("job") or {}
    signs = (failure.get(name) for name in ("first_error_at", "hang_started_at", "ended_at"))
    times = [datetime.fromisoformat(at) for at in (job.get("started_at"), *signs, job.get("ended_at")) if at]
    return (max(times[1:]) - times[0]).total_seconds() / _DAY_S if len(times) > 1 else None
