"""`aiscorr lines`: a line in its surroundings, and a failure's lines from all its files in order of time."""

from __future__ import annotations

import gzip
import re
import tarfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from commands import Command
from scenes import Library, rows

from aiscorr.cli.lines import beyond
from aiscorr.report.lines.merged import span_of
from aiscorr.report.lines.moments import Moments
from aiscorr.report.lines.numbered import LINE_BYTES, numbered_lines
from aiscorr.report.lines.stored import file_called
from aiscorr.store.database import reading

SCENARIO = "target_killed_short_batch"
MARKED = re.compile(r"^([>! ]) (~?\d\d:\d\d:\d\d(?:\.\d{3})?)? +(\S+(?: \d+)?)  ")
SECOND = 1_000_000_000


@pytest.fixture(name="db")
def db_fixture(library: Library) -> str:
    """The database of one incident."""
    return library.database(SCENARIO)


@pytest.fixture(name="own")
def own_fixture(library: Library) -> tuple[Path, Path]:
    """A database of logs of its own, which a test may change, and their folder."""
    return library.changeable(SCENARIO)


def test_a_line_in_its_surroundings(run: Command, db: str) -> None:
    """A place as a report cites it is found, with lines around it, their numbers and their times in UTC."""
    (path, line_no, text) = rows(db, "select path, line_no, text from evidence where why like 'the error of rank%'")[0]
    done = run("--db", db, "lines", f"workers/{Path(path).name}:{line_no}", "-C", "3")
    head, *shown = done.out.splitlines()
    assert done.code == 0 and head == f"{path} (2026-09-14, times in UTC)" and len(shown) == 7
    assert shown[3].startswith(f"> {line_no}  ") and shown[3].endswith(text)
    assert [int(line[2:].split()[0]) for line in shown] == list(range(line_no - 3, line_no + 4))
    whole = Path(path).read_text("utf-8").splitlines()
    assert all(line.endswith(whole[int(line[2:].split()[0]) - 1]) for line in shown)
    assert re.search(r"^  \d+  10:22:3\d\.\d{3}  \[rank", "\n".join(shown), re.MULTILINE)


def test_a_line_of_an_archive(run: Command, own: tuple[Path, Path], tmp_path: Path) -> None:
    """A member of an archive is read in it, also where only its own name is given."""
    db, logs = own
    with tarfile.open(tmp_path / "w.tar.gz", "w:gz") as archive:
        archive.add(logs / "workers" / "error-4184269-1.out", "deep/inside.out")
    place = f"{tmp_path}/w.tar.gz!deep/inside.out:32"
    done = run("--db", db, "lines", place, "-C", "0")
    assert done.code == 0 and done.out.splitlines()[1].startswith("> 32  [rank5]: AISBatchLoaderError")


def test_a_failure_without_a_time(run: Command, tmp_path: Path) -> None:
    """A failure none of whose lines has a time has no order of time; what to ask for instead is said."""
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.log").write_text("[rank0]: ValueError: no loss\n", "utf-8")
    db = str(tmp_path / "a.duckdb")
    assert run("--db", db, "ingest", str(tmp_path / "job")).code == 0
    done = run("--db", db, "lines", "latest")
    assert done.code == 2 and "none of its lines has a time" in done.err and "aiscorr lines FILE:1" in done.err


def test_a_file_that_was_not_ingested(run: Command, tmp_path: Path) -> None:
    """Any file can be looked at, without a database too; its times are not known then, and its codes do no harm."""
    path = tmp_path / "plain.log.gz"
    path.write_bytes(gzip.compress(b"one\n\x1b[31mred\x07 \xe2\x80\xae\nthree\n"))
    done = run("lines", f"{path}:2", "-C", "1")
    assert done.out.splitlines() == [str(path), "  1  one", "> 2  \\x1b[31mred\\x07 \\u202e", "  3  three"]
    assert done.code == 0 and done.err == "without times: there is no database yet\n"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nope.log:3", "no file is called so, here or in the database"),
        ("error-4184269-1.out:99999", "it has no line 99999"),
        ("error-4184269-1.out:0", "lines are counted from 1"),
        ("dump_0:record_id=7", "a record of a dump is no line"),
        ("nope", "no failure is called 'nope'"),
    ],
)
def test_what_is_not_there(what: str, words: str, run: Command, db: str) -> None:
    """A file, line or failure that is not there is a clear error with code 2."""
    done = run("--db", db, "lines", what)
    assert (done.code, done.out) == (2, "") and done.err.startswith(f"error: {words}")


