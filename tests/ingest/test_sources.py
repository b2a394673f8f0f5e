"""What paths stand for: folders, links and archives, whatever their names; what cannot be read is named."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Command
from packing import LOG, noise, tar_of, written, zip_of, zstd
from scenes import column, read_in, rows
from stored_rows import leave_analysis_out

from aiscorr.errors import SourceError
from aiscorr.ingest.scanning import provisional_ids
from aiscorr.ingest.spreading import scan
from aiscorr.model import ByteStream, IngestOptions, IngestSummary, SourceRef, Unreadable
from aiscorr.sources.discover import discover
from aiscorr.sources.names import file_on_disk, printable
from aiscorr.sources.read import TruncatedError, buffered, compression_of, exists, expand, open_member


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


def paths_of(*paths: Path) -> list[str]:
    """The files that paths stand for."""
    return [found.path for found in discover([str(path) for path in paths]) if isinstance(found, SourceRef)]


def refused(*paths: Path) -> list[Unreadable]:
    """What below the paths is no readable file."""
    return [found for found in discover([str(path) for path in paths]) if isinstance(found, Unreadable)]


def contents(path: Path) -> dict[str, bytes | str]:
    """What a file holds: the bytes of each stream by its path inside it, or why it cannot be read."""
    found: dict[str, bytes | str] = {}
    for item in expand(SourceRef(str(path), str(path))):
        if isinstance(item, Unreadable):
            found[item.path.removeprefix(str(path))] = item.reason
            continue
        ref, stream = item
        try:
            found[ref.path.removeprefix(str(path))] = all_of(stream)
        except TruncatedError as error:
            found[ref.path.removeprefix(str(path))] = f"ends early: {error}"
    return found


def all_of(stream: ByteStream) -> bytes:
    """The bytes of a stream to its end."""
    buffer, found = bytearray(1000), b""
    while count := stream.readinto(memoryview(buffer)):
        found += buffer[:count]
    return found


def kinds(summary: IngestSummary) -> tuple[int, int, int]:
    """New files, files with bytes already known, and unknown files of a run."""
    return summary.new_file_count, summary.duplicate_count, len(summary.unknown)


# --- which files ---------------------------------------------------------------------------------------------------


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    """A folder stands for all files below it in the order of their names, without version control and caches."""
    for name in (
        "b.log",
        "a/2.log",
        "a/1.log",
        ".git/config",
        "node_modules/x.log",
        "__pycache__/m.pyc",
        ".hidden.log",
    ):
        written(tmp_path / name)
    found = [path.removeprefix(f"{tmp_path}/") for path in paths_of(tmp_path)]
    assert found == [".hidden.log", "a/1.log", "a/2.log", "b.log"]


def test_a_file_comes_once(tmp_path: Path) -> None:
    """A file named twice, below a named folder, by a link or by a hard link is one file."""
    log = written(tmp_path / "x" / "aistarget.host.INFO.1120-230257.1")
    (tmp_path / "x" / "aistarget.INFO").symlink_to(log.name)
    os.link(log, tmp_path / "x" / "zz-hard-link")
    (tmp_path / "linked").symlink_to(tmp_path / "x", target_is_directory=True)
    link = tmp_path / "x" / "aistarget.INFO"
    assert paths_of(link, log, tmp_path, tmp_path / "x", tmp_path / "linked") == [str(log)]


def test_a_link_out_of_the_folder_is_followed(tmp_path: Path) -> None:
    """A link to a file or folder elsewhere stands for what it names, by its real path."""
    log = written(tmp_path / "store" / "rank0.log")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "latest").symlink_to(tmp_path / "store")
    assert paths_of(tmp_path / "job") == [str(log)]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """A folder that contains itself through a link is entered once; a link to itself is named."""
    log = written(tmp_path / "a" / "x.log")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    assert paths_of(tmp_path) == [str(log)]
    assert [found.path for found in refused(tmp_path)] == [str(tmp_path / "self")]


def test_a_link_to_nothing_is_no_error(tmp_path: Path) -> None:
    """A dangling link below a folder is named with its aim and is no error; a path that is not there is one."""
    (tmp_path / "aistarget.ERROR").symlink_to("rotated-away")
    (problem,) = refused(tmp_path)
    assert (problem.reason, problem.is_error) == ("link to nothing: rotated-away", False)
    (problem,) = refused(tmp_path / "absent.log")
    assert (problem.reason, problem.is_error) == ("cannot be read: No such file or directory", True)


def test_pipes_and_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named pipe, a socket and a device are named and passed over: reading them could wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = refused(tmp_path, Path("/dev/null"))
    assert [Path(item.path).name for item in found] == ["pipe", "socket", "null"]
    assert {item.is_error for item in found} == {False}


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permission is named, and the files beside it are found."""
    log = written(tmp_path / "b.log")
    locked = tmp_path / "a"
    locked.mkdir()
    listdir = os.listdir

    def deny(path: str) -> list[str]:
        if path == str(locked):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", deny)
    assert paths_of(tmp_path) == [str(log)]
    assert [item.reason.partition(" (")[0] for item in refused(tmp_path)] == [
        "folder cannot be listed: Permission denied"
    ]


