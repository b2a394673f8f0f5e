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
from scenes import NOW, REPO, column, read_in, rows
from truths import failures_of

from aiscorr.parse.flight.pickled import DumpError, load_dump
from aiscorr.parse.flight.recorder import parse_dump
from aiscorr.report.build import build_report
from aiscorr.report.citation import check, citations
from aiscorr.store.database import reading
from fixtures.generator.worker.flight_dumps import EPOCH_NS, FORMATS, Group, Job, Op, dump, straggler, write_dumps

DEFAULT = {"0": Group("default_pg", (0, 1, 2, 3))}


_READ = """
import resource, sys, time
from aiscorr.parse.flight.pickled import DumpError, load_dump
from aiscorr.parse.flight.recorder import parse_dump
data = open(sys.argv[1], "rb").read()
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
try:
    parse_dump(load_dump(data))
except DumpError:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, time.perf_counter() - started)
"""


class _Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("executed",))


def outcome(folder: Path, tmp_path: Path) -> dict[str, Any]:
    """The one failure that the dumps of a folder make."""
    db = tmp_path / "dumps.duckdb"
    read_in(db, folder)
    (failure,) = failures_of(str(db))
    return failure


def no_failure(folder: Path, tmp_path: Path) -> bool:
    """The dumps of a folder make no failure."""
    db = tmp_path / "dumps.duckdb"
    read_in(db, folder)
    return failures_of(str(db)) == []


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


@pytest.mark.parametrize(("version", "is_json"), [(FORMATS[0], False), (FORMATS[-1], False), ("2.4", True)])
def test_formats_tell_who_is_behind(version: str, is_json: bool, tmp_path: Path) -> None:
    """A rank that stopped is named from the dumps of the first and the last release, as pickle and as JSON."""
    folder = write_dumps(straggler(), tmp_path / "job7", version=version, is_json=is_json)
    assert outcome(folder, tmp_path)["culprit_ranks"] == [2]


def test_a_dump_of_active_collectives_without_stacks(tmp_path: Path) -> None:
    """A dump that lists only unfinished collectives, and for the culprit none at all, is enough."""
    folder = write_dumps(straggler(), tmp_path / "job7", only_active=True, frames=False)
    assert outcome(folder, tmp_path)["culprit_ranks"] == [2]


def test_two_stragglers_with_the_same_bytes(tmp_path: Path) -> None:
    """Ranks that leave the same bytes are two ranks, not copies of one file."""
    job = straggler(6)
    job.stops[4] = job.stops[2]
    folder = write_dumps(job.run(), tmp_path / "job7", only_active=True)
    assert (folder / "comm_lib_trace_rank_2").read_bytes() == (folder / "comm_lib_trace_rank_4").read_bytes()
    assert outcome(folder, tmp_path)["culprit_ranks"] == [2, 4]


@pytest.mark.parametrize(("rank", "change"), [(0, {"name": "broadcast"}), (3, {"size": (5, 4)})])
def test_a_call_that_differs(change: dict[str, Any], rank: int, tmp_path: Path) -> None:
    """Who calls another operation or size than the others is named, be it the first rank."""
    programs = {one: [Op("0") for _ in range(8)] for one in range(4)}
    programs[rank][5] = Op("0", **change)
    folder = write_dumps(Job(DEFAULT, programs).run(), tmp_path / "job7")
    failure = outcome(folder, tmp_path)
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([rank], "collective_mismatch")


def test_two_sides_of_one_size(tmp_path: Path) -> None:
    """Where half of the ranks differ from the other half a mismatch is said and nobody is named."""
    programs = {one: [Op("0", size=(4, 4 + one % 2))] for one in range(4)}
    failure = outcome(write_dumps(Job(DEFAULT, programs).run(), tmp_path / "job7"), tmp_path)
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([], "collective_mismatch")


