"""Writes the logs of one day of some nodes of the site as text, as AIStore writes them, for ingest to read."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from benchmarks.lake.month import COUNTER_NAMES, LINES

_STATS_S, _PLAIN_S = 432, 5
_PLAIN = "I {time} htrun:1211 msync Rx: Smap v9[{cluster},x={number}]\n"


def write_day(folder: Path, day: date, node_count: int, cluster: str) -> int:
    """A file a node below the folder; returns how many bytes all have."""
    with LINES.open(newline="") as file:
        said = list(csv.DictReader(file))
    written = 0
    for number in range(node_count):
        node = f"d{number:03d}t{number:03d}"
        path = folder / cluster / node / f"aistarget.ais-day-{number}.INFO.{day:%m%d}-000000.1"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(_lines(day, number, node, cluster, said))
        path.write_text(text)
        written += len(text)
    return written


def _lines(day: date, number: int, node: str, cluster: str, said: list[dict[str, str]]) -> list[str]:
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    lines = [
        f"Rotated at {begin:%Y/%m/%d %H:%M:%S}, host ais-day-{number}, go1.26.6 for linux/amd64\n",
        f"I 00:00:00.000100 daemon:263 Node t[{node}], Version 5.0.6b7de2441, build 2026-11-20T21:50:14+0000,"
        " CPUs(64, runtime=64), kubernetes\n",
        f"I 00:00:00.000200 htrun:2098 msync Rx: new Smap v9[{cluster}, p[pday8700], t={number + 1}, p=2]"
        f" ( have v8[{cluster}] aism[] <-- p[pday8700] )\n",
    ]
    for second in range(_PLAIN_S, 86400, _PLAIN_S):
        time = f"{begin + timedelta(seconds=second, microseconds=7 * number + 11):%H:%M:%S.%f}"
        if second % _STATS_S < _PLAIN_S:
            values = ",".join(f"{name}:{(1 + place) * second + number}" for place, name in enumerate(COUNTER_NAMES))
            lines.append(f"I {time} {{{values}}}\n")
        if (second + _STATS_S // 2) % (2 * _STATS_S) < _PLAIN_S:
            one = said[second // _STATS_S % len(said)]
            message = one["message"].replace("{node}", node).replace("{n}", str(second % 9000))
            lines.append(" ".join(part for part in (one["severity"], time, one["source_loc"], message) if part) + "\n")
        lines.append(_PLAIN.format(time=time, cluster=cluster, number=second % 97))
    return lines