# --- names ---------------------------------------------------------------------------------------------------------

ODD_NAMES = [
    b"with blanks in it.log",
    b"line\nfeed.log",
    b"latin-\xe9.log",
    b"bang!inside.log",
    b"quote'and\"percent%s.log",
    "█ ünïcode ".encode() + b"\xff.log",
]


def test_odd_names_go_in(tmp_path: Path, rows_only: None) -> None:
    """Blanks, line feeds, quotes, exclamation marks and bytes that are no UTF-8 in a name keep no file out."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, name in enumerate(ODD_NAMES):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_bytes(LOG + b"%d\n" % number)
    summary = read_in(tmp_path / "x.duckdb", folder)
    assert kinds(summary) == (len(ODD_NAMES), 0, 0)
    paths = column(tmp_path / "x.duckdb", "select path from ingested_file order by path")
    assert paths == sorted(f"{folder}/{printable(os.fsdecode(name))}" for name in ODD_NAMES)
    assert read_in(tmp_path / "x.duckdb", folder).unchanged_count == len(ODD_NAMES)
    for path in paths:
        assert exists(path)
        with buffered(open_member(path)) as stream:
            assert stream.read().startswith(LOG)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_in_archives_go_in(name: bytes, tmp_path: Path, rows_only: None) -> None:
    """A member's name may be any bytes too, and is found again by the path that is shown."""
    archive = written(tmp_path / "logs.tar", tar_of([(f"job/{os.fsdecode(name)}", LOG)]))
    assert kinds(read_in(tmp_path / "x.duckdb", archive)) == (1, 0, 0)
    (path,) = column(tmp_path / "x.duckdb", "select path from ingested_file")
    assert path == f"{archive}!job/{printable(os.fsdecode(name))}"
    with buffered(open_member(path)) as stream:
        assert stream.read() == LOG


def test_an_odd_name_is_shown(tmp_path: Path, run: Command) -> None:
    """The summary shows a name that is no UTF-8 with the odd bytes as numbers, and ends well."""
    folder = os.fsencode(tmp_path / "notes")
    os.mkdir(folder)
    Path(os.fsdecode(folder + b"/odd-\xff.txt")).write_bytes(b"")
    done = run("ingest", tmp_path / "notes")
    assert done.code == 0
    assert f"unknown: {tmp_path}/notes/odd-\\xff.txt: empty file\n" in done.out
    assert run("ingest", os.fsdecode(folder + b"/gone-\xfe.log")).code == 3


def test_a_path_finds_its_file_on_disk(tmp_path: Path) -> None:
    """The longest part of a path that is a file is opened; the rest is the name inside it."""
    plain = written(tmp_path / "a!b.log")
    archive = written(tmp_path / "a.tar", tar_of([("x!y", LOG)]))
    assert file_on_disk(f"{plain}")[0] == str(plain)
    assert file_on_disk(f"{archive}!x!y")[0] == str(archive)
    assert file_on_disk("/not/there!x")[0] == "/not/there"
    assert exists(f"{archive}!x!y") and not exists("/not/there!x")


def test_the_database_is_no_source_but_its_neighbours_are(tmp_path: Path, rows_only: None) -> None:
    """A folder with the database in it is read without it; files whose names begin like the database are read."""
    db = tmp_path / "site"
    log = written(tmp_path / "site-logs" / "rank0.log")
    assert kinds(read_in(db, tmp_path)) == (1, 0, 0)
    assert column(db, "select path from ingested_file") == [str(log)]
    assert read_in(db, tmp_path).file_count == 1


# --- archives ------------------------------------------------------------------------------------------------------

