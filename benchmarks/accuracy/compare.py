"""Compares what two versions of aiscorr say of the same incidents: `ask` keeps reports, `differences` compares them.

Paths, times of making and versions are left out. Each version is asked through its command line, which is stable, so
the versions need share nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.accuracy.places import incidents, logs

Json = dict[str, Any]
_MADE = ("generated_at", "aiscorr_version")
_TEMPORARY = re.compile(r"(?:/[\w.+-]+)*/aiscorr-compare-\w+/")
_NONE = object()


def ask(aiscorr: str, places: Sequence[Path], kept: Path, every: int = 1, jobs: int = 1) -> int:
    """Writes the report of each incident as one line of JSON: `{"name", "exit", "report"}`; name is unique.

    `aiscorr` is the program. `exit` has the exit codes of ingest and of report; where either is of a failure, `report`
    is what was printed to stderr. Returns how many incidents were asked about.
    """
    with _unpacking() as unpacked, kept.open("w", encoding="utf-8") as out:
        found = incidents(places, unpacked, every)
        names = [f"{incident.parent.name}/{incident.name}" for incident in found]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)}: given twice, or two incidents of one name")
        with ThreadPoolExecutor(jobs) as pool:
            answers = pool.map(lambda incident: _answer(aiscorr, incident), found)
            for number, (name, (exits, report)) in enumerate(zip(names, answers, strict=True), 1):
                out.write(json.dumps({"name": name, "exit": exits, "report": report}) + "\n")
                sys.stderr.write(f"\r{number}/{len(found)}")
                sys.stderr.flush()
    return len(found)


@contextmanager
def _unpacking() -> Iterator[Path]:
    """Where archives are unpacked: the same place for all versions, as an answer may hang on paths."""
    folder = Path(tempfile.gettempdir()) / "aiscorr-compare-places"
    if folder.exists():
        raise ValueError(f"{folder}: another comparison is under way, or one was killed; remove the folder then")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answer(aiscorr: str, incident: Path) -> tuple[list[int], Json | str]:
    with tempfile.TemporaryDirectory(prefix="aiscorr-compare-") as folder:
        command = [aiscorr, "--db", f"{folder}/asked.duckdb"]
        read = subprocess.run([*command, "ingest", *map(str, logs(incident))], capture_output=True, text=True)
        said = subprocess.run([*command, "report", "all", "--format", "json"], capture_output=True, text=True)
    exits = [read.returncode, said.returncode]
    if said.returncode or read.returncode not in (0, 3):
        return exits, (read.stderr + said.stderr)[-2000:]
    return exits, json.loads(said.stdout.replace(str(incident.parent), ""))


def kept_reports(file: Path) -> dict[str, Json]:
    """What `ask` kept, by name: `exit` and `report`, whose paths begin with the name of the incident's folder."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return {row["name"]: {"exit": row["exit"], "report": row["report"]} for row in rows}


def differences(before: Path, after: Path) -> list[str]:
    """What differs, a line each: the incident, where in the report, was and is. Incidents of one side alone differ."""
    was, now = kept_reports(before), kept_reports(after)
    lines = [f"{name}: only in {before if name in was else after}" for name in sorted(was.keys() ^ now.keys())]
    for name in sorted(was.keys() & now.keys()):
        lines += [f"{name}: {found}" for found in _unequal("", _stable(was[name]), _stable(now[name]))]
    return lines


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(one) for key, one in value.items() if key not in _MADE}
    if isinstance(value, list):
        return [_stable(one) for one in value]
    return _TEMPORARY.sub("", value) if isinstance(value, str) else value


def _unequal(place: str, was: Any, now: Any) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in {**was, **now}:
            yield from _unequal(f"{place}.{key}", was.get(key, _NONE), now.get(key, _NONE))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for number, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from _unequal(f"{place}[{number}]", one, other)
    elif was != now:
        yield f"{place.removeprefix('.')}: {_short(was)} -> {_short(now)}"


def _short(value: Any) -> str:
    text = "(absent)" if value is _NONE else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "…"
