"""Pulls the slice of a case of a lake and judges it, twice, and prints what the second time took.

`python -m benchmarks.lake.judge CATALOGUE JOB`
"""

from __future__ import annotations

import json
import sys
import time

from aiscorr.lake.address import Lake
from aiscorr.lake.case import judged_case
from aiscorr.lake.ledger import ledger


def main(catalogue: str, job: str) -> None:
    """Judges with a thread a core."""
    lake = Lake(catalogue)
    with ledger(lake) as book:
        snapshot = book.snapshot()
    first = judged_case(lake, snapshot, job, threads=2)
    started, cpu_started = time.perf_counter(), time.process_time()
    second = judged_case(lake, snapshot, job, threads=2)
    told = {"again_s": time.perf_counter() - started, "again_cpu_s": time.process_time() - cpu_started}
    if {name: rows.num_rows for name, rows in first.items()} != {name: rows.num_rows for name, rows in second.items()}:
        raise RuntimeError("judged twice, it gave other rows")
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
