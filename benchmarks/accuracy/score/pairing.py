"""Finds for each expected failure the reported one that fits it best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from benchmarks.accuracy.score.mistakes import Claim, Mistake, claimed
from benchmarks.accuracy.score.truth import Expected, Json

Faults = Callable[[Expected, Json], list[Mistake]]
Pair = tuple[Expected, Json | None]
#: Of more reported failures of one job only the first ones are tried, and more expected ones take them in order.
_TRIED, _PERMUTED = 8, 3
_FALSE_COST, _COST, _MISSED_COST = 10, 1, 99


def paired(failures: Sequence[Json], expected: Sequence[Expected], faults: Faults) -> tuple[list[Pair], list[Json]]:
    """The pairs of each job with the fewest mistakes, each failure given once; and the failures that are left.

    A lone expected failure takes one of any job if none has its id; one without a job id takes any that is left.
    """
    free = list(failures)
    pairs: list[Pair] = []
    for job_id in sorted({one.job_id or "" for one in expected}, reverse=True):
        of_job = [one for one in expected if (one.job_id or "") == job_id]
        fitting = [one for one in free if not job_id or str(one.get("job_id")) == job_id]
        if not fitting and len(expected) == 1:
            fitting = free
        slots = [*fitting[:_TRIED], *[None] * len(of_job)]
        for one, slot in zip(of_job, _best_way(of_job, slots, faults), strict=True):
            said = slots[slot]
            pairs.append((one, said))
            if said is not None:
                free.remove(said)
    return pairs, free


def _best_way(of_job: Sequence[Expected], slots: Sequence[Json | None], faults: Faults) -> Sequence[int]:
    """The number of the slot for each expected failure."""
    if len(of_job) > _PERMUTED:
        return range(len(of_job))
    costs = [[_cost(one, slot, faults) for slot in slots] for one in of_job]
    ways = permutations(range(len(slots)), len(of_job))
    return min(ways, key=lambda way: sum(row[slot] for row, slot in zip(costs, way, strict=True)))


def _cost(one: Expected, slot: Json | None, faults: Faults) -> int:
    if slot is None:
        return _MISSED_COST
    return sum(_FALSE_COST if mistake.is_false else _COST for mistake in faults(one, slot))


def false_alarms(failures: Sequence[Json], why: str) -> list[tuple[list[Mistake], list[Claim]]]:
    """The mistakes and claims of failures that were none."""
    return [claimed(failure, [_alarm(failure, why)]) for failure in failures]


def _alarm(failure: Json, why: str) -> Mistake:
    verdict = failure.get("storage_verdict")
    words = f"{why}: {failure.get('failure_class')}, storage {verdict} {failure.get('confidence')}"
    return Mistake("blamed" if verdict == "guilty" else "wrong", words)
