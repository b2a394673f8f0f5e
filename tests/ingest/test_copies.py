"""What is no log is no evidence, and the same bytes or lines by several ways are counted once."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from pathlib import Path

import pytest
from commands import Command
from packing import tar_of, written, zip_of
from scenes import FIXTURES, column, read_in, rows
from stored_rows import leave_analysis_out, stored

AIS = FIXTURES / "target_killed_short_batch" / "ais" / "AZq6Oo53"


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


# --- what is no log ------------------------------------------------------------------------------------------------

QUOTE = (AIS / "aistarget.ais-target-1.INFO.0914-102007.1").read_text().splitlines()[1:6]
DOCUMENTS = {
    "README.md": "# What happened\n\nThe target said:\n\n```\n" + "\n".join(QUOTE) + "\n```\n\nand rank 5 died:\n\n"
    "```\n[rank5]: Traceback (most recent call last):\n[rank5]: RuntimeError: boom\n```\n",
    "truth.toml": 'name = "x"\nrank = 5\nkind = "killed"\n[[event]]\nline = "[rank5]: RuntimeError: boom"\n',
    "notes.yaml": "job: 7\nnodes:\n  - a\n  - b\nline: '[rank5]: RuntimeError: boom'\n",
    "train.py": "import os\nfrom aistore.sdk import Client\ndef main():\n    return 1\nclass X:\n    pass\n",
    "metrics.prom": "# HELP ais_target_get_count x\n# TYPE ais_target_get_count counter\nais_target_get_count 4\n" * 2,
    "data.json": '{"line": "[rank5]: RuntimeError: boom"}\n',
    "prose.txt": "We waited for a long time and then nothing happened.\n",
    "empty.log": "",
    "blank.log": "\n\n  \n",
}
BINARIES = {
    "model.bin": random.Random(1).randbytes(3000),
    "core.elf": b"\x7fELF" + bytes(range(256)) * 4,
    "plot.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "state.pkl": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.",
    "zeros.log": bytes(5000),
}


def test_documents_are_no_evidence(tmp_path: Path, rows_only: None) -> None:
    """Documents that quote log lines, settings, programs, binary and empty files are unknown and give no row at all."""
    for name, data in [*((n, t.encode()) for n, t in DOCUMENTS.items()), *BINARIES.items()]:
        written(tmp_path / "logs" / name, data)
    summary = read_in(tmp_path / "x.duckdb", tmp_path / "logs")
    assert {Path(path).name: bool(why) for path, why in summary.unknown} == dict.fromkeys([*DOCUMENTS, *BINARIES], True)
    assert (summary.new_file_count, summary.event_count, summary.unreadable) == (0, 0, ())
    assert {name: len(found) for name, found in stored(tmp_path / "x.duckdb").items() if found} == {}


def test_a_kind_can_be_forced(tmp_path: Path, run: Command, rows_only: None) -> None:
    """With --kind a file is taken for what the user says, a document too."""
    readme = written(tmp_path / "README.md", DOCUMENTS["README.md"].encode())
    assert "1 unknown" in run("ingest", readme).out
    assert "1 new" in run("ingest", "--kind", "worker_log", readme).out
    assert column("aiscorr.duckdb", "select exception from worker_line") == ["RuntimeError"]
    assert "1 unknown" in run("ingest", "--kind", "unknown", readme).out
    assert column("aiscorr.duckdb", "select count(*) from worker_line") == [0]


# --- the same bytes by several ways --------------------------------------------------------------------------------


def ways(base: Path) -> dict[str, Path]:
    """The log folder of a target: as it is, copied, linked, packed."""
    plain = base / "cluster" / "AZq6Oo53"
    shutil.copytree(AIS, plain)
    info = sorted(path.name for path in plain.glob("*.INFO.*"))[-1]
    (plain / "aistarget.INFO").symlink_to(info)
    (plain / "aistarget.ERROR").symlink_to(info.replace("INFO", "ERROR"))
    (base / "linked").symlink_to(plain)
    shutil.copytree(plain, base / "copied" / "AZq6Oo53", symlinks=False)
    packed = base / "packed"
    packed.mkdir()
    files = [(path.name, path.read_bytes()) for path in sorted(plain.iterdir())]
    (packed / "target-AZq6Oo53.tar.gz").write_bytes(gzip.compress(tar_of(files)))
    (packed / "cluster.zip").write_bytes(zip_of([("target-AZq6Oo53.tgz", gzip.compress(tar_of(files)))]))
    return {"plain": plain, "linked": base / "linked", "copied": base / "copied", "packed": packed}


def test_the_same_logs_by_several_ways_are_counted_once(tmp_path: Path) -> None:
    """A target's logs as folder, links, copies and archives are the events and counters of the folder alone."""
    paths = ways(tmp_path / "logs")
    once, often = tmp_path / "once.duckdb", tmp_path / "often.duckdb"
    read_in(once, paths["plain"])
    with pytest.MonkeyPatch.context() as patch:
        leave_analysis_out(patch)
        for name in ("packed", "copied", "linked"):
            read_in(often, paths[name])
    read_in(often, paths["plain"])
    for sql in (
        "select event_at, severity, pattern, text from ais_event order by all",
        "select sampled_at, counter, value from counter_reading order by all",
        "select sampled_at, counter, delta from counter_delta order by all",
        "select node_id, started_at, ended_at, end_reason from node_process order by all",
    ):
        assert rows(once, sql) == rows(often, sql) != []
    assert column(often, "select count(*) from ingested_file where state = 'ingested'") == [4]


