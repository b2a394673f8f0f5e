"""The recorder of real jobs: its scenarios are sane, its object server misbehaves as told, its truths can be read back.

Nothing here runs a job: that needs PyTorch, which the project does not depend on.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.accuracy.record.commands import Plan
from benchmarks.accuracy.record.neutral import make_neutral
from benchmarks.accuracy.record.object_server import ObjectStore
from benchmarks.accuracy.record.payloads import array, tar_shards
from benchmarks.accuracy.record.scenario import CLASSES, SETS, VERDICTS, Fault, Layout, Scenario, Start
from benchmarks.accuracy.record.scenarios import all_scenarios
from benchmarks.accuracy.record.store_run import record, truth_text
from benchmarks.accuracy.record.texts import books, boxes, instructions, masks, recommender
from benchmarks.accuracy.score.truth import read_truth

SCENARIOS = all_scenarios()
JOBS = Path(__file__).parents[2] / "benchmarks" / "accuracy" / "record" / "jobs"
BODY = array(1)
OBJECTS = {f"b/{name}": BODY for name in ("good", "reset", "close", "cut", "refused", "twice", "spoiled")}
FAULTS = (
    Fault("/reset$", "reset"),
    Fault("/close$", "close"),
    Fault("/cut$", "cut"),
    Fault("/refused$", "status", status=429, message="slow down", headers={"Retry-After": "3"}),
    Fault("^/v1/.*/twice$", "status", first=2, status=503),
    Fault("^/v1/.*/spoiled$", "spoil"),
    Fault("^/v1/.*/twice$", "late", delay_s=0.05),
    Fault("^put:/s3/closed/", "status", status=403, message="Access Denied."),
)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    """A store on the loopback."""
    with ObjectStore(OBJECTS, FAULTS) as running:
        yield running


def read(store: ObjectStore, name: str) -> bytes:
    """The object, through the proxy's redirect."""
    with urllib.request.urlopen(f"{store.endpoint}/v1/objects/b/{name}", timeout=5) as response:
        return bytes(response.read())


def status(store: ObjectStore, name: str) -> tuple[int, str, Mapping[str, str]]:
    """The status, body and head of a refused read."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        read(store, name)
    with caught.value as refused:
        return refused.code, refused.read().decode(), dict(refused.headers)


def test_names_are_unique_and_scripts_exist() -> None:
    """Every scenario has a name and an account of its own and a script that is there."""
    for values in ([one.name for one in SCENARIOS], [one.what for one in SCENARIOS]):
        assert len(set(values)) == len(values) >= 30
    assert {one.script for one in SCENARIOS} <= {path.name for path in JOBS.glob("*.py")}


def test_sets_share_no_scenario() -> None:
    """Each scenario belongs to one set, and no set is small."""
    by_set = {held: all_scenarios(held) for held in SETS}
    assert all({one.held for one in found} == {held} and len(found) >= 28 for held, found in by_set.items())
    assert {one.name for found in by_set.values() for one in found} == {one.name for one in SCENARIOS}


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_truths_speak_the_words_of_the_contract(one: Scenario, tmp_path: Path) -> None:
    """A truth names known classes, ranks that exist and a known verdict, and is read back as it was written."""
    (tmp_path / "truth.toml").write_text(truth_text(one), "utf-8")
    found = read_truth(tmp_path)
    assert found.kind == one.name and not found.may_be_undetermined
    if one.truth is None:
        assert found.expected == ()
        return
    (expected,) = found.expected
    assert expected.classes == (one.truth.failure_class, *one.truth.also_ok)
    assert set(expected.classes) <= CLASSES and len(set(expected.classes)) == len(expected.classes)
    assert expected.culprits == one.truth.culprit_ranks
    assert all(rank < one.nodes * one.ranks_per_node for rank in expected.culprits or ())
    assert expected.verdict == one.truth.storage_verdict and expected.verdict in (None, *VERDICTS)


def test_no_script_tells_its_scenario() -> None:
    """A script, which a traceback quotes, does not hold the name of a scenario."""
    texts = [path.read_text("utf-8") for path in JOBS.glob("*.py")]
    assert not [one.name for one in SCENARIOS if any(one.name in text for text in texts)]


def test_objects_are_found_behind_a_redirect(store: ObjectStore) -> None:
    """The proxy sends a client to a target, which has the object or says in AIStore's words that it has not."""
    assert read(store, "good") == BODY
    code, text, _ = status(store, "nowhere")
    assert code == 404 and "ais://b/nowhere does not exist" in text