MEMBERS = [("job/rank0.log", LOG), ("job/deep/er/rank1.log", b"one\ntwo"), ("empty.log", b"")]
PACKED: dict[str, Callable[[], bytes]] = {
    "x.tar": lambda: tar_of(MEMBERS),
    "x.tar.gz": lambda: gzip.compress(tar_of(MEMBERS)),
    "x.tgz": lambda: tar_of(MEMBERS, "w:gz"),
    "x.tar.zst": lambda: zstd(tar_of(MEMBERS)),
    "x.zip": lambda: zip_of(MEMBERS),
    "no-ending-at-all": lambda: gzip.compress(tar_of(MEMBERS)),
}


@pytest.mark.parametrize("name", PACKED)
def test_archives(name: str, tmp_path: Path) -> None:
    """The members of an archive come as they are, whatever its form and its name."""
    found = contents(written(tmp_path / name, PACKED[name]()))
    assert found == {f"!{member}": data for member, data in MEMBERS}


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_compressed_files(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A compressed file is read as the file inside it; several streams one after the other are one file."""
    assert contents(written(tmp_path / "x.log.gz", pack(LOG))) == {"": LOG}
    assert contents(written(tmp_path / "x.log.gz", pack(LOG) + pack(b"more\n"))) == {"": LOG + b"more\n"}


@pytest.mark.parametrize("outer", PACKED)
@pytest.mark.parametrize("inner", ["tar.gz", "gz", "zip", "zst"])
def test_archives_in_archives(outer: str, inner: str, tmp_path: Path) -> None:
    """An archive or a compressed file inside an archive is opened, one level deep."""
    data = {
        "tar.gz": gzip.compress(tar_of([("rank2.log", LOG)])),
        "gz": gzip.compress(LOG),
        "zip": zip_of([("rank2.log", LOG)]),
        "zst": zstd(LOG),
    }[inner]
    members = [("first.log", b"1\n"), (f"node.{inner}", data), ("last.log", b"2\n")]
    whole = zip_of(members) if outer.endswith("zip") else tar_of(members)
    packed = {"x.tar": bytes, "x.zip": bytes, "x.tar.zst": zstd}.get(outer, gzip.compress)(whole)
    suffix = "!rank2.log" if inner in ("tar.gz", "zip") else ""
    found = contents(written(tmp_path / outer, packed))
    assert found == {"!first.log": b"1\n", f"!node.{inner}{suffix}": LOG, "!last.log": b"2\n"}


def test_a_member_is_read_again_by_its_path(tmp_path: Path) -> None:
    """The path of a member, nested or not, gives its bytes; another name says what is missing where."""
    inner = gzip.compress(tar_of([("./t1/aistarget.INFO", LOG)]))
    archive = written(tmp_path / "x.tar", tar_of([("a.log", b"a\n"), ("node.tar.gz", inner)]))
    with buffered(open_member(f"{archive}!node.tar.gz!t1/aistarget.INFO")) as stream:
        assert stream.read() == LOG
    with pytest.raises(SourceError, match=r"b\.log: no longer in .*x\.tar"):
        open_member(f"{archive}!b.log")
    with pytest.raises(SourceError, match="No such file"):
        open_member(f"{tmp_path}/gone.log")


def test_links_and_folders_in_archives_are_not_followed(tmp_path: Path) -> None:
    """A link or device inside an archive is named and no error; names that climb out of it are only names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"odd-{kind.decode()}")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("../../etc/rank0.log")
        info.size = len(LOG)
        archive.addfile(info, io.BytesIO(LOG))
    path = written(tmp_path / "x.tar", buffer.getvalue())
    found = contents(path)
    skipped = "a link or device inside an archive: skipped"
    assert found == {"!odd-2": skipped, "!odd-3": skipped, "!etc/rank0.log": LOG}


def test_other_compressions_are_unknown(tmp_path: Path, rows_only: None) -> None:
    """A compression that is not supported gives an unknown file, not an error and not evidence."""
    written(tmp_path / "logs" / "x.bz2", bz2.compress(LOG * 50))
    summary = read_in(tmp_path / "x.duckdb", tmp_path / "logs")
    assert (kinds(summary), summary.unreadable, summary.event_count) == ((0, 0, 1), (), 0)


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (gzip.compress(b"", mtime=0), "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PK\x03\x04", "zip"),
        (tar_of([("a", b"")])[:512], "tar"),
        (b"plain", None),
        (b"", None),
    ],
    ids=["gzip", "zstd", "zip", "tar", "text", "empty"],
)
def test_forms_are_told_by_their_first_bytes(head: bytes, form: str | None) -> None:
    """Gzip, zstd, zip and tar are told by content."""
    assert compression_of(head) == form