def test_a_name_of_several_files(own: tuple[Path, Path]) -> None:
    """The end of a path is enough where one file has it; of several the candidates are named."""
    db, _ = own
    with reading(str(db)) as connection:
        paths = [
            row[0] for row in connection.execute("select path from ingested_file where kind = 'ais_log'").fetchall()
        ]
        name = paths[0].rpartition("/")[2]
        assert file_called(connection, name) == file_called(connection, paths[0]) == paths[0]
        connection.execute(
            "create temp view ingested_file as select '/x/' || n || '/same' as path from range(12) as r(n)"
        )
        with pytest.raises(Exception, match="12 files are called so") as told:
            file_called(connection, "same")
    assert "/x/0/same, /x/1/same" in str(told.value) and "and 4 more" in str(told.value)


def merged(run: Command, db: str | Path, *options: str) -> list[str]:
    """The lines of the latest failure, without head and end."""
    done = run("--db", db, "lines", *options)
    assert done.code == 0, done.err
    return done.out.splitlines()


def test_lines_of_a_failure(run: Command, db: str) -> None:
    """All files of a failure are one, in order of corrected time; each line has its writer, its place and its mark."""
    head, legend, day, *found, end = merged(run, db, "latest")
    (failure_id,) = rows(db, "select failure_id from failure")[0]
    assert head.startswith(f"Failure {failure_id}: 2026-09-14 10:20:") and day == "--- 2026-09-14"
    assert legend.startswith("Marks: > ") and end.endswith("--before 5m --after 5m")
    matches = [MARKED.match(line) for line in found]
    assert all(matches)
    times = [match[2].lstrip("~") for match in matches if match and match[2]]
    late = [time for time, after in pairwise(times) if time > after]  # a process wrote behind another of its file
    assert len(late) * 20 < len(times) and times[0] < "10:21:38" < times[-1]
    assert {match[3] for match in matches if match} >= {"AZq6Oo53", "gREiOVxt", "rank 5", "rank 6"}
    cited = rows(db, "select path, line_no from evidence where place = 1 and kind = 'supports' and line_no is not null")
    for path, line_no in cited:
        place = f"{'/'.join(path.split('/')[-3 if '/ais/' in path else -2 :])}:{line_no}"
        assert [line[0] for line in found if line.endswith(place)] == [">"], place
    assert sum(line.startswith("!") for line in found) > 5


def test_lines_span_what_the_report_names(own: tuple[Path, Path]) -> None:
    """The lines span what the report names too, and of what is too far off is said how to see it."""
    db, _ = own
    with reading(str(db)) as connection:
        connection.execute(
            "create temp view timeline as select failure_id, 1 as weight, window_started_at::timestamp"
            " + to_minutes(unnest([-5, 600])) as event_at from failure"
        )
        failure_id, first_ns = connection.execute(
            "select failure_id, epoch_ns(window_started_at) from failure"
        ).fetchall()[0]
        span = span_of(connection, failure_id, 1, 60)
    assert span.first_ns == first_ns - 301 * SECOND
    (words,) = beyond(span, (1, 60))
    assert re.fullmatch("The report names lines from further after: --after [56]..m shows them\n", words)