def test_error_twins_and_stderr_copies_count_no_line_twice(tmp_path: Path) -> None:
    """A line in .INFO, .ERROR and a container's stderr is one event; what stderr alone holds finds its day."""
    folder = tmp_path / "logs" / "AZq6Oo53"
    header = "Started up at 2026/09/14 10:20:07, host ais-target-1, go1.26.6 for linux/amd64\n"
    info = "I 10:20:08.000001 daemon:263 Node t[AZq6Oo53], Version 5.0.2fd94c70e, build x, CPUs(2, runtime=2)\n"
    warning = "W 10:20:09.000001 x:1 t[AZq6Oo53] is slow\n"
    error = "E 10:23:01.000001 err t[AZq6Oo53] disk is gone\n"
    last = "E 10:23:01.500000 err t[AZq6Oo53] only in stderr\n"
    written(folder / "aistarget.ais-target-1.INFO.0914-102007.1", (header + info + warning + error).encode())
    written(folder / "aistarget.ais-target-1.ERROR.0914-102007.1", (header + warning + error).encode())
    stderr = written(folder / "stderr.log", (error + last + "panic: boom\n").encode())
    os.utime(stderr, (1_795_000_000, 1_795_000_000))
    db = tmp_path / "x.duckdb"
    read_in(db, tmp_path / "logs")
    found = rows(db, "select event_at::varchar, severity, message from ais_event where severity <> 'I' order by all")
    assert found == [
        ("2026-09-14 10:20:09.000001", "W", "t[AZq6Oo53] is slow"),
        ("2026-09-14 10:23:01.000001", "E", "err t[AZq6Oo53] disk is gone"),
        ("2026-09-14 10:23:01.5", "E", "err t[AZq6Oo53] only in stderr"),
    ]
    assert column(db, "select count(*) from ais_event where pattern in ('ais_process_started', 'ais_go_panic')") == [2]


def tee_job(job: Path, run_folder: str) -> Path:
    """A node's log with --tee beside the files of its two ranks, which die with an exception each."""
    stream = ""
    for rank in range(2):
        text = 'Traceback (most recent call last):\n  File "/w/train.py", line 9, in main\nRuntimeError: boom of {}\n'
        lines = [f"[rank{rank}]: {line}\n" for line in text.format(rank).splitlines()]
        written(job / run_folder / "attempt_0" / str(rank) / "stderr.log", "".join(lines).encode())
        stream += "".join(f"[default{rank}]:{line}" for line in lines)
    stream += "E0914 10:22:41.019000 10524 torch/distributed/elastic/multiprocessing/api.py:988] "
    stream += "failed (exitcode: 1) local_rank: 1 (pid: 77) of binary: /usr/bin/python3\n"
    written(job / "launcher.out", stream.encode())
    return job


def test_tee_streams_beside_rank_files_count_no_line_twice(tmp_path: Path) -> None:
    """An exception in a rank's own file and in the --tee stream of its node is one event; the launcher's lines stay."""
    db = tmp_path / "x.duckdb"
    read_in(db, tee_job(tmp_path / "job7", "none_ab12cd34"))
    found = rows(db, "select rank, pattern, parse_filename(path) from worker_event order by all")
    assert found == [
        (0, "python_exception", "stderr.log"),
        (1, "python_exception", "stderr.log"),
        (1, "torchrun_worker_failed", "launcher.out"),
    ]


def test_tee_streams_of_a_named_run_count_no_line_twice(tmp_path: Path) -> None:
    """Where torchrun was given a run id, its stream and the files of the ranks are one job all the same."""
    db = tmp_path / "x.duckdb"
    read_in(db, tee_job(tmp_path / "job7", "asr_ab12cd34"))
    assert len(column(db, "select distinct job_id from worker_event")) == 1
    assert column(db, "select count(*) from worker_event where exception is not null") == [2]


def test_the_same_line_twice_in_one_file_is_two(tmp_path: Path) -> None:
    """Only copies are taken out: a daemon that writes the same line twice in the same microsecond wrote two."""
    text = "Started up at 2026/09/14 10:20:07, host ais-target-1, go1.26.6 for linux/amd64\n"
    text += "W 10:20:08.000001 x:1 t[AZq6Oo53] warned\n" * 2
    for name in ("aistarget.ais-target-1.INFO.0914-102007.1", "aistarget.ais-target-1.ERROR.0914-102007.1"):
        written(tmp_path / "logs" / name, text.encode() + name.encode() + b"\n")
    read_in(tmp_path / "x.duckdb", tmp_path / "logs")
    assert column(tmp_path / "x.duckdb", "select count(*) from ais_event where severity = 'W'") == [2]