# --- damage --------------------------------------------------------------------------------------------------------


def test_a_truncated_gzip_is_read_to_its_end(tmp_path: Path, run: Command, rows_only: None) -> None:
    """Of a compressed file that ends early the good part goes in, and the summary says so."""
    logs = tmp_path / "logs"
    whole = gzip.compress(LOG + noise(400_000))
    written(logs / "rank0.log.gz", whole[: len(whole) // 2])
    written(logs / "rank1.log")
    done = run("ingest", logs)
    assert f"problem: {logs}/rank0.log.gz: ends early: " in done.out
    assert "2 files: 2 new" in done.out
    found = rows("aiscorr.duckdb", "select count(*), max(problem is not null) from ingested_file where event_count > 0")
    assert found == [(2, True)]


@pytest.mark.parametrize("pack", ["x.tar", "x.tar.gz", "x.tar.zst", "x.zip"])
def test_a_truncated_archive_is_an_error_and_the_rest_goes_in(
    pack: str, tmp_path: Path, run: Command, rows_only: None
) -> None:
    """What is whole in an archive that ends early goes in, the archive is named, other files are read: exit code 3."""
    logs = tmp_path / "logs"
    members = [("rank0.log", LOG), ("rank1.log", LOG + noise(300_000))]
    whole = zip_of(members) if pack == "x.zip" else tar_of(members)
    whole = gzip.compress(whole) if pack == "x.tar.gz" else zstd(whole) if pack == "x.tar.zst" else whole
    written(logs / pack, whole[: len(whole) * 2 // 3])
    written(logs / "rank7.log", LOG.replace(b"boom", b"bang"))
    done = run("ingest", logs)
    assert done.code == 3
    assert f"unreadable: {logs}/{pack}" in done.out
    paths = column("aiscorr.duckdb", "select path from ingested_file where event_count > 0")
    assert f"{logs}/rank7.log" in paths
    assert pack == "x.zip" or f"{logs}/{pack}!rank0.log" in paths
    again = run("ingest", logs)
    assert (again.code, f"unreadable: {logs}/{pack}" in again.out) == (3, True), "a damaged archive is looked at again"


def test_a_damaged_member_of_a_zip_keeps_the_others(tmp_path: Path) -> None:
    """A zip member whose bytes are damaged or encrypted is named; the members around it are read."""
    data = bytearray(zip_of([("a.log", LOG), ("b.log", noise(2000)), ("c.log", LOG)]))
    middle = data.find(b"b.log") + 200
    data[middle : middle + 50] = bytes(50)
    found = contents(written(tmp_path / "x.zip", bytes(data)))
    assert (found["!a.log"], found["!c.log"]) == (LOG, LOG)
    assert isinstance(found["!b.log"], str) and found["!b.log"].startswith(("ends early", "damaged"))


def test_what_only_looks_compressed_is_named(tmp_path: Path) -> None:
    """A file that begins like an archive and is none is named as damaged."""
    for head in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"):
        (reason,) = contents(written(tmp_path / "x", head + b"nothing of the kind" * 40)).values()
        assert isinstance(reason, str) and ("damaged" in reason or "ends early" in reason)


def test_an_unreadable_file_is_named_and_the_rest_goes_in(tmp_path: Path, run: Command, rows_only: None) -> None:
    """A file whose bytes cannot be read and one that is absent give exit code 3; the others are ingested."""
    log = written(tmp_path / "rank0.log")
    done = run("ingest", "/proc/self/mem", tmp_path / "absent.log", log)
    assert done.code == 3
    assert "mem: cannot be read: Input/output error" in done.out
    assert f"unreadable: {tmp_path}/absent.log: cannot be read: No such file or directory" in done.out
    assert column("aiscorr.duckdb", "select path from ingested_file") == [str(log)]
    (outcome, error), *_ = rows("aiscorr.duckdb", "select outcome, error from ingest_log")
    assert outcome == "partial" and "absent.log" in error


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    """A file that is deleted between listing and reading is unreadable, not the end of the run."""
    log, other = written(tmp_path / "a.log"), written(tmp_path / "b.log", LOG * 2)
    found = [ref for ref in discover([str(tmp_path)]) if isinstance(ref, SourceRef)]
    log.unlink()
    items = provisional_ids([(ref, None) for ref in found])
    (result,) = scan(items, str(tmp_path), IngestOptions(), now_ns=0)
    assert [problem.path for problem in result.unreadable] == [str(log)]
    assert [summary.ref.path for summary in result.summaries] == [str(other)]
