"""Settings of a command: flag, else environment, else aiscorr.toml, else default.

One exception: for a file that a glob of `[timezones]` matches, that zone goes before --timezone and AISCORR_TIMEZONE.
Only cli and serve read them; everything below takes plain arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiscorr.errors import UsageError
from aiscorr.lake.address import Lake, check_address, is_lake
from aiscorr.model import PROCESSES, IngestOptions
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT

CONFIG_NAME = "aiscorr.toml"
DB_NAME = "aiscorr.duckdb"
#: Of the files beside a lake: the service's runs and notes, its spool.
LAKE_NAME = "aiscorr-lake"
_KEYS = {
    "db": str, "timezone": str, "timezones": dict, "jobs": int, "engine": str, "threads": int, "memory_limit": str,
    "patterns": list, "formats": list, "queries": list, "endpoint": str, "pull": dict, "serve": dict, "lake": dict,
}  # fmt: skip
_LAKE_KEYS = {"data": str, "work": str, "most_rows": int}
_PULL_KEYS = {
    "out": str, "max_spool": str, "keep_days": (int, float), "nodes": int, "timeout_s": (int, float),
    "node_timeout_s": (int, float), "token_file": str, "ca": str, "cert": str, "key": str, "skip_verify": bool,
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
#: More nodes at a time would be felt by the jobs that use the cluster.
MOST_NODES = 16
_TRUE = ("1", "t", "true", "y", "yes", "on")


@dataclass(frozen=True)
class PullSettings:
    """How a live cluster is reached and where its logs go; sizes in bytes, times in seconds."""

    out: str | None = None
    max_spool: int = 10 << 30
    keep_days: float = 14.0
    node_count: int = 4
    connect_s: float = 3.0
    read_s: float = 20.0
    node_s: float = 600.0
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    skip_verify: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What a command works with. Folders are absolute; `timezone_globs` are (glob, IANA zone).

    `lake`: where the database is one; `db_path` is then its address. `lake_table`: what is said of any.

    `serve`: the table of the service as written; its paths are relative to `folder`, that of the file.
    """

    db_path: str
    lake: Lake | None
    timezone: str | None
    timezone_globs: tuple[tuple[str, str], ...]
    job_count: int
    engine: str
    thread_count: int | None
    memory_limit: str
    pattern_folders: tuple[str, ...]
    format_folders: tuple[str, ...]
    query_folders: tuple[str, ...]
    endpoint: str | None
    serve: Mapping[str, Any]
    lake_table: Mapping[str, Any]
    config_path: str
    folder: str
    pull: PullSettings

    @property
    def base_path(self) -> str:
        """What the names of files beside the database begin with; those of a lake are beside aiscorr.toml."""
        return self.db_path if self.lake is None else os.path.join(self.folder, LAKE_NAME)


def load_settings(*, db: str | None, config: str | None, environment: Mapping[str, str], folder: str) -> Settings:
    """The settings for a command run in `folder`. Raises UsageError for a file or value that is wrong."""
    path = Path(config) if config else Path(folder) / CONFIG_NAME
    values = _read(path, is_named=config is not None)
    base = path.resolve().parent
    zones = values.get("timezones", {})
    for glob, zone in zones.items():
        check_zone(zone, f"{path} [timezones] {glob!r}")
    timezone = environment.get("AISCORR_TIMEZONE") or values.get("timezone")
    if timezone:
        check_zone(timezone, "AISCORR_TIMEZONE" if environment.get("AISCORR_TIMEZONE") else str(path))
    lake_table = values.get("lake", {})
    check_keys(lake_table, _LAKE_KEYS, f"{path} [lake]")
    db_path, said_by = _database(db, environment, values, base, Path(folder), path)
    return Settings(
        db_path=db_path,
        lake=_lake(db_path, said_by, environment, lake_table) if is_lake(db_path) else None,
        timezone=timezone,
        timezone_globs=tuple((glob, zone) for glob, zone in zones.items()),
        job_count=int(values.get("jobs", 0)),
        engine=environment.get("AISCORR_ENGINE") or values.get("engine", PROCESSES),
        thread_count=values.get("threads"),
        memory_limit=environment.get("AISCORR_MEMORY_LIMIT") or values.get("memory_limit", DEFAULT_MEMORY_LIMIT),
        pattern_folders=_folders(values, "patterns", base, path),
        format_folders=_folders(values, "formats", base, path),
        query_folders=_folders(values, "queries", base, path),
        endpoint=environment.get("AIS_ENDPOINT") or values.get("endpoint"),
        serve=values.get("serve", {}),
        lake_table=lake_table,
        config_path=str(path),
        folder=str(base),
        pull=_pull_settings(values.get("pull", {}), environment, base, path),
    )


