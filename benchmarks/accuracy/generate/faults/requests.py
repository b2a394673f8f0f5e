"""What a client of AIStore prints while it repeats a request, and when it gives up."""

from __future__ import annotations

from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage


def exhausted(stage: Stage, at: int, rank: int, text: str) -> None:
    """The SDK has no retries left: its error line and the exception."""
    job = stage.job.job
    stage.job.sdk_warning(at, rank, "All retries exhausted; request failed", "ERROR")
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    stage.job.raise_on(at + 2 * MS, rank, sdk.exhausted(job, caller, "ConnectionError", text))


def retries(stage: Stage, at: int, rank: int, draw: Draw, spent_s: float, text: str, limit: int) -> int:
    """Warnings of repeated connection errors, each after `spent_s`, until the limit; the moment of the next one."""
    then = at + seconds(spent_s)
    for attempt in range(6):
        if then >= limit:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + seconds(spent_s)
    return then