def test_faults_are_those_that_were_asked_for(store: ObjectStore) -> None:
    """Resets, closed connections, cut and spoiled bodies and refusals look to a client like the real ones."""
    with pytest.raises((ConnectionResetError, urllib.error.URLError)):
        read(store, "reset")
    with pytest.raises(http.client.RemoteDisconnected):
        read(store, "close")
    with pytest.raises(http.client.IncompleteRead):
        read(store, "cut")
    assert len(read(store, "spoiled")) == len(BODY) and read(store, "spoiled") != BODY
    code, text, head = status(store, "refused")
    assert code == 429 and "slow down" in text and head["Retry-After"] == "3"
    assert [status(store, "twice")[0] for _ in range(2)] == [503, 503] and read(store, "twice") == BODY


def test_parts_of_objects_can_be_read(store: ObjectStore) -> None:
    """A range is answered with that part and its place; one behind the end is refused."""
    url = f"{store.endpoint}/s3/b/good"
    asked = urllib.request.Request(url, headers={"Range": "bytes=10-19"})
    with urllib.request.urlopen(asked, timeout=5) as response:
        assert response.status == 206 and response.read() == BODY[10:20]
        assert response.headers["Content-Range"] == f"bytes 10-19/{len(BODY)}"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(url, headers={"Range": f"bytes={len(BODY)}-"}), timeout=5)
    caught.value.close()
    assert caught.value.code == 416


def test_launchers_are_named_by_how_ranks_start(tmp_path: Path) -> None:
    """torchrun, plain tasks and spawned processes have a command and an environment of their own."""

    def plan(start: Start, layout: Layout, launcher: tuple[str, ...] = ()) -> Plan:
        one = Scenario("n", "w", "s.py", None, ("{store}",), layout, 2, 2, launcher=launcher, start=start)
        return Plan(one, 1, 4711, tmp_path / "work", tmp_path / "logs")

    elastic = plan(Start.TORCHRUN, Layout.STREAM, ("--rdzv-endpoint=127.0.0.1:{port}",))
    assert "--rdzv-endpoint=127.0.0.1:4711" in elastic.command("py", "http://x") and elastic.node == 1
    assert "MASTER_PORT" not in elastic.environment("http://x")
    tasks = plan(Start.TASKS, Layout.LABELS)
    assert tasks.command("py", "http://x")[1:5] == ["run_tasks.py", "--first=2", "--count=2", "--world=4"]
    assert tasks.environment("http://x")["MASTER_PORT"] == "4711"
    assert {path.name for path in tasks.streams()} == {"slurm-482913.out"}
    assert plan(Start.SPAWN, Layout.STREAM).command("py", "http://x") == ["py", "s.py", "http://x"]


def test_tasks_get_their_ranks_and_labels(tmp_path: Path) -> None:
    """The launcher of plain tasks numbers them, labels their lines and ends with the worst of their codes."""
    script = tmp_path / "task.py"
    script.write_text(
        "import os, sys\nprint(os.environ['WORLD_SIZE'])\nsys.exit(int(os.environ['RANK']) - 2)\n", "utf-8"
    )
    command = [
        sys.executable,
        str(JOBS / "run_tasks.py"),
        "--first=2",
        "--count=2",
        "--world=4",
        "--label",
        str(script),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "WORLD_SIZE"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert sorted(done.stdout.splitlines()) == ["2: 4", "3: 4"] and done.returncode == 1


def test_uploads_are_kept_or_denied(store: ObjectStore) -> None:
    """What is put can be read; where it is forbidden the answer is that of S3."""
    where = store.endpoint + "/s3/{}/key"
    put = urllib.request.Request(where.format("open"), data=b"new", method="PUT")
    with urllib.request.urlopen(put, timeout=5) as response:
        assert response.status == 200
    with urllib.request.urlopen(where.format("open"), timeout=5) as response:
        assert response.read() == b"new"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(where.format("closed"), data=b"new", method="PUT"), timeout=5)
    with caught.value as denied:
        assert denied.code == 403 and b"<Code>AccessDenied</Code>" in denied.read()