def _database(
    db: str | None, environment: Mapping[str, str], values: Mapping[str, Any], base: Path, folder: Path, path: Path
) -> tuple[str, str]:
    """The path of the database file or the address of the lake, and who says so."""
    said = db or environment.get("AISCORR_DB")
    if said:
        return (said if is_lake(said) else str(Path(said))), "--db" if db else "AISCORR_DB"
    named = values.get("db")
    if named and is_lake(named):
        return named, f"{path} db"
    return str(base / named if named else folder / DB_NAME), str(path)


def lake_at(db: str, where: str, settings: Settings) -> Lake:
    """The lake at an address, with what the settings say of lakes. Raises UsageError for an address that is none."""
    return _lake(db, where, os.environ, settings.lake_table)


def _lake(db: str, where: str, environment: Mapping[str, str], values: Mapping[str, Any]) -> Lake:
    return Lake(
        check_address(db, where),
        data=environment.get("AISCORR_LAKE_DATA") or values.get("data"),
        work=environment.get("AISCORR_LAKE_WORK") or values.get("work"),
        most_rows=_count(environment, "AISCORR_LAKE_MOST_ROWS", values.get("most_rows", Lake("").most_rows)),
    )


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal():
        raise UsageError(f"{text!r} is no number of rows", where=name, try_this="correct or unset it")
    return int(text)


def byte_count(text: str, where: str) -> int:
    """`10GiB`, `500M` or `1048576` in bytes; units are powers of 1024. Raises UsageError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is no size", where=where, try_this="a number with a unit, 10GiB or 500MiB")
    return int(float(match.group(1)) * 1024 ** " KMGT".index(match.group(2).upper() or " "))


def _pull_settings(values: Mapping[str, Any], environment: Mapping[str, str], base: Path, path: Path) -> PullSettings:
    """The environment goes before [pull]; the names of variables are those of AIStore's own clients."""
    where = f"{path} [pull]"
    check_keys(values, _PULL_KEYS, where)
    given = {
        key: str(base / Path(values[key]).expanduser())
        for key in ("out", "token_file", "ca", "cert", "key")
        if key in values
    }
    notices = []
    ca = environment.get("AIS_CLIENT_CA") or given.get("ca")
    if not ca and environment.get("AIS_SERVER_CRT"):
        ca = environment["AIS_SERVER_CRT"]
        notices.append(
            f"AIS_SERVER_CRT is taken as the CA of the cluster ({ca}); AIS_CLIENT_CA says so without a doubt"
        )
    is_skipped = environment.get("AIS_SKIP_VERIFY_CRT") or environment.get("AIS_SKIP_VERIFY")
    defaults = PullSettings()
    return PullSettings(
        out=given.get("out"),
        max_spool=byte_count(values["max_spool"], where) if "max_spool" in values else defaults.max_spool,
        keep_days=_positive(values, "keep_days", defaults.keep_days, where),
        node_count=_node_count(values, defaults.node_count, where),
        connect_s=_seconds(environment, "AIS_CONNECT_TIMEOUT", defaults.connect_s),
        read_s=_seconds(environment, "AIS_READ_TIMEOUT", _positive(values, "timeout_s", defaults.read_s, where)),
        node_s=_positive(values, "node_timeout_s", defaults.node_s, where),
        token=environment.get("AIS_AUTHN_TOKEN") or None,
        token_file=environment.get("AIS_AUTHN_TOKEN_FILE") or given.get("token_file"),
        ca=ca,
        cert=environment.get("AIS_CRT") or given.get("cert"),
        key=environment.get("AIS_CRT_KEY") or given.get("key"),
        skip_verify=is_skipped.lower() in _TRUE if is_skipped else values.get("skip_verify", False),
        notices=tuple(notices),
    )


