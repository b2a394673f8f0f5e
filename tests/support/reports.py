"""Reports of scenarios as tests look at them, freed of what differs between machines, and the shape of their JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

from scenes import NOW, Library
from truths import Json

from aiscorr.report import document as doc
from aiscorr.report.build import build_report
from aiscorr.report.citation import read_again
from aiscorr.report.render import render_text
from aiscorr.store.database import reading

_T = TypeVar("_T")
TEXT, NUMBER, WHOLE, FLAG, TIME = "text", "number", "whole number", "flag", "time"
MAYBE = "or null"
CITED = {
    "path": TEXT,
    "line_no": (WHOLE, MAYBE),
    "locator": (TEXT, MAYBE),
    "text": (TEXT, MAYBE),
    "check": ("verified", "moved", "gone"),
}
JOB = {
    "framework": (TEXT, MAYBE),
    "task": (TEXT, MAYBE),
    "resumed_from": (TEXT, MAYBE),
    "world_size": (WHOLE, MAYBE),
    "world_size_is": ("stated", "at_least"),
    "rank_count": WHOLE,
    "node_count": (WHOLE, MAYBE),
    "ranks_per_node": (WHOLE, MAYBE),
    "data_source": (TEXT, MAYBE),
    "started_at": (TIME, MAYBE),
}
COLLECTIVE = {
    "process_group": (TEXT, MAYBE),
    "seq_num": (WHOLE, MAYBE),
    "op_type": (TEXT, MAYBE),
    "numel_in": (WHOLE, MAYBE),
    "timeout_ms": (WHOLE, MAYBE),
    "ran_for_ms": (WHOLE, MAYBE),
}
STEP = {
    "step": TEXT,
    "at": (TIME, MAYBE),
    "node_id": (TEXT, MAYBE),
    "path": (TEXT, MAYBE),
    "line_no": (WHOLE, MAYBE),
    "text": TEXT,
}
EVENT = {
    "at": TIME,
    "source": TEXT,
    "node_id": (TEXT, MAYBE),
    "rank": (WHOLE, MAYBE),
    "text": TEXT,
    "path": (TEXT, MAYBE),
    "line_no": (WHOLE, MAYBE),
}
CAUSE = {
    "place": WHOLE,
    "failure_class": TEXT,
    "score": NUMBER,
    "statement": TEXT,
    "supports": [CITED],
    "contradicts": [CITED],
}
DELTA = {
    "node_id": TEXT,
    "role": (TEXT, MAYBE),
    "counter": TEXT,
    "before": NUMBER,
    "inside": NUMBER,
    "after": NUMBER,
    "is_complete": FLAG,
}
SUSPECT = {
    "place": WHOLE,
    "what": TEXT,
    "probability": NUMBER,
    "storage_verdict": ("guilty", "innocent", "undetermined"),
    "rank": (WHOLE, MAYBE),
    "node_id": (TEXT, MAYBE),
    "would_decide": (TEXT, MAYBE),
}
COVERAGE = {
    "of": TEXT,
    "from": (TIME, MAYBE),
    "to": (TIME, MAYBE),
    "state": ("complete", "cut", "missing", "unknown"),
    "because": TEXT,
}
ACTIONS = ("restart", "restart_without_hosts", "stop_and_repair_storage", "stop_and_fix_program", "look", "none")
FAILURE = {
    "failure_id": TEXT,
    "job_id": TEXT,
    "failure_class": TEXT,
    "failure_kind": (TEXT, MAYBE),
    "storage_verdict": ("guilty", "innocent", "undetermined"),
    "confidence": NUMBER,
    "statement": TEXT,
    "hang_started_at": (TIME, MAYBE),
    "first_error_at": (TIME, MAYBE),
    "first_error_at_is": ("exact", "at_latest", "at_earliest", MAYBE),
    "ended_at": (TIME, MAYBE),
    "job": JOB,
    "collective": COLLECTIVE,
    **{f"{name}_ranks": [WHOLE] for name in ("culprit", "initiator", "notified", "absent")},
    "ais_nodes": [{"node_id": TEXT, "role": (TEXT, MAYBE), "why": TEXT}],
    "chains": [{"chain_id": TEXT, "xid": (TEXT, MAYBE), "wids": [TEXT], "ranks": [WHOLE], "steps": [STEP]}],
    "timeline": [EVENT],
    "root_causes": [CAUSE],
    "ruled_out": [{"what": TEXT, "because": TEXT, "path": (TEXT, MAYBE), "line_no": (WHOLE, MAYBE)}],
    "not_judged": [{"what": TEXT, "because": TEXT, "path": (TEXT, MAYBE), "line_no": (WHOLE, MAYBE)}],
    "key_files": [{"path": TEXT, "why": TEXT}],
    "counter_deltas": [DELTA],
    "recommendations": [{"to": ("storage", "client", "training"), "text": TEXT, "why": TEXT}],
    "blind": [{"what": TEXT, "why": TEXT, "command": TEXT}],
    "suspects": [SUSPECT],
    "coverage": [COVERAGE],
    "decision": {"action": ACTIONS, "hosts": [TEXT], "because": TEXT},
    "impact": {"ranks": (WHOLE, MAYBE), "lost_s": (NUMBER, MAYBE), "steps_since_checkpoint": (WHOLE, MAYBE)},
    "changed": [{"field": TEXT, "was": TEXT, "is": TEXT, "because": TEXT}],
}
REPORT = {"schema": ("aiscorr.report/1",), "generated_at": TIME, "aiscorr_version": TEXT, "failures": [FAILURE]}


def misfits(value: Any, shape: Any, place: str = "report") -> list[str]:
    """Where a value of JSON is not of the shape: keys that are missing, values of another kind."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        missing = [f"{place}.{key} is missing" for key in shape if key not in value]
        return missing + [
            text for key in shape if key in value for text in misfits(value[key], shape[key], f"{place}.{key}")
        ]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place} is no list"]
        return [text for number, item in enumerate(value) for text in misfits(item, shape[0], f"{place}[{number}]")]
    kinds = (shape,) if isinstance(shape, str) else shape
    return [] if any(_fits(value, kind) for kind in kinds) else [f"{place} is {value!r}, not {kinds}"]


