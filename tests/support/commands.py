"""The command line as tests see it: arguments in, exit code and both outputs out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Outcome:
    """What a command gave."""

    code: int
    out: str
    err: str


class Command(Protocol):
    """Runs a command of aiscorr in this process."""

    def __call__(self, *arguments: str | Path) -> Outcome:
        """The exit code, stdout and stderr of `aiscorr ARGUMENTS`."""


def command_in(read_output: Callable[[], tuple[str, str]]) -> Command:
    """A command whose outputs are taken by `read_output`."""

    def command(*arguments: str | Path) -> Outcome:
        from aiscorr.cli import main

        read_output()
        code: object = None
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        out, err = read_output()
        assert isinstance(code, int), "a command ends with an exit code"
        return Outcome(code, out, err)

    return command
