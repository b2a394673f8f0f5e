"""The recorder of real jobs: its scenarios are sane, its launcher does as told, what it stores can be judged.

Nothing here needs PyTorch, which the project does not depend on.
"""

from __future__ import annotations

import ast
import io
import re
import signal
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from aiscorr.parse.spec.pattern_words import FAILURE_CLASSES
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.record import launch, store_run
from benchmarks.accuracy.record.catalog import JOBS, all_scenarios, needs_of, read_scenario
from benchmarks.accuracy.record.commands import Plan
from benchmarks.accuracy.record.files import FILES, rows
from benchmarks.accuracy.record.launch import Outcome, files_of, objects_of, run
from benchmarks.accuracy.record.neutral import make_neutral
from benchmarks.accuracy.record.objects import OBJECTS, packed_rows, parts, shards
from benchmarks.accuracy.record.scenario import (
    FAULTS,
    VERDICTS,
    Act,
    Layout,
    Scenario,
    Start,
    Truth,
)

SCENARIOS = all_scenarios()
ACT = re.compile(r"(SIG[A-Z0-9]+) (rank|loader|node|launcher) (\d)|stacks|records|stop store|cut [\w./-]+")
# A task writes its line at once: the pieces of two unbuffered prints may mix.
TASK = """import os, time
words = ("task", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], os.environ["AIS_ENDPOINT"])
os.write(1, f"{' '.join(words)}\\n".encode())
time.sleep(300)
"""


