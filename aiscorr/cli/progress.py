"""How far an ingest or a pull is, on stderr: a bar on a terminal, elsewhere lines, nothing for short runs."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import click

from aiscorr.cli.context import Context

Show = Callable[[str, int, int, int], None]
#: Between lines where there is no terminal; a run that ends before says nothing.
LINE_EVERY_S = 5.0
_READING = ("read", "scan")


@dataclass
class _Pace:
    """What there is to read, what is read, since when."""

    clock: Callable[[], float]
    file_count: int = 0
    byte_count: int = 0
    phase: str = "read"
    started_s: float = field(init=False)
    phase_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.started_s = self.phase_s = self.clock()

    def step(self, phase: str, first: int, second: int, row_count: int) -> str:
        """The step that follows reading and how far it is; of its own seconds the clock starts with it."""
        if phase != self.phase:
            self.phase, self.phase_s = phase, self.clock()
        return {
            "load": f"storing {row_count:,} events of {first:,} files",
            "views": f"analysing: {first:,} of {second:,} views",
            "cases": f"judging: {first:,} of {second:,} jobs",
            "publish": "publishing",
        }[phase]

    def text(self, phase: str, file_count: int, byte_count: int, row_count: int) -> str:
        """Files, bytes, rows and time left, in a line."""
        seconds = self.clock() - self.started_s
        if phase not in _READING:
            step = self.step(phase, file_count, byte_count, row_count)
            return f"{step}, {self.clock() - self.phase_s:.0f} s"
        share = min(byte_count / self.byte_count, 1.0) if self.byte_count else 1.0
        rest = f", about {seconds / share - seconds:.0f} s left to read" if share > 0.01 else ""
        return (
            f"{file_count:,} of {self.file_count:,} files, {byte_count / 1e6:,.1f} of {self.byte_count / 1e6:,.1f} MB,"
            f" {row_count:,} rows, {seconds:.0f} s{rest}"
        )


def _can_move() -> bool:
    """Whether a bar can be drawn over itself."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def progress(context: Context) -> Iterator[Show]:
    """What to tell the progress of an ingest to: phase (read, scan, load), files, bytes, rows."""
    if context.verbosity < 0:
        yield lambda phase, file_count, byte_count, row_count: None
    elif _can_move():
        with _bar() as show:
            yield show
    else:
        yield _lines(time.monotonic)


def _lines(clock: Callable[[], float]) -> Show:
    pace = _Pace(clock)
    next_s = pace.started_s + LINE_EVERY_S

    def show(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
        nonlocal next_s
        if phase == "read":
            pace.file_count, pace.byte_count = file_count, byte_count
        elif phase not in _READING:
            pace.step(phase, file_count, byte_count, row_count)
        if clock() >= next_s:
            next_s = clock() + LINE_EVERY_S
            click.echo(pace.text(phase, 0 if phase == "read" else file_count, 0 if phase == "read" else byte_count,
                                 row_count), err=True)  # fmt: skip

    return show


@contextlib.contextmanager
def _bar() -> Iterator[Show]:
    from rich import progress as rich
    from rich.console import Console

    words = rich.TextColumn("{task.fields[words]}")
    columns = (rich.SpinnerColumn(), rich.BarColumn(bar_width=20), words, rich.TimeElapsedColumn())
    pace = _Pace(time.monotonic)
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, words="looking for files")

        def show(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
            if phase == "read":
                pace.file_count, pace.byte_count = file_count, byte_count
                text = f"{file_count:,} files, {byte_count / 1e6:,.1f} MB to read"
                bar.update(task, total=max(byte_count, 1), completed=0, words=text)
            elif phase == "scan":
                text = (
                    f"{file_count:,}/{pace.file_count:,} files {byte_count / 1e6:,.1f}/{pace.byte_count / 1e6:,.1f} MB"
                    f" {row_count:,} rows"
                )
                bar.update(task, completed=byte_count, words=text)
            else:
                later(phase, file_count, byte_count, row_count)

        def later(phase: str, first: int, second: int, row_count: int) -> None:
            nonlocal task
            is_next = phase != pace.phase
            words = pace.step(phase, first, second, row_count)
            if is_next:  # a step has a clock of its own
                bar.update(task, visible=False)
                task = bar.add_task("", total=None, words=words)
            is_counted = phase in ("views", "cases")
            bar.update(task, words=words, total=second if is_counted else None, completed=first if is_counted else 0)

        yield show


@contextlib.contextmanager
def pull_progress(context: Context) -> Iterator[Callable[[int, int, int, tuple[str, ...]], None]]:
    """What to tell the progress of a pull to: nodes done, nodes there are, bytes, nodes that are being asked."""
    if context.verbosity < 0:
        yield lambda done, count, byte_count, names: None
    elif _can_move():
        with _pull_bar() as show:
            yield show
    else:
        next_s = time.monotonic() + LINE_EVERY_S

        def say(done: int, count: int, byte_count: int, names: tuple[str, ...]) -> None:
            nonlocal next_s
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + LINE_EVERY_S
                click.echo(_pull_text(done, count, byte_count, names), err=True)

        yield say


def _pull_text(done: int, count: int, byte_count: int, names: tuple[str, ...]) -> str:
    asked = f", asking {', '.join(names)}" if names else ""
    return f"{done} of {count} nodes, {byte_count / 1e6:,.1f} MB{asked}"


@contextlib.contextmanager
def _pull_bar() -> Iterator[Callable[[int, int, int, tuple[str, ...]], None]]:
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.SpinnerColumn(), rich.BarColumn(bar_width=20), rich.TextColumn("{task.fields[words]}"))
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, words="asking for the cluster map")

        def show(done: int, count: int, byte_count: int, names: tuple[str, ...]) -> None:
            bar.update(task, total=count, completed=done, words=_pull_text(done, count, byte_count, names))

        yield show