def _fits(value: Any, kind: str) -> bool:
    if kind == MAYBE:
        return value is None
    if kind == FLAG:
        return isinstance(value, bool)
    if kind in (NUMBER, WHOLE):
        return isinstance(value, int if kind == WHOLE else (int, float)) and not isinstance(value, bool)
    if kind == TIME:
        return isinstance(value, str) and len(value) == 27 and value[10] == "T" and value.endswith("Z")
    return isinstance(value, str) and (bool(value) if kind == TEXT else value == kind)


def report_of(db: str, which: str = "all") -> doc.Report:
    """The report with its cited lines read again, as of a fixed day."""
    with reading(db) as connection:
        report = build_report(connection, which, NOW)
    return read_again(report)


@cache
def scenario_report(library: Library, name: str) -> doc.Report:
    """The report of a scenario, made once a process."""
    return report_of(library.database(name))


def as_json(report: doc.Report) -> Json:
    """The report as JSON values."""
    return cast(Json, doc.to_json(report))


def with_text(value: _T, old: str, new: str) -> _T:
    """The same with a text replaced wherever it stands."""
    if isinstance(value, str):
        return cast(_T, value.replace(old, new))
    if isinstance(value, tuple):
        return cast(_T, tuple(with_text(item, old, new) for item in value))
    if is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: with_text(getattr(value, field.name), old, new) for field in fields(value)}
        return replace(value, **changed)
    return value


def golden_text(library: Library, name: str) -> str:
    """The text of a scenario's report, the same on every machine and of every version."""
    report = with_text(scenario_report(library, name), str(library.folder(name)), f"fixtures/{name}")
    return render_text(replace(report, aiscorr_version="golden"), width=110, color=False)


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal would obey."""
    return {letter for letter in text if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)}
