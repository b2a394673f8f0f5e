"""Finds incidents: a folder with `truth.toml`, a folder of such folders or an archive of them; and their logs."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

LOGS = ("ais", "workers", "logs")


def incidents(places: Sequence[Path], unpacked: Path, every: int = 1) -> list[Path]:
    """The folders with `truth.toml` at or below each place; `NAME.tar.xz` is unpacked below `unpacked` first.

    Every n-th is taken, counted by name within each archive or folder of incidents, and over the single incidents that
    are given. A place without any raises ValueError.
    """
    single = [place.resolve() for place in places if (place / "truth.toml").is_file()]
    others = [place for place in places if place.resolve() not in single]
    return single[::every] + [folder for place in others for folder in _below(place, unpacked)[::every]]


def logs(incident: Path, ais: str = "ais") -> list[Path]:
    """The folders of an incident that hold logs, `ais` being that of the cluster's; else the incident itself."""
    names = (ais, *LOGS[1:])
    return [folder for name in names if (folder := incident / name).is_dir()] or [incident]


def _below(place: Path, unpacked: Path) -> list[Path]:
    folder = place.resolve() if place.is_dir() else _unpack(place, unpacked)
    found = sorted(path.parent for path in folder.rglob("truth.toml"))
    if not found:
        raise ValueError(f"{place}: no truth.toml at or below it; give an incident, a folder or a .tar.xz of incidents")
    return found


def _unpack(archive: Path, into: Path) -> Path:
    """The times of the files are kept: they date logs whose lines print no date."""
    if not archive.is_file():
        raise ValueError(f"{archive}: neither a folder nor a file")
    folder = into / archive.name.removesuffix(".tar.xz")
    if folder.exists():
        raise ValueError(f"{archive}: given twice, or two archives of one name")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder
