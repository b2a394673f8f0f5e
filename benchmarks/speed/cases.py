"""What is measured: each case runs aiscorr and what stands beside it in turns, and gives rows of the table."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiscorr.parse.spec.pattern_files import pattern_set
from benchmarks.speed import ripgrep
from benchmarks.speed.cluster_server import curl_command, pack, serving
from benchmarks.speed.flight_corpus import write_flight_corpus
from benchmarks.speed.process import Run, run, task
from benchmarks.speed.together import many_nights, readers_beside_a_night

_SMALL_FILES = 10_000
_MIB = 1 << 20
_DUMPS = ((256, 2000), (2048, 200))


@dataclass(frozen=True)
class Corpora:
    """Where the corpora of one folder are."""

    folder: Path

    @property
    def worker(self) -> Path:
        """Worker logs."""
        return self.folder / "worker"

    @property
    def storm(self) -> Path:
        """Worker logs of which 80 % of the lines are events."""
        return self.folder / "storm"

    @property
    def ais(self) -> Path:
        """AIStore logs."""
        return self.folder / "ais"

    @property
    def archive(self) -> Path:
        """The AIStore logs as one archive."""
        return self.folder / "ais.tar.gz"


@dataclass(frozen=True)
class Row:
    """One line of the table; `other_s` and `ratio` are of what it is compared with."""

    what: str
    beside: str
    size_mib: float
    own_s: float
    other_s: float | None
    peak_mib: float
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as fast as what stands beside it."""
        return self.other_s / self.own_s if self.other_s is not None else None


def show(row: Row) -> str:
    """A row as a line of a Markdown table."""
    other = f"{row.other_s:.2f}" if row.other_s is not None else "-"
    ratio = f"{row.ratio:.2f}" if row.ratio is not None else "-"
    size, own, peak = f"{row.size_mib:.0f}", f"{row.own_s:.2f}", f"{row.peak_mib:.0f}"
    cells = (row.what, row.beside, size, own, other, ratio, peak, row.note)
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| measured | beside it | MiB | aiscorr s | other s | ratio | peak MiB a process | note |\n"
    "|---|---|---|---|---|---|---|---|"
)


def _size_mib(path: Path) -> float:
    files = [path] if path.is_file() else [found for found in path.rglob("*") if found.is_file()]
    return sum(found.stat().st_size for found in files) / _MIB


def _in_turns(rounds: int, own: Callable[[], Run], other: Callable[[], Run]) -> tuple[Run, float, float, str]:
    """The last own run, and the median seconds of both, taken in turns so that a noisy moment meets both.

    At last the medians of processor seconds, which other programs change less, for the note.
    """
    pairs = [(own(), other()) for _ in range(rounds)]
    own_s, other_s = median(a.steady_seconds for a, _ in pairs), median(b.steady_seconds for _, b in pairs)
    own_cpu, other_cpu = (median(pair[side].steady_cpu_seconds for pair in pairs) for side in (0, 1))
    note = f"processor {own_cpu:.2f} and {other_cpu:.2f} s, ratio {other_cpu / own_cpu:.2f}"
    return pairs[-1][0], own_s, other_s, note


def _lines(result: dict[str, float]) -> str:
    lines = int(result["lines"])
    return f"{lines} lines, {100 * result['rows'] / max(1, lines):.2f} % events"


def worker_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """Worker logs to rows beside ripgrep, with a few patterns and with all of the product."""
    rows: list[Row] = []
    every = pattern_set("worker")
    few = tuple(pattern for pattern in every if pattern.name in ripgrep.SUBSET)
    for patterns, subset in ((few, ",".join(ripgrep.SUBSET)), (every, "")):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "patterns"
            count, shortened = ripgrep.write_patterns(patterns, file)
            command = ripgrep.count_command(file, corpora.worker)

            def scan(chosen: str = subset) -> Run:
                return task("scan_rows", str(corpora.worker), chosen)

            def count_lines(given: tuple[str, ...] = tuple(command)) -> Run:
                return run(given, (0,))

            last, own, other, cpu = _in_turns(rounds, scan, count_lines)
        note = f"{cpu}; {_lines(last.result)}; {shortened} patterns without look-around for rg"
        what = f"worker logs to rows, {count} patterns"
        rows.append(Row(what, "rg -c, same patterns", _size_mib(corpora.worker), own, other, last.peak_mib, note))
    return rows


