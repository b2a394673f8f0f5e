"""Flight Recorder dumps: every format becomes rows, nothing in them is executed, and dumps alone tell who is behind."""

from __future__ import annotations

import gc
import json
import os
import pickle
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from lines import read_text
from scenes import NOW, REPO, column, read_in
from truths import failures_of

from aiscorr.parse.flight.pickled import DumpError, load_dump
from aiscorr.parse.flight.recorder import parse_dump
from aiscorr.report.build import build_report
from aiscorr.report.citation import check, citations
from aiscorr.store.database import reading
from fixtures.generator.worker.flight_dumps import FORMATS, dump, straggler, write_dumps

#: Reads files in a process of its own and prints for each how far its peak of memory has grown (MiB) and the seconds.
_READ = """
import resource, sys, time
from aiscorr.parse.flight.pickled import DumpError, load_dump
from aiscorr.parse.flight.recorder import parse_dump
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    data, started = open(path, "rb").read(), time.perf_counter()
    try:
        parse_dump(load_dump(data))
    except DumpError:
        pass
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, time.perf_counter() - started)
"""


class _Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("executed",))


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_every_format_is_read(version: str, backend: str) -> None:
    """Dumps of every release give the same operations, numbers, sizes and moments."""
    job = straggler(backend=backend, ahead=0 if backend == "gloo" else 2)
    content = parse_dump(load_dump(pickle.dumps(dump(job, 0, version), protocol=2)))
    assert content.version == version
    assert content.entry_count == len(job.entered[0])
    found = content.collectives
    assert found["operation"] == ["all_reduce"] * content.entry_count
    assert found["seq_num"] == [one.seq for one in job.entered[0]]
    assert found["numel_in"] == [16] * content.entry_count
    assert found["created_ns"] == [one.at_ns // 1000 * 1000 for one in job.entered[0]]
    assert set(found["user_location"]) == {"/opt/train/loop.py:61"}
    assert content.backend == backend


BAD = {
    "execution": (pickle.dumps({"entries": [_Attack()], "pg_config": {}}, protocol=2), "refused"),
    "execution, protocol 5": (pickle.dumps({"entries": [_Attack()], "pg_config": {}}, protocol=5), "refused"),
    "87 bytes": (pickle.dumps(dump(straggler(), 0), protocol=2)[:87], "ends in the middle|claims"),
    "empty": (b"", "is empty"),
    "10 GB text": (b"\x80\x02}X" + struct.pack("<I", 2**32 - 1) + b"entries", "claims a text"),
    "10 GB text, long form": (b"\x80\x04}\x8d" + struct.pack("<Q", 10 * 2**30) + b"entries", "claims a text"),
    "memo place": (b"\x80\x02}X\x07\0\0\0entries]r" + struct.pack("<I", 2**31 - 1) + b"s.", "memo place"),
    "memo cycle": (b"\x80\x02}q\0X\x07\0\0\0entries]q\x01h\x01ah\0as.", ""),
    "lists in lists": (b"\x80\x02}X\x07\0\0\0entries" + b"]" * 5_000_000 + b".", "lists"),
    "no data": (b"\x80\x02K\x01.", "wrong shape"),
    "10 GB number": (
        b"\x80\x02}X\x07\0\0\0entries]\x8b" + struct.pack("<i", 2**31 - 1) + b"0",
        "no pickle of plain data",
    ),
    "10 GB bytes": (b"\x80\x04}\x8e" + struct.pack("<Q", 10 * 2**30) + b"entries", "no pickle of plain data"),
    "10 GB frame": (b"\x80\x04\x95" + struct.pack("<Q", 10 * 2**30) + b"}.", ""),
    "memo place that the file could just fill": (
        b"\x80\x02}X\x00\x00\x10\0" + b"x" * 2**20 + b"]r" + struct.pack("<I", 2**20) + b"s.",
        "memo place",
    ),
    "lists that hold lists a billion times": (
        b"\x80\x02](K\x01K\x02eq\0"
        + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(40))
        + b"0}(X\x07\0\0\0entries](}(X\x0e\0\0\0profiling_nameX\x03\0\0\0a:b"
        b"X\x0b\0\0\0input_sizesh\x28X\x06\0\0\0framesh\x28"
        b"X\x0d\0\0\0process_grouph\x28X\x0c\0\0\0input_dtypesh\x28ueu.",
        "",
    ),
    "persistent": (b"\x80\x02K\x01Q.", "refused"),
    "JSON list": (b'{"entries": {"a": 1}, "pg_config": []}', "wrong shape"),
    "JSON cut": (b'{"entries": [{"profiling_name": "nccl:all_red', "JSON"),
    "deep JSON": (b'{"entries": ' + b"[" * 100_000, "too deep"),
    "noise": (b"\x93\x01\x00" * 40, "neither"),
}


