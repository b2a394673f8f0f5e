"""Small sources that are read whole, and what every reader notes of its source: its sum, and what gave no rows."""

from __future__ import annotations

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink

_LIMIT_BYTES = 64 * 1024 * 1024


def read_all(stream: ByteStream, content: ContentSum, limit: int = _LIMIT_BYTES) -> tuple[bytes, bool]:
    """The bytes of a small source and whether it was cut at the limit."""
    parts: list[bytes] = []
    size = 0
    buffer = bytearray(1 << 20)
    with memoryview(buffer) as view:
        while size < limit:
            count = int(stream.readinto(view) or 0)
            if count == 0:
                return b"".join(parts), False
            content.add(view[:count])
            parts.append(bytes(view[:count]))
            size += count
    return b"".join(parts), True


def read_whole(summary: FileSummary, stream: ByteStream) -> bytes:
    """The bytes of a source of at most 64 MiB; its sum, its lines, and that it was cut, go into the summary."""
    content = ContentSum()
    data, is_cut = read_all(stream, content)
    sum_up(summary, content)
    summary.line_count = data.count(b"\n") + (0 if data.endswith(b"\n") or not data else 1)
    if is_cut:
        summary.problem = "larger than 64 MiB: only its beginning was read"
    return data


def sum_up(summary: FileSummary, content: ContentSum) -> None:
    """Takes what was read into the summary."""
    summary.content_hash, summary.head_hash = content.identity(), content.head_hash()
    summary.byte_count = content.byte_count


def add_reject(
    summary: FileSummary, sink: PartSink, reason: str, text: str, *, line_no: int = 1, byte_offset: int | None = 0
) -> None:
    """A line, or by default the whole source, that gave no rows or not all, with the reason."""
    summary.reject_count += 1
    sink.add(
        "rejected_line",
        {
            "file_id": summary.file_id,
            "line_no": line_no,
            "byte_offset": byte_offset,
            "reason": reason,
            "text": text[:512],
        },
    )
