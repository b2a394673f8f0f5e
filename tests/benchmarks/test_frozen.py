"""The frozen incidents: their choice is fair, their archive is the same each time, and they hold together."""

from __future__ import annotations

import os
import tarfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from scenes import REPO

from benchmarks.accuracy.freeze import Candidate, chosen, freeze

FROZEN = REPO / "benchmarks" / "accuracy" / "frozen" / "incidents.tar.xz"


def candidate(number: int, part: str, **changes: Any) -> Candidate:
    """A generated incident of a kind of its own, the larger the higher its number."""
    made: dict[str, Any] = {"kind": f"k{number}", "side": "storage", "taken": "nothing", "size": number, **changes}
    return Candidate(Path(f"{part}-{number}"), part, **made)


def test_choice_is_fair() -> None:
    """Parts take turns; kinds of faults do not repeat; small ones go first unless a side has less than its share."""
    found = chosen([candidate(number, part) for part in "ab" for number in range(8)], 4)
    assert [one.folder.name for one in found] == ["a-0", "b-1", "a-2", "b-3"]
    sides = [candidate(number, "a", side="training" if number % 2 else "storage") for number in range(8)]
    assert [one.size for one in chosen(sides, 4)] == [0, 1, 2, 3]
    quiet = [candidate(number, "a", kind="quiet", side="none") for number in range(4)]
    same = [candidate(number, "b", kind="fault") for number in range(4)]
    assert [one.folder.name for one in chosen([*quiet, *same], 9)] == ["a-0", "b-0", "a-1"]


def test_frozen_archive_is_the_same_each_time(tmp_path: Path) -> None:
    """The same incidents make the same bytes whenever they are packed; files keep the time of their collection."""
    for name in ("p-0", "p-1", "p-2"):
        folder = tmp_path / "part" / name
        (folder / "logs").mkdir(parents=True)
        (folder / "logs" / "a.log").write_text(name, "utf-8")
        made = f'[accuracy]\npart = "p"\nkind = "{name}"\nside = "storage"\ntaken = "nothing"\n'
        (folder / "truth.toml").write_text(made, "utf-8")
        os.utime(folder / "logs" / "a.log", (1_750_000_000.5, 1_750_000_000.5))
        os.utime(folder / "truth.toml", (1_750_000_000.5, 1_750_000_000.5))
    archives = [tmp_path / "one.tar.xz", tmp_path / "two.tar.xz"]
    for archive in archives:
        assert [one.kind for one in freeze([tmp_path / "part"], archive, tmp_path / "unpacked")] == ["p-0", "p-1"]
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with tarfile.open(archives[0]) as packed:
        entries = [(one.name, one.mtime, one.uid, one.uname) for one in packed]
    names = ("p-0/logs/a.log", "p-0/truth.toml", "p-1/logs/a.log", "p-1/truth.toml")
    assert entries == [(name, 1_750_000_000, 0, "") for name in names]


def test_frozen_incidents_hold_together() -> None:
    """The frozen incidents are of all parts and 279 kinds of faults; their witnesses and nodes are in their logs."""
    with tarfile.open(FROZEN) as packed:
        members = {member.name: packed.extractfile(member).read() for member in packed}  # type: ignore[union-attr]
        owners = {(member.uid, member.gid, member.uname, member.mode) for member in packed}
    truths = {
        name.split("/")[0]: tomllib.loads(members[name].decode()) for name in members if name.endswith("/truth.toml")
    }
    made = {name: truth["accuracy"] for name, truth in truths.items()}
    assert len(truths) == 300 and FROZEN.stat().st_size < 6_000_000 and owners == {(0, 0, "", 0o644)}
    faults = Counter(one["kind"] for one in made.values() if one["side"] != "none")
    assert len(faults) == faults.total() == 279 and min(Counter(one["part"] for one in made.values()).values()) >= 8
    assert len({one["part"] for one in made.values()}) == 37 and len({one["taken"] for one in made.values()}) == 13
    for name, truth in truths.items():
        if made[name]["taken"] == "nothing":
            for witness in truth.get("witness", []):
                line = members[f"{name}/{witness['path']}"].decode().split("\n")[witness["line_no"] - 1]
                assert witness["text"] in line
            nodes = {node for one in truth.get("expect", []) for node in one.get("ais_nodes", [])}
            assert nodes <= {path.split("/")[2] for path in members if path.startswith(f"{name}/ais/")}
