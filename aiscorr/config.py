"""Settings of a command: flag, else environment, else aiscorr.toml, else default.

Only cli and serve read them; everything below takes plain arguments.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aiscorr.errors import UsageError

CONFIG_NAME = "aiscorr.toml"
DB_NAME = "aiscorr.duckdb"
_KEYS = {
    "db": str, "timezone": str, "timezones": dict, "jobs": int, "threads": int, "memory_limit": str,
    "patterns": list, "formats": list, "queries": list, "endpoint": str, "serve": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What a command works with. Folders are absolute; `timezone_globs` are (glob, IANA zone).

    `serve`: the table of the service as written; its paths are relative to `folder`, that of the file.
    """

    db_path: str
    timezone: str | None
    timezone_globs: tuple[tuple[str, str], ...]
    job_count: int
    thread_count: int | None
    memory_limit: str
    pattern_folders: tuple[str, ...]
    format_folders: tuple[str, ...]
    query_folders: tuple[str, ...]
    endpoint: str | None
    serve: Mapping[str, Any]
    config_path: str
    folder: str


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
    named_db = values.get("db")
    return Settings(
        db_path=str(
            Path(db or environment.get("AISCORR_DB") or (base / named_db if named_db else Path(folder) / DB_NAME))
        ),
        timezone=timezone,
        timezone_globs=tuple((glob, zone) for glob, zone in zones.items()),
        job_count=int(values.get("jobs", 0)),
        thread_count=values.get("threads"),
        memory_limit=environment.get("AISCORR_MEMORY_LIMIT") or values.get("memory_limit", "1GB"),
        pattern_folders=_folders(values, "patterns", base, path),
        format_folders=_folders(values, "formats", base, path),
        query_folders=_folders(values, "queries", base, path),
        endpoint=environment.get("AIS_ENDPOINT") or values.get("endpoint"),
        serve=values.get("serve", {}),
        config_path=str(path),
        folder=str(base),
    )


def check_zone(zone: object, where: str) -> None:
    """Raises UsageError unless the value is an IANA zone."""
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
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"not a valid configuration file: {error}", where=str(path), try_this="correct it") from None
    for key, value in values.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise UsageError(
                f"unknown key {key!r}", where=str(path), try_this=near[0] if near else "one of: " + ", ".join(_KEYS)
            )
        if not isinstance(value, _KEYS[key]):
            raise UsageError(
                f"{key!r} must be a {_KEYS[key].__name__}, not {value!r}", where=str(path), try_this="correct it"
            )
    return values


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
