"""The words a storage engineer may not know, and those an ML engineer may not: only those the report uses."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Facts, Places
from aiscorr.report.document import FailureReport

TITLE = "Words"
ORDER = 140
EMPTY = ""

_ALWAYS = (
    ("rank", "one process of the job, usually one GPU; world size is their number"),
    (
        "collective",
        "an operation all ranks of a process group do together (ALLREDUCE, BROADCAST); one missing rank stops all",
    ),
)
_WATCHDOG = ("watchdog", "a thread of each rank that ends the process when a collective takes longer than its time-out")
_COUNTED = (
    "enqueued, completed",
    "how many collectives a rank has begun and finished; a rank with fewer begun than the others kept them waiting",
)
_RECORDER = ("Flight Recorder", "PyTorch's list of the last collectives of a rank, written to a file at a time-out")
_NODES = (
    ("target, proxy", "AIStore daemons: targets store and serve objects, proxies take requests and redirect them"),
)
_BATCHES = (
    (
        "x-get-batch",
        "the job inside AIStore that assembles batches; the designated target puts a batch together from all targets",
    ),
    ("wid, xid", "the id of one batch request, and of the x-get-batch job that serves it"),
)


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The words that occur."""
    words = list(_ALWAYS)
    if failure.collective.timeout_ms or failure.initiator_ranks:
        words.append(_WATCHDOG)
    if any(line.last_enqueued is not None for line in failure.ranks):
        words.append(_COUNTED)
    if any("Flight Recorder" in spot.why for spot in failure.blind):
        words.append(_RECORDER)
    if failure.ais_nodes or failure.chains or failure.counter_deltas:
        words += _NODES
    if failure.chains or any("getbatch" in delta.counter for delta in failure.counter_deltas):
        words += _BATCHES
    return [Facts(tuple(words))]