def test_lines_of_a_node_and_a_rank(run: Command, db: str) -> None:
    """With --of only lines of these are shown, and who else wrote is told where nothing is theirs."""
    _, _, _, *found, _ = merged(run, db, "latest", "--of", "t[AZq6", "--of", "5")
    assert {match[3] for match in map(MARKED.match, found) if match} == {"AZq6Oo53", "rank 5"}
    none = run("--db", db, "lines", "latest", "--of", "nobody")
    assert (none.code, none.out) == (2, "") and "no line of nobody" in none.err and "rank 6" in none.err


def test_an_undated_error_is_at_its_moment(run: Command, db: str) -> None:
    """A traceback without stamps is where the timeline puts its error, behind what caused it."""
    found = merged(run, db)
    error = next(no for no, line in enumerate(found) if "AISBatchLoaderError: Batch iterator exhausted" in line)
    cause = next(no for no, line in enumerate(found) if "sbr_proto_hdr" in line)
    assert found[error].startswith("> ~10:21:38.342  rank 5") and cause < error
    trace = next(no for no, line in enumerate(found) if "Traceback (most recent call last)" in line)
    assert cause < trace < error


def test_each_line_once(own: tuple[Path, Path], run: Command) -> None:
    """A record that several files hold, as INFO and ERROR do, is shown once; what a node says twice is shown twice."""
    db, _ = own
    found = merged(run, db, "--limit", "0")
    errors = [line for line in found if " E 10:2" in line]
    assert errors and len({line.rpartition("  ")[0] for line in errors}) == len(errors)


def test_a_teed_record_once(own: tuple[Path, Path], run: Command) -> None:
    """A line with a time that two files hold, in one of them with a label in front, is shown once."""
    db, logs = own
    before = [line for line in merged(run, db, "--of", "5") if re.match(r". \d\d:", line)]
    for path in sorted((logs / "workers").glob("error-*.out")):
        labelled = "".join(f"[pod/trainer-1/main] {line}\n" for line in path.read_text("utf-8").splitlines())
        (path.parent / f"tee-{path.name}").write_text(labelled, "utf-8")
    done = run("--db", db, "ingest", str(logs / "workers"), "--job", "4184269")
    assert done.code == 0, done.err
    after = [line for line in merged(run, db, "--of", "5") if re.match(r". \d\d:", line)]
    assert len(before) == len(after) > 3


def test_a_launchers_table_is_of_no_rank(run: Command, db: str) -> None:
    """Of torchrun's table of failures only what says a rank's end is that rank's, not the entry behind it."""
    heads = [line for line in merged(run, db) if "Root Cause (first observed failure)" in line]
    assert heads and all(" job " in line for line in heads)


def test_a_limit_says_how_to_get_more(run: Command, db: str) -> None:
    """Of many lines the first ones are shown, with where it was cut; a wider window has more lines."""
    found = merged(run, db, "--limit", "5")
    assert found[-1].startswith("… cut behind 5 lines, at 10:20:") and found[-1].endswith("all of them: --limit 0")
    usual, wide = merged(run, db), merged(run, db, "--before", "1m", "--after", "0")
    assert len(wide) > len(usual)
    assert run("--db", db, "lines", "--before", "soon").code == 2


def test_files_that_are_gone(own: tuple[Path, Path], run: Command) -> None:
    """A file that is gone is named on stderr, the others are shown, and the exit code is 3."""
    db, logs = own
    (logs / "workers" / "error-4184269-1.out").unlink()
    done = run("-q", "--db", db, "lines")
    assert done.code == 3 and done.err.startswith("error: ") and "error-4184269-1.out" in done.err
    assert "gREiOVxt" in done.out and "Traceback" not in done.err


