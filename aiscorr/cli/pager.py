"""Shows long output in a pager, as git does: on a terminal, with the program that the environment names."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence

import click

#: Ends where all fits on a screen, shows colours, leaves the text on the screen.
_LESS = ("-F", "-R", "-X")


def pager_of(environment: Mapping[str, str], *, jump: str | None = None, is_wide: bool = False) -> list[str] | None:
    """The command of the pager; None where none is wanted or there. `jump` is a pattern that less goes to at once.

    The lines of what `is_wide` are not wrapped: the arrow keys show the rest of them.

    `AISCORR_PAGER` counts before `PAGER`; an empty one and `cat` are none, and so is a terminal that cannot move.
    """
    if environment.get("TERM") == "dumb":
        return None
    named = next((environment[name] for name in ("AISCORR_PAGER", "PAGER") if name in environment), None)
    command = shlex.split(named) if named is not None else ["less"]
    if not command or command[0] == "cat" or shutil.which(command[0], path=environment.get("PATH")) is None:
        return None
    if os.path.basename(command[0]) == "less":
        if len(command) == 1 and "LESS" not in environment:
            command += _LESS
        command += ["-S"] if is_wide else []
        command += ["-j.3", f"+/{jump}"] if jump else []
    return command


def page(texts: Iterable[str], command: Sequence[str] | None) -> None:
    """Writes the texts to the pager as they come, and waits for it; to stdout where there is none."""
    if command is None:
        for text in texts:
            click.echo(text, nl=False, color=True)
        return
    import subprocess

    sys.stdout.flush()
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the pager's while it shows something
    try:
        with (
            contextlib.suppress(BrokenPipeError),  # whoever has seen enough leaves the pager
            subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8", errors="replace") as pager,
        ):
            for text in texts:
                pager.stdin.write(text)  # type: ignore[union-attr]
    finally:
        signal.signal(signal.SIGINT, previous)
