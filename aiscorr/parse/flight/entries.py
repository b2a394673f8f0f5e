"""Turns the records of a Flight Recorder dump into columns, a chunk at a time.

A job repeats its names, shapes and call stacks: each is looked at once, not once a record. Nothing is looked at
deeper than its shape allows, because a pickle can hold a list a million times in a few bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from aiscorr.parse.flight.values import Frames, call_stack, names_as_json, of_shape, tensors, whole

Columns = dict[str, list[Any]]
CHUNK = 20_000
_MAX_NUMBER = 2**63
_MAX_PARTS = 512
_MAX_TEXT = 256
_MAX_FRAMES = 64
_P2P = re.compile(r"(send|recv)(?: (\d+)(->|<-)(\d+))?$")
_NAMES = ("collective_seq_id", "seq_id", "state", "time_created_ns", "time_created_us")
_WHOLE = {"record_id": "record_id", "p2p_seq_num": "p2p_seq_id", "op_id": "op_id", "timeout_ms": "timeout_ms"}
T = TypeVar("T")


@dataclass
class Repeated:
    """What the records of a dump repeat: names of groups by local number, call stacks by their frames."""

    groups: dict[str, tuple[str, str]] = field(default_factory=dict)
    stacks: dict[tuple[int, ...], tuple[str | None, str | None]] = field(default_factory=dict)
    frames: Frames = field(default_factory=dict)


def entry_columns(entries: list[Any], first_no: int, repeated: Repeated) -> tuple[Columns, int]:
    """Columns of a chunk of records, numbered from `first_no`, and how many of the chunk are no records."""
    numbered = [
        (number, entry)
        for number, entry in enumerate(entries, first_no)
        if isinstance(entry, dict) and ("profiling_name" in entry or any(name in entry for name in _NAMES))
    ]
    rows = [entry for _, entry in numbered]
    columns: Columns = {"entry_no": [number for number, _ in numbered]}
    columns |= {name: _wholes(_values(rows, key)) for name, key in _WHOLE.items()}
    _add_group(columns, rows, repeated)
    _add_operation(columns, rows)
    _add_tensors(columns, rows)
    _add_moments(columns, rows)
    stacks = [_stack(frames, repeated) for frames in _values(rows, "frames")]
    columns["user_location"] = [location for location, _ in stacks]
    columns["stack"] = [stack for _, stack in stacks]
    return columns, len(entries) - len(rows)


def _values(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return [row.get(key) for row in rows]


def _wholes(values: list[Any]) -> list[int | None]:
    """Whole numbers that the database holds; a column of nothing else is taken as it is."""
    kinds = set(map(type, values))
    if kinds == {int} and min(values) >= -_MAX_NUMBER and max(values) < _MAX_NUMBER:
        return values
    return [None] * len(values) if kinds == {type(None)} else [whole(value) for value in values]


def _told(values: list[Any], depth: int, leaf: type, convert: Callable[[Any], T]) -> list[T]:
    """Each value converted, those that read alike once.

    Their texts are compared only where all are lists of that depth, of few and short things.
    """
    if not _is_shallow(values, depth, leaf):
        seen: dict[int, T] = {}
        return [seen[id(v)] if id(v) in seen else seen.setdefault(id(v), convert(v)) for v in values]
    keys = values if depth == 0 else list(map(tuple if depth == 1 else repr, values))
    known = {key: convert(value) for key, value in dict(zip(keys, values, strict=True)).items()}
    return [known[key] for key in keys]


def _is_shallow(values: list[Any], depth: int, leaf: type) -> bool:
    level = values
    for _ in range(depth):
        if not set(map(type, level)) <= {list, tuple}:
            return False
        sizes = list(map(len, level))
        if max(sizes, default=0) > _MAX_PARTS or sum(sizes) > 100_000 + 40 * len(values):
            return False
        level = list(chain.from_iterable(level))
    if not set(map(type, level)) <= {leaf}:
        return False
    return leaf is not str or max(map(len, level), default=0) <= _MAX_TEXT


def _add_group(columns: Columns, rows: list[dict[str, Any]], repeated: Repeated) -> None:
    ids = _told(_values(rows, "pg_id"), 0, int, key_text)
    pairs = _told(_values(rows, "process_group"), 1, str, _group_name)
    names = [pair or (pg_id or "0", "") for pg_id, pair in zip(ids, pairs, strict=True)]
    for pg_id, name in dict.fromkeys(zip(ids, names, strict=True)):
        repeated.groups.setdefault(pg_id or name[0], name)
    columns["pg_id"] = ids
    columns["guid"] = [guid for guid, _ in names]
    columns["description"] = [description for _, description in names]


def key_text(value: Any) -> str | None:
    """The text of a key that may be a number; in PyTorch 2.3 groups are numbered, later they have names."""
    return str(value)[:64] if isinstance(value, str | int) and not isinstance(value, bool) else None


def _group_name(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], str):
        return None
    return value[0][:256], (of_shape(value[1], str) or "")[:256]


def _add_operation(columns: Columns, rows: list[dict[str, Any]]) -> None:
    found = _told(_values(rows, "profiling_name"), 0, str, lambda name: operation_of(of_shape(name, str) or ""))
    for place, name in enumerate(("backend", "operation", "group_rank", "peer_group_rank")):
        columns[name] = [one[place] for one in found]
    told = [value is True for value in _values(rows, "is_p2p")]
    columns["is_p2p"] = [is_p2p or one[1] in ("send", "recv") for is_p2p, one in zip(told, found, strict=True)]
    columns["is_retired"] = [value is True for value in _values(rows, "retired")]
    columns["state"] = _told(_values(rows, "state"), 0, str, lambda state: (of_shape(state, str) or "")[:32] or None)


def operation_of(name: str) -> tuple[str | None, str | None, int | None, int | None]:
    """Back-end, operation and, of a send or recv, the group ranks: `nccl:recv 3<-0` is 3 receiving from 0."""
    backend, colon, rest = name[:256].partition(":")
    if not colon:
        backend, rest = "", name[:256]
    found = _P2P.match(rest)
    if found is None:
        return backend or None, rest or None, None, None
    own, peer = found.group(2), found.group(4)
    return backend or None, found.group(1), int(own[:9]) if own else None, int(peer[:9]) if peer else None


def _add_tensors(columns: Columns, rows: list[dict[str, Any]]) -> None:
    for side, short in (("input", "in"), ("output", "out")):
        sizes = _told(_values(rows, f"{side}_sizes"), 2, int, tensors)
        columns[f"{side}_sizes"] = [text for text, _ in sizes]
        columns[f"numel_{short}"] = [count for _, count in sizes]
        columns[f"{side}_dtypes"] = _told(_values(rows, f"{side}_dtypes"), 1, str, names_as_json)


def _add_moments(columns: Columns, rows: list[dict[str, Any]]) -> None:
    created = _wholes(_values(rows, "time_created_ns"))
    if not all(created):  # microseconds in PyTorch 2.2
        micro = _wholes(_values(rows, "time_created_us"))
        pairs = zip(created, micro, strict=True)
        created = [one or (other * 1000 if other and other < 2**52 else None) for one, other in pairs]
    columns["created_ns"] = created
    for name in ("started", "completed"):
        found = _wholes(_values(rows, f"time_discovered_{name}_ns"))
        columns[f"{name}_ns"] = [value or None for value in found]
    numbers = _wholes(_values(rows, "collective_seq_id"))
    if None in numbers:
        numbers = [a if a is not None else b for a, b in zip(numbers, _wholes(_values(rows, "seq_id")), strict=True)]
    columns["seq_num"] = numbers
    durations = _values(rows, "duration_ms")
    columns["duration_ms"] = [
        float(one) if isinstance(one, int | float) and abs(one) < 1e15 else None for one in durations
    ]


def _stack(frames: Any, repeated: Repeated) -> tuple[str | None, str | None]:
    """Location and stack of a record; frames that records share are the same objects, as long as the dump is held."""
    if not isinstance(frames, list | tuple) or not frames:
        return None, None
    key = tuple(map(id, frames[:_MAX_FRAMES]))
    found = repeated.stacks.get(key)
    if found is None:
        found = call_stack(frames, repeated.frames)
        if len(repeated.stacks) < CHUNK:
            repeated.stacks[key] = found
    return found
