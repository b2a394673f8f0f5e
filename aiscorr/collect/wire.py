"""What a node says, as lines of text that survive srun, pdsh, ds_ssh and ssh, and back; and where files go.

A line is a mark and a JSON object, so that a prefix (`node4: `) and other output do no harm; files travel compressed in
parts that no launcher cuts. Needs only the standard library: it is sent to the nodes as text.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_MARK = "@aiscorr1 "
#: pdsh keeps 8192 bytes of a line.
_PART_BYTES = 2700
_MAX_BYTES = 512 << 20
Record = dict[str, Any]
Emit = Callable[[Record], None]


def file_record(host: str, name: str, content: bytes, modified_s: float) -> Record:
    """A file that a node gives: its name, what is in it, when it was written."""
    return {"kind": "file", "host": host, "name": name, "content": content, "modified_s": modified_s}


def encode(record: Record) -> list[bytes]:
    """The lines of a record: one, or one for each part of a file."""
    if record["kind"] != "file":
        return [_line(record)]
    packed = zlib.compress(record["content"], 6)
    parts = [packed[start : start + _PART_BYTES] for start in range(0, len(packed), _PART_BYTES)]
    about = {"kind": "part", "host": record["host"], "name": record["name"], "modified_s": record["modified_s"],
             "crc": zlib.crc32(packed), "of": len(parts)}  # fmt: skip
    return [_line({**about, "part": number, "data": base64.b64encode(part).decode()})
            for number, part in enumerate(parts)]  # fmt: skip


def _line(record: Record) -> bytes:
    return (_MARK + json.dumps(record, separators=(",", ":")) + "\n").encode()


def safe_name(name: str) -> str:
    """A file name without folders and odd characters; a node's word is not trusted."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:200] or "unnamed"


@dataclass
class Folder:
    """Writes the files it is told into a folder, and keeps what else is told."""

    path: str
    records: list[Record] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Keeps a record, or writes a file; a name that is taken gets a number."""
        if record["kind"] != "file":
            self.records.append(record)
            return
        os.makedirs(self.path, exist_ok=True)
        stem, dot, ending = safe_name(record["name"]).rpartition(".txt")
        stem, ending = (stem, dot) if dot and not ending else (safe_name(record["name"]), "")
        path, number = os.path.join(self.path, stem + ending), 1
        while os.path.exists(path):
            number += 1
            path = os.path.join(self.path, f"again{number}_{stem}{ending}")
        with open(path, "wb") as target:
            target.write(record["content"])
        os.utime(path, (record["modified_s"], record["modified_s"]))
        self.files.append(path)
        self.records.append({key: value for key, value in record.items() if key != "content"} | {"path": path})


@dataclass
class Receiver:
    """Lines to records; what is no line of ours is kept as talk, a file whose parts are not all there is said.

    `asked` is the name the host was called by, where the launcher does not print it before each line as pdsh does.
    """

    emit: Emit
    asked: str | None = None
    talk: list[str] = field(default_factory=list)
    open_files: dict[tuple[str, str], dict[int, Record]] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        """Takes a line as a launcher prints it."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        prefix, mark, body = text.partition(_MARK)
        try:
            record = json.loads(body) if mark else None
            if not isinstance(record, dict) or not isinstance(record["kind"], str):
                raise ValueError(text)
            record["host"] = str(record.get("host", "?"))
            label = re.match(r"(\S+): *$", prefix)
            asked = self.asked or (label[1] if label else None)
            if record["kind"] == "part":
                self._take_part(record)
            else:
                self.emit({**record, "asked": asked} if asked else record)
        except (ValueError, KeyError, TypeError, OverflowError):
            if text.strip():
                self.talk.append(text[:500])

    def _take_part(self, record: Record) -> None:
        key = (str(record["host"]), str(record["name"]))
        parts = self.open_files.setdefault(key, {})
        parts[int(record["part"])] = record
        if len(parts) < int(record["of"]):
            return
        del self.open_files[key]
        packed = b"".join(base64.b64decode(parts[number]["data"]) for number in sorted(parts))
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(packed, _MAX_BYTES)
            if zlib.crc32(packed) != record["crc"] or not unpacker.eof:
                raise ValueError
        except (zlib.error, ValueError):
            self._say_lost(key)
            return
        self.emit(file_record(*key, content, float(record["modified_s"])))

    def close(self) -> None:
        """Says which files are not complete."""
        for key in list(self.open_files):
            self._say_lost(key)
        self.open_files.clear()

    def _say_lost(self, key: tuple[str, str]) -> None:
        self.emit({"kind": "note", "host": key[0], "what": f"{key[1]} did not come through whole",
                   "try_this": "collect again, or --on-nodes to write to a shared folder"})  # fmt: skip
