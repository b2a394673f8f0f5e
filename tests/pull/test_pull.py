"""Pulling a live cluster over real HTTP: what comes, what is new later, and what a fault of a node leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from commands import Command, Outcome
from live_cluster import RECORDED, FakeCluster, fake_cluster, recorded_cluster
from pytest_httpserver import HTTPServer
from scenes import REPO, column, rows
from stored_rows import leave_analysis_out
from werkzeug.serving import WSGIRequestHandler

LIVE = os.environ.get("AISCORR_TEST_ENDPOINT")
DB = "aiscorr.duckdb"
SPOOL = Path("aiscorr-spool")
PROXY, TARGET, OTHER = "Hbjp6001", "Kdut6002", "Rvst6003"
ASKED_AT = datetime(2026, 10, 5, 10, 5, tzinfo=UTC)
LINE = "W 10:04:1{}.120400 common:592 t[Kdut6002] CPU utilization: high [ 61 58 ]\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """A web server whose answers are dated; its clock is the cluster's."""
    monkeypatch.setattr(
        WSGIRequestHandler, "date_time_string", lambda self, moment=None: format_datetime(ASKED_AT, usegmt=True)
    )
    monkeypatch.setattr(WSGIRequestHandler, "log_request", lambda self, code="-", size="-": None)
    with HTTPServer(threaded=True) as made:
        yield made


@pytest.fixture
def cluster(server: HTTPServer) -> Iterator[FakeCluster]:
    """One proxy and two targets."""
    made = fake_cluster(server)
    yield made
    made.is_over.set()


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


@pytest.fixture
def pull(run: Command, cluster: FakeCluster) -> Callable[..., Outcome]:
    """Runs `aiscorr pull` on the cluster, impatiently."""
    return lambda *more: run("pull", "--endpoint", cluster.url, "--timeout", "2", *more)


def spooled(cluster: FakeCluster, node_id: str, severity: str = "info") -> dict[str, bytes]:
    """The logs of a node in the spool, by name."""
    folder = SPOOL / str(cluster.smap["uuid"]) / f"ais{cluster.nodes[node_id].role}-{node_id}"
    label = f".{severity.upper()}."
    return {path.name: path.read_bytes() for path in folder.iterdir() if label in path.name} if folder.is_dir() else {}


def is_all_there(cluster: FakeCluster) -> bool:
    """Every log of every node is in the spool, byte for byte, and nothing else."""
    return all(
        spooled(cluster, node.node_id, severity) == node.logs[severity]
        for node in cluster.nodes.values()
        for severity in ("info", "error")
    )


def lines_in_database() -> list[tuple[str, int]]:
    """Name and number of every AIStore line that became a row, in order."""
    return rows(
        DB,
        "select parse_filename(f.path), l.line_no from ais_line as l join ingested_file as f on f.file_id = l.file_id"
        " union all select parse_filename(f.path), l.line_no from stats_line as l"
        " join ingested_file as f on f.file_id = l.file_id order by all",
    )


def read_at_once(run: Command, cluster: FakeCluster, folder: Path) -> list[tuple[str, int]]:
    """The same of a database into which the logs of the cluster are ingested whole."""
    for node in cluster.nodes.values():
        for files in node.logs.values():
            for name, data in files.items():
                path = folder / f"ais{node.role}-{node.node_id}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    assert run("--db", folder / DB, "ingest", folder).code == 0
    shutil.copy(folder / DB, "whole.duckdb")
    found = rows(
        "whole.duckdb",
        "select parse_filename(f.path), l.line_no from ais_line as l join ingested_file as f on f.file_id = l.file_id"
        " union all select parse_filename(f.path), l.line_no from stats_line as l"
        " join ingested_file as f on f.file_id = l.file_id order by all",
    )
    assert len(found) > 20
    return found