@pytest.mark.parametrize("what", [what for what in BAD if BAD[what][1]])
def test_a_bad_dump_says_what_is_wrong(what: str) -> None:
    """A dump that cannot be used is refused with its reason."""
    data, reason = BAD[what]
    with pytest.raises(DumpError, match=reason):
        parse_dump(load_dump(data))


def test_bad_dumps_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dumps that cannot be used are rejects with a reason; nothing is executed and the others still tell."""
    monkeypatch.chdir(tmp_path)
    first = 10
    folder = write_dumps(straggler(first), tmp_path / "job7")
    for rank, (data, _) in enumerate(BAD.values(), first):
        (folder / f"comm_lib_trace_rank_{rank}").write_bytes(data)
    db = tmp_path / "dumps.duckdb"
    read_in(db, folder)
    (failure,) = failures_of(str(db))
    assert failure["culprit_ranks"] == [2]
    assert not Path("executed").exists()
    assert column(db, "select outcome from ingest_run") == ["partial"], "exit code 3"
    rejected = column(db, "select path from reject")
    counts = Counter(int(path.rpartition("_")[2]) for path in rejected)
    assert [what for rank, what in enumerate(BAD, first) if BAD[what][1] and counts[rank] != 1] == []


def test_bad_dumps_take_no_memory(tmp_path: Path) -> None:
    """Whatever small files claim, reading all of them takes at most 100 MiB, and each at most ten seconds."""
    for number, (data, _) in enumerate(BAD.values()):
        (tmp_path / f"trace_rank_{number}").write_bytes(data)
    paths = [str(tmp_path / f"trace_rank_{number}") for number in range(len(BAD))]
    done = subprocess.run(
        [sys.executable, "-c", _READ, *paths], capture_output=True, text=True, timeout=300, check=True, cwd=REPO
    )
    taken = dict(zip(BAD, (tuple(map(float, line.split())) for line in done.stdout.splitlines()), strict=True))
    assert {what: taken[what] for what in BAD if taken[what][0] >= 100 or taken[what][1] >= 10} == {}


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("what", ["87 bytes", "memo cycle"])
def test_the_collector_is_left_as_it_was(what: str, is_enabled: bool) -> None:
    """Reading a dump, also one that cannot be read, leaves the collector of cycles as it was."""
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        read_text(BAD[what][0], "/logs/job7/nccl_trace_rank_1")
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_odd_values_are_left_out() -> None:
    """Values of the wrong type or beyond all measure become null, and the rest of the record counts."""
    odd: list[Any] = []
    odd.append(odd)
    entry = {
        "profiling_name": 7, "collective_seq_id": 10**30, "state": ["x"], "time_created_ns": "now", "frames": odd,
        "input_sizes": odd, "output_sizes": [[2**70]], "pg_id": {}, "process_group": (1, 2), "retired": 1,
    }  # fmt: skip
    found = parse_dump({"entries": [entry, 7, {}], "pg_config": {"0": {"ranks": "[0, -1]"}}, "pg_status": odd})
    assert (found.entry_count, found.bad_count) == (3, 2)
    assert found.collectives["seq_num"] == [None]
    assert [group.ranks for group in found.groups if group.guid == "0"] == [None]


def test_the_writer_of_a_group_without_records() -> None:
    """Counters of a group without records find their group by the order in which groups were made."""
    config = {name: {"name": name, "desc": "d", "ranks": "[0]"} for name in ("0", "9", "13")}
    status = {str(number): {"last_enqueued_collective": number} for number in range(3)}
    found = parse_dump({"version": "2.10", "pg_config": config, "pg_status": status, "entries": []})
    assert [(group.pg_id, group.guid) for group in found.groups] == [("0", "0"), ("1", "9"), ("2", "13")]


def test_gloo_writes_the_default_group_without_a_name() -> None:
    """Members of gloo's default group stand under the name of nothing."""
    config = {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}
    entry = {"pg_id": 0, "process_group": ("0", "default_pg"), "profiling_name": "gloo:barrier", "collective_seq_id": 1}
    (group,) = parse_dump({"version": "2.10", "pg_config": config, "entries": [entry]}).groups
    assert (group.guid, group.ranks) == ("0", (0, 1))


