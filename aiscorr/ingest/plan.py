"""What an ingest has to read: new, changed and grown files, told by their names, sizes and times."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from aiscorr.model import IngestOptions, KnownFile, SourceRef, Unreadable
from aiscorr.parse.file_reader import PARSER_VERSION, options_key

#: Size, time, options and parser of each archive that was read, by its path.
KnownArchives = dict[str, tuple[int, int, str, int]]


@dataclass
class Plan:
    """What a run has to do: files to read, what is unchanged, what cannot be read."""

    to_read: list[tuple[SourceRef, KnownFile | None]] = field(default_factory=list)
    seen_count: int = 0
    unchanged_count: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)


def what_to_read(
    sources: Iterable[SourceRef | Unreadable],
    known: dict[str, KnownFile],
    archives: KnownArchives,
    options: IngestOptions,
    own_files: Collection[str],
) -> Plan:
    """Compares the sources with the files and archives that the database holds; its own files are left out."""
    plan = Plan()
    key = options_key(options)
    unchanged: list[SourceRef] = []
    changed: set[int] = set()
    for found in sources:
        if isinstance(found, Unreadable):
            plan.unreadable.append(found)
            continue
        if found.file_path in own_files:
            continue
        plan.seen_count += 1
        old = known.get(found.path)
        is_known_archive = archives.get(found.path) == (found.stored_byte_count, found.modified_ns, key, PARSER_VERSION)
        if is_known_archive or (old is not None and _is_unchanged(old, found, key)):
            unchanged.append(found)
            continue
        grown = old if old is not None and _may_have_grown(old, found, key) else None
        plan.to_read.append((found, grown))
        if old is not None and grown is None:
            changed.add(old.file_id)
    copies = {old.path.partition("!")[0] for old in known.values() if old.duplicate_of in changed}
    plan.to_read += [(found, None) for found in unchanged if found.path in copies]
    plan.unchanged_count = sum(found.path not in copies for found in unchanged)
    return plan


def _is_unchanged(old: KnownFile, found: SourceRef, key: str) -> bool:
    same_bytes = old.stored_byte_count == found.stored_byte_count and old.modified_ns == found.modified_ns
    return same_bytes and old.is_read_by(PARSER_VERSION, key)


def _may_have_grown(old: KnownFile, found: SourceRef, key: str) -> bool:
    is_larger = old.state == "ingested" and found.stored_byte_count > old.byte_count
    return is_larger and old.resume_offset > 0 and old.is_read_by(PARSER_VERSION, key)
