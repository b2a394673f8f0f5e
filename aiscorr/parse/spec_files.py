"""Reads the TOML files of a folder, parsed once and kept in the cache; what is in them is checked by those who ask."""

from __future__ import annotations

import json
import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from aiscorr.cache import cached, key_of
from aiscorr.errors import SpecError


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or a SpecError that names the line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"not valid TOML: {error}", where=str(path), try_this="correct the file at that line") from None


def _date_as_table(value: object) -> dict[str, str]:
    """JSON has no dates, and no key takes one: as a table it is refused as the wrong type later, with its place."""
    return {"date": str(value)}


def read_folder(folder: Path) -> dict[str, dict[str, Any]]:
    """The raw content of a folder's spec files by path, parsed once and kept in the cache; not to be changed."""
    return _content(str(folder), _state(folder))


def folder_key(folder: Path) -> str:
    """A name for the content of a folder's spec files, whatever their times."""
    return _content_key(str(folder), _state(folder))


def _state(folder: Path) -> tuple[str, ...]:
    """Name, size and time of each spec file, in order."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".toml"))
    except FileNotFoundError:
        return ()
    return tuple(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)


@lru_cache(maxsize=8)
def _content(folder: str, state: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    paths = [Path(folder, one.rsplit(" ", 2)[0]) for one in state]
    name = f"spec-{key_of([folder, *state])}.json"
    made = cached(name, lambda: json.dumps({str(p): read_toml(p) for p in paths}, default=_date_as_table).encode())
    return dict(json.loads(made))


@lru_cache(maxsize=8)
def _content_key(folder: str, state: tuple[str, ...]) -> str:
    found = _content(folder, state)
    return key_of(part for path, raw in found.items() for part in (Path(path).name, json.dumps(raw)))
