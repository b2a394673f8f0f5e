"""Objects of rows and weights that the fake store holds: compressed JSON lines, Parquet tables, safetensors."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import parquet


def packed_rows(ranks: int = 4, files: int = 4, rows: int = 48) -> dict[str, bytes]:
    """Compressed JSON lines of every rank."""
    made = {}
    for rank in range(ranks):
        for number in range(files):
            made[f"instruct/rank{rank}/part-{number:03d}.jsonl.gz"] = _packed(_texts(rank, number, rows))
    return made


def rows_cut(rank: int, number: int) -> Callable[[], Mapping[str, bytes]]:
    """The same, one of the files stored without its last part."""

    def make() -> Mapping[str, bytes]:
        made = packed_rows()
        name = f"instruct/rank{rank}/part-{number:03d}.jsonl.gz"
        return {**made, name: made[name][: len(made[name]) * 2 // 3]}

    return make


def rows_joined(rank: int, number: int) -> Callable[[], Mapping[str, bytes]]:
    """The same, in one of the files two rows lack the line end between them."""

    def make() -> Mapping[str, bytes]:
        lines = _texts(rank, number, 48)
        lines[29:31] = [lines[29] + lines[30]]
        return {**packed_rows(), f"instruct/rank{rank}/part-{number:03d}.jsonl.gz": _packed(lines)}

    return make


def row_tables(files: int = 12, rows: int = 40, cut: int | None = None) -> Callable[[], Mapping[str, bytes]]:
    """Parquet tables of texts; the one at `cut` was stored without its end."""

    def make() -> Mapping[str, bytes]:
        made = {}
        for number in range(files):
            columns: dict[str, Any] = {
                "id": [1000 * number + row for row in range(rows)],
                "text": [f"row {row} of table {number}, " * (3 + row % 5) for row in range(rows)],
            }
            buffer = io.BytesIO()
            parquet.write_table(pa.table(columns), buffer)
            body = buffer.getvalue()
            body = body[: len(body) * 3 // 4] if number == cut else body
            made[f"web-text/train-{number:05d}-of-{files:05d}.parquet"] = body
        return made

    return make


def tower_weights() -> Mapping[str, bytes]:
    """The same weights in two buckets, as safetensors and as a file whose name holds its hash."""
    width, length = 64, 64 * 64 * 4
    head = json.dumps(
        {
            "weight": {"dtype": "F32", "shape": [width, width], "data_offsets": [0, length]},
            "bias": {"dtype": "F32", "shape": [width], "data_offsets": [length, length + 4 * width]},
        }
    ).encode()
    body = struct.pack("<Q", len(head)) + head + bytes(length + 4 * width)
    names = ("models/tower/model.safetensors", "models-east/tower/model.safetensors", "models/tower/tower-3f9a61c2.pth")
    return dict.fromkeys(names, body)


def _texts(rank: int, number: int, rows: int) -> list[str]:
    words = ("tide", "lamp", "quay", "boat", "noon", "rope")
    texts = (" ".join(words[(row * step + rank) % 6] for step in range(1, 12)) for row in range(rows))
    return [json.dumps({"id": f"{rank}-{number}-{row}", "text": text}) for row, text in enumerate(texts)]


def _packed(lines: list[str]) -> bytes:
    return gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