def _positive(values: Mapping[str, Any], key: str, default: float, where: str) -> float:
    value = float(values.get(key, default))
    if value <= 0:
        raise UsageError(f"{key!r} must be greater than 0, not {value:g}", where=where, try_this="correct it")
    return value


def _node_count(values: Mapping[str, Any], default: int, where: str) -> int:
    value = int(values.get("nodes", default))
    if not 1 <= value <= MOST_NODES:
        raise UsageError(f"'nodes' must be 1 to {MOST_NODES}, not {value}", where=where, try_this="correct it")
    return value


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    """A time limit of the environment; 0, which means none to AIStore's clients, is not taken: a node may hang."""
    try:
        value = float(environment.get(name) or default)
    except ValueError:
        raise UsageError(f"{name} is no number of seconds", where=name, try_this="correct or unset it") from None
    return value if value > 0 else default


def ingest_options(settings: Settings) -> IngestOptions:
    """What the settings say about files and how to read them."""
    from aiscorr.ingest.engine import check_name

    return IngestOptions(
        timezone=settings.timezone, timezone_globs=settings.timezone_globs,
        job_count=settings.job_count or default_job_count(), engine=check_name(settings.engine, settings.config_path),
        pattern_folders=settings.pattern_folders, format_folders=settings.format_folders,
    )  # fmt: skip


def check_zone(zone: object, where: str) -> None:
    """Raises UsageError unless the value is an IANA zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(str(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"{zone!r} is no time zone",
            where=where,
            try_this="an IANA name such as UTC, Europe/Berlin or America/Los_Angeles",
        ) from None


def default_job_count() -> int:
    """Processes to read with: the CPUs this process may use."""
    return max(len(os.sched_getaffinity(0)), 1) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _read(path: Path, *, is_named: bool) -> dict[str, Any]:
    if not path.exists():
        if is_named:
            raise UsageError("there is no such configuration file", where=str(path), try_this="check --config")
        return {}
    import tomllib

    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"not a valid configuration file: {error}", where=str(path), try_this="correct it") from None
    check_keys(values, _KEYS, str(path))
    return values


def check_keys(values: Mapping[str, Any], keys: Mapping[str, Any], where: str) -> None:
    """Raises UsageError for a key that is not among the keys, and for a value that is not of its type there."""
    for key, value in values.items():
        if key not in keys:
            import difflib

            near = difflib.get_close_matches(key, keys, n=1)
            raise UsageError(
                f"unknown key {key!r}", where=where, try_this=near[0] if near else "one of: " + ", ".join(keys)
            )
        wanted = keys[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            name = "number" if isinstance(wanted, tuple) else wanted.__name__
            raise UsageError(f"{key!r} must be a {name}, not {value!r}", where=where, try_this="correct it")


def _folders(values: Mapping[str, Any], key: str, base: Path, path: Path) -> tuple[str, ...]:
    folders = []
    for name in values.get(key, []):
        folder = (base / str(name)).resolve()
        if not folder.is_dir():
            raise UsageError(
                f"{key!r} names a folder that is not there: {name}", where=str(path), try_this=f"create {folder}"
            )
        folders.append(str(folder))
    return tuple(folders)
