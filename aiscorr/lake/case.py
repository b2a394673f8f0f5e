"""Judges a case of a lake from its slice: a task that any machine can run which reaches the lake."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Part, judge_in_turn
from aiscorr.analysis.refresh import refresh_alone
from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.lake.pull import pull, scope_of_cases
from aiscorr.lake.push import case_rows
from aiscorr.lake.site import attached
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, scratch
from aiscorr.store.memory import limit_memory, slice_limit

if TYPE_CHECKING:
    import pyarrow as pa


def judged_case(
    lake: Lake, snapshot: int, job: str, memory_limit: str = DEFAULT_MEMORY_LIMIT, threads: int = 1
) -> dict[str, pa.Table]:
    """What judging a known case gives, by table of the lake; its slice is of that snapshot."""
    with (
        tempfile.TemporaryDirectory(prefix="aiscorr-slice-") as folder,
        scratch(os.path.join(folder, "slice.duckdb"), memory_limit=slice_limit(memory_limit), threads=threads) as copy,
    ):
        with ledger(lake) as book, attached(copy.connection, book, snapshot=snapshot) as connection:
            pull(connection, scope_of_cases(connection, [job]))
        limit_memory(copy.connection, memory_limit)
        judging = partial(judge_in_turn, threads=threads, memory_limit=memory_limit)
        refresh_alone(copy, lambda _: None, judging, threads, part=Part(lambda _: (job,), lambda _: None))
        return case_rows(copy.connection, [job])
