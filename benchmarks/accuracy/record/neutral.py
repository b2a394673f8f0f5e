"""Takes the names of the recording machine out of what a job wrote: its folders, its Python, its host name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_DUMPS = "fr"


def make_neutral(logs: Path, names: Mapping[str, str]) -> None:
    """Rewrites all files below a folder; dumps keep their length, so that they stay readable."""
    ordered = sorted(names.items(), key=lambda pair: -len(pair[0]))
    for path in (one for one in logs.rglob("*") if one.is_file()):
        raw = path.read_bytes()
        is_dump = path.parent.name == _DUMPS
        for old, new in ordered:
            raw = raw.replace(old.encode(), _padded(new, len(old)).encode() if is_dump else new.encode())
        if not is_dump:
            raw = _without_host(raw, _node_of(path.relative_to(logs)))
        path.write_bytes(raw)


def _padded(path: str, length: int) -> str:
    """The same path, as long as asked: more slashes mean nothing."""
    if len(path) > length:
        return path[:length]
    head, slash, tail = path.rpartition("/")
    return head + slash * (1 + length - len(path)) + tail


def _node_of(path: Path) -> str:
    found = re.search(r"node(\d+)|error-\d+-(\d+)", str(path))
    return next((group for group in found.groups() if group), "0") if found else "0"


def _without_host(raw: bytes, node: str) -> bytes:
    return re.sub(rb"(?m)(^.*\bhost      : )\S+$", rb"\g<1>gpu-" + node.encode(), raw)
