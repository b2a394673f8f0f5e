"""A traceback that a logger wrote as one field of its record: JSON, logfmt, or what Python's repr makes of text.

structlog and Ray write it so: `"exc_info": "Traceback (most recent call last):\\n  File \\"a.py\\"…`. What
`traceback.format_exception` gives is printed as a list: `['Traceback (most recent call last):\\n', '  File "a.py"…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: What every such line holds.
MARK = b"(most recent call last):\\n"
#: From the mark to the quote that ends the field: a double one where those inside are escaped, else a single one. Of a
#: list, to the quote that ends its last text.
_FIELD = re.compile(
    rb"\(most recent call last\):(?:(?P<list>\\n['\"], ['\"].*?\\n)(?:['\"]\]|$)|\\n"
    rb"(?:(?=\s*File \\\")(?P<double>(?:[^\"\\]|\\.)*)|(?P<single>(?:[^'\\]|\\.)*)))"
)
_ESCAPE = re.compile(rb"\\(.)")
#: From one text of a list to the next.
_NEXT = re.compile(rb"(?<=\\n)['\"], ['\"]")
_PLAIN = {b"t": b"\t", b"r": b""}


def enclosed_lines(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The lines behind the header of the first traceback in `text`: as they stand there, and as they were meant.

    Nothing where no traceback is enclosed. What stands behind the field's end is not of it.
    """
    field = _FIELD.search(text)
    if field is None:
        return
    body: bytes = field[field.lastgroup or 0]
    if field.lastgroup == "list":
        body = _NEXT.sub(b"", body)
    start = 0
    for escape in _ESCAPE.finditer(body):
        if escape[1] == b"n":
            yield _both(body[start : escape.start()])
            start = escape.end()
    if body[start:].strip():
        yield _both(body[start:])


def _both(piece: bytes) -> tuple[bytes, bytes]:
    return piece, _ESCAPE.sub(lambda escape: _PLAIN.get(escape[1], escape[1]), piece)