def options_of(script: str) -> dict[str, tuple[str, ...]]:
    """The options of a script and of its neighbours that it imports, with their choices where these are listed."""
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(ast.parse((JOBS / script).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (JOBS / f"{node.module}.py").exists():
            found |= options_of(f"{node.module}.py")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            name, given = ast.literal_eval(node.args[0]), {one.arg: one.value for one in node.keywords}
            listed = given.get("choices")
            found[name] = tuple(ast.literal_eval(listed)) if isinstance(listed, ast.Tuple) else ()
            if isinstance(action := given.get("action"), ast.Attribute) and action.attr == "BooleanOptionalAction":
                found[name.replace("--", "--no-")] = ()
    return found


def test_names_and_accounts_are_unique() -> None:
    """Every scenario has a name and an account of its own, and no subject is a drawer for one or two."""
    for values in ([one.name for one in SCENARIOS], [one.what for one in SCENARIOS]):
        assert len(set(values)) == len(values) >= 200
    assert min(Counter(one.subject for one in SCENARIOS).values()) >= 5


def test_scripts_exist_and_know_their_options() -> None:
    """Every scenario names a script that is there, with options that it has (but one); every script has a scenario."""
    for one in SCENARIOS:
        known = options_of(one.script)
        for given, value in zip(one.job[1:], (*one.job[2:], ""), strict=False):
            if given.startswith("--"):
                assert (given in known) == (given != "--data-dir"), (one.name, given)
                assert value in (known.get(given) or (value,)), (one.name, given, value)
    imported = {f"{name}.py" for name in ("cluster", "loop", "readers", "tasks", "run_tasks")}
    assert {one.script for one in SCENARIOS} | imported == {path.name for path in JOBS.glob("*.py")}


def test_scenarios_are_well_formed() -> None:
    """Faults, acts, formats of the log, nodes and what lies beside a job exist, and only then can it be recorded."""
    styles = set(re.findall(r'^    "(\w+)": "', (JOBS / "cluster.py").read_text("utf-8"), re.MULTILINE)) | {"json"}
    for one in SCENARIOS:
        assert one.style in styles and set(one.files) <= set(FILES) and set(one.objects) <= set(OBJECTS), one.name
        assert (one.start is Start.TASKS) or one.layout not in (Layout.TASKS, Layout.LABELS), one.name
        named = (*one.node_env, *one.limits, *one.shared_memory_mib, *one.delays_s, *one.absent_nodes)
        assert {*named, *one.wrong_port_nodes} <= set(range(one.nodes)), one.name
        for fault in one.faults:
            assert fault.kind in FAULTS and re.compile(fault.path), one.name
        for act in one.acts:
            assert re.compile(act.after)
            for found in map(ACT.fullmatch, act.do):
                assert found is not None, (one.name, act.do)
                bound = one.nodes if found[2] in ("node", "launcher") else one.nodes * one.ranks_per_node
                assert found[1] is None or (found[1] in signal.Signals.__members__ and int(found[3]) < bound), one.name


def test_truths_speak_the_words_of_the_contract() -> None:
    """A truth names known classes, ranks that exist and a known verdict, in the keys that a scorer reads."""
    for one in SCENARIOS:
        written = tomllib.loads(store_run.truth_text(one))
        assert written["failure_words"] == one.name and written["what"] == one.what
        if one.truth is None:
            assert "expect" not in written
            continue
        (expected,) = written["expect"]
        assert set(expected) <= {"culprit_ranks", "failure_class", "also_ok", "storage_verdict"}
        classes = [expected["failure_class"], *expected["also_ok"]]
        assert set(classes) <= set(FAILURE_CLASSES) and len(set(classes)) == len(classes), one.name
        assert expected.get("culprit_ranks", []) == list(one.truth.culprit_ranks or ()), one.name
        assert set(expected.get("culprit_ranks", [])) <= set(range(one.nodes * one.ranks_per_node)), one.name
        assert expected.get("storage_verdict") in (None, *VERDICTS), one.name


def test_no_script_tells_its_scenario() -> None:
    """A script, which a traceback quotes, holds no name of a scenario and no word of how it is judged."""
    texts = {path.name: path.read_text("utf-8") for path in JOBS.glob("*.py")}
    assert not [one.name for one in SCENARIOS if any(one.name in text for text in texts.values())]
    told = re.compile(r"culprit|scenario|verdict|innocent|guilty|inject", re.IGNORECASE)
    assert not [name for name, text in texts.items() if told.search(text)]


def test_keys_that_are_unknown_are_named() -> None:
    """A table with a key that means nothing is refused with its place and the keys there are."""
    with pytest.raises(ValueError, match=r"stuck.toml, \[odd\]: unknown key lauout; there are .*layout"):
        read_scenario("odd", "stuck", {"what": "Odd.", "job": "pretrain.py", "launch": {"lauout": "tee"}})


def test_modules_follow_from_script_and_client() -> None:
    """A job needs what its script imports, and what its client is made of."""
    found = {one.name: needs_of(one) for one in SCENARIOS}
    assert found["rank_is_stopped"] == ()
    assert found["boto_body_is_cut"] == ("boto3",)
    assert found["sdk_read_times_out"] == ("aistore", "tenacity")
    assert {"lightning", "webdataset"} <= set(found["healthy_lightning"])
    own = (
        {path.stem for path in JOBS.glob("*.py")} | {"torch", "numpy", "rotary_kernels"} | set(sys.stdlib_module_names)
    )
    for one in SCENARIOS:
        nodes = list(ast.walk(ast.parse((JOBS / one.script).read_text("utf-8"))))
        named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        named |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        assert {name.partition(".")[0] for name in named} - own <= set(found[one.name]), one.name


def test_files_and_objects_are_odd_only_where_asked() -> None:
    """A row, a list, an array or a shard differs from the rest at the place it was asked for, and nowhere else."""
    given = {"odd": {"1:4": {"lang": "?"}}, "without": {"0:2": "title"}, "counts": (9, 9)}
    plain, other = rows("title", (9, 9)), rows("title", **given)  # type: ignore[arg-type]
    odd = [
        (name, at)
        for name in plain
        for at, (one, two) in enumerate(zip(plain[name].splitlines(), other[name].splitlines(), strict=True))
        if one != two
    ]
    assert odd == [("rows/0.jsonl", 2), ("rows/1.jsonl", 4)] and "title" not in other["rows/0.jsonl"].splitlines()[2]
    whole, hurt = parts(), parts(spoiled=("0/6",))
    assert [name for name in whole if whole[name] != hurt[name]] == ["speech-v3/train/0/part-00006.npy"]
    cut = packed_rows(cut="1/2")
    assert [name for name, body in packed_rows().items() if cut[name] != body] == ["instruct/rank1/part-002.jsonl.gz"]
    whole_tar, cut_tar = shards(2, cut=(1,)).values()
    with tarfile.open(fileobj=io.BytesIO(whole_tar), mode="r|") as tar:
        assert len(list(tar)) == 6
    with pytest.raises(tarfile.ReadError), tarfile.open(fileobj=io.BytesIO(cut_tar), mode="r|") as tar:
        for member in tar:
            data = tar.extractfile(member)
            assert data is not None
            data.read()


def test_every_scenario_finds_what_it_reads() -> None:
    """The makers of files and objects take the arguments that scenarios give them."""
    for one in {repr((each.files, each.objects)): each for each in SCENARIOS}.values():
        assert all(files_of(one)) and all(objects_of(one)), one.name


def test_launchers_are_named_by_how_ranks_start(tmp_path: Path) -> None:
    """torchrun, plain tasks and spawned processes have a command and an environment of their own."""

    def plan(start: Start, layout: Layout, launcher: tuple[str, ...] = ()) -> Plan:
        job, env = ("s.py", "{store}"), {1: {"PLACE": "{store_port}"}}
        one = Scenario("n", "s", "w", job, None, "clip", layout, start, 2, 2, launcher, node_env=env)
        return Plan(one, 1, 4711, tmp_path / "work", tmp_path / "logs")

    elastic = plan(Start.TORCHRUN, Layout.STREAM, ("--rdzv-endpoint=127.0.0.1:{port}",))
    assert "--rdzv-endpoint=127.0.0.1:4711" in elastic.command("py", "http://x:8")
    assert "MASTER_PORT" not in elastic.environment("http://x:8")
    tasks = plan(Start.TASKS, Layout.LABELS)
    assert tasks.command("py", "http://x:8")[1:5] == ["run_tasks.py", "--first=2", "--count=2", "--world=4"]
    given = tasks.environment("http://x:8")
    assert (given["MASTER_PORT"], given["LOG_STYLE"], given["PLACE"]) == ("4711", "clip", "8")
    assert {path.name for path in tasks.streams()} == {"slurm-482913.out"}
    assert plan(Start.SPAWN, Layout.STREAM).command("py", "http://x:8") == ["py", "s.py", "http://x:8"]


def test_tasks_get_their_ranks_and_labels(tmp_path: Path) -> None:
    """The launcher of plain tasks numbers them, labels their lines and ends with the worst of their codes."""
    script = tmp_path / "task.py"
    script.write_text("import os, sys\nprint(os.environ['RANK'])\nsys.exit(int(os.environ['RANK']) - 2)\n", "utf-8")
    command = [
        sys.executable,
        str(JOBS / "run_tasks.py"),
        "--first=2",
        "--count=2",
        "--world=4",
        "--label",
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert sorted(done.stdout.splitlines()) == ["2: 2", "3: 3"] and done.returncode == 1


def job_of_tasks(acts: tuple[Act, ...], limit_s: float = 120) -> Scenario:
    """A job of two tasks that wait for longer than any test."""
    job = ("run_tasks.py", "--first=0", "--count=2", "--world=2", "task.py")
    truth = Truth("infrastructure", (1,))
    return Scenario(
        "n", "s", "Both ranks are ended.", job, truth, layout=Layout.STREAM, start=Start.SPAWN, ranks_per_node=2,
        texts={"task.py": TASK, "deep/note.txt": "words"}, links={"gone": "/dev/full"}, acts=acts, limit_s=limit_s,
    )  # fmt: skip


def test_acts_follow_the_lines_of_a_job(tmp_path: Path) -> None:
    """Ranks are signalled once their lines have come, a file is cut, and the launcher's exit code tells."""
    acts = (
        Act(
            "task 0 of 2(?s:.*)task 1|task 1 of 2(?s:.*)task 0",
            ("cut deep/note.txt", "SIGTERM rank 1", "SIGTERM rank 0"),
        ),
        Act("never", ("stacks",)),
    )
    outcome = run(job_of_tasks(acts), sys.executable, tmp_path / "job", tmp_path / "logs")
    assert outcome.exit_codes == {0: 15} and not outcome.was_ended and outcome.acts_left == 1
    assert (tmp_path / "job" / "deep" / "note.txt").read_text("utf-8") == "wo"
    assert (tmp_path / "job" / "gone").readlink() == Path("/dev/full")
    assert "task 0 of 2 http://127.0.0.1:" in (tmp_path / "logs" / "train.out").read_text("utf-8")


def test_a_step_is_not_done_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that cannot be found at first leaves its step and those after it to be done, none before it."""
    done: list[str] = []
    really = launch.Run.send

    def send(job: launch.Run, number: signal.Signals, kind: str, which: int) -> None:
        done.append(f"{kind} {which}")
        if done.count("rank 0") == 1 and kind == "rank":
            raise LookupError(which)
        if kind == "launcher":
            really(job, number, kind, which)

    monkeypatch.setattr(launch.Run, "send", send)
    act = Act("task 0 of 2", ("SIGTERM rank 1", "SIGTERM rank 0", "SIGKILL launcher 0"))
    outcome = run(job_of_tasks((act,)), sys.executable, tmp_path / "job", tmp_path / "logs")
    assert done == ["rank 1", "rank 0", "rank 0", "launcher 0"] and outcome.exit_codes == {0: -9}


def test_a_job_is_ended_at_its_limit(tmp_path: Path) -> None:
    """A job that does not end is ended with all its processes."""
    outcome = run(job_of_tasks((), limit_s=1.5), sys.executable, tmp_path / "job", tmp_path / "logs")
    assert outcome.was_ended and 1 < outcome.seconds < 20


def test_a_recording_holds_logs_truth_and_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored has neutral names; a run that is not as meant is called so and makes the exit code 1."""

    def done(one: Scenario, python: str, work: Path, logs: Path) -> Outcome:
        logs.mkdir()
        (logs / "torchrun.err").write_text(f"at {work}/train.py\n", "utf-8")
        return Outcome({0: int(one.name == "fails")}, 2.0, False, 0, (f"{python} {work}/train.py",))

    truth = Truth("software", (0,))
    made = tuple(Scenario(name, "s", f"It {name}.", ("pretrain.py",), truth) for name in ("fails", "passes"))
    monkeypatch.setattr(store_run, "all_scenarios", lambda: made)
    monkeypatch.setattr(store_run, "run", done)
    monkeypatch.setattr(store_run, "_probe", lambda python, modules: ({}, dict.fromkeys(modules, True)))
    assert store_run.record(tmp_path, ["fails"], [], 1, "py") == 0
    assert store_run.record(tmp_path, [], ["s"], 2, "py") == 1
    assert "passes: 2 s, exit [0]; NOT as meant" in capsys.readouterr().err
    assert (tmp_path / "fails" / "logs" / "torchrun.err").read_text("utf-8") == "at /mnt/asr/train.py\n"
    assert "    python3 /mnt/asr/train.py" in (tmp_path / "fails" / "README.md").read_text("utf-8")
    assert tomllib.loads((tmp_path / "fails" / "truth.toml").read_text("utf-8"))["expect"][0]["culprit_ranks"] == [0]
    with pytest.raises(SystemExit, match="no such subject: t; there are: s"):
        store_run.record(tmp_path, [], ["t"], 1, "py")


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
    monkeypatch.setattr(store_run, "_probe", lambda python, modules: absent)
    assert store_run.record(tmp_path, ["node_is_lost"], [], 1, "python") == 1
    assert "python -m pip install torch numpy" in capsys.readouterr().err


def test_scenarios_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """`record --list` prints a line a scenario with its subject and what happens."""
    main(["record", "--list", "--subject", "restarts", "--only", "rank_is_stopped"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + sum(one.subject == "restarts" for one in SCENARIOS)
    assert re.match(r"stuck +rank_is_stopped +Rank 1 is sent SIGSTOP", lines[0])
