"""`aiscorr completion`: shells complete verbs, options and what the database has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command
from scenes import Library

import aiscorr

DB = "target_killed_short_batch"


def completed(line: str, db: str) -> list[str]:
    """What bash is offered for a line that is being typed."""
    words = line.split(" ")
    values = {**os.environ, "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_AISCORR_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "aiscorr"], env=values | {"AISCORR_DB": db}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return [item.partition(",")[2] for item in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("aiscorr li", ["lines"]),
        ("aiscorr report --f", ["--format", "--full"]),
        ("aiscorr report --format h", ["html"]),
        ("aiscorr report 418", ["4184269.0-20260914T102238", "4184269"]),
        ("aiscorr query @time", ["@timeline"]),
        ("aiscorr query @timeline -p f", ["failure="]),
        ("aiscorr query @timeline -p failure=4", ["failure=4184269.0-20260914T102238"]),
        ("aiscorr query --describe get_batch_chain_", ["get_batch_chain_step"]),
        ("aiscorr explain AZq", ["AZq6Oo53"]),
        ("aiscorr explain sdk_batch_short", ["sdk_batch_short_retry", "sdk_batch_short"]),
        ("aiscorr lines latest", ["latest"]),
    ],
)
def test_values(line: str, found: list[str], library: Library) -> None:
    """Verbs, options and their values, failures, jobs, named queries with parameters, views, nodes and patterns."""
    assert completed(line, library.database(DB)) == found


def test_without_a_database(tmp_path: Path) -> None:
    """A key that is pressed where there is no database says nothing and offers what is known without one."""
    assert completed("aiscorr report ", str(tmp_path / "none.duckdb")) == ["latest", "all"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, run: Command) -> None:
    """Each shell gets a script that its parser takes, with a word on where it belongs."""
    done = run("completion", shell)
    assert done.code == 0 and done.out.startswith("# ") and f"aiscorr completion {shell}" in done.out.splitlines()[0]
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=done.out, text=True, check=False).returncode == 0


def test_words_that_bash_breaks(run: Command, library: Library, tmp_path: Path) -> None:
    """Behind `@` and `=`, where bash begins a new word, only the rest of the word is offered."""
    program = tmp_path / "aiscorr"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m aiscorr "$@"\n')
    program.chmod(0o755)
    script = (
        run("completion", "bash").out
        + """
compopt() { :; }
COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
for COMP_LINE in "aiscorr query @timel" "aiscorr query @timeline -p failure=4" "aiscorr rep"; do
    COMP_POINT=${#COMP_LINE}; _aiscorr_completion aiscorr; echo "${COMPREPLY[*]}"
done
"""
    )
    values = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "AISCORR_DB": library.database(DB)}
    values["PYTHONPATH"] = str(Path(aiscorr.__file__).parents[1])
    done = subprocess.run(["bash", "-c", script], env=values, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["timeline", "4184269.0-20260914T102238", "report"], done.stderr
