"""Stores a recording: runs a scenario in a folder of its own, makes its logs neutral, writes its truth and README."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.accuracy.record.catalog import all_scenarios, needs_of
from benchmarks.accuracy.record.launch import Outcome, run
from benchmarks.accuracy.record.neutral import make_neutral
from benchmarks.accuracy.record.scenario import Scenario, Truth

Prefixes = dict[str, str]
_PROBE = (
    "import importlib.util, json, sys; "
    "print(json.dumps([sys.prefix, sys.base_prefix, {n: bool(importlib.util.find_spec(n)) for n in sys.argv[1:]}]))"
)


def record(out: Path, only: Sequence[str], subjects: Sequence[str], jobs: int, python: str) -> int:
    """Records the scenarios asked for, all by default; returns an exit code."""
    chosen = chosen_of(only, subjects)
    needed = sorted({"torch", "numpy", *(need for one in chosen for need in needs_of(one))})
    prefixes, here = _probe(python, needed)
    if not here["torch"] or not here["numpy"]:
        _say(f"{python} has no torch or no numpy: `{python} -m pip install torch numpy`, or name another with --python")
        return 1
    able = []
    for one in chosen:
        missing = [need for need in needs_of(one) if not here[need]]
        if one.shared_memory_mib and not _may_mount():
            _say(f"{one.name}: skipped, a small /dev/shm needs root and unshare")
        elif missing:
            _say(f"{one.name}: skipped, it needs `{python} -m pip install {' '.join(missing)}`")
        else:
            able.append(one)
    with ThreadPoolExecutor(jobs) as pool:
        wrong = sum(pool.map(lambda one: _record_one(one, out, python, prefixes), able))
    return 1 if wrong else 0


def truth_text(scenario: Scenario) -> str:
    """The truth.toml of a scenario."""
    lines = [f"failure_words = {json.dumps(scenario.name)}", f"what = {json.dumps(scenario.what)}"]
    if scenario.truth is None:
        return "\n".join([*lines, "# What a report must say: nothing, no failure", ""])
    return "\n".join([*lines, "", "# What a report must say", "[[expect]]", *_expect(scenario.truth), ""])


def _expect(truth: Truth) -> list[str]:
    lines = []
    if truth.culprit_ranks is not None:
        lines.append(f"culprit_ranks = {list(truth.culprit_ranks)}")
    lines.append(f'failure_class = "{truth.failure_class}"')
    lines.append(f"also_ok = {json.dumps(list(truth.also_ok))}")
    if truth.storage_verdict is not None:
        lines.append(f'storage_verdict = "{truth.storage_verdict}"')
    return lines


def _record_one(scenario: Scenario, out: Path, python: str, prefixes: Prefixes) -> bool:
    folder = out / scenario.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="train-") as work:
        home = Path(work).resolve()
        names = {str(home / "job"): "/mnt/asr", str(home / "logs"): "/mnt/logs", **prefixes}
        outcome = run(scenario, python, home / "job", home / "logs")
        shutil.copytree(home / "logs", folder / "logs")
    make_neutral(folder / "logs", names)
    (folder / "truth.toml").write_text(truth_text(scenario), "utf-8")
    commands = [_renamed(command, {python: "python3", **names}) for command in outcome.commands]
    (folder / "README.md").write_text(_readme(scenario, outcome, commands), "utf-8")
    is_wrong = outcome.was_ended or bool(outcome.acts_left)
    is_wrong |= any(outcome.exit_codes.values()) == (scenario.truth is None or scenario.ends_well)
    _say(
        f"{scenario.name}: {outcome.seconds:.0f} s, exit {list(outcome.exit_codes.values())}"
        + _complaint(outcome, is_wrong)
    )
    return is_wrong


def _complaint(outcome: Outcome, is_wrong: bool) -> str:
    ended = "; ended at its limit" if outcome.was_ended else ""
    left = f"; {outcome.acts_left} acts never came to pass" if outcome.acts_left else ""
    return ended + left + ("; NOT as meant" if is_wrong else "")


def _readme(scenario: Scenario, outcome: Outcome, commands: Sequence[str]) -> str:
    set_here = " ".join(f"{name}={value}" for name, value in scenario.env.items())
    parts = [
        f"# {scenario.name}",
        "Real run: gloo on the loopback, the object server a stand-in that speaks AIStore's paths; folders, Python and "
        "host were renamed.",
        scenario.what,
        f"Stored as: {scenario.layout.value}. Exit codes of the launchers: "
        f"{list(outcome.exit_codes.values())}, after {outcome.seconds:.0f} s.",
        f"Environment: `{set_here}`" if set_here else "",
        *(f"    {command}" for command in commands),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _renamed(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def chosen_of(only: Sequence[str], subjects: Sequence[str]) -> list[Scenario]:
    """The scenarios of those names and subjects, all where none is given; SystemExit names one that is unknown."""
    known = {one.name: one for one in all_scenarios()}
    named = {one.subject for one in known.values()}
    for kind, unknown, there in (
        ("scenario", [name for name in only if name not in known], known),
        ("subject", [name for name in subjects if name not in named], named),
    ):
        if unknown:
            raise SystemExit(f"no such {kind}: {', '.join(unknown)}; there are: {', '.join(sorted(there))}")
    found = [known[name] for name in only]
    found += [one for one in known.values() if one.subject in subjects and one.name not in only]
    return found if only or subjects else list(known.values())


def listing(only: Sequence[str], subjects: Sequence[str]) -> str:
    """A line a scenario: its subject, its name, what happens."""
    return "\n".join(f"{one.subject:12} {one.name:48} {one.what}" for one in chosen_of(only, subjects))


def _probe(python: str, modules: Sequence[str]) -> tuple[Prefixes, dict[str, bool]]:
    try:
        done = subprocess.run([python, "-c", _PROBE, *modules], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemExit(f"{python} cannot be asked for its modules: {error}") from error
    prefix, base, here = json.loads(done.stdout)
    return {base: "/usr/local", prefix: "/opt/venv"}, dict(here)


def _may_mount() -> bool:
    tried = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /dev/shm"]
    try:
        return subprocess.run(tried, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
