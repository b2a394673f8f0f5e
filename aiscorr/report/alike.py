"""Tells what is the same but for the node and the numbers in it: one line then stands for what many nodes say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from aiscorr.report.blocks import ranges, shorten

Item = TypeVar("Item")
_NODE = re.compile(r"\b(target|proxy|node) \S+")
_NUMBER = re.compile(r"\d+")
#: Fewer are shown one by one.
_MANY = 4
_NAMED = 60


def without_node(text: str) -> str:
    """A text that is the same for what another node says at another time."""
    return _NUMBER.sub("#", _NODE.sub(r"\1", text))


def gathered(items: Sequence[Item], key: Callable[[Item], object]) -> list[tuple[Item, list[Item]]]:
    """The items in order; of many with the same key the first alone, with the others.

    An item of key None is never one of many.
    """
    named = [(key(item), item) for item in items]
    groups: dict[object, list[Item]] = {}
    for name, item in named:
        groups.setdefault(name, []).append(item)
    many = {name: group for name, group in groups.items() if name is not None and len(group) >= _MANY}
    found: list[tuple[Item, list[Item]]] = []
    for name, item in named:
        if name not in many:
            found.append((item, []))
        elif groups.pop(name, None) is not None:  # the first of them
            found.append((item, many[name][1:]))
    return found


def and_more(count: int, ranks: Sequence[int] = ()) -> str:
    """What stands behind the text of the first where so many others are alike, and of which ranks they are."""
    return f" (and {count} more like it{f': ranks {shorten(ranges(ranks), _NAMED)}' if ranks else ''})" if count else ""
