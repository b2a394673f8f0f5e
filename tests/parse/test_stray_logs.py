"""Logs of the system that stray into a job's folder are no worker logs, and give the job no time of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import FIXTURES, column, read_in, rows
from stored_rows import leave_analysis_out

from aiscorr.parse.detect import detect

WORKERS = FIXTURES / "target_killed_short_batch" / "workers"

STRAY = {
    "dpkg.log": [
        "2025-06-24 14:36:25 startup archives unpack",
        "2025-06-24 14:36:26 install libc6:amd64 <none> 2.41-12",
        "2026-11-22 07:50:53 status installed man-db:amd64 2.13.1-1",
    ],
    "history.log": [
        "Start-Date: 2026-11-20  22:50:41",
        "Commandline: apt-get install -y sysstat",
        "Install: sysstat:amd64 (12.7.5-2), libsensors5:amd64 (1:3.6.2-2, automatic)",
        "End-Date: 2026-11-20  22:50:47",
    ],
    "pip.txt": [
        "Collecting aistore",
        "  Downloading aistore-1.10.0-py3-none-any.whl (71 kB)",
        "Requirement already satisfied: requests in /usr/lib/python3/dist-packages (2.32.3)",
        "Installing collected packages: aistore",
        "Successfully installed aistore-1.10.0",
        "WARNING: Running pip as the 'root' user can result in broken permissions",
    ],
    "access.log": [
        '10.0.0.7 - - [20/Nov/2026:23:05:12 +0000] "GET /v1/objects/a HTTP/1.1" 500 17 "-" "curl/8.5"',
        '10.0.0.8 - ops [20/Nov/2026:23:05:13 +0000] "GET /health HTTP/1.1" 200 2 "-" "kube-probe"',
    ],
    "kubelet.log": [
        'I1120 23:05:55.242000    812 pod_startup_latency_tracker.go:104] "Observed pod startup duration"',
        'E1120 23:05:56.000000    812 kubelet.go:2412] "Error updating node status" err="context deadline exceeded"',
    ],
    "syslog": [
        "Nov 20 06:25:01 gpu004 CRON[2212]: (root) CMD (test -x /usr/sbin/anacron)",
        "Nov 21 23:05:55 gpu004 systemd[1]: Started session-4.scope - Session 4 of User ops.",
    ],
    "journal.txt": [
        "2026-11-19T06:25:01+00:00 gpu004 systemd[1]: Reached target timers.target.",
        "2026-11-22T23:05:55+00:00 gpu004 sshd[77]: Accepted publickey for ops from 10.0.0.1 port 5022",
    ],
    "agent.log": [
        "2026-11-19 06:25:01,000 INFO agent.main - connected to the hub",
        "2026-11-22 06:25:01,000 INFO agent.main - heartbeat sent",
    ],
}
KERNEL = [
    "[Thu Nov 19 01:00:00 2026] NVRM: Xid (PCI:0000:44:00): 43, pid=77, name=python, Ch 00000008",
    "[Mon Nov 23 01:00:00 2026] NVRM: Xid (PCI:0000:44:00): 43, pid=78, name=python, Ch 00000008",
]
SPAN = "select started_at, ended_at, world_size from job"


def text_of(lines: list[str]) -> bytes:
    """The lines as a file, often enough to be no chance."""
    return "".join(f"{line}\n" for line in lines * 4).encode()


@pytest.mark.parametrize("name", STRAY)
def test_logs_of_the_system_are_no_worker_logs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a package manager, web server, kubelet, system or agent is listed as unknown, with the reason."""
    leave_analysis_out(monkeypatch)
    (tmp_path / name).write_bytes(text_of(STRAY[name]))
    summary = read_in(tmp_path / "x.duckdb", tmp_path / name)
    assert [(Path(path).name, bool(reason)) for path, reason in summary.unknown] == [(name, True)]
    assert summary.event_count == 0


def test_a_date_alone_is_no_proof() -> None:
    """Dated lines are tried as a worker log; a tag of a rank is proof enough."""
    dated = detect(text_of(STRAY["agent.log"]))
    tagged = detect(text_of([f"[rank3]: {line}" for line in STRAY["agent.log"]]))
    assert (dated.kind, dated.is_tentative, tagged.kind, tagged.is_tentative) == (
        "worker_log",
        True,
        "worker_log",
        False,
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("rank3.log", "2026-11-20 23:01:00,000 INFO data - opening the next shard"),
        ("out.log", "2026-11-20 23:01:00,000 INFO [rank 3] data - opening the next shard"),
        ("train.log", "2026-11-20 23:01:00,000 INFO train - step 17 of 400 loss: 3.1"),
    ],
)
def test_a_rank_or_a_step_makes_a_worker_log(
    name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dated lines in which nothing is recognised are a worker log where name or lines tell a rank or a step."""
    leave_analysis_out(monkeypatch)
    (tmp_path / name).write_bytes(text_of([line]))
    assert read_in(tmp_path / "x.duckdb", tmp_path / name).kinds == {"worker_log": 1}


def test_a_job_keeps_its_time(tmp_path: Path) -> None:
    """Stray logs in the folder of a job, and the kernel's log of days, leave its begin, end and world as they are."""
    folder = tmp_path / "workers"
    folder.mkdir()
    for log in WORKERS.iterdir():
        (folder / log.name).write_bytes(log.read_bytes())
    db = tmp_path / "x.duckdb"
    read_in(db, folder)
    before = rows(db, SPAN)
    for name, lines in STRAY.items():
        (folder / name).write_bytes(text_of(lines))
    (folder / "dmesg.txt").write_bytes(text_of(KERNEL))
    read_in(db, folder)
    assert column(db, "select regexp_extract(path, '[^/]+$') from source_file where kind = 'worker_log' order by 1")[
        0
    ] == ("dmesg.txt")
    assert rows(db, SPAN) == before and len(before) == 1
