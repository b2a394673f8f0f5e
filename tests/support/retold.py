"""An incident told in another way: with fewer or more logs, under other names, with clocks that are off."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

_TIME = re.compile(r"(?m)^((?:[IWE] |(?:Started up|Rotated) at \d{4}/\d\d/\d\d ))(\d\d:\d\d:\d\d)")
_HEADER = re.compile(r"(?m)^((?:Started up|Rotated) at )(\d{4}/\d\d/\d\d)")
_FILE = re.compile(r"(?<=\.)\d{4}-\d{6}(?=\.\d+$)")
_SPEAKER = re.compile(r"\[rank(\d+)\]|rank:(\d+)\]|GLOBAL_RANK: (\d+)")
_LAUNCHER = re.compile(r"[WE]\d{4} ")
_RANK = re.compile(r"(?i)(rank[ :]*)(\d+)")
_MEMBER = re.compile(r"(MEMBER: )(\d+)(?=/)")
_HOST = re.compile(r'(?:\bhost(?: +:)? |\bnode: ")([\w-]*\d)(?=[,"\n])')
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MIRROR = str.maketrans(
    f"{_LETTERS}{_LETTERS.upper()}0123456789", f"{_LETTERS[::-1]}{_LETTERS[::-1].upper()}9876543210"
)


def later(seconds: float, since: str = "00:00:00") -> Callable[[str], str]:
    """Moves the clock of an AIStore log from a time of day on."""

    def moved(match: re.Match[str]) -> str:
        moment = datetime.strptime(match[2], "%H:%M:%S")
        delta = timedelta(seconds=seconds if match[2] >= since else 0)
        return f"{match[1]}{moment + delta:%H:%M:%S}"

    return lambda text: _TIME.sub(moved, text)


def rewrite(paths: list[Path], change: Callable[[str], str]) -> None:
    """Changes the text of files, and keeps their times; one of them at least must change."""
    texts = {path: path.read_text("utf-8") for path in paths}
    changed = {path: change(text) for path, text in texts.items()}
    assert changed != texts
    for path, text in changed.items():
        _write(path, text)


def _write(path: Path, text: str) -> None:
    kept = path.stat()
    path.write_text(text, "utf-8")
    os.utime(path, (kept.st_atime, kept.st_mtime))


def files_of(folder: Path) -> list[Path]:
    """The files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def mirrored(name: str) -> str:
    """Another name of the same form; the order of two such names is the reverse."""
    return name.translate(_MIRROR)


def within_node(rank: int, size: int) -> int:
    """The rank on the same node, of so many ranks a node, counted from the node's other end."""
    return rank // size * size + size - 1 - rank % size


def keep_first_ranks(scene: Path, count: int) -> None:
    """Takes away what the ranks from `count` on wrote, and the files in which no other rank writes."""
    for path in files_of(scene / "workers"):
        text, kept, rank = path.read_text("utf-8"), [], -1
        if min((int(found[found.lastindex or 0]) for found in _SPEAKER.finditer(text)), default=0) >= count:
            path.unlink()
            continue
        for line in text.splitlines(keepends=True):
            if said := _SPEAKER.search(line):
                rank = int(said[said.lastindex or 0])
            elif _LAUNCHER.match(line):
                rank = -1
            if rank < count:
                kept.append(line)
        _write(path, "".join(kept))


def permute_ranks(scene: Path, size: int) -> None:
    """Turns the order of the ranks round within each node of `size` ranks, in tags, words and tables."""

    def text(whole: str) -> str:
        whole = _MEMBER.sub(lambda said: f"{said[1]}{within_node(int(said[2]) - 1, size) + 1}", whole)
        return _RANK.sub(lambda said: f"{said[1]}{within_node(int(said[2]), size)}", whole)

    rewrite(files_of(scene / "workers"), text)


def rename_all(scene: Path) -> None:
    """Gives every host and every AIStore node another name, in lines and in paths."""
    nodes = [path.name for path in (scene / "ais").iterdir()]
    hosts = {host for path in files_of(scene) for host in _HOST.findall(path.read_text("utf-8"))}
    starts = [f"{re.escape(node[:7])}(?:{re.escape(node[7:])})?" for node in nodes]  # request ids begin with seven
    known = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join([*starts, *map(re.escape, sorted(hosts))])})(?![A-Za-z0-9_])")

    def change(text: str) -> str:
        return known.sub(lambda name: mirrored(name[0]), text)

    rewrite([path for part in ("ais", "workers") for path in files_of(scene / part)], change)
    for path in sorted((scene / "ais").rglob("*"), reverse=True):
        path.rename(path.with_name(change(path.name)))


def shift_storage(scene: Path, seconds: float) -> None:
    """Sets the clock of all AIStore nodes so much forward: in lines, headers and names of files."""
    rewrite(files_of(scene / "ais"), later(seconds))
    for path in files_of(scene / "ais"):
        path.rename(path.with_name(_stamped(path.name, timedelta(seconds=seconds))))


def add_day_after(scene: Path) -> None:
    """Adds a quiet stretch of the same AIStore nodes, a day later: what they wrote of level INFO."""
    day = timedelta(days=1)

    def date(header: re.Match[str]) -> str:
        return f"{header[1]}{datetime.strptime(header[2], '%Y/%m/%d') + day:%Y/%m/%d}"

    for path in files_of(scene / "ais"):
        if ".INFO." in path.name:
            lines = path.read_text("utf-8").splitlines(keepends=True)
            quiet = "".join(line for line in lines if line.startswith("I ") or _HEADER.match(line))
            later_file = scene / "ais-more" / path.parent.name / _stamped(path.name, day)
            later_file.parent.mkdir(parents=True, exist_ok=True)
            later_file.write_text(_HEADER.sub(date, quiet), "utf-8")
            os.utime(later_file, (path.stat().st_atime + 86400, path.stat().st_mtime + 86400))


def add_earlier_download(scene: Path) -> None:
    """Adds a download of the same AIStore nodes' logs that was made earlier and ends earlier."""
    shutil.copytree(scene / "ais", scene / "ais-more")
    cut_storage(scene / "ais-more")


def cut_storage(ais: Path) -> None:
    """Takes away what AIStore's nodes wrote after the first third of their logs."""
    files = files_of(ais)
    moments = [datetime.strptime(time, "%H:%M:%S") for p in files for _, time in _TIME.findall(p.read_text("utf-8"))]
    end = f"{min(moments) + (max(moments) - min(moments)) / 3:%H:%M:%S}"
    for path in files:
        text = path.read_text("utf-8")
        after = next((found.start() for found in _TIME.finditer(text) if found[2] > end), len(text))
        if after == 0:
            path.unlink()
        elif after < len(text):
            _write(path, text[:after])


def _stamped(name: str, delta: timedelta) -> str:
    def moved(stamp: re.Match[str]) -> str:
        return f"{datetime.strptime('2026' + stamp[0], '%Y%m%d-%H%M%S') + delta:%m%d-%H%M%S}"

    return _FILE.sub(moved, name)
