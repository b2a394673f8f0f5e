"""Lines with times, read as a daemon's or a worker's log, and the times that come out."""

from __future__ import annotations

from budgets import drawn
from lines import Reading, read_text, read_worker

from aiscorr.model import IngestOptions
from aiscorr.parse.stamps import iso_ns
from aiscorr.parse.zone import utc_datetime

WATCHDOG = "[rank0]:[E{} ProcessGroupNCCL.cpp:757] [Rank 0] Watchdog caught collective operation timeout: x\n"
RETRY = "{} [rank1] ERROR root: All retries exhausted; request failed\n"
MODERATE = drawn(60, 600)


def text_of(moment_ns: int | None) -> str | None:
    """A moment as `YYYY-MM-DD HH:MM:SS`."""
    return None if moment_ns is None else f"{utc_datetime(moment_ns):%Y-%m-%d %H:%M:%S}"


def times(reading: Reading) -> list[str | None]:
    """The times of the events, headers left out, as printed or as UTC where the zone is known."""
    rows = [*reading.ais_line, *reading.worker_line]
    lines = sorted((row for row in rows if row["pattern"] != "ais_process_started"), key=lambda row: row["line_no"])
    return [text_of(row["local_ns"]) for row in lines if row["pattern"] != "ais_log_rotated"]


def header(text: str, word: str = "Started up") -> str:
    """The header of an AIStore log of that local time."""
    return f"{word} at {text}, host ais-target-0, go1.26.6 for linux/amd64\n"


def warned(*clocks: str) -> str:
    """Warnings at these times of day."""
    return "".join(f"W {clock}.000001 x:1 t[tgt81] warned\n" for clock in clocks)


def ais(
    text: str, path: str = "/logs/t1/aistarget.INFO", modified: str = "2026-12-24 12:00:00", **options: object
) -> Reading:
    """Reads a daemon's log last written at that moment (UTC)."""
    return read_text(text, path, modified_ns=iso_ns(modified), options=IngestOptions(kind="ais_log", **options))  # type: ignore[arg-type]


def worker(text: str, modified: str = "2026-12-24 12:00:00", **options: object) -> Reading:
    """Reads a worker's log last written at that moment (UTC)."""
    chosen = IngestOptions(kind="worker_log", **options)  # type: ignore[arg-type]
    return read_worker(text, options=chosen, modified_ns=iso_ns(modified))


def marks(reading: Reading, kind: str) -> list[tuple[str | None, str | None]]:
    """Clock marks of a kind: the file's clock and UTC."""
    return [(text_of(m["local_ns"]), text_of(m["utc_ns"])) for m in reading.clock_mark if m["kind"] == kind]


def marker(clock: str, text: str) -> str:
    """The hourly marker of a daemon."""
    return f"I {clock}.100001 common:494 {text} =============\n"