def test_uneven_all_to_all_is_no_mismatch(tmp_path: Path) -> None:
    """Sizes of all_to_all may differ between ranks."""
    programs = {one: [Op("0", "all_to_all", (one + 1,)), Op("0")] for one in range(4)}
    job = Job(DEFAULT, programs)
    job.run()
    failure = outcome(write_dumps(job, tmp_path / "job7"), tmp_path)
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([], "gpu_fabric")


def test_finished_dumps(tmp_path: Path) -> None:
    """Dumps in which everything ended are no failure."""
    job = straggler(stop=100)
    assert no_failure(write_dumps(job, tmp_path / "job7"), tmp_path)


def test_dumps_of_a_running_job(tmp_path: Path) -> None:
    """Dumps written within a moment of the last call are of a job that runs, and no failure."""
    folder = write_dumps(straggler(), tmp_path / "job7")
    for path in folder.iterdir():
        os.utime(path, ns=(EPOCH_NS + 2_000_000_000, EPOCH_NS + 2_000_000_000))
    assert no_failure(folder, tmp_path)


def test_a_missing_dump(tmp_path: Path) -> None:
    """The rank whose dump is missing is said to be a suspect, and is not named as culprit."""
    failure = outcome(write_dumps(straggler(), tmp_path / "job7", without=(2,)), tmp_path)
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([], "undetermined")
    assert "the Flight Recorder dump of rank 2" in [item["what"] for item in failure["blind"]]


def test_a_group_that_waits_for_another_is_no_culprit(tmp_path: Path) -> None:
    """With tensor, pipeline and data parallel groups the first cause is named, not who it held up."""
    groups = {"0": Group("default_pg", tuple(range(8)))}
    groups |= {str(1 + i): Group("TENSOR_MODEL_PARALLEL_GROUP", (2 * i, 2 * i + 1)) for i in range(4)}
    groups |= {str(5 + i): Group("DATA_PARALLEL_GROUP", tuple(range(i, 4, 2))) for i in range(2)}
    groups |= {str(7 + i): Group("DATA_PARALLEL_GROUP", tuple(range(4 + i, 8, 2))) for i in range(2)}
    groups |= {str(9 + i): Group("PIPELINE_MODEL_PARALLEL_GROUP", (i, 4 + i)) for i in range(4)}
    programs: dict[int, list[Op]] = {}
    for rank in range(8):
        mine = [name for name, group in groups.items() if rank in group.ranks]
        peer = (rank + 4) % 8
        step = [Op(mine[1]), Op(mine[3], "send" if rank < 4 else "recv", peer=peer), Op(mine[1]), Op(mine[2]), Op("0")]
        programs[rank] = step * 3
    for ahead in (0, 2):
        job = Job(groups, programs, stops={2: 7}, ahead=ahead).run()
        folder = write_dumps(job, tmp_path / f"ahead{ahead}")
        assert outcome(folder, tmp_path / f"ahead{ahead}")["culprit_ranks"] == [2]


def test_two_groups_in_opposite_order(tmp_path: Path) -> None:
    """Ranks that enter two groups in opposite order are found; the one that differs from the others is named."""
    groups = {"0": Group("default_pg", (0, 1, 2, 3)), "1": Group("extra", (0, 1, 2, 3))}
    programs = {rank: [Op("0"), Op("1"), Op("0")] for rank in range(4)}
    programs[1] = [Op("1"), Op("0"), Op("0")]
    failure = outcome(write_dumps(Job(groups, programs, ahead=0).run(), tmp_path / "job7"), tmp_path)
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([1], "collective_mismatch")


def test_a_dump_of_an_earlier_run(tmp_path: Path) -> None:
    """A dump that an earlier run left is told by its times and not used."""
    folder = write_dumps(straggler(), tmp_path / "job7")
    old = write_dumps(straggler(start_ns=EPOCH_NS - 900_000_000_000), tmp_path / "old")
    (folder / "comm_lib_trace_rank_2").write_bytes((old / "comm_lib_trace_rank_2").read_bytes())
    failure = outcome(folder, tmp_path)
    assert failure["culprit_ranks"] == []
    assert rows(tmp_path / "dumps.duckdb", "select rank from fr_dump where state = 'earlier_run'") == [(2,)]


