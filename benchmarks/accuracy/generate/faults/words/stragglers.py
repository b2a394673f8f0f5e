"""Ranks beside the one that gives up first: they repeat the same request, and their last try comes after the end."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.fetchers import falls_back
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

#: What the last try of such a rank comes later than the end of the first, at least and at most, in milliseconds.
LATER = (2_500, 9_000)


def _waits(draw: Draw) -> list[float]:
    """What the SDK waits between its seven tries, in seconds."""
    return [round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2) for attempt in range(6)]


def _all_of(waits: list[float], spent_s: float) -> int:
    """How long seven tries take."""
    return seconds(sum(waits)) + 7 * seconds(spent_s)


def _says(
    stage: Stage, at: int, rank: int, waits: list[float], spent_s: float, text: str, over: int, kind: str
) -> None:
    then = at + seconds(spent_s)
    for wait in waits:
        if then < over:
            stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind, text))
        then += seconds(wait) + seconds(spent_s)


def tries_too(
    stage: Stage, at: int, rank: int, draw: Draw, spent_s: float, text: str, over: int, kind: str = "ConnectionError"
) -> None:
    """A rank repeats its request from this moment on, or later: it has tries left when another has ended the job."""
    waits = _waits(draw)
    begin = max(at, over + draw.span(*LATER) - _all_of(waits, spent_s))
    _says(stage, begin, rank, waits, spent_s, text, over, kind)


def falls_back_too(
    stage: Stage, at: int, rank: int, draw: Draw, spent_s: float, texts: tuple[str, str], over: int
) -> None:
    """A rank repeats its batch, then its first object alone, as lhotse does, and has tries left at the end."""
    batch, single = _waits(draw), _waits(draw)
    begin = max(at, over + draw.span(*LATER) - _all_of(batch, spent_s) - _all_of(single, spent_s))
    _says(stage, begin, rank, batch, spent_s, texts[0], over, "ConnectionError")
    given_up = begin + _all_of(batch, spent_s)
    if given_up < over:
        stage.job.sdk_warning(given_up, rank, "All retries exhausted; request failed", "ERROR")
        falls_back(stage, given_up + MS, rank, texts[0])
        _says(stage, given_up + 2 * MS, rank, single, spent_s, texts[1], over, "ConnectionError")


def refused_until(
    stage: Stage, at: int, rank: int, draw: Draw, spent_s: float, text: str, up: int, soonest: int, latest: int
) -> int:
    """A rank is refused until somebody listens again; its first try after that, between these moments if it can be."""
    best: tuple[int, int, list[float]] | None = None
    for _ in range(60):
        begin, waits = at + draw.span(0, 2_000), _waits(draw)
        then = begin
        for wait in waits:
            if then >= up:
                break
            then += seconds(spent_s) + seconds(wait)
        distance = max(soonest - then, then - latest, 0)
        if best is None or distance < max(soonest - best[0], best[0] - latest, 0):
            best = (then, begin, waits)
        if not distance:
            break
    assert best is not None
    first, begin, waits = best
    _says(stage, begin, rank, waits, spent_s, text, min(up, first), "ConnectionError")
    return max(first, soonest)