def test_a_whole_cluster(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """All logs of all nodes come, and nodes, pods, versions, clocks and counters are right."""
    outcome = pull()
    assert (outcome.code, outcome.err) == (0, "")
    assert "cluster Wm4kzq7Ra: 3 of 3 nodes" in outcome.out
    assert is_all_there(cluster)
    assert rows(DB, "select cluster, node_id, role, pod, version, has_log from node order by node_id") == [
        ("Wm4kzq7Ra", PROXY, "proxy", "ais-proxy-0", "4.6.0f3c9a1d2", True),
        ("Wm4kzq7Ra", TARGET, "target", "ais-target-0", "4.6.0f3c9a1d2", True),
        ("Wm4kzq7Ra", OTHER, "target", "ais-target-1", "4.6.0f3c9a1d2", True),
    ]
    assert set(rows(DB, "select offset_s, zone_offset_s from clock")) == {(0, 0)}
    assert {"utc_marker"} <= set(column(DB, "select method from clock where kind = 'ais_log'"))
    assert column(DB, "select sum(delta) from counter_delta where node_id = 'Kdut6002' and counter = 'get.n'") == [1800]
    assert column(DB, "select count(*) from pull_gap") == [0]


def test_status_counters_are_a_kind_of_their_own(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """Counters of node_status stand apart from those of logs, with the time the node was asked, and .ns is a sum."""
    assert pull().code == 0
    cluster.nodes[TARGET].status["tracker"] |= {"get.ns": 912345678, "up.ns.time": 7270000000000, "err.get.n": 2}
    assert column(DB, "select max(utc_ns) < 1791200000000000000 from counter_reading") == [True]
    sql = "select kind, value, delta, sampled_at::varchar from node_status_counter where node_id = ? and counter = ?"
    assert rows(DB, sql, [TARGET, "get.ns"]) == [("cumulative", 812345678, 812345678, "2026-10-05 10:05:00")]
    assert rows(DB, sql, [TARGET, "disk.nvme0n1.util"])[0][0] == "gauge"
    assert rows(DB, "select used_pct, started_at::varchar from node_status where node_id = ?", [OTHER]) == [
        (30.0, "2026-10-05 08:04:50")
    ]


def test_new_bytes_only(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """A second pull asks for what is new, and the lines come once."""
    assert pull().code == 0
    assert cluster.log_requests() == [(PROXY, "all"), (TARGET, "all"), (OTHER, "all")]
    cluster.nodes[TARGET].write(LINE.format(1) + LINE.format(2))
    outcome = pull()
    assert outcome.code == 0
    assert [offset for _, offset in cluster.log_requests()] == ["", "", ""]
    assert is_all_there(cluster)
    assert column(DB, "select count(*) from ais_event where text like '%10:04:1%'") == [2]


def test_only_the_end_of_a_long_log_is_asked_for(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """Of a log longer than what is compared, only its last bytes are asked for again."""
    cluster.nodes[TARGET].write("".join(LINE.format(n % 10) for n in range(200)))
    assert pull("--no-ingest").code == 0
    size = len(cluster.nodes[TARGET].logs["info"][cluster.nodes[TARGET].current()])
    cluster.log_requests()
    cluster.nodes[TARGET].write(LINE.format(3))
    assert pull("--no-ingest").code == 0
    assert dict(cluster.log_requests())[TARGET] == str(size - 4096)
    assert is_all_there(cluster)


@pytest.mark.parametrize("length", [1, 400], ids=["shorter", "longer"])
def test_rotation_in_between(
    pull: Callable[..., Outcome], run: Command, cluster: FakeCluster, tmp_path: Path, rows_only: None, length: int
) -> None:
    """After a rotation the end of the old log and the new one come, also where the new one is longer already."""
    node = cluster.nodes[TARGET]
    node.write("".join(LINE.format(n % 10) for n in range(100)))
    assert pull().code == 0
    node.write(LINE.format(7))
    node.rotate(
        f"Rotated at 2026/10/05 10:04:30, host ais-target-0, go1.26.3 for linux/amd64\n{LINE.format(8) * length}"
    )
    outcome = pull()
    assert (outcome.code, outcome.err) == (0, "")
    assert is_all_there(cluster)
    assert lines_in_database() == read_at_once(run, cluster, tmp_path / "whole")
    cluster.log_requests()
    assert pull("--no-ingest").code == 0
    assert "all" not in dict(cluster.log_requests()).values()


def test_refused_token(pull: Callable[..., Outcome], cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused token ends the pull with what to do, and is not shown."""
    cluster.token = "right-token"
    monkeypatch.setenv("AIS_AUTHN_TOKEN", "wrong-token")
    outcome = pull()
    assert (outcome.code, outcome.out) == (1, "")
    assert "the token is refused or missing (401): invalid token" in outcome.err
    assert "  try: ais auth login USER" in outcome.err
    assert "wrong-token" not in outcome.err
    monkeypatch.setenv("AIS_AUTHN_TOKEN", "right-token")
    outcome = pull("--no-ingest")
    assert outcome.code == 0
    assert outcome.err == f"notice: the token goes to {cluster.url} unencrypted\n"


@pytest.mark.parametrize(
    ("fault", "reason", "has_status"),
    [
        ("dead", "the node does not answer: 502 from the proxy", False),
        ("hangs", "no answer within 2 s", False),
        ("leaves", "it left the cluster map, or was taken out because it hangs", True),
        ("breaks", "the answer broke off", True),
        ("stalls", "the answer broke off: no answer within 2 s", True),
    ],
)
def test_a_node_at_fault(
    pull: Callable[..., Outcome], cluster: FakeCluster, fault: str, reason: str, has_status: bool
) -> None:
    """The other nodes are pulled, the gap is a row, the exit code 3; and when the node is back, all of it comes."""
    cluster.nodes[TARGET].fault = fault
    outcome = pull()
    assert outcome.code == 3
    assert f"not pulled: target {TARGET}: " in outcome.out and reason in outcome.out
    gaps = rows(DB, "select cluster, node_id, node_role, part, starts_with(reason, ?) from pull_gap", [reason])
    assert gaps == [("Wm4kzq7Ra", TARGET, "target", "info log" if has_status else "all", True)]
    assert spooled(cluster, OTHER) == cluster.nodes[OTHER].logs["info"]
    assert rows(DB, "select role, has_log, pod is not null from node where node_id = ?", [TARGET]) == [
        ("target", False, has_status)
    ]
    assert column(DB, "select node_id from node_endpoint where endpoint = '10.20.0.12:51081'") == [TARGET]
    cluster.nodes[TARGET].fault = ""
    assert pull("--no-ingest").code == 0
    assert is_all_there(cluster)


def test_what_came_of_a_broken_answer_is_kept(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """New bytes that came before the node went away are not asked for again, and none is lost."""
    assert pull("--no-ingest").code == 0
    node = cluster.nodes[TARGET]
    known = len(node.logs["info"][node.current()])
    node.write("".join(LINE.format(n % 10) for n in range(100)))
    node.fault = "breaks"
    assert pull("--no-ingest").code == 3
    kept = spooled(cluster, TARGET)[node.current()]
    assert known < len(kept) and node.logs["info"][node.current()].startswith(kept)
    node.fault = ""
    assert pull("--no-ingest").code == 0
    assert is_all_there(cluster)


def test_killed_in_mid_pull(
    pull: Callable[..., Outcome], run: Command, cluster: FakeCluster, tmp_path: Path, rows_only: None
) -> None:
    """After kill -9 in the middle of an archive and of new bytes the next pull has every line, once."""
    for fault_at in (TARGET, OTHER, TARGET):
        cluster.nodes[fault_at].fault = "stalls"
        cluster.is_stalled.clear()
        process = subprocess.Popen(
            [sys.executable, "-m", "aiscorr", "pull", "--endpoint", cluster.url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), *sys.path])},
            stdout=subprocess.DEVNULL,
        )
        try:
            assert cluster.is_stalled.wait(60)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        cluster.nodes[fault_at].fault = ""
        cluster.nodes[fault_at].write(LINE.format(4) + LINE.format(5))
    assert pull().code == 0
    assert is_all_there(cluster)
    assert [path.name for path in SPOOL.rglob(".aiscorr-part*")] == []
    assert lines_in_database() == read_at_once(run, cluster, tmp_path / "whole")


def test_spool_is_bounded(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """What does not fit into the spool is a gap that says so, and comes when there is room."""
    cluster.nodes[TARGET].write("".join(os.urandom(40).hex() + "\n" for _ in range(2000)))
    outcome = pull("--no-ingest", "--max-spool", "60KiB")
    assert outcome.code == 3
    assert "the spool is full" in outcome.out and "--max-spool" in outcome.out
    assert sum(path.stat().st_size for path in SPOOL.rglob("ais*.1")) < 60 << 10
    assert pull("--no-ingest").code == 0
    assert is_all_there(cluster)


def test_two_pulls_exclude_each_other(pull: Callable[..., Outcome]) -> None:
    """A spool in which another pull works is left alone."""
    from aiscorr.pull.spool import open_spool

    with open_spool(str(SPOOL), 1 << 30):
        outcome = pull()
    assert outcome.code == 1
    assert "another pull is writing this spool folder" in outcome.err


def test_a_name_for_the_cluster(pull: Callable[..., Outcome]) -> None:
    """The cluster is called by its id, or as --cluster says."""
    assert pull("--cluster", "alpha").code == 0
    assert column(DB, "select distinct cluster from node union select distinct cluster from node_status") == ["alpha"]


def test_no_aistore(run: Command, server: HTTPServer) -> None:
    """A web page is no cluster."""
    server.expect_request("/v1/daemon").respond_with_data("<html>sign in</html>", content_type="text/html")
    outcome = run("pull", "--endpoint", server.url_for(""))
    assert outcome.code == 1
    assert "what answers is no AIStore proxy" in outcome.err


def test_odd_ids_are_no_paths(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """An id that no node has does not become a path, and the nodes beside it are pulled."""
    cluster.smap["tmap"]["../../x"] = cluster.smap["tmap"][TARGET] | {"daemon_id": "../../x"}
    outcome = pull("--no-ingest")
    assert outcome.code == 3
    assert "an id or role that no AIStore node has: '../../x'" in outcome.out
    assert is_all_there(cluster)


@pytest.mark.parametrize("live", [pytest.param(True, id="live"), pytest.param(False, id="recorded")])
def test_recorded_and_live_clusters(live: bool, run: Command, server: HTTPServer, shared_data: Path) -> None:
    """A real cluster, or the recorded answers of one, gives its nodes, its logs, clocks and counters."""
    if live and not LIVE:
        pytest.skip("AISCORR_TEST_ENDPOINT names no live cluster")
    if not live and not (shared_data / RECORDED).is_dir():
        pytest.skip(f"the recorded answers are not available: {RECORDED} is missing")
    endpoint = LIVE if live and LIVE else recorded_cluster(server, shared_data / RECORDED)
    outcome = run("pull", "--endpoint", endpoint)
    assert (outcome.code, outcome.err) == (0, "")
    (line,) = (SPOOL / column(DB, "select any_value(cluster) from node")[0]).glob("pull-*.jsonl")
    listed = [json.loads(text)["node_id"] for text in line.read_text().splitlines()[1:]]
    before = {path: path.read_bytes() for path in SPOOL.rglob("ais*.*")}
    outcome = run("pull", "--endpoint", endpoint)
    assert (outcome.code, outcome.err) == (0, "")
    assert [path for path, data in before.items() if not path.read_bytes().startswith(data)] == []
    found = rows(DB, "select node_id, has_log, version is not null from node")
    assert sorted(found) == sorted((node_id, True, True) for node_id in listed)
    assert column(DB, "select count(distinct node_id) from node_status_counter") == [len(listed)]
    if not live:
        assert sorted(listed) == ["EXGt8705", "Nunp8700", "Umnt8703", "hBLp8701", "niFt8704", "psWt8702"]
        assert column(DB, "select sum(delta) from counter_delta where node_id = 'psWt8702' and counter = 'get.n'") == [
            17
        ]
        assert set(rows(DB, "select offset_s from clock")) == {(0,)}
        assert column(DB, "select count(*) from ingested_file where kind = 'ais_log' and state = 'ingested'") == [12]
        moments = "select min(first_at)::varchar, max(last_at)::varchar from source_file where kind = 'ais_log'"
        assert rows(DB, moments) == [("2026-11-20 23:17:04", "2026-11-20 23:20:52.215397")]


def test_archive_with_a_stranger(pull: Callable[..., Outcome], cluster: FakeCluster) -> None:
    """A member of an archive that is no log is left out and named; the logs count and are not asked for again."""
    cluster.nodes[TARGET].logs["info"] = {"../core.1": b"x", **cluster.nodes[TARGET].logs["info"]}
    outcome = pull("--no-ingest")
    assert outcome.code == 3
    assert "a member that is no info log: '../core.1'" in outcome.out
    del cluster.nodes[TARGET].logs["info"]["../core.1"]
    assert is_all_there(cluster)
    cluster.log_requests()
    assert pull("--no-ingest").code == 0
    assert dict(cluster.log_requests())[TARGET] != "all"


def test_progress(pull: Callable[..., Outcome], cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no terminal a slow pull says now and then how far it is, and whom it asks; -q says nothing."""
    monkeypatch.setattr("aiscorr.cli.progress.LINE_EVERY_S", 0.5)
    cluster.nodes[TARGET].fault = "hangs"
    outcome = pull("--no-ingest")
    assert outcome.code == 3
    assert f"2 of 3 nodes, 0.0 MB, asking {TARGET}\n" in outcome.err


def test_stopped(cluster: FakeCluster, tmp_path: Path) -> None:
    """A pull that is to stop keeps what it has, says that the rest was not pulled, and the next one goes on."""
    from aiscorr.pull.connection import Connection
    from aiscorr.pull.gather import SpoolOptions
    from aiscorr.pull.gather import pull as pull_cluster

    options = SpoolOptions(str(tmp_path / "spool"), width=1)
    summary = pull_cluster(Connection(cluster.url), options, should_stop=lambda: len(cluster.asked) >= 2)
    assert summary.is_stopped
    assert {reason for _, _, reason in summary.gaps} == {"the pull was stopped"}
    done = pull_cluster(Connection(cluster.url), options)
    assert (done.is_stopped, done.gaps) == (False, [])
    assert summary.byte_count + done.byte_count == sum(
        len(data) for node in cluster.nodes.values() for files in node.logs.values() for data in files.values()
    )


def test_another_proxy_is_asked(run: Command, cluster: FakeCluster) -> None:
    """Where the endpoint is dead, another proxy of the map that it gave last is asked, and that is said."""
    cluster.smap["pmap"][PROXY]["public_net"]["direct_url"] = cluster.url
    with HTTPServer(threaded=True) as first:
        first.expect_request("/v1/daemon").respond_with_json(cluster.smap)
        first.expect_request("/v1/reverse/daemon").respond_with_handler(cluster._reverse)
        endpoint = first.url_for("").rstrip("/")
        assert run("pull", "--endpoint", endpoint, "--no-ingest").code == 0
    cluster.nodes[TARGET].write(LINE.format(1))
    done = run("pull", "--endpoint", endpoint, "--no-ingest")
    assert done.code == 0 and f"notice: {endpoint} does not answer; asked {cluster.url} of its last map" in done.err
    assert any(log.endswith(LINE.format(1).encode()) for log in spooled(cluster, TARGET).values())
    cluster.smap["uuid"] = "another"
    refused = run("pull", "--endpoint", endpoint, "--no-ingest")
    assert refused.code == 1 and "the cluster gives nothing" in refused.err
