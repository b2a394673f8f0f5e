"""Small checked values of a Flight Recorder dump: numbers, members of a group, element counts, call stacks."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

_MAX_RANKS = 65_536
_MAX_FRAMES = 64
_MAX_KNOWN = 20_000
_SHOWN_FRAMES = 6
_NOT_USERS = re.compile(r"(?:^|/)torch/|-packages/(?:lightning|pytorch_lightning|deepspeed|accelerate)/")
_MAX_TENSORS = 512
T = TypeVar("T")
Frames = dict[int, tuple[str | None, str | None]]


def of_shape(value: Any, kind: type[T]) -> T | None:
    """The value where it is of that type, else None."""
    return value if isinstance(value, kind) else None


def whole(value: Any) -> int | None:
    """A whole number that the database holds; JSON dumps write counters as text."""
    if type(value) is int:
        return value if -(2**63) < value < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return None


def group_ranks(value: Any) -> tuple[int, ...] | None:
    """Members of a group: a list, or its text `[0, 1, 2]` (PyTorch 2.4 and later), or None where it is empty."""
    if isinstance(value, str):
        return _ranks_of_text(value) if len(value) < 16 * _MAX_RANKS else None
    return _ranks_of_list(value)


@lru_cache(maxsize=16)
def _ranks_of_text(text: str) -> tuple[int, ...] | None:
    """All dumps of a job list the same members of its large groups."""
    try:
        return _ranks_of_list(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _ranks_of_list(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= _MAX_RANKS:
        return None
    if not all(isinstance(rank, int) and 0 <= rank < 2**31 for rank in value):
        return None
    return tuple(value)


@lru_cache(maxsize=16)
def ranks_as_json(ranks: tuple[int, ...] | None) -> str | None:
    """Members of a group as JSON, null where they are not known."""
    return None if ranks is None else json.dumps(ranks, separators=(",", ":"))


def tensors(value: Any) -> tuple[str | None, int | None]:
    """Shapes as JSON and elements of all tensors together; a tensor without dimensions has one element."""
    if not isinstance(value, list | tuple) or len(value) > _MAX_TENSORS:
        return None, None
    parts = [list(size) for size in value if isinstance(size, list | tuple) and len(size) <= 16]
    if len(parts) < len(value) or not all(isinstance(one, int) and 0 <= one < 2**48 for size in parts for one in size):
        return None, None
    total = sum(map(prod, parts)) if parts else None
    return str(parts).replace(" ", ""), total if total and total < 2**63 else None


def names_as_json(value: Any) -> str | None:
    """A short list of names, such as types of tensors, as JSON; anything else is null."""
    if not isinstance(value, list | tuple) or len(value) > _MAX_TENSORS:
        return None
    if not all(isinstance(item, str) for item in value):
        return None
    return json.dumps([item[:64] for item in value], separators=(",", ":")) if value else "[]"


def call_stack(frames: Any, known: Frames) -> tuple[str | None, str | None]:
    """file:line of the user's own code, and the innermost frames as `function (file:line)`, joined by ` < `.

    `known` holds the frames of one dump by identity, because its records share them.
    """
    if not isinstance(frames, list | tuple) or not frames:
        return None, None
    location: str | None = None
    shown: list[str] = []
    for frame in frames[:_MAX_FRAMES]:
        told = known.get(id(frame)) or _frame(frame)
        if len(known) < _MAX_KNOWN:
            known[id(frame)] = told
        text, place = told
        if text and len(shown) < _SHOWN_FRAMES:
            shown.append(text)
        location = location or place
        if location is not None and len(shown) == _SHOWN_FRAMES:
            break
    return location, " < ".join(shown) or None


def _frame(frame: Any) -> tuple[str | None, str | None]:
    if not isinstance(frame, dict):
        return None, None
    path, name, line = frame.get("filename"), frame.get("name"), frame.get("line")
    if not isinstance(path, str) or not isinstance(name, str) or not isinstance(line, int | str):
        return None, None
    return _frame_words(path[-512:], name[:128], whole(line))


@lru_cache(maxsize=4096)
def _frame_words(path: str, name: str, line: int | None) -> tuple[str, str | None]:
    """A frame for a person, and file:line where it is the user's own code."""
    is_users = _NOT_USERS.search(path) is None
    return f"{name} ({path[-256:].rpartition('/')[2]}:{line})", f"{path}:{line}" if is_users else None
