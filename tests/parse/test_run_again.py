"""What comes out of a worker's log into which a job wrote twice."""

from __future__ import annotations

import pytest
from lines import TRACEBACK, events, read_worker

pytestmark = pytest.mark.usefixtures("either_reader")

START = "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2\n"
END = "=" * 60 + "\ntrain.py FAILED\n" + "-" * 60 + "\nFailures:\n  <NO_OTHER_FAILURES>\n" + "=" * 60 + "\n"


def test_a_traceback_ends_with_its_attempt() -> None:
    """A rank's traceback in a job started again into the same file does not follow from that of the run before."""
    first, second = (
        "".join(f"[rank1]: {line}\n" for line in (TRACEBACK + error).splitlines())
        for error in ("KeyError: 'step'", "ValueError: two")
    )
    found = read_worker("torchrun\n" + START + first + END + START + second, "/logs/j/n.log")
    assert [
        (row["attempt_no"], row["exception"], row["is_chained"]) for row in events(found) if row["block_line_no"]
    ] == [(0, "KeyError", False), (1, "ValueError", False)]