def test_a_store_that_goes_refuses_and_may_come_back() -> None:
    """A stopped store refuses connections; started again it listens where it did."""
    store = ObjectStore(OBJECTS)
    store.start()
    where = store.endpoint
    store.stop()
    with pytest.raises(urllib.error.URLError, match="refused"):
        read(store, "good")
    store.start()
    assert store.endpoint == where and read(store, "good") == BODY
    store.stop()


def test_cut_shards_are_no_whole_archives() -> None:
    """A shard that was cut cannot be read to its end, the others can."""
    made = tar_shards(2, cut=(1,))()
    whole, cut = (made[f"imagenet/train/shard-{number:06d}.tar"] for number in (0, 1))
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r|") as tar:
        assert len(list(tar)) == 6
    with pytest.raises(tarfile.ReadError), tarfile.open(fileobj=io.BytesIO(cut), mode="r|") as tar:
        for member in tar:
            data = tar.extractfile(member)
            assert data is not None
            data.read()


def test_texts_are_odd_only_where_asked() -> None:
    """A text, an annotation or a sample differs from the rest at the place it was asked for, and nowhere else."""
    plain, odd = books(2), books(2, {1: (500, "\n\n")})
    assert plain["data/books/part0.txt"] == odd["data/books/part0.txt"]
    pairs = zip(plain["data/books/part1.txt"], odd["data/books/part1.txt"], strict=True)
    assert [at for at, (one, other) in enumerate(pairs) if one != other] == [500, 501]
    for made, like in (
        (boxes(9, {4: {"width": 1}}), boxes(9)),
        (instructions(9, {4: {"prompt": "?"}}), instructions(9)),
    ):
        (text,), (usual,) = made.values(), like.values()
        rows = [
            (json.loads(one), json.loads(other)) for one, other in zip(*map(str.splitlines, (text, usual)), strict=True)
        ]
        assert [at for at, (one, other) in enumerate(rows) if one != other] == [4]
    assert [rank for rank, text in enumerate(masks(3, odd=(1, 4)).values()) if "255" in text] == [1]
    found = recommender({0: 3, 1: 0})
    assert found["heldout/users.0.txt"].count("\n") == 3 and not found["heldout/users.1.txt"]


def test_names_of_the_machine_are_taken_out(tmp_path: Path) -> None:
    """Folders and hosts get neutral names; a dump keeps its length, so that it stays readable."""
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "nccl_trace_rank_0").write_bytes(b"/home/me/my/venv/lib/x.py")
    (tmp_path / "torchrun.node1.err").write_text("  host      : desk.lan\nat /home/me/my/venv/lib/x.py\n", "utf-8")
    make_neutral(tmp_path, {"/home/me/my/venv": "/opt/venv"})
    assert (tmp_path / "fr" / "nccl_trace_rank_0").read_bytes() == b"/opt////////venv/lib/x.py"
    assert (tmp_path / "torchrun.node1.err").read_text("utf-8") == "  host      : gpu-1\nat /opt/venv/lib/x.py\n"


def test_a_python_without_torch_is_told_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PyTorch nothing is recorded, and the command that installs it is named."""
    absent = ({}, {"torch": False, "numpy": True})
    monkeypatch.setattr("benchmarks.accuracy.record.store_run._probe", lambda python, modules: absent)
    assert record(tmp_path, ["node_is_lost"], 1, "python") == 1
    assert "python -m pip install torch numpy" in capsys.readouterr().err
