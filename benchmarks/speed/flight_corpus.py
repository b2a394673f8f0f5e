"""Writes Flight Recorder dumps of a large job as PyTorch 2.13 pickles them: texts and shared frames by memo.

Tensor parallel groups of eight, data parallel groups across them; the recorder's ring has wrapped, and one rank
never enters a collective of its tensor parallel group, so that all other groups come to wait too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_EPOCH_NS = 1_793_000_000_000_000_000
_TENSOR_SIZE = 8
_STACK_DEPTH = 24
_STEP = ("all_reduce", "all_reduce", "_all_gather_base", "_reduce_scatter_base", "all_reduce", "all_reduce", "data")
_LIBRARY = "/opt/venv/lib/python3.11/site-packages/torch/distributed"
Record = dict[str, Any]


class TorchPickle:
    """Pickles plain data as the C++ of PyTorch does: each text once, shared objects once, all else in full."""

    def __init__(self, shared: list[Any]) -> None:
        self._parts: list[bytes] = [b"\x80\x02"]
        self._texts: dict[str, bytes] = {}
        self._shared = {id(one): b"" for one in shared}
        self._count = 0

    def dumps(self, value: Any) -> bytes:
        """The pickle of one value."""
        self._add(value)
        return b"".join([*self._parts, b"."])

    def _put(self) -> bytes:
        number, self._count = self._count, self._count + 1
        short = number < 256
        self._parts.append(b"q%c" % number if short else b"r" + struct.pack("<I", number))
        return b"h%c" % number if short else b"j" + struct.pack("<I", number)

    def _add(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self._add_text(value)
        elif kind is int:
            self._parts.append(_number(value))
        elif kind is dict:
            self._add_all(value, b"}(", b"u", (part for pair in value.items() for part in pair))
        elif kind is list:
            self._add_all(value, b"](", b"e", value)
        elif kind is tuple:
            for part in value:
                self._add(part)
            self._parts.append(b"\x86")
        else:
            self._parts.append({None: b"N", True: b"\x88", False: b"\x89"}[value])

    def _add_text(self, value: str) -> None:
        known = self._texts.get(value)
        if known is not None:
            self._parts.append(known)
            return
        data = value.encode()
        self._parts.append(b"X" + struct.pack("<I", len(data)) + data)
        self._texts[value] = self._put()

    def _add_all(self, value: Any, begin: bytes, end: bytes, parts: Any) -> None:
        known = self._shared.get(id(value))
        if known:
            self._parts.append(known)
            return
        self._parts.append(begin)
        for part in parts:
            self._add(part)
        self._parts.append(end)
        if known is not None:
            self._shared[id(value)] = self._put()


def _number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K%c" % value
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


@dataclass
class _Rank:
    """One rank: its groups, its records, its counters by local number of group."""

    rank: int
    world_size: int
    groups: list[tuple[str, str, list[int]]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    status: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tensor, place = divmod(self.rank, _TENSOR_SIZE)
        group_count = self.world_size // _TENSOR_SIZE
        everyone = list(range(self.world_size))
        self.groups = [
            ("0", "default_pg", everyone),
            (str(1 + tensor), "TENSOR_MODEL_PARALLEL_GROUP", everyone[tensor * _TENSOR_SIZE :][:_TENSOR_SIZE]),
            (str(1 + group_count + place), "DATA_PARALLEL_GROUP", everyone[place::_TENSOR_SIZE]),
        ]


def _stacks() -> list[list[Record]]:
    """Fifty call stacks that share most of their frames, as those of a training loop do."""
    names = ["all_reduce", "wrapper", "_reduce", "forward", "_call_impl", "_wrapped_call_impl", "train_step", "main"]
    frames = [
        {"name": names[i % len(names)], "filename": f"{_LIBRARY}/layer_{i % 13}.py", "line": 40 + i} for i in range(90)
    ]
    own = [{"name": "train_step", "filename": "/opt/train/loop.py", "line": 200 + i} for i in range(10)]
    return [[*frames[i : i + _STACK_DEPTH - 2], own[i % 10], frames[-1]] for i in range(50)]


def _record(rank: _Rank, local: int, number: int, seq: int, name: str, stack: list[Record], is_done: bool) -> Record:
    created = _EPOCH_NS + number * 3_000_000 + rank.rank * 7_001
    small, large = _sizes(name, number)
    seen = created + 1_500_000 if is_done else None
    operation = f"nccl:{'all_reduce' if name == 'data' else name}"
    return {
        "frames": stack, "record_id": number, "pg_id": local, "process_group": rank.groups[local][:2],
        "thread_name": "pt_autograd_0", "thread_id": "140385066208128", "collective_seq_id": seq, "p2p_seq_id": 0,
        "op_id": seq, "profiling_name": operation, "time_created_ns": created, "input_sizes": small,
        "input_dtypes": ["BFloat16"], "output_sizes": large, "output_dtypes": ["BFloat16"],
        "state": "completed" if is_done else "scheduled", "time_discovered_started_ns": seen,
        "time_discovered_completed_ns": seen, "retired": is_done, "timeout_ms": 600_000, "is_p2p": False,
    }  # fmt: skip


def _sizes(name: str, number: int) -> tuple[list[list[int]], list[list[int]]]:
    """Shapes sent and received; those of gathered and scattered tensors differ by the size of the group."""
    whole, part = [[4096, 512]], [[4096 // _TENSOR_SIZE, 512]]
    if name == "data":
        return ([[30_000_000 + number % 5]],) * 2
    return (part, whole) if "gather" in name else (whole, part) if "scatter" in name else (whole, whole)


def _content(rank: _Rank, entry_count: int, culprit: int, stacks: list[list[Record]]) -> Record:
    """The last `entry_count` records of a rank in a job in which `culprit` skips its last collective."""
    last = 10 * entry_count * len(_STEP)
    is_held = rank.rank // _TENSOR_SIZE == culprit // _TENSOR_SIZE
    end = last if rank.rank == culprit else last + 1 if is_held else last + len(_STEP)
    for number in range(end - entry_count, end):
        step, place = divmod(number, len(_STEP))
        local = 2 if _STEP[place] == "data" else 1
        seq = step + 1 if local == 2 else step * (len(_STEP) - 1) + place + 1
        is_done = number < last or (not is_held and local == 1)
        rank.records.append(_record(rank, local, number, seq, _STEP[place], stacks[number % 50], is_done))
        state = rank.status.setdefault(local, [seq, seq])
        state[0], state[1] = seq, seq if is_done else state[1]
    keys = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    config = {name: {"name": name, "desc": about, "ranks": str(ranks)} for name, about, ranks in rank.groups}
    counters = {0: [1, 1], **rank.status}
    status = {str(local): dict(zip(keys, (e, min(c + 1, e), c), strict=True)) for local, (e, c) in counters.items()}
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "2.27.3", "pg_status": status,
            "entries": rank.records}  # fmt: skip


def write_flight_corpus(
    folder: Path, rank_count: int, entry_count: int, progress: Callable[[int], None] = lambda rank: None
) -> int:
    """Dumps of every rank into a folder; the rank that is behind."""
    folder.mkdir(parents=True, exist_ok=True)
    culprit = rank_count * 5 // 8 + 3
    stacks = _stacks()
    frames = [frame for stack in stacks for frame in stack]
    for number in range(rank_count):
        content = _content(_Rank(number, rank_count), entry_count, culprit, stacks)
        (folder / f"comm_lib_trace_rank_{number}").write_bytes(TorchPickle(frames).dumps(content))
        progress(number)
    return culprit
