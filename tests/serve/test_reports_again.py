"""When the service writes a report once more: when its own content is another, and not when other logs come."""

from __future__ import annotations

import os
import re
from pathlib import Path

from serve_home import SCENARIO, arrive, furnish, reports, work

NODE = "gREiOVxt/aistarget.ais-target-0.INFO.0914-"
#: Lines that would tie a later log to the failure: what the node says of the cluster map, of batches and of its peers.
_TIES = re.compile(r"smap|vinit|moss|kalive|t2tctrl|shared|client_nethttp", re.IGNORECASE)


def goes_on(home: Path, hour: int) -> None:
    """A log that the node wrote later that day, with a line that no format knows and one that ends too soon."""
    text = (SCENARIO / "ais" / f"{NODE}102007.1").read_text()
    lines = [line for line in text.splitlines() if not _TIES.search(line)]
    later = [re.sub(r"(^[IWE] |/14 )10:", rf"\g<1>{hour}:", line) for line in lines]
    log = home / "ais" / f"{NODE}{hour}2007.1"
    log.write_text("\n".join([*later, f"I {hour}:24:00.000000 {{get.n:1,put.n", f"E {hour}:99:00.000000 x:1 y", ""]))
    os.utime(log, (1789300000, 1789300000))


def test_when_a_report_is_written_again(tmp_path: Path) -> None:
    """A report is left alone while AIStore goes on logging, also what nobody can read; a line of the job writes it."""
    home = furnish(tmp_path)
    arrive(home, 1)
    assert len(work(home).reports) == 1
    before = reports(home)
    goes_on(home, 11)
    run = work(home)
    assert (run.outcome, run.file_count, run.reports) == ("ok", 1, ())
    assert reports(home) == before
    log = home / "logs" / "train-7" / "error-4184269-1.out"
    log.write_text(
        log.read_text() + "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    assert len(work(home).reports) == 1
