"""Cuts the lists of a brief report so that each item fits into one line; a place is never cut."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Facts

#: Less of a text beside its place says nothing: the place has a line of its own then.
_LEAST = 30


def in_one_line(block: Block, width: int) -> Block:
    """The block with its items cut to the width; what is no list stays as it is."""
    match block:
        case Facts(pairs):
            room = width - 4 - max((len(label) for label, _ in pairs), default=0)
            return Facts(tuple((label, cut(value, room)) for label, value in pairs))
        case Bullets(items):
            return Bullets(tuple((cut(text, _beside(place, width - 4)), place) for text, place in items))
    return block


def _beside(place: str, room: int) -> int:
    """What a text has of a line that ends with the place, or without it where too little would be left."""
    left = room - len(place) - 2
    return left if left >= _LEAST else room


def cut(text: str, room: int) -> str:
    """The text, its end cut behind a word where it is longer than the room."""
    if len(text) <= room:
        return text
    whole, blank, _ = text[: room - 1].rpartition(" ")
    return (whole if blank and len(whole) > room // 2 else text[: room - 2]).rstrip(" ,;:([") + " …"
