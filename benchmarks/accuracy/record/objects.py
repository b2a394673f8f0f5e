"""The objects that the store of a scenario holds: arrays, tar shards, rows, tables and weights, whole or spoiled."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def array(seed: int, rows: int = 16, columns: int = 33, labels: int = 10) -> bytes:
    """A .npy file of format 1.0 with small floats, its last column a label; written by hand as numpy is not needed."""
    chance = random.Random(seed)
    values = []
    for _ in range(rows):
        values += [chance.gauss(0, 1) for _ in range(columns - 1)] + [float(chance.randrange(labels))]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
    return start + struct.pack(f"<{len(values)}f", *values)


def parts(
    ranks: int = 4, count: int = 14, spoiled: Sequence[str] = (), narrow: Sequence[str] = ()
) -> Mapping[str, bytes]:
    """The arrays of every rank; those spoiled, `RANK/NUMBER`, have other bytes, those narrow have two columns fewer."""
    made = {}
    for rank in range(ranks):
        for number in range(count):
            key = f"{rank}/{number}"
            body = array(100 * rank + number, columns=31 if key in narrow else 33)
            name = f"speech-v3/train/{rank}/part-{number:05d}.npy"
            made[name] = random.Random(len(body)).randbytes(len(body)) if key in spoiled else body
    return made


def shards(count: int = 16, cut: Sequence[int] = (), odd: Sequence[int] = ()) -> Mapping[str, bytes]:
    """Tar shards of six arrays; those in `cut` end in the middle of a member, those in `odd` have other labels."""
    made = {}
    for number in range(count):
        body = _tar(number, 1000 if number in odd else 10)
        made[f"imagenet/train/shard-{number:06d}.tar"] = body[: len(body) // 2 + 300] if number in cut else body
    return made


def rows(ranks: int = 4, files: int = 3, lines: int = 40) -> Mapping[str, bytes]:
    """JSON lines of every rank, too long to come in one piece."""
    made = {}
    for rank in range(ranks):
        for number in range(files):
            texts = (f'{{"id": {row}, "text": "{"so it goes " * (300 + row)}"}}' for row in range(lines))
            made[f"dialogs/rank{rank}/part-{number:03d}.jsonl"] = "\n".join(texts).encode() + b"\n"
    return made


def packed_rows(ranks: int = 4, files: int = 4, cut: str = "", joined: str = "") -> Mapping[str, bytes]:
    """Compressed JSON lines; the file `cut`, `RANK/NUMBER`, lacks its end, that `joined` a line end."""
    words = ("tide", "lamp", "quay", "boat", "noon", "rope")
    made = {}
    for rank in range(ranks):
        for number in range(files):
            key = f"{rank}/{number}"
            texts = (" ".join(words[(row * step + rank) % 6] for step in range(1, 12)) for row in range(48))
            lines = [json.dumps({"id": f"{key}/{row}", "text": text}) for row, text in enumerate(texts)]
            if key == joined:
                lines[29:31] = [lines[29] + lines[30]]
            body = gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
            made[f"instruct/rank{rank}/part-{number:03d}.jsonl.gz"] = body[: len(body) * 2 // 3] if key == cut else body
    return made


def tables(files: int = 12, count: int = 40, cut: int = -1) -> Mapping[str, bytes]:
    """Parquet tables of texts; the one at `cut` was stored without its end."""
    import pyarrow as pa
    from pyarrow import parquet

    made = {}
    for number in range(files):
        columns: dict[str, Any] = {
            "id": [1000 * number + row for row in range(count)],
            "text": [f"row {row} of table {number}, " * (3 + row % 5) for row in range(count)],
        }
        buffer = io.BytesIO()
        parquet.write_table(pa.table(columns), buffer)
        body = buffer.getvalue()
        name = f"web-text/train-{number:05d}-of-{files:05d}.parquet"
        made[name] = body[: len(body) * 3 // 4] if number == cut else body
    return made


def weights() -> Mapping[str, bytes]:
    """The same weights in two buckets, as safetensors and as a file whose name holds its hash."""
    width, length = 64, 64 * 64 * 4
    layers = {
        "weight": {"dtype": "F32", "shape": [width, width], "data_offsets": [0, length]},
        "bias": {"dtype": "F32", "shape": [width], "data_offsets": [length, length + 4 * width]},
    }
    head = json.dumps(layers).encode()
    body = struct.pack("<Q", len(head)) + head + bytes(length + 4 * width)
    names = ("models/tower/model.safetensors", "models-east/tower/model.safetensors", "models/tower/tower-3f9a61c2.pth")
    return dict.fromkeys(names, body)


def _tar(number: int, labels: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for index in range(6):
            body = array(1000 * number + index, labels=labels)
            info = tarfile.TarInfo(f"{number:06d}_{index:04d}.npy")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


OBJECTS: Mapping[str, Callable[..., Mapping[str, bytes]]] = {
    "parts": parts,
    "shards": shards,
    "rows": rows,
    "packed_rows": packed_rows,
    "tables": tables,
    "weights": weights,
}
