"""Writes the report of every recent failure into a folder, once, and again when it says something else.

A report waits a while for worker logs that are known to be missing; then it is written as partial, and written again
when the rest arrives.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from aiscorr.disk import replace_file
from aiscorr.report import render
from aiscorr.report.citation import read_again
from aiscorr.serve.state import read_state, write_state

if TYPE_CHECKING:
    from aiscorr.report.document import Report
    from aiscorr.serve.source import FileSource

_STATE = "state.json"
_RECENT = """
select f.failure_id, count(m.failure_id) as missing,
    (select sum(hash(i) & 1099511627775)::varchar from case_input as i where i.job_id = f.job_id) as judged_from
from failure as f
left join missing_worker_file as m on m.failure_id = f.failure_id
where coalesce(f.ended_at, f.first_error_at, f.hang_started_at) >= make_timestamp_ns($since)
group by f.failure_id, f.job_id
order by f.failure_id
"""


@dataclass(frozen=True)
class Written:
    """What the folder holds of a failure: the sum of what its report says, and whether logs were missing.

    `judged_from`: the sum of the rows that the case was judged from.
    """

    first_seen_at: str
    fingerprint: str | None = None
    is_partial: bool = False
    judged_from: str | None = None


def write_reports(source: FileSource, folder: str, *, now: datetime, wait: timedelta, recent: timedelta) -> list[str]:
    """Writes what is new or says something else; returns the ids of those failures, partial ones marked so.

    In a large lake each report is read from a slice of its own, so there only cases with other rows are looked at.
    """
    os.makedirs(folder, exist_ok=True)
    state = _read(folder)
    written: list[str] = []
    since = int((now - recent).timestamp()) * 1_000_000_000
    with source.opened() as connection:
        for failure_id, missing, judged_from in connection.execute(_RECENT, {"since": since}).fetchall():
            known = state.get(failure_id) or Written(now.isoformat())
            state[failure_id] = known
            is_waited = now - datetime.fromisoformat(known.first_seen_at) >= wait
            if missing and not is_waited and known.fingerprint is None:
                continue
            if not source.is_whole and _is_as_written(known, bool(missing), judged_from):
                continue
            report = source.report_on(connection, failure_id, now)
            fingerprint = fingerprint_of(report)
            if fingerprint != known.fingerprint:
                _write(folder, failure_id, read_again(report))
                partial = f" (partial: {missing} worker logs have not come)" if missing else ""
                written.append(f"{failure_id}{partial}")
            elif source.is_whole:
                continue
            state[failure_id] = replace(
                known, fingerprint=fingerprint, is_partial=bool(missing), judged_from=judged_from
            )
            write_state(os.path.join(folder, _STATE), state)
    write_state(os.path.join(folder, _STATE), state)
    return written


def _is_as_written(known: Written, is_partial: bool, judged_from: str | None) -> bool:
    """Whether a report is there of just these rows."""
    return known.fingerprint is not None and (known.is_partial, known.judged_from) == (is_partial, judged_from)


def reported(folder: str) -> set[str]:
    """The failures that have a report, be it a partial one."""
    return {failure_id for failure_id, written in _read(folder).items() if written.fingerprint is not None}


def report_counts(folder: str) -> tuple[int, int]:
    """How many reports are whole, and how many partial."""
    written = [item for item in _read(folder).values() if item.fingerprint is not None]
    partial = sum(item.is_partial for item in written)
    return len(written) - partial, partial


def fingerprint_of(report: Report) -> str:
    """A sum over all that a report says but the time it was made at."""
    values = json.loads(render.render_json(report))
    values.pop("generated_at", None)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _write(folder: str, failure_id: str, report: Report) -> None:
    name = os.path.join(folder, failure_id.replace("/", "_"))
    replace_file(f"{name}.txt", render.render_text(report, width=110, color=False))
    replace_file(f"{name}.md", render.render_markdown(report))
    replace_file(f"{name}.json", render.render_json(report))


def _read(folder: str) -> dict[str, Written]:
    try:
        return read_state(os.path.join(folder, _STATE), Written)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # the reports are written once more
