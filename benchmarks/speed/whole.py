"""Whole commands on logs that others wrote: `ingest` of a corpus on one core, beside ripgrep on the same files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiscorr.parse.spec.pattern_files import pattern_set
from benchmarks.speed import ripgrep
from benchmarks.speed.process import Run, run, task
from benchmarks.speed.real_corpus import write_joined_files, write_slurm_files, write_worker_files

_MIB = 1 << 20
_BASE = ("-c", "import duckdb, pyarrow")
_WORKER_FILES, _AIS_FILE_MIB = 64, 32
_LARGEST_CASE = (
    "select coalesce(max(rows), 0)::bigint from (select sum(row_count) as rows from case_input group by job_id)"
)
HEAD = (
    "| corpus | files | MiB | aiscorr s | rg s | × rg | peak MiB | events | rows of the largest case |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Corpus:
    """A folder of logs: its name, what makes it of the data folder, and whether AIStore wrote such logs."""

    name: str
    write: Callable[[Path, Path, int], None]
    is_ais: bool = False
    share: float = 1.0


def _foreign_worker(data: Path, folder: Path, byte_count: int) -> None:
    _generate(data / "speed" / "gen_worker.py", folder, _WORKER_FILES, byte_count // _WORKER_FILES // _MIB)


def _foreign_ais(data: Path, folder: Path, byte_count: int) -> None:
    _generate(data / "speed" / "gen_ais.py", folder, byte_count // _MIB, _AIS_FILE_MIB)


def _generate(script: Path, folder: Path, *numbers: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(script), str(folder), *map(str, numbers)], check=True)


CORPORA = (
    Corpus("real, many files", write_slurm_files),
    Corpus("real, big files", write_joined_files),
    Corpus("real, workers of incidents", write_worker_files, share=0.5),
    Corpus("another's generator, workers", _foreign_worker, share=0.5),
    Corpus("another's generator, AIStore", _foreign_ais, is_ais=True),
)
#: Those that take one process longest to scan.
_LONG = (CORPORA[0], CORPORA[2])


def folder_of(corpora: Path, corpus: Corpus) -> Path:
    """Where a corpus is."""
    return corpora / corpus.name.replace(", ", "-").replace(" ", "-").replace("'", "")


def write_corpora(data: Path, corpora: Path, byte_count: int) -> None:
    """Makes them all of the folder with the recorded logs."""
    for corpus in CORPORA:
        corpus.write(data, folder_of(corpora, corpus), int(byte_count * corpus.share))


def whole_rows(corpora: Path, rounds: int) -> Iterator[str]:
    """Lines of a table: each corpus, then what a file costs besides its bytes, then the start of Python alone."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        for corpus in CORPORA:
            folder = folder_of(corpora, corpus)
            count = ripgrep.count_command(_patterns(corpus.is_ais, Path(place)), folder)
            runs = [(_ingest(folder, Path(place)), run(count, (0,))) for _ in range(rounds)]
            own, other = (median(pair[side].seconds for pair in runs) for side in (0, 1))
            seconds[corpus.name] = own
            yield _line(corpus.name, folder, own, other, runs[-1][0].peak_mib, Path(place) / "bench.duckdb")
        base = median(run([sys.executable, *_BASE], (0,)).seconds for _ in range(rounds))
    many, joined = (folder_of(corpora, corpus) for corpus in CORPORA[:2])
    more = len(_files(many)) - len(_files(joined))
    each = (seconds[CORPORA[0].name] - seconds[CORPORA[1].name]) / more
    yield f"| a file besides its bytes | | | {each:.4f} | | | | | |"
    yield f"| `python -c '{_BASE[1]}'` | | | {base:.2f} | | | | | |"


def process_line(corpora: Path, rounds: int) -> str:
    """A line of the table: the scan of a long corpus by two processes on two cores, beside one on one."""
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place) / "logs"
        logs.mkdir()
        for number, corpus in enumerate(_LONG):
            (logs / str(number)).symlink_to(folder_of(corpora, corpus))
        pairs = [(_scan_seconds(logs, place, 2), _scan_seconds(logs, place, 1)) for _ in range(rounds)]
        size = sum(path.stat().st_size for corpus in _LONG for path in _files(folder_of(corpora, corpus))) / _MIB
    two, one = (median(pair[side] for pair in pairs) for side in (0, 1))
    name = "two processes beside one, scan of " + " and ".join(f"“{corpus.name}”" for corpus in _LONG)
    return f"| {name} | | {size:.0f} | {two:.1f} | {one:.1f} | {one / two:.2f} | | | |"


def _scan_seconds(logs: Path, place: str, jobs: int) -> float:
    database = _new_database(Path(place))
    return task("ingest", str(logs), database, str(jobs), cores=range(jobs)).result["scanned"]


def _new_database(place: Path) -> str:
    for old in place.glob("bench.duckdb*"):
        old.unlink()
    return str(place / "bench.duckdb")


def _ingest(folder: Path, place: Path) -> Run:
    """An ingest into a new database, on one core."""
    options = ["-q", "--db", _new_database(place), "ingest", "--jobs", "1"]
    return run([sys.executable, "-m", "aiscorr", *options, str(folder)], (0,))


def _patterns(is_ais: bool, place: Path) -> Path:
    """The file of what ripgrep counts."""
    patterns = place / f"patterns-{is_ais}"
    if is_ais:
        patterns.write_text("\n".join(ripgrep.AIS_PATTERNS) + "\n")
    else:
        ripgrep.write_patterns([p for p in pattern_set("worker") if p.name in ripgrep.SUBSET], patterns)
    return patterns


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _line(name: str, folder: Path, own: float, other: float, peak_mib: float, database: Path) -> str:
    import duckdb

    with duckdb.connect(str(database), read_only=True) as connection:
        (events,) = connection.execute("select sum(event_count)::bigint from ingested_file").fetchall()[0]
        (case,) = connection.execute(_LARGEST_CASE).fetchall()[0]
    files = _files(folder)
    size = sum(path.stat().st_size for path in files) / _MIB
    cells = (name, len(files), f"{size:.0f}", f"{own:.1f}", f"{other:.1f}", f"{other / own:.2f}", f"{peak_mib:.0f}")
    return f"| {' | '.join(map(str, cells))} | {events} | {case} |"
