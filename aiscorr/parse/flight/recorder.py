"""Turns the content of a Flight Recorder dump into rows: the dump, its process groups, its collectives.

Knows the shapes that PyTorch 2.2 to 2.15 write (plain list, versions 1.4 to 2.10, JSON). Shapes and
lengths of everything are checked, because a dump is a file from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiscorr.parse.flight.entries import CHUNK, Columns, Repeated, entry_columns, key_text
from aiscorr.parse.flight.pickled import DumpError
from aiscorr.parse.flight.values import group_ranks, of_shape, whole

#: Recorders keep 2000 records, seldom 20 000.
MAX_ENTRIES = 250_000
COLLECTIVE_COLUMNS = (
    "entry_no", "record_id", "pg_id", "guid", "description", "seq_num", "p2p_seq_num", "op_id", "backend", "operation",
    "group_rank", "peer_group_rank", "is_p2p", "input_sizes", "output_sizes", "input_dtypes", "output_dtypes",
    "numel_in", "numel_out", "state", "is_retired", "created_ns", "started_ns", "completed_ns", "duration_ms",
    "timeout_ms", "user_location", "stack",
)  # fmt: skip


@dataclass
class GroupState:
    """A process group as one dump has it: local id, name, description, members, counters."""

    pg_id: str | None
    guid: str | None = None
    description: str | None = None
    ranks: tuple[int, ...] | None = None
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None


@dataclass
class FlightDump:
    """What one dump holds: its form, its groups, its collectives by column, what was wrong with entries."""

    version: str
    comm_lib_version: str | None = None
    groups: list[GroupState] = field(default_factory=list)
    collectives: Columns = field(default_factory=lambda: {name: [] for name in COLLECTIVE_COLUMNS})
    entry_count: int = 0
    bad_count: int = 0
    is_cut: bool = False
    has_stacks: bool = False

    @property
    def backend(self) -> str | None:
        """The communication library that most collectives name, nccl or gloo."""
        names = [name for name in self.collectives["backend"] if name]
        return max(set(names), key=names.count) if names else None

    @property
    def own_rank(self) -> int | None:
        """The one rank that all groups of the dump have in common, where they leave only one.

        PyTorch lists the groups that the process belongs to: {0, 1}, {0, 2, 4} and {0, 8} leave rank 0.
        """
        members = [set(group.ranks) for group in self.groups if group.ranks]
        common = set.intersection(*members) if members else set()
        return min(common) if len(common) == 1 else None

    def times(self) -> list[int]:
        """Every moment that a collective of the dump names, nanoseconds since 1970, UTC."""
        names = ("created_ns", "started_ns", "completed_ns")
        return [value for name in names for value in self.collectives[name] if value]


def parse_dump(content: Any) -> FlightDump:
    """The dump that plain data stands for. Raises DumpError where it has the shape of none."""
    if isinstance(content, list):
        entries, body, version = content, {}, "list"
        if not any(isinstance(entry, dict) and "profiling_name" in entry for entry in entries[:100]):
            raise DumpError("is a list without records of collectives")
    elif isinstance(content, dict):
        entries, body = content.get("entries") or [], content
        version = of_shape(content.get("version"), str) or "unknown"
        if not any(key in content for key in ("entries", "pg_config", "pg_status")):
            raise DumpError("has neither entries nor pg_config nor pg_status")
        if not isinstance(entries, list):
            raise DumpError(f"has the wrong shape: entries is {type(entries).__name__}, not a list")
    else:
        raise DumpError(f"has the wrong shape: {type(content).__name__} at its top")
    library = of_shape(body.get("comm_lib_version"), str) or of_shape(body.get("nccl_version"), str)
    dump = FlightDump(version[:32], library[:64] if library else None, entry_count=len(entries))
    dump.is_cut = len(entries) > MAX_ENTRIES
    repeated = Repeated()
    for start in range(0, min(len(entries), MAX_ENTRIES), CHUNK):
        columns, bad_count = entry_columns(entries[start : start + CHUNK], start + 1, repeated)
        dump.bad_count += bad_count
        for name, values in columns.items():
            dump.collectives[name].extend(values)
    dump.has_stacks = any(dump.collectives["stack"])
    dump.groups = _groups(body, repeated.groups)
    return dump


def _groups(body: dict[str, Any], names: dict[str, tuple[str, str]]) -> list[GroupState]:
    """Every group the dump speaks of; `pg_status` is keyed by the local number, `pg_config` by the name."""
    config = _config(body.get("pg_config"))
    status = body.get("pg_status")
    counters = {key: value for key, value in _items(status) if isinstance(value, dict)}
    told = _told_names(list(counters), names, config)
    found: list[GroupState] = []
    for pg_id in dict.fromkeys([*counters, *names]):
        guid, description = told.get(pg_id, (None, None))
        known = config.get(guid or "") or (config.get("") if guid == "0" or description == "default_pg" else None)
        values = counters.get(pg_id, {})
        found.append(
            GroupState(
                pg_id, guid, description or (known[0] if known else None), known[1] if known else None,
                whole(values.get("last_enqueued_collective")), whole(values.get("last_started_collective")),
                whole(values.get("last_completed_collective")),
            )
        )  # fmt: skip
    used = {group.guid for group in found}
    rest = [(name, value) for name, value in config.items() if name and name not in used]
    return found + [GroupState(None, name, value[0], value[1]) for name, value in rest]


def _items(value: Any) -> list[tuple[str, Any]]:
    pairs = list(value.items())[:100_000] if isinstance(value, dict) else []
    return [(key, item) for name, item in pairs if (key := key_text(name)) is not None]


def _config(value: Any) -> dict[str, tuple[str | None, tuple[int, ...] | None]]:
    """Description and members by name of group; in 1.4 (PyTorch 2.3) the value is the list of ranks alone."""
    found: dict[str, tuple[str | None, tuple[int, ...] | None]] = {}
    for name, item in _items(value):
        if isinstance(item, dict):
            description = of_shape(item.get("desc"), str)
            found[name] = (description[:256] if description else None, group_ranks(item.get("ranks")))
        else:
            found[name] = (None, group_ranks(item))
    return found


def _told_names(
    ids: list[str], names: dict[str, tuple[str, str]], config: dict[str, Any]
) -> dict[str, tuple[str | None, str | None]]:
    """Name and description of the local numbers; records tie them, else the order in which groups were made.

    Names of groups are numbers given in the order of creation, local numbers count the groups that the
    process belongs to: 0, 1, 9, 13 are the local 0, 1, 2, 3. The order counts only where no record contradicts.
    """
    told: dict[str, tuple[str | None, str | None]] = dict(names.items())
    ordered = sorted(config, key=lambda name: int(name[:18])) if all(name.isdecimal() for name in config) else []
    by_order = {pg_id: ordered[int(pg_id)] for pg_id in ids if pg_id.isdecimal() and int(pg_id[:9]) < len(ordered)}
    if any(by_order.get(pg_id, guid) != guid for pg_id, (guid, _) in names.items()):
        by_order = {}
    left = [pg_id for pg_id in ids if pg_id not in told]
    free = [name for name in config if name not in {guid for guid, _ in names.values()}]
    for pg_id in left:
        if pg_id in by_order:
            told[pg_id] = (by_order[pg_id], None)
        elif len(left) == len(free) == 1:
            told[pg_id] = (free[0] or "0", None)
        elif pg_id == "0":
            told[pg_id] = ("0", None)
    return told