@pytest.mark.parametrize(
    "name",
    ["nccl_trace_rank_{}", "job71_node4_nccl_trace_rank_{}", "mydump_{}", "hccl_trace_rank_{}.json", "fr_rank_{}.n3"],
)
def test_names(name: str, tmp_path: Path) -> None:
    """The rank is told by names with any prefix, host and job in them."""
    folder = write_dumps(straggler(), tmp_path / "job7", lambda rank: name.format(rank))
    assert outcome(folder, tmp_path)["culprit_ranks"] == [2]


def test_a_wrong_rank_in_the_name(tmp_path: Path) -> None:
    """Where the groups of a dump leave only one rank, it counts more than the name."""
    groups = {"0": Group("default_pg", (0, 1, 2, 3)), "1": Group("tp", (0, 1)), "2": Group("tp", (2, 3))}
    groups |= {"3": Group("dp", (0, 2)), "4": Group("dp", (1, 3))}
    job = Job(groups, {rank: [Op("0") for _ in range(6)] for rank in range(4)}, stops={1: 4}).run()
    folder = write_dumps(job, tmp_path / "job7", lambda rank: f"nccl_trace_rank_{(rank + 1) % 4}")
    assert outcome(folder, tmp_path)["culprit_ranks"] == [1]


def test_two_dumps_of_one_rank(tmp_path: Path) -> None:
    """Of a pickle and a JSON dump of one rank one is used."""
    folder = write_dumps(straggler(), tmp_path / "job7" / "fr")
    write_dumps(straggler(), tmp_path / "job7" / "fr_json", lambda rank: f"trace_rank_{rank}.json", is_json=True)
    assert outcome(folder.parent, tmp_path)["culprit_ranks"] == [2]
    found = rows(tmp_path / "dumps.duckdb", "select state, is_json, count(*) from fr_dump group by all order by all")
    assert found == [("second", True, 4), ("used", False, 4)]


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
    assert outcome(folder, tmp_path)["culprit_ranks"] == [2]
    assert not Path("executed").exists()
    rejected = column(tmp_path / "dumps.duckdb", "select path from reject")
    counts = Counter(int(path.rpartition("_")[2]) for path in rejected)
    assert [what for rank, what in enumerate(BAD, first) if BAD[what][1] and counts[rank] != 1] == []


@pytest.mark.parametrize("what", BAD)
def test_bad_dumps_take_no_memory(what: str, tmp_path: Path) -> None:
    """Whatever a small file claims, reading it takes at most 100 MiB and ten seconds of a process of its own."""
    path = tmp_path / "trace_rank_0"
    path.write_bytes(BAD[what][0])
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, timeout=60, check=True, cwd=REPO
    )
    grown_mib, seconds = map(float, done.stdout.split())
    assert grown_mib < 100
    assert seconds < 10


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


def test_the_collectives_of_a_group_side_by_side(tmp_path: Path, run: Command) -> None:
    """A query prints the collectives of a group, one column a rank, of the ranks asked for."""
    db = tmp_path / "dumps.duckdb"
    read_in(db, write_dumps(straggler(), tmp_path / "job7"))
    given = ("-p", "group=0", "-p", "from_rank=1", "-p", "to_rank=2")
    found = json.loads(run("--db", str(db), "query", "@collectives", "--format", "json", *given).out)
    assert [set(row) for row in found] == [{"process_group", "seq_num", "1", "2"}] * 8
    assert (found[5]["1"], found[5]["2"]) == ("all_reduce [[4,4]] scheduled", None)


def test_a_cited_record_is_read_again(tmp_path: Path) -> None:
    """A record of a dump is verified where it stands in the file and says the same, and gone in another dump."""
    db = tmp_path / "dumps.duckdb"
    folder = write_dumps(straggler(), tmp_path / "job7")
    read_in(db, folder)
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
