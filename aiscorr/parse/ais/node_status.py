"""Reads what a live cluster said of itself: a saved node_status or node_stats answer, or a record of `aiscorr pull`.

Goes out: a snapshot of each node, its counters, and what a pull could not fetch. A record that cannot be
understood is a reject, and the others count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.redact import redact
from aiscorr.parse.stamps import SECOND_NS
from aiscorr.parse.values import Value
from aiscorr.parse.whole import add_reject, read_whole

#: How the first line of a pull's record begins.
RECORD_HEAD = b'{"aiscorr_pull"'
_INT64 = (1 << 63) - 1


@dataclass(frozen=True)
class _Answer:
    """What is told of one node on one line: its answer (empty where it gave none) and its entry in the Smap."""

    line_no: int
    sampled_ns: int
    status: dict[str, Any]
    snode: dict[str, Any]
    cluster: str | None


def read_node_status(summary: FileSummary, stream: ByteStream, sink: PartSink) -> None:
    """Reads a source of kind node_status; a saved answer states no time, so its file's is taken."""
    data = read_whole(summary, stream)
    summary.is_utc = True
    if data.lstrip().startswith(RECORD_HEAD):
        summary.date_method = "stamp"
        _read_record(summary, data, sink)
        return
    summary.date_method = "mtime"
    try:
        for answer in _answers(json.loads(data), summary):
            _add_answer(summary, sink, answer)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        _reject(summary, sink, 1, f"an answer of AIStore in an unknown form: {error}", data)


def _answers(body: dict[str, Any], summary: FileSummary) -> Iterator[_Answer]:
    """One for node_status; for the cluster's node_stats the primary's and one a target."""
    targets = body.get("target")
    found = [body.get("proxy"), *targets.values()] if isinstance(targets, dict) else [body]
    for status in found:
        if isinstance(status, dict) and status:
            yield _Answer(1, summary.ref.modified_ns, status, _part(status, "snode"), summary.cluster)


def _read_record(summary: FileSummary, data: bytes, sink: PartSink) -> None:
    cluster = summary.cluster
    for line_no, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "aiscorr_pull" in record:
                cluster = summary.cluster = summary.cluster or record["cluster"]
                continue
            moment = moment_ns(record["sampled_at"])
            answer = _Answer(line_no, moment, record["status"] or {}, record["snode"], cluster)
            _add_answer(summary, sink, answer)
            for gap in record["gaps"]:
                _add_miss(summary, sink, answer, str(gap["part"]), str(gap["reason"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            _reject(summary, sink, line_no, f"a line of a pull's record in an unknown form: {error!r}", line)


def moment_ns(text: str) -> int:
    """`2026-11-20T23:20:53Z` → nanoseconds since 1970."""
    return round(datetime.fromisoformat(text).timestamp()) * SECOND_NS


def _add_answer(summary: FileSummary, sink: PartSink, answer: _Answer) -> None:
    status, snode = answer.status, answer.snode
    capacity, system, tracker = _part(status, "capacity"), _part(status, "sys_info"), _part(status, "tracker")
    counters = {str(name): value for name, value in tracker.items() if _is_count(value)}
    row: dict[str, Value] = {
        **_node(summary, answer),
        "sampled_ns": answer.sampled_ns,
        "is_answered": bool(status),
        "up_ns": counters.get("up.ns.time"),
        "version": _text(status, "ais_version"),
        "pod": _text(status, "k8s_pod_name"),
        "smap_version": _number(status.get("smap_version"), int),
        "public_endpoint": _endpoint(snode, "public_net"),
        "control_endpoint": _endpoint(snode, "intra_control_net"),
        "data_endpoint": _endpoint(snode, "intra_data_net"),
        "used_pct": _number(capacity.get("pct_max"), float),
        "memory_used_pct": _number(system.get("pct_mem_used"), float),
        "load_1m": _number(_part(system, "load_avg").get("One"), float),
    }
    sink.add("node_snapshot", row)
    for name, value in counters.items():
        place: dict[str, Value] = {"file_id": summary.file_id, "line_no": answer.line_no, "node_id": row["node_id"]}
        sink.add("node_snapshot_counter", {**place, "name": name, "value": value})
    if len(counters) < len(tracker):
        _reject(summary, sink, answer.line_no, "a counter that is no integer: the others count", b"")
    summary.event_count += 1
    summary.counter_count += len(counters)
    _note_time(summary, answer.sampled_ns)


def _node(summary: FileSummary, answer: _Answer) -> dict[str, Value]:
    """The columns that say which node of which cluster it is. Raises ValueError where no id is stated."""
    if not _text(answer.snode, "daemon_id"):
        raise ValueError("no daemon_id")
    uuid = _text(_part(_part(answer.status, "cluster"), "smap"), "uuid")
    return {
        "file_id": summary.file_id,
        "line_no": answer.line_no,
        "cluster": answer.cluster or uuid,
        "node_id": _text(answer.snode, "daemon_id"),
        "node_role": _text(answer.snode, "daemon_type"),
    }


def _add_miss(summary: FileSummary, sink: PartSink, answer: _Answer, part: str, reason: str) -> None:
    row = {**_node(summary, answer), "tried_ns": answer.sampled_ns, "part": part, "reason": redact(reason)[:4096]}
    sink.add("pull_miss", row)
    summary.event_count += 1


def _note_time(summary: FileSummary, moment: int) -> None:
    summary.first_ns = moment if summary.first_ns is None else min(summary.first_ns, moment)
    summary.last_ns = moment if summary.last_ns is None else max(summary.last_ns, moment)


def _part(body: dict[str, Any], name: str) -> dict[str, Any]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _text(body: dict[str, Any], name: str) -> str | None:
    return str(body.get(name) or "")[:256] or None


def _number(value: Any, kind: type[int] | type[float]) -> Value:
    """AIStore writes some numbers as text."""
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value <= _INT64


def _endpoint(snode: dict[str, Any], net: str) -> str | None:
    found = _part(snode, net)
    host, port = _text(found, "node_ip_addr"), _text(found, "daemon_port")
    return f"{host}:{port}" if host and port else None


def _reject(summary: FileSummary, sink: PartSink, line_no: int, reason: str, text: bytes) -> None:
    if summary.problem is None:
        summary.problem = reason
    add_reject(summary, sink, reason, text[:512].decode("utf-8", "replace"), line_no=line_no, byte_offset=None)
