"""The results of all tasks of an ingest as one: final ids of files, which of them are copies, which replace others."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiscorr.ingest.scanning import ScanResult
from aiscorr.model import FileSummary, KnownFile, SourceRef, Unreadable


@dataclass
class Merged:
    """All results of a run with final file ids; duplicates are marked and give no rows."""

    summaries: list[FileSummary] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    final_ids: dict[int, int] = field(default_factory=dict)
    replaced: list[int] = field(default_factory=list)
    archives: list[SourceRef] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    touched: list[FileSummary] = field(default_factory=list)
    is_stopped: bool = False


def merge(
    results: list[ScanResult], known: dict[str, KnownFile], known_before: dict[str, KnownFile], next_id: int = 0
) -> Merged:
    """Final ids in the order of paths, so that the same files give the same numbers whatever process read them.

    `known`: what the database holds now, at least of these paths and contents; `known_before`: what it held when
    reading began. `next_id`: the first number that is free, where `known` does not tell.
    """
    merged = Merged()
    next_id = next_id or max((old.file_id for old in known.values()), default=0) + 1
    summaries = [summary for result in results for summary in result.summaries]
    gone = {old.file_id for s in summaries if (old := known.get(s.ref.path)) and not _keeps_rows(old, s)}
    by_hash = {old.content_hash: old for old in known.values() if _is_original(old) and old.file_id not in gone}
    for summary in sorted(summaries, key=lambda s: (bool(s.ref.members), s.ref.path)):
        old = known.get(summary.ref.path)
        if summary.is_tail_only and old != known_before.get(summary.ref.path):
            continue  # its beginning was published again by another ingest, whose end is not where this tail begins
        provisional = summary.file_id
        summary.file_id = old.file_id if old is not None else next_id
        next_id += old is None
        if old is not None and _is_same_content(old, summary):
            merged.touched.append(summary)
            continue
        if old is not None and not summary.is_tail_only:
            merged.replaced.append(old.file_id)
        twin = by_hash.get(summary.content_hash)
        if summary.state == "ingested" and summary.byte_count and twin is not None and twin.path != summary.ref.path:
            summary.state, summary.duplicate_of = "duplicate", twin.file_id
            if summary.is_tail_only:
                merged.replaced.append(summary.file_id)
        elif summary.state == "ingested":
            by_hash.setdefault(summary.content_hash, _as_known(summary))
            merged.final_ids[provisional] = summary.file_id
        merged.summaries.append(summary)
    for result in results:
        merged.parts += result.parts
        merged.archives += result.archives
        merged.unreadable += result.unreadable
        merged.is_stopped = merged.is_stopped or result.is_stopped
    return merged


def _is_original(old: KnownFile) -> bool:
    """Other files may be copies of this one: its rows are in the database."""
    return old.state == "ingested" and old.byte_count > 0


def _keeps_rows(old: KnownFile, summary: FileSummary) -> bool:
    """What was read of the file last time is still what it holds, or holds at its beginning."""
    return summary.is_tail_only or _is_same_content(old, summary)


def _is_same_content(old: KnownFile, summary: FileSummary) -> bool:
    """The bytes are those of last time and would be read the same way: only the file's time changed."""
    is_same_reader = old.is_read_by(summary.parser_version, summary.options_key)
    return is_same_reader and old.content_hash == summary.content_hash and old.state == summary.state


def _as_known(summary: FileSummary) -> KnownFile:
    return KnownFile(
        summary.file_id,
        summary.ref.path,
        summary.content_hash,
        summary.head_hash,
        summary.byte_count,
        summary.ref.stored_byte_count,
        summary.ref.modified_ns,
        summary.kind,
        summary.state,
        summary.resume_offset,
        summary.resume_state,
        summary.parser_version,
        summary.options_key,
    )
