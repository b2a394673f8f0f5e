"""A night of bad input: each fault is named, everything else goes in, nothing is half counted, memory is bounded."""

from __future__ import annotations

import ctypes
import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from outside import aiscorr, files_end_at, left_behind
from packing import LOG, noise, tar_of, written, zip_of
from scenes import FIXTURES, column, read_in, rows
from stored_rows import files, leave_analysis_out, stored

from aiscorr.ingest import scanning
from aiscorr.model import IngestOptions
from aiscorr.sources import bounded, discover
from aiscorr.sources.read import TruncatedError, expand

HEADER = b"Started up at 2026/11/20 23:02:57, host ais-target-0, go1.26.6 for linux/amd64\n"
ERROR = b"E 23:04:52.801902 shared_dm:350 t[UrJt8102] trouble %d\n"
TITLE = b"I 23:02:58.000001 daemon:263 Node t[UrJt8102], Version 5.0.2fd94c70e, build x, CPUs(2, runtime=2)\n"


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


def odd_tar() -> bytes:
    """A tar with a name that climbs, a link, a device, two members of one name, and a log."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.BLKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        for name, text in (("../../rank1.log", b"one"), ("rank2.log", b"two"), ("rank2.log", b"three")):
            info, data = tarfile.TarInfo(name), LOG.replace(b"boom", text)
            info.size, info.pax_headers = len(data), {"mtime": "1e300"}
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def night(folder: Path) -> Path:
    """A folder with every kind of bad file, and a good one."""
    whole = gzip.compress(HEADER + ERROR % 1 + noise(300_000))
    for name, data in {
        "utf8/t1/aistarget.INFO": HEADER + b"E 23:04:52.801902 x:1 caf\xe9 \xff\xfe\n" + ERROR % 2,
        "nul/t2/aistarget.INFO": HEADER + bytes(70_000) + b"\n" + bytes(3000) + ERROR % 3,
        "crlf/t3/aistarget.INFO": (HEADER + ERROR % 4 + b"I 23:05:00.000001 {a.n:1,b.n:22}\n").replace(b"\n", b"\r\n"),
        "long/t4/aistarget.INFO": HEADER + ERROR % 5 + b"x" * 50_000_000 + b"\n" + ERROR % 6,
        "cut/t5/aistarget.INFO": HEADER + (b"I 23:05:00.000001 {" + b"a.n:1," * 400)[:2048] + ERROR % 7,
        "glued/t6/aistarget.INFO": HEADER + (ERROR % 8)[:-4] + ERROR % 9,
        "jump/t7/aistarget.INFO": HEADER + ERROR % 10 + b"W 22:10:00.000001 x:1 an hour back\n" + ERROR % 11,
        "empty.log": b"",
        "short.log.gz": whole[: len(whole) // 2],
        "odd.tar": odd_tar(),
        "torn.tgz": gzip.compress(tar_of([("a.log", LOG), ("b.log", noise(300_000))]))[:-90_000],
        "brackets.json": b"[" * 60_000,
        "good.log": LOG,
    }.items():
        written(folder / name, data)
    (folder / "loop").symlink_to(folder)
    return folder


def test_a_night(tmp_path: Path, run: Command, rows_only: None) -> None:
    """Of a folder full of damage all that is whole goes in on its line, and the summary names what is not: code 3."""
    logs = night(tmp_path / "logs")
    done = run("ingest", logs)
    assert (done.code, done.err) == (3, "")
    assert len(done.out.splitlines()) <= 24
    assert f"unreadable: {logs}/torn.tgz: archive ends early or is damaged: " in done.out
    assert f"problem: {logs}/short.log.gz: ends early: " in done.out
    assert f"skipped: {logs}/odd.tar!link: a link or device inside an archive: skipped" in done.out
    assert f"unknown: {logs}/empty.log: empty file" in done.out
    db = "aiscorr.duckdb"
    found = rows(
        db,
        "select split_part(parse_path(path)[-3], '/', 1), line_no, regexp_extract(text, '\\S+$') from ais_line"
        " join ingested_file using (file_id) where pattern = 'other_error' and not contains(path, '.gz') order by all",
    )
    assert found == [
        ("crlf", 2, "4"), ("cut", 2, "7"), ("glued", 2, "9"), ("glued", 2, "9"), ("jump", 2, "10"), ("jump", 4, "11"),
        ("long", 2, "5"), ("long", 4, "6"), ("nul", 3, "3"), ("utf8", 2, "\ufffd\ufffd"), ("utf8", 3, "2"),
    ]  # fmt: skip
    reasons = column(db, "select split_part(reason, ':', 1) from rejected_line order by all")
    assert {"statistics line cut", "a cut record with the next one glued to it"} <= set(reasons)
    texts = column(db, "select text from worker_line")
    assert {"one", "two", "three"} <= {text.split()[-1] for text in texts}
    assert column(db, "select count(*) from clock_mark where kind = 'jump'") == [1]
    assert_counts(db)


def assert_counts(db: str) -> None:
    """What the files say they gave is what the tables hold."""
    for names, tables in (
        ("event_count", ("ais_line", "worker_line", "stats_line", "stack_frame")),
        ("counter_count", ("counter_sample",)),
        ("reject_count", ("rejected_line",)),
    ):
        found = " union all ".join(f"select file_id from {table}" for table in tables)
        sql = f"select path, {names}, count(r.file_id) from ingested_file left join ({found}) as r using (file_id)"
        sql += " where state = 'ingested'"
        assert rows(db, f"{sql} group by all having {names} <> count(r.file_id)") == []


def test_a_night_again(tmp_path: Path, rows_only: None) -> None:
    """A second visit to the same damage looks at it again, says it again, and changes no row."""
    logs, db = night(tmp_path / "logs"), tmp_path / "x.duckdb"
    first = read_in(db, logs)
    before = (stored(db), files(db))
    again = read_in(db, logs)
    assert (first.outcome, again.outcome) == ("partial", "partial")
    assert {p for p in again.unreadable if p.is_error} == {p for p in first.unreadable if p.is_error} != set()
    assert set(again.problems) == set(first.problems) != set()
    assert (stored(db), files(db)) == before


def test_two_clusters_with_one_node_id(tmp_path: Path) -> None:
    """Daemons of one id in two clusters are two nodes; neither one's events are the other's."""
    db = tmp_path / "x.duckdb"
    for number, name in enumerate(("east", "west")):
        log = written(tmp_path / name / "t1" / "aistarget.INFO", HEADER + TITLE + ERROR % number)
        with pytest.MonkeyPatch.context() as patch:
            if name == "east":
                leave_analysis_out(patch)
            read_in(db, log, options=IngestOptions(cluster=name))
    sql = "select cluster, node_id, message[-1:] from ais_event where severity = 'E' order by all"
    assert rows(db, sql) == [("east", "UrJt8102", "0"), ("west", "UrJt8102", "1")]
    assert column(db, "select count(*) from node where node_id = 'UrJt8102'") == [2]


# --- archives ------------------------------------------------------------------------------------------------------


def found_in(path: Path, data: bytes) -> dict[str, str]:
    """What an archive gives by the names inside it: the first bytes of a stream, or the reason."""
    found = {}
    for item in expand(discover.SourceRef(str(path), str(written(path, data)), stored_byte_count=len(data))):
        if isinstance(item, discover.Unreadable):
            found[item.path.removeprefix(str(path))] = item.reason
            continue
        buffer = bytearray(20)
        try:
            found[item[0].path.removeprefix(str(path))] = bytes(buffer[: item[1].readinto(memoryview(buffer))]).decode()
        except TruncatedError as error:
            found[item[0].path.removeprefix(str(path))] = str(error)
    return found


def test_a_damaged_header_hides_no_member(tmp_path: Path) -> None:
    """Behind a damaged header of a tar the next members are found, and the damage is named."""
    data = bytearray(tar_of([("a.log", b"a"), ("b.log", b"b"), ("c.log", b"c")]))
    data[1024:1100] = bytes(range(76))
    found = found_in(tmp_path / "x.tar", bytes(data))
    assert (found["!a.log"], found["!c.log"]) == ("a", "c") and "archive is damaged" in found[""]


def test_a_tar_cut_between_members_is_named(tmp_path: Path) -> None:
    """A tar that ends without its end mark may lack members, and says so; one behind another is read too."""
    data = tar_of([("a.log", b"a")])
    assert found_in(tmp_path / "x.tar", data[:1024]) == {
        "!a.log": "a", "": "archive ends without its end mark: members may be missing; fetch it again"
    }  # fmt: skip
    assert found_in(tmp_path / "y.tar", data + tar_of([("b.log", b"b")])) == {"!a.log": "a", "!b.log": "b"}


def test_an_archive_of_itself_ends(tmp_path: Path) -> None:
    """Archives in archives are opened two deep; what is deeper is named and not opened."""
    data = zip_of([("rank0.log", LOG)])
    for _ in range(4):
        data = zip_of([("inner.zip", data)])
    (reason,) = found_in(tmp_path / "x.zip", data).values()
    assert reason == "an archive in archives in an archive: not opened; unpack it by hand"


def test_a_bomb_is_cut_off(tmp_path: Path, run: Command, rows_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that expands far beyond what logs do is read to a limit, which the summary tells: exit code 3."""
    monkeypatch.setattr(bounded, "EXPANDED_BYTES", 1_000_000)
    bomb = written(tmp_path / "bomb.log.gz", gzip.compress(LOG + bytes(5_000_000)))
    done = run("ingest", bomb)
    assert done.code == 3 and "as a decompression bomb does" in done.out
    assert column("aiscorr.duckdb", "select event_count from ingested_file") == [1]


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"\0", b"plain text without meaning\n", b"x"], ids=["nul", "lines", "one-line"])
def test_memory_is_bounded(body: bytes, tmp_path: Path) -> None:
    """100 MB out of a small gzip file cost no more memory than a small file does."""
    with gzip.open(tmp_path / "bomb.log.gz", "wb", 1) as target:
        target.write(LOG)
        for _ in range(100):
            target.write(body * (1_000_000 // len(body)))
    done = aiscorr(tmp_path, "-q", "--db", "x.duckdb", "ingest", "bomb.log.gz")
    assert (done.code, done.err) == (0, "")
    assert done.peak_mib < 300


def test_a_header_that_claims_gigabytes(tmp_path: Path) -> None:
    """An attribute header of a tar that claims more than a name can be is not read into memory."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 8 << 30
    assert "a header of 8,589,934,592 bytes" in found_in(tmp_path / "x.tar", info.tobuf(tarfile.GNU_FORMAT) + LOG)[""]


# --- what the system does ------------------------------------------------------------------------------------------


def test_a_file_that_grows_while_it_is_read_ends(
    tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that grows as fast as it is read is read to the size it had; the next visit gives the rest."""
    log, db = written(tmp_path / "rank0.log", LOG + noise(300_000)), tmp_path / "x.duckdb"
    readinto = bounded.SourceFile.readinto

    def growing(self: bounded.SourceFile, buffer: object) -> int:
        with open(log, "ab") as target:
            target.write(LOG * 1_000)
        return readinto(self, buffer)

    monkeypatch.setattr(bounded.SourceFile, "readinto", growing)
    assert read_in(db, log).byte_count == len(LOG + noise(300_000))
    monkeypatch.undo()
    leave_analysis_out(monkeypatch)
    read_in(db, log)
    assert rows(db, "select byte_count from ingested_file") == [(log.stat().st_size,)]
    assert column(db, "select count(*) from worker_line") == [log.read_bytes().count(b"Error")]


def test_a_reader_with_a_fault_costs_one_file(
    tmp_path: Path, run: Command, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault nobody thought of ends the file it is in, half-read rows are dropped, and the rest goes in."""
    written(tmp_path / "a.log"), written(tmp_path / "b.log", LOG * 2)
    feed = scanning.FileReader.read

    def faulty(self: scanning.FileReader, ref: discover.SourceRef, *rest: Any) -> object:
        summary = feed(self, ref, *rest)
        if ref.path.endswith("a.log"):
            raise ZeroDivisionError("oh")
        return summary

    monkeypatch.setattr(scanning.FileReader, "read", faulty)
    done = run("ingest", tmp_path / "a.log", tmp_path / "b.log")
    assert done.code == 3 and "a.log: cannot be read: ZeroDivisionError: oh (a fault of aiscorr's" in done.out
    sql = "select parse_filename(path) from worker_line join ingested_file using (file_id)"
    assert column("aiscorr.duckdb", sql) == ["b.log", "b.log"]


def without_privilege() -> None:
    """Takes from this process and its children what lets root read everything."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP, holds from the next exec on


def test_no_permission(tmp_path: Path) -> None:
    """A file and a folder that an ordinary user may not read are named with what to try; the rest goes in: code 3."""
    logs = tmp_path / "logs"
    written(logs / "rank0.log"), written(logs / "secret.log"), written(logs / "closed" / "rank1.log")
    (logs / "secret.log").chmod(0)
    (logs / "closed").chmod(0)
    done = aiscorr(tmp_path, "-q", "--db", "x.duckdb", "ingest", "logs", prepare=without_privilege)
    if "secret.log" not in done.out:
        pytest.skip("this user may read everything and cannot give that up")
    (logs / "closed").chmod(0o755)
    assert (done.code, done.err) == (3, "")
    assert f"unreadable: {logs}/secret.log: cannot be read: Permission denied (run as a user" in done.out
    assert f"unreadable: {logs}/closed: folder cannot be listed: Permission denied (run as a user" in done.out
    assert column(tmp_path / "x.duckdb", "select path from ingested_file") == [f"{logs}/rank0.log"]


@pytest.mark.parametrize(("limit", "pool"), [(2_000, False), (2_000, True), (60_000, False)])
def test_a_full_disk(limit: int, pool: bool, tmp_path: Path) -> None:
    """Wherever the disk ends, an ingest says so and leaves the database as it was, and nothing else behind."""
    db, logs = tmp_path / "x.duckdb", FIXTURES / "target_killed_short_batch" / "workers"
    with pytest.MonkeyPatch.context() as patch:
        leave_analysis_out(patch)
        read_in(db, written(tmp_path / "rank0.log"))
    before = db.read_bytes()
    done = aiscorr(tmp_path, "-q", "--db", db, "ingest", logs, "--jobs", "2", pool=pool, prepare=files_end_at(limit))
    assert (done.code, done.out) == (1, ""), done.err
    assert done.err.startswith("error: ") and "Traceback" not in done.err and "  try: free " in done.err
    assert db.read_bytes() == before and left_behind(tmp_path) == []