def test_only_the_window_is_read(own: tuple[Path, Path], run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long log only the lines of the window are taken apart: those before are skipped, those behind not read."""
    db, logs = own
    read: list[int] = []
    plain = Moments.read

    def counted(self: Moments, number: int, line: bytes) -> tuple[int | None, bool, int | None, bytes]:
        read.append(number)
        return plain(self, number, line)

    monkeypatch.setattr(Moments, "read", counted)
    merged(run, db, "--before", "0", "--after", "0")
    total = sum(len(path.read_bytes().splitlines()) for path in logs.rglob("*") if path.is_file())
    assert len(read) < total


def test_numbered_lines(tmp_path: Path) -> None:
    """Lines are counted from any number on, a last one without a line break and one of megabytes too."""
    path = tmp_path / "log"
    path.write_bytes(b"a\r\nb\n" + b"x" * (3 * LINE_BYTES) + b"\n\nlast")
    assert [(no, len(line)) for no, line in numbered_lines(str(path))] == [
        (1, 1),
        (2, 1),
        (3, LINE_BYTES),
        (4, 0),
        (5, 4),
    ]
    for first in range(1, 6):
        assert [no for no, _ in numbered_lines(str(path), first)] == list(range(first, 6))
    assert list(numbered_lines(str(path), 9)) == []
    many = tmp_path / "many"
    many.write_bytes(b"".join(b"line %d\n" % number for number in range(1, 300_001)))
    assert next(numbered_lines(str(many), 299_999)) == (299_999, b"line 299999")


def clocked(
    lines: list[str], shift_h: int, near: int, stored: dict[int, int] | None = None, kind: str = "worker_log"
) -> Iterator[object]:
    """The times of lines in seconds after `near`, and whether each tells its own."""
    moments = Moments(kind, shift_h * 3600 * SECOND, stored or {}, near)
    for number, line in enumerate(lines, start=1):
        utc_ns, is_exact, *_ = moments.read(number, line.encode())
        yield None if utc_ns is None else (utc_ns - near) / SECOND, is_exact


def test_moments_of_lines() -> None:
    """Stamps are moved by the file's clock to the day on which they fit; a line without one has the time before it."""
    near = 1_795_219_131 * SECOND  # 2026-11-20 23:58:51 UTC
    worker = [
        "no stamp",
        "[rank7]:[E1120 15:58:51.500000000 x.cpp:1] w",
        "    in a trace",
        "2026-11-20 15:58:53,250 INFO y",
    ]
    assert list(clocked(worker, -8, near)) == [(None, False), (0.5, True), (0.5, False), (2.25, True)]
    ais = ["E 23:59:59.500000 cl:1 x", "Started up", "I 00:00:01.000000 cl:2 y"]
    assert list(clocked(ais, 0, near, kind="ais_log")) == [(68.5, True), (68.5, False), (70.0, True)]
    assert list(clocked(["E 10:00:00.5 x "], 0, near, {1: near + SECOND}, "ais_log")) == [(1.0, True)]


def test_secrets_are_taken_out(own: tuple[Path, Path], run: Command) -> None:
    """A token in a line is shown neither around a line nor among the lines of a failure: people paste what they see."""
    db, logs = own
    secret = "hf_" + "a1B2" * 9
    path = logs / "workers" / "error-4184269-1.out"
    lines = path.read_text("utf-8").splitlines()
    number = next(no for no, line in enumerate(lines, 1) if "Watchdog caught collective operation timeout" in line)
    lines[number - 1] += f" token={secret}"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    around = run("--db", db, "lines", f"{path}:{number}", "-C", "1").out
    every = run("-q", "--db", db, "lines").out
    for shown in (around, every):
        assert "Watchdog caught" in shown and "token=<redacted>" in shown and secret not in shown


def test_a_file_without_a_line(run: Command, tmp_path: Path, library: Library) -> None:
    """Who names a file and no line is told how to name one; a name of nothing is refused as a failure."""
    db = library.database("target_killed_short_batch")
    log = tmp_path / "a b.log"
    log.write_text("x\n")
    done = run("--db", db, "lines", str(log))
    assert done.code == 2 and "a file, and no line of it" in done.err and f"aiscorr lines {log}:1" in done.err
    assert "no failure is called 'a:b'" in run("--db", db, "lines", "a:b").err
