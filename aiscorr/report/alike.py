"""Tells what is the same but for the node and the numbers in it: one line then stands for what many nodes say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
_NODE = re.compile(r"\b(target|proxy|node) \S+")
_NUMBER = re.compile(r"\d+")
#: Fewer are shown one by one.
_MANY = 4


def without_node(text: str) -> str:
    """A text that is the same for what another node says at another time."""
    return _NUMBER.sub("#", _NODE.sub(r"\1", text))


def gathered(items: Sequence[Item], key: Callable[[Item], object]) -> list[tuple[Item, int]]:
    """The items in order; of many with the same key the first alone, with the number of the others.

    An item of key None is never one of many.
    """
    keys = [key(item) for item in items]
    counts = Counter(name for name in keys if name is not None)
    seen: set[object] = set()
    found: list[tuple[Item, int]] = []
    for item, name in zip(items, keys, strict=True):
        is_many = counts[name] >= _MANY
        if not is_many or name not in seen:
            found.append((item, counts[name] - 1 if is_many else 0))
        seen.add(name)
    return found


def and_more(count: int) -> str:
    """What stands behind the text of the first where so many others are alike."""
    return f" (and {count} more like it)" if count else ""