def storm_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """Worker logs of which most lines are events: slow, but bounded."""
    runs = [task("scan_rows", str(corpora.storm)) for _ in range(rounds)]
    own = median(one.steady_seconds for one in runs)
    note = f"processor {median(one.steady_cpu_seconds for one in runs):.2f} s; {_lines(runs[-1].result)}"
    return [Row("event storm to rows", "-", _size_mib(corpora.storm), own, None, runs[-1].peak_mib, note)]


def ais_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """AIStore logs with every counter, to rows and into DuckDB, beside ripgrep."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "patterns"
        file.write_text("\n".join(ripgrep.AIS_PATTERNS) + "\n")
        command = ripgrep.count_command(file, corpora.ais)
        for name, what in (("scan_rows", "to rows"), ("scan_and_load", "into DuckDB")):
            extra = () if name == "scan_rows" else (_new_database(folder),)

            def own(name: str = name, extra: tuple[str, ...] = extra) -> Run:
                _remove(*extra)
                return task(name, str(corpora.ais), *extra)

            last, own_s, other_s, cpu = _in_turns(rounds, own, lambda: run(command, (0,)))
            note = f"{cpu}; {_lines(last.result)}, {int(last.result['counters'])} counters"
            size = _size_mib(corpora.ais)
            rows.append(Row(f"AIStore logs {what}", "rg -c, 2 patterns", size, own_s, other_s, last.peak_mib, note))
    return rows


def archive_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """AIStore logs out of tar.gz into DuckDB beside bare decompression."""
    with tempfile.TemporaryDirectory() as folder:
        database = _new_database(folder)

        def own() -> Run:
            _remove(database)
            return task("scan_and_load", str(corpora.archive), database)

        last, own_s, other_s, cpu = _in_turns(rounds, own, lambda: task("decompress", str(corpora.archive)))
    size = _size_mib(corpora.ais)
    return [Row("AIStore tar.gz into DuckDB", "isal alone", size, own_s, other_s, last.peak_mib, cpu)]


def pull_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """A pull of all nodes, without and with its ingest, beside curl of the same archives from the same server."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        served, out, spool = Path(folder) / "served", Path(folder) / "curl", Path(folder) / "spool"
        served.mkdir()
        count = pack(corpora.ais, served)
        with serving(served) as url:
            command = curl_command(url, served, out)
            for what, database in (("pull to a spool", ""), ("pull and ingest", _new_database(folder))):

                def own(database: str = database) -> Run:
                    shutil.rmtree(spool, ignore_errors=True)
                    _remove(database)
                    return task("pull", url, str(spool), *([database] if database else []))

                last, own_s, other_s, cpu = _in_turns(rounds, own, lambda: run(command, (0,)))
                note = f"{cpu}; {count} nodes, {_size_mib(served):.0f} MiB on the wire"
                size = _size_mib(corpora.ais)
                rows.append(Row(what, "curl of the archives", size, own_s, other_s, last.peak_mib, note))
    return rows


