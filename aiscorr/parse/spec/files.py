"""Reads the TOML files of a folder, parsed once and kept in the cache; what is in them is checked by those who ask."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from aiscorr.cache import cached_json, key_of
from aiscorr.errors import SpecError

_PACKAGE = Path(__file__).parents[2]


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or a SpecError that names the line."""
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"not valid TOML: {error}", where=str(path), try_this="correct the file at that line") from None


def _date_as_table(value: object) -> dict[str, str]:
    """JSON has no dates, and no key takes one: as a table it is refused as the wrong type later, with its place."""
    return {"date": str(value)}


def read_folder(folder: Path) -> dict[str, dict[str, Any]]:
    """The raw content of a folder's spec files by path, parsed once and kept in the cache; not to be changed."""
    return _content(str(folder), _state(folder)).files


def folder_key(folder: Path) -> str:
    """A name for the content of a folder's spec files, whatever their times."""
    return _content(str(folder), _state(folder)).key


class _Content(NamedTuple):
    """The raw content of spec files by path, and a name for it."""

    key: str
    files: dict[str, dict[str, Any]]


def _state(folder: Path) -> tuple[str, ...]:
    """Name, size and time of each spec file, in order; those of the package are looked at once."""
    return _own_state(folder) if folder.parent == _PACKAGE else _state_now(folder)


@lru_cache(maxsize=4)
def _own_state(folder: Path) -> tuple[str, ...]:
    return _state_now(folder)


def _state_now(folder: Path) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".toml"))
    except FileNotFoundError:
        return ()
    return tuple(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)


@lru_cache(maxsize=8)
def _content(folder: str, state: tuple[str, ...]) -> _Content:
    name = f"specs-{key_of([folder, *state])}.json"
    paths = [Path(folder, one.rsplit(" ", 2)[0]) for one in state]
    return cached_json(name, lambda: _read(paths), lambda held: _Content(*held))


def _read(paths: list[Path]) -> bytes:
    """As JSON what `_Content` holds."""
    files = {str(path): read_toml(path) for path in paths}
    key = key_of(part for path in paths for part in (path.name, json.dumps(files[str(path)], default=_date_as_table)))
    return json.dumps([key, files], default=_date_as_table).encode()