def test_reading_one_dump() -> None:
    """A dump becomes a row of itself, one a group and one a record, with times in UTC."""
    found = read_text(pickle.dumps(dump(straggler(), 1), protocol=2), "/logs/job7/host3_nccl_trace_rank_1")
    (row,) = found.flight_dump
    assert (row["rank"], row["rank_source"], row["host"], row["format_version"]) == (1, "name", "host3", "2.10")
    assert len(found.flight_collective) == row["entry_count"]
    assert found.summary.is_utc
    as_text = read_text(json.dumps(dump(straggler(), 1, is_json=True)).encode(), "/logs/job7/trace_rank_1.json")
    assert as_text.summary.kind == "flight_recorder"


@pytest.fixture(scope="module")
def read_dumps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The dumps of a job in which rank 2 stops, and the database of them."""
    base = tmp_path_factory.mktemp("dumps")
    folder = write_dumps(straggler(), base / "job7")
    read_in(base / "dumps.duckdb", folder)
    return folder, base / "dumps.duckdb"


def test_the_collectives_of_a_group_side_by_side(read_dumps: tuple[Path, Path], run: Command) -> None:
    """A query prints the collectives of a group, one column a rank, of the ranks asked for."""
    _, db = read_dumps
    given = ("-p", "group=0", "-p", "from_rank=1", "-p", "to_rank=2")
    found = json.loads(run("--db", str(db), "query", "@collectives", "--format", "json", *given).out)
    assert [set(row) for row in found] == [{"process_group", "seq_num", "1", "2"}] * 8
    assert (found[5]["1"], found[5]["2"]) == ("all_reduce [[4,4]] scheduled", None)


def test_sends_and_receives_side_by_side(tmp_path: Path, run: Command) -> None:
    """Of a group with sends and receives alone, as between stages of a pipeline, the query prints these."""
    folder = write_dumps(straggler(), tmp_path / "job7")
    for path in folder.iterdir():
        content = load_dump(path.read_bytes())
        for entry in content["entries"]:
            entry |= {"is_p2p": True, "p2p_seq_id": entry["collective_seq_id"]}
        path.write_bytes(pickle.dumps(content, protocol=2))
    read_in(tmp_path / "dumps.duckdb", folder)
    given = ("query", "@collectives", "--format", "json", "-p", "group=0")
    found = json.loads(run("--db", str(tmp_path / "dumps.duckdb"), *given).out)
    assert len(found) == 8 and found[5]["2"] is None


def test_a_cited_record_is_read_again(read_dumps: tuple[Path, Path]) -> None:
    """A record of a dump is verified where it stands in the file and says the same, and gone in another dump."""
    folder, db = read_dumps
    with reading(str(db)) as connection:
        cited = citations(build_report(connection, "all", NOW))
    assert [item.locator for item in cited] == ["pg_status 0", "record_id=5"]
    assert set(check(cited).values()) == {"verified"}
    (folder / "comm_lib_trace_rank_2").write_bytes(b"")
    assert [check(cited)[item.key] for item in cited] == ["gone", "verified"]
    later = load_dump(Path(cited[1].path).read_bytes())
    for entry in later["entries"]:
        entry["collective_seq_id"] += 100
    Path(cited[1].path).write_bytes(pickle.dumps(later, protocol=2))
    assert [check(cited)[item.key] for item in cited] == ["gone", "gone"], "the same number, but of a later attempt"
