"""Tells people of a failure that storage caused: a webhook, Slack, Alertmanager or a command.

Each target is told of a failure once its report is written, and again when the verdict changes. What cannot be
delivered is tried again at the next runs; after some tries it is given up and stays listed as undelivered.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aiscorr.errors import UsageError
from aiscorr.serve.reports import reported
from aiscorr.serve.state import read_state, write_state
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

    from aiscorr.serve.plan import Target

_STATE = "notified.json"
_TRIES = 5
_TIMEOUT_S = 10
_FAILURES = """
select failure_id, job_id, failure_class, storage_verdict, confidence, statement, culprit_ranks,
    strftime(coalesce(ended_at, first_error_at, hang_started_at)::timestamp, '%Y-%m-%dT%H:%M:%SZ') as ended_at, cluster
from failure
where coalesce(ended_at, first_error_at, hang_started_at) >= make_timestamp_ns($since)
order by failure_id
"""


@dataclass(frozen=True)
class Told:
    """What a target was last told of a failure, or how often that failed."""

    verdict: str
    is_delivered: bool
    tries: int = 0
    error: str | None = None


def notify(
    connection: duckdb.DuckDBPyConnection, targets: Iterable[Target], folder: str, *, since: datetime
) -> list[str]:
    """Tells every target what it does not know; returns what could not be delivered, a sentence each."""
    path = os.path.join(folder, _STATE)
    state = read_state(path, Told)
    problems: list[str] = []
    written = reported(folder)
    since_ns = int(since.timestamp()) * 1_000_000_000
    failures = [f for f in records(connection, _FAILURES, {"since": since_ns}) if f["failure_id"] in written]
    for target in targets:
        for failure in failures:
            key = f"{target.name}\t{failure['failure_id']}"
            told = _tell(target, failure, state.get(key))
            if told is None:
                continue
            state[key] = told
            write_state(path, state)
            if not told.is_delivered:
                then = f"given up after {told.tries} tries" if told.tries >= _TRIES else "tried again at the next run"
                problems.append(f"{target.name}: {failure['failure_id']}: {told.error}; {then}")
    return problems


def delivery_counts(folder: str) -> Counter[tuple[str, str]]:
    """How many failures each target was told of (delivered), is to be told of again (waiting) or not (given_up)."""
    try:
        state = read_state(os.path.join(folder, _STATE), Told)
    except (OSError, ValueError, TypeError, AttributeError):
        return Counter()

    def of(told: Told) -> str:
        return "delivered" if told.is_delivered else "given_up" if told.tries >= _TRIES else "waiting"

    return Counter((key.partition("\t")[0], of(told)) for key, told in state.items())


def _tell(target: Target, failure: dict[str, Any], told: Told | None) -> Told | None:
    """Tells one target of one failure; None where there is nothing to tell."""
    verdict = f"{failure['storage_verdict']} {failure['failure_class']}"
    is_wanted = failure["storage_verdict"] == "guilty" and failure["confidence"] >= target.confidence
    was_told = told is not None and told.is_delivered
    if not is_wanted and not (was_told and told is not None and told.verdict != verdict):
        return None
    if told is not None and told.verdict == verdict and (told.is_delivered or told.tries >= _TRIES):
        return None
    tries = told.tries if told is not None and told.verdict == verdict else 0
    try:
        _send(target, failure, is_change=was_told)
    except (OSError, subprocess.SubprocessError, ValueError, UsageError) as error:
        return Told(verdict, False, tries + 1, _said(error))
    return Told(verdict, True)


def _send(target: Target, failure: dict[str, Any], *, is_change: bool) -> None:
    body = BODIES[target.kind](failure, is_change)
    text = json.dumps(body, ensure_ascii=False)
    if target.command:
        subprocess.run(target.command, input=text, text=True, check=True, timeout=_TIMEOUT_S, capture_output=True)
        return
    request = urllib.request.Request(
        target.address(), data=text.encode(), headers={"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        answer.read(4096)


def _title(failure: Mapping[str, Any], is_change: bool) -> str:
    begin = "changed: " if is_change else ""
    return f"{begin}storage {failure['storage_verdict']} in {failure['failure_id']} ({failure['failure_class']})"


def _webhook(failure: Mapping[str, Any], is_change: bool) -> dict[str, Any]:
    return {"schema": "aiscorr.notification/1", "is_change": is_change, "failure": dict(failure)}


def _slack(failure: Mapping[str, Any], is_change: bool) -> dict[str, Any]:
    confidence = f"confidence {failure['confidence']:.2f}"
    lines = (
        f"*{_title(failure, is_change)}*, {confidence}",
        failure["statement"],
        f"`aiscorr report {failure['failure_id']}`",
    )
    return {"text": "\n".join(lines)}


def _alertmanager(failure: Mapping[str, Any], is_change: bool) -> list[dict[str, Any]]:
    labels = {
        "alertname": "TrainingFailedByStorage",
        "failure_id": str(failure["failure_id"]),
        "job_id": str(failure["job_id"]),
        "severity": "warning" if failure["storage_verdict"] == "guilty" else "info",
    }
    if failure["cluster"]:
        labels["cluster"] = str(failure["cluster"])
    annotations = {"summary": _title(failure, is_change), "description": str(failure["statement"])}
    alert: dict[str, Any] = {"labels": labels, "annotations": annotations, "startsAt": failure["ended_at"]}
    return [alert]


#: What each kind of target is sent: a generic JSON, Slack's incoming webhook, Alertmanager's POST /api/v2/alerts.
BODIES = {"webhook": _webhook, "slack": _slack, "alertmanager": _alertmanager, "command": _webhook}


def _said(error: Exception) -> str:
    """What went wrong, without the address: it may be a secret."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"cannot be reached: {error.reason}"
    if isinstance(error, subprocess.CalledProcessError):
        return f"exit code {error.returncode}: {(error.stderr or '').strip()[:200]}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no end within {_TIMEOUT_S} s"
    if isinstance(error, UsageError):
        return error.what
    return f"{type(error).__name__}: {error}" if isinstance(error, OSError) else "the address is not valid"
