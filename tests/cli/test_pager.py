"""Long output goes to a pager on a terminal, as with git, and nowhere else."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command
from scenes import Library

from aiscorr.cli.context import has_colors
from aiscorr.cli.pager import page, pager_of

PATH = os.environ["PATH"]


@pytest.fixture(name="programs")
def programs_fixture(tmp_path: Path) -> str:
    """A folder with programs `less` and `more`, for a PATH."""
    for name in ("less", "more"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


def test_which_pager(programs: str) -> None:
    """AISCORR_PAGER counts before PAGER and that before less, which stays where all fits on the screen."""
    base = {"PATH": programs}
    assert pager_of(base) == ["less", "-F", "-R", "-X"]
    assert pager_of(base | {"PAGER": "more -e"}) == ["more", "-e"]
    assert pager_of(base | {"PAGER": "more", "AISCORR_PAGER": "less -S"}) == ["less", "-S"]
    assert pager_of(base | {"LESS": "-R"}) == ["less"]
    assert pager_of(base, jump="^[>!]") == ["less", "-F", "-R", "-X", "-j.3", "+/^[>!]"]
    assert pager_of(base, is_wide=True) == ["less", "-F", "-R", "-X", "-S"]
    assert pager_of(base | {"PAGER": "more"}, jump="x") == ["more"]


@pytest.mark.parametrize("given", [{"PAGER": "cat"}, {"AISCORR_PAGER": ""}, {"TERM": "dumb"}, {"PAGER": "nope"}])
def test_no_pager(given: dict[str, str], programs: str) -> None:
    """`cat`, an empty name, a program that is not there and a terminal that cannot move are no pager."""
    assert pager_of({"PATH": programs} | given) is None


def test_a_pager_that_is_left(tmp_path: Path) -> None:
    """Who leaves the pager early ends the output quietly, and Ctrl-C is the command's again."""
    before = signal.getsignal(signal.SIGINT)
    page(("x" * 1000 for _ in range(10_000)), ["true"])
    seen = tmp_path / "seen"
    page(["a\n", "b – ⏎\n"], ["sh", "-c", f"cat > '{seen}'"])
    assert seen.read_text("utf-8") == "a\nb – ⏎\n" and signal.getsignal(signal.SIGINT) is before


def test_without_a_terminal(run: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe and a file get the text itself, whatever pager is named."""
    monkeypatch.setenv("AISCORR_PAGER", "sh -c 'echo paged'")
    db = library.database("target_killed_short_batch")
    assert run("--db", db, "report").out.startswith("FAILURE ")


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal."""
    main, other = pty.openpty()
    values = {**os.environ, "PATH": PATH, "TERM": "xterm", **environment}
    process = subprocess.Popen([sys.executable, "-m", "aiscorr", *arguments], stdout=other, env=values)
    os.close(other)
    out = b""
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        out += data
    os.close(main)
    process.wait()
    return out.decode("utf-8", "replace")


def test_on_a_terminal(library: Library) -> None:
    """A terminal gets what the pager makes of the report, and with --no-pager the report."""
    db = library.database("target_killed_short_batch")
    pager = {"AISCORR_PAGER": "sh -c 'echo paged; head -n 3'"}
    paged = on_a_terminal("--db", db, "report", **pager)
    assert paged.startswith("paged") and "FAILURE " in paged and "Timeline" not in paged
    assert "Timeline" in on_a_terminal("--db", db, "report", "--no-pager", **pager)
    assert on_a_terminal("--db", db, "query", "@failures", **pager).startswith("paged")
    assert "\x1b" not in on_a_terminal("--db", db, "report", "--no-pager", TERM="dumb")


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours are for a terminal that can show them, unless NO_COLOR is set; a flag decides before that."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert has_colors(None) and not has_colors(None, "file") and not has_colors(False)
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colors(None) and has_colors(True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colors(None)
