"""Exceptions of the training script itself: where they are raised, and how they end the job."""

from __future__ import annotations

from fixtures.generator import sdk
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit


def loss_frames(stage: Stage, code: str) -> tuple[sdk.Frame, ...]:
    script = stage.job.job.script
    return (sdk.Frame(script, 212, "<module>", "main()"), sdk.Frame(script, 191, "main", code, True))


def raise_and_exit(stage: Stage, at: int, rank: int, text: str, code: str) -> None:
    """An exception in the training code that ends the process, and with it the job."""
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, code), text)))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
