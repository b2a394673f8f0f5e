"""What rclone prints on a host where it has a bucket mounted."""

from __future__ import annotations

from fixtures.generator.moment import local
from fixtures.generator.stage import Stage


def rclone_reads_again(stage: Stage, at: int, rank: int, name: str, attempt: int, why: str) -> None:
    """It could not read and tries again, ten times in all; the same line tells of the last one."""
    stamp = f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S}"
    stage.job.say(at, rank, f"{stamp} ERROR : {name}: ReadFileHandle.Read error: low level retry {attempt}/10: {why}")
