"""The service among others and over time: readers beside a nightly run, and many runs in one process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

from benchmarks.speed.process import REPO, task
from benchmarks.speed.work import FIXTURE

_READERS = 50
_NIGHTS = 30
_CONFIG = """
[serve]
recent = "9000d"
[[serve.cluster]]
logs = ["ais"]
[[serve.jobs]]
path = "logs/*.out"
"""


def furnish(home: Path, logs: Path) -> Path:
    """A folder for the service: an incident, and logs that the night will find."""
    (home / "aiscorr.toml").write_text(_CONFIG)
    (home / "ais").symlink_to(FIXTURE / "ais")
    (home / "logs").mkdir()
    for path in (FIXTURE / "workers").iterdir():
        (home / "logs" / path.name).symlink_to(path)
    (home / "night").symlink_to(logs)
    return home


@contextmanager
def reading(home: Path, count: int) -> Iterator[list[float]]:
    """So many processes that report and query in turns, ten seconds apart; their seconds are told at the end."""
    stop, seconds = home / "stop", list[float]()
    command = [sys.executable, "-m", "benchmarks.speed.work", "read", str(home / "aiscorr.duckdb"), str(stop)]
    readers = [subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, cwd=REPO) for number in range(count)]
    try:
        yield seconds
    finally:
        stop.touch()
        for reader in readers:
            seconds += json.loads(reader.communicate()[0])["each"]
            if reader.returncode:
                raise RuntimeError("a reader failed")


def readers_beside_a_night(logs: Path) -> tuple[float, float, int, float, float]:
    """Median and 99th percentile of the readers' seconds, how many reads, and the night's seconds with and without."""
    nights = []
    times: list[float] = []
    for count in (0, _READERS):
        with tempfile.TemporaryDirectory() as folder:
            home = furnish(Path(folder), logs)
            task("night", str(home))
            (home / "aiscorr.toml").write_text(_CONFIG.replace('["ais"]', '["ais", "night"]'))
            with reading(home, count) as seconds:
                nights.append(task("night", str(home), cores=(0, 1)).seconds)
            times += seconds
    cuts = quantiles(times, n=100)
    return cuts[49], cuts[98], len(times), nights[1], nights[0]


def many_nights() -> dict[str, float]:
    """What one process held after the first nights and after all of them."""
    with tempfile.TemporaryDirectory() as folder:
        home = furnish(Path(folder), FIXTURE / "ais")
        return dict(task("nights", str(home), str(_NIGHTS), cores=(0, 1)).result)
