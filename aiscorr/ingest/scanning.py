"""Scans the files of a task one after the other: files in, Arrow parts and summaries out.

Knows sources and parse, nothing of the store, and not where tasks run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, count

from aiscorr.checksum import END_BYTES
from aiscorr.errors import AiscorrError
from aiscorr.ingest.meter import Meter, Report, TaskSink
from aiscorr.model import FileSummary, IngestOptions, KnownFile, SourceRef, Unreadable
from aiscorr.parse.file_reader import FileReader, ReadStopped
from aiscorr.parse.resume_place import is_as_read
from aiscorr.schema.arrow import use_plain_memory
from aiscorr.sources.bounded import UpTo
from aiscorr.sources.names import words
from aiscorr.sources.read import Found, GuardedStream, TruncatedError, expand, open_plain

_PRELOAD_BYTES = 128 * 1024


@dataclass(frozen=True)
class ScanItem:
    """A file to read: its provisional id, and what is known of it where it may only have grown."""

    ref: SourceRef
    provisional_id: int
    grown: KnownFile | None = None


@dataclass
class ScanResult:
    """What a task gave: summaries, Arrow parts by table, what could not be read."""

    summaries: list[FileSummary] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    archives: list[SourceRef] = field(default_factory=list)
    is_stopped: bool = False


def provisional_ids(items: list[tuple[SourceRef, KnownFile | None]]) -> list[ScanItem]:
    """Numbers files from 1; members of archives get numbers behind all of them."""
    return [ScanItem(ref, number, grown) for number, (ref, grown) in enumerate(items, 1)]


def quiet(_file_count: int, _byte_count: int, _row_count: int) -> None:
    """Tells nobody."""


def scan_task(
    items: list[ScanItem],
    folder: str,
    label: str,
    options: IngestOptions,
    now_ns: int,
    should_stop: Callable[[], bool],
    report: Report = quiet,
    more_ids: tuple[int, int] | None = None,
) -> ScanResult:
    """Reads the files of a task one after the other; `more_ids`: first and step of ids for members of archives."""
    use_plain_memory()
    sink = TaskSink(folder, label)
    reader = FileReader(sink, options, now_ns=now_ns)
    reader.should_stop = should_stop
    meter = Meter(sink, report)
    ids = count(*more_ids) if more_ids else count(max((item.provisional_id for item in items), default=0) + 1)
    result = ScanResult()

    def tick(byte_count: int) -> None:
        meter.advance(byte_count)
        if should_stop():
            raise ReadStopped

    for item in items:
        meter.open_file(item.ref.stored_byte_count)
        try:
            tick(0)
            _scan_item(item, reader, result, ids, tick)
        except ReadStopped:
            result.is_stopped = True
            break
        meter.close_file()
    reader.flush()
    meter.tell(is_last=True)
    result.parts = sink.paths
    return result


def _scan_item(
    item: ScanItem, reader: FileReader, result: ScanResult, more_ids: Iterator[int], tick: Callable[[int], None]
) -> None:
    ids = chain([item.provisional_id], more_ids)
    if item.grown is not None:
        summary = _read_on(item, next(ids), reader, result, tick)
        if summary is not None:
            result.summaries.append(summary)
            return
    is_archive = is_damaged = False
    for found in _streams(item.ref, tick):
        if isinstance(found, Unreadable):
            result.unreadable.append(found)
            is_damaged = is_damaged or found.is_error
            continue
        ref, stream = found
        is_archive = is_archive or bool(ref.members)
        try:
            summary = reader.read(ref, stream, next(ids))
        except (ReadStopped, AiscorrError):
            raise
        except Exception as error:
            result.unreadable.append(_fault(ref, error))
            is_damaged = True
            continue
        result.summaries.append(summary)
        is_damaged = is_damaged or summary.is_cut_short
    if is_archive and not is_damaged:
        result.archives.append(item.ref)


def _streams(ref: SourceRef, tick: Callable[[int], None]) -> Iterator[Found]:
    """The streams of a file; a fault nobody thought of ends that file, not the run."""
    try:
        yield from expand(ref, tick)
    except (ReadStopped, AiscorrError):
        raise
    except Exception as error:
        yield _fault(ref, error)


def _fault(ref: SourceRef, error: Exception) -> Unreadable:
    if isinstance(error, OSError | TruncatedError):
        return Unreadable(ref.path, f"cannot be read: {words(error)}")
    if isinstance(error, MemoryError):
        return Unreadable(ref.path, "cannot be read: no memory left (fewer --jobs need less)")
    return Unreadable(
        ref.path, f"cannot be read: {type(error).__name__}: {error} (a fault of aiscorr's; please report it)"
    )


def _read_on(
    item: ScanItem, file_id: int, reader: FileReader, result: ScanResult, tick: Callable[[int], None]
) -> FileSummary | None:
    """Reads the tail of a grown file, or None where its beginning is no longer what it was."""
    known = item.grown
    if known is None:
        return None
    try:
        with open_plain(item.ref, tick=tick) as handle:
            head = handle.read(min(END_BYTES, known.resume_offset))
            start = max(0, known.resume_offset - _PRELOAD_BYTES)
            handle.seek(start)
            before = handle.read(known.resume_offset - start)
            if not is_as_read(known, head, before):
                return None
            again = replace(known, file_id=file_id)
            return reader.read_on(item.ref, GuardedStream(UpTo(handle)), again, before)  # type: ignore[arg-type]
    except (ReadStopped, AiscorrError):
        raise
    except Exception:
        return None  # whatever it was, reading the file from its start will show it