def again_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """Ingest again: nothing new in 10,000 small files, then one more line in a large one."""
    with tempfile.TemporaryDirectory() as folder:
        logs, database = Path(folder) / "logs", _new_database(folder)
        for number in range(_SMALL_FILES):
            path = logs / f"{number % 100:02d}" / f"error-{number}.out"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f"2026-11-20 23:05:53,417 INFO [rank 0] train:204 - step {number} done\n"
                f"2026-11-20 23:05:54,417 ERROR [rank 0] file {number}: Stale file handle: '/data/{number}'\n"
            )
        first = task("ingest", str(logs), database)
        rows = [_row("ingest of 10,000 small files", logs, first)]
        again = [task("ingest", str(logs), database) for _ in range(rounds)]
        rows.append(_row("ingest again, nothing new", logs, sorted(again, key=lambda one: one.seconds)[rounds // 2]))
    with tempfile.TemporaryDirectory() as folder:
        database = _new_database(folder)
        copy = Path(folder) / "one.out"
        copy.write_bytes(sorted(corpora.worker.iterdir())[0].read_bytes())
        task("ingest", folder, database)
        for what, words in (
            ("line of progress", "INFO [rank 0] saved"),
            ("error of a rank", "ERROR [rank 0] Stale file handle:"),
        ):
            runs = []
            for number in range(rounds):
                with copy.open("ab") as file:
                    file.write(f"2026-11-21 01:00:0{number},000 {words} '/x'\n".encode())
                runs.append(task("ingest", folder, database))
            middle = sorted(runs, key=lambda one: one.seconds)[rounds // 2]
            rows.append(_row(f"ingest again, one more line, {what}", copy, middle))
    return rows


def flight_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """Flight Recorder dumps read and judged beside torchfrtrace, whole commands on two cores each."""
    other_command = shutil.which("torchfrtrace")
    if other_command is None or len(os.sched_getaffinity(0)) < 2:
        return []
    rows: list[Row] = []
    for rank_count, entry_count in _DUMPS:
        with tempfile.TemporaryDirectory() as folder:
            dumps, database = Path(folder) / "job7", _new_database(folder)
            culprit = write_flight_corpus(dumps, rank_count, entry_count)

            def judge(dumps: Path = dumps, database: str = database) -> Run:
                _remove(database)
                return run([sys.executable, "-m", "benchmarks.speed.work", "judge", str(dumps), database, "2"], (0, 1))

            command = [other_command, "--prefix", "comm_lib_trace_rank_", str(dumps)]
            pairs = [(judge(), run(command, (0, 1), is_own=False)) for _ in range(rounds)]
            size = _size_mib(dumps)
        own, other = pairs[-1]
        if json.loads(own.output)["culprit"] != culprit:
            raise RuntimeError(f"rank {culprit} is behind, and is not named: {own.output}")
        own_s, other_s = (median(pair[side].seconds for pair in pairs) for side in (0, 1))
        what = f"Flight Recorder dumps, {rank_count} ranks of {entry_count} records, read and judged"
        note = f"all processes {own.sum_mib:.0f} MiB, torchfrtrace {other.peak_mib:.0f}; with start and imports"
        rows.append(Row(what, "torchfrtrace", size, own_s, other_s, own.peak_mib, note))
    return rows


def help_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """How long the command line takes to say what it can do."""
    runs = [run([sys.executable, "-m", "aiscorr", "--help"], (0,)) for _ in range(rounds)]
    own = median(one.seconds for one in runs)
    return [Row("aiscorr --help", "-", 0, own, None, runs[-1].peak_mib)]


def readers_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """A nightly run while fifty processes read, beside the same run alone."""
    p50, p99, count, with_readers, alone = readers_beside_a_night(corpora.ais)
    note = f"{count} reads by 50 processes, none failed: median {p50:.2f} s, 99 % within {p99:.2f} s"
    size = _size_mib(corpora.ais)
    return [Row("nightly run with 50 readers", "the run alone", size, with_readers, alone, 0, note)]


def soak_rows(corpora: Corpora, rounds: int) -> list[Row]:
    """A month of nights in one process."""
    told = many_nights()
    grown = {name: told[f"{name}_end"] - told[f"{name}_then"] for name in ("kib", "descriptors", "threads")}
    note = (
        f"from night 10 to 30: memory {grown['kib'] / 1024:+.0f} MiB, descriptors {grown['descriptors']:+.0f},"
        f" threads {grown['threads']:+.0f}"
    )
    return [Row("30 nights in one process", "-", 0, told["seconds"], None, told["kib_end"] / 1024, note)]


def _row(what: str, path: Path, done: Run) -> Row:
    return Row(
        what,
        "-",
        _size_mib(path),
        done.seconds,
        None,
        done.peak_mib,
        f"processor {done.cpu_seconds:.2f} s; with start and imports",
    )


def _new_database(folder: str) -> str:
    return str(Path(folder) / "bench.duckdb")


def _remove(*paths: str) -> None:
    for path in filter(None, paths):
        Path(path).unlink(missing_ok=True)


CASES: dict[str, Callable[[Corpora, int], list[Row]]] = {
    "worker": worker_rows,
    "storm": storm_rows,
    "ais": ais_rows,
    "archive": archive_rows,
    "pull": pull_rows,
    "again": again_rows,
    "flight": flight_rows,
    "help": help_rows,
    "readers": readers_rows,
    "soak": soak_rows,
}
