"""An incident at scale: the logs of a scenario with many ranks, and hours of counters of every AIStore node before it.

Everything but the counters is what fixtures/generator writes for `target_killed_short_batch`.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.speed.ais_corpus import COUNTERS, DISK
from fixtures.generator import scenarios  # noqa: F401 (the recipes)
from fixtures.generator.stage import build
from fixtures.generator.write import write

SCENARIO = "target_killed_short_batch"
TARGET_COUNT, PROXY_COUNT = 26, 4
_STATS_S = 10
_DISKS = 3
_NAMES = (*COUNTERS, *(f"disk.nvme{disk}n1.{name}" for disk in range(_DISKS) for name in DISK))
#: The first day of the scenario's own logs, and the hour they begin in.
_BEGIN = datetime(2026, 9, 14, 10, tzinfo=UTC)


def write_incident(folder: Path, rank_count: int, sample_count: int) -> Path:
    """The incident's folder, with `ais` and `workers` in it; `sample_count` counter values come before it."""
    line_count = sample_count // len(_NAMES) // (TARGET_COUNT + PROXY_COUNT)
    changes = {"ranks": rank_count, "ranks_per_node": 8, "targets": TARGET_COUNT, "proxies": PROXY_COUNT,
               "uptime_h": line_count * _STATS_S / 3600 + 1}  # fmt: skip
    write(build(SCENARIO, changes), folder)
    incident = folder / SCENARIO
    for number, node in enumerate(sorted((incident / "ais").iterdir())):
        program, host = next(node.iterdir()).name.split(".")[:2]
        _write_counters(node, f"{program}.{host}", host, line_count, random.Random(number))
    return incident


def _write_counters(node: Path, stem: str, host: str, line_count: int, draw: random.Random) -> None:
    """The log that the daemon wrote until it was rotated, with nothing but its statistics."""
    if not line_count:
        return
    moment = _BEGIN - timedelta(seconds=(line_count + 1) * _STATS_S)
    totals = [draw.randrange(10_000) for _ in _NAMES]
    with (node / f"{stem}.INFO.{moment:%m%d-%H%M%S}.1").open("w") as file:
        file.write(f"Started up at {moment:%Y/%m/%d %H:%M:%S}, host {host}, go1.26.6 for linux/amd64\n")
        for _ in range(line_count):
            moment += timedelta(seconds=_STATS_S)
            totals = [total + draw.getrandbits(20) for total in totals]
            pairs = ",".join(map("{}:{}".format, _NAMES, totals))
            file.write(f"I {moment:%H:%M:%S}.417318 {{{pairs}}}\n")
