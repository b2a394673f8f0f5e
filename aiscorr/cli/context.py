"""What the verbs share: the global flags, the settings, and where output goes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from aiscorr.errors import UsageError

if TYPE_CHECKING:
    from aiscorr.config import Settings
    from aiscorr.lake.local import Wanted


@dataclass
class Context:
    """The global flags; settings are read when a verb first asks for them."""

    db: str | None
    config: str | None
    verbosity: int
    no_pager: bool = False
    found: list[Settings] = field(default_factory=list)

    def take(self, flag: str | None, value: Any) -> None:
        """A global flag behind the verb (`db`, `config`, `verbose`, `quiet`), which wins over one before it."""
        if flag == "verbose":
            self.verbosity += value
        elif flag == "quiet":
            self.verbosity = -1
        else:
            setattr(self, str(flag), value)

    @property
    def settings(self) -> Settings:
        """Flag, environment, aiscorr.toml, default."""
        from aiscorr.config import load_settings

        if not self.found:
            self.found.append(load_settings(db=self.db, config=self.config, environment=os.environ, folder=os.getcwd()))
        return self.found[0]

    def command(self, words: str) -> str:
        """A command as this user has to type it: with the database, where only a flag named it."""
        return f"aiscorr --db {shlex.quote(self.db)} {words}" if self.db else f"aiscorr {words}"

    def db_path(self, wanted: Wanted | None = None) -> str:
        """The path of the database; of a lake that of a slice which holds what is wanted."""
        settings = self.settings
        if settings.lake is None:
            return settings.db_path
        from aiscorr.lake.local import NEWEST, slice_path

        return slice_path(
            settings.lake, wanted or NEWEST, memory_limit=settings.memory_limit, threads=settings.thread_count,
            say=self.say,
        )  # fmt: skip

    def path_of(self, *which: str) -> str:
        """The path of the database; of a lake that of a slice around the failures that names stand for.

        For names that fit none it is that of the newest rows, and who reads it says so.
        """
        return self.path_of_jobs([job for one in which for job in self.jobs_called(one)])

    def path_of_jobs(self, jobs: Iterable[str]) -> str:
        """The path of the database; of a lake that of a slice around jobs, or without any of the newest rows."""
        chosen = tuple(sorted(set(jobs)))
        if self.settings.lake is None or not chosen:
            return self.db_path()
        from aiscorr.lake.local import Wanted

        return self.db_path(Wanted(jobs=chosen))

    def jobs_called(self, which: str) -> list[str]:
        """The job of each failure of the lake that a name stands for; none where it fits none."""
        if self.settings.lake is None:
            return []
        from aiscorr.lake.local import failures
        from aiscorr.report.failure_choice import failure_ids

        with failures(self.settings.lake) as connection:
            try:
                names = failure_ids(connection, which)
            except UsageError:  # who reads the slice says more of it
                return []
            sql = "select job_id from failure where list_contains(?, failure_id)"
            return [row[0] for row in connection.execute(sql, [names]).fetchall()]

    def reading(self, db_path: str | None = None) -> AbstractContextManager[Any]:
        """A connection to the database, or to another one; says so where its views are of another version."""
        from aiscorr.analysis.refresh import reading_views

        settings = self.settings
        return reading_views(db_path or self.db_path(), settings.memory_limit, settings.thread_count, self.say)

    def show(self, texts: Iterable[str], *, jump: str | None = None, is_wide: bool = False) -> None:
        """Data for people, to stdout: in a pager on a terminal, unless `--no-pager` or the environment says otherwise.

        `jump` is a pattern to which the pager goes at once, and with n and N to the next and the last one; the lines of
        what `is_wide` are not wrapped there.
        """
        from aiscorr.cli.pager import page, pager_of

        is_paged = not self.no_pager and sys.stdout.isatty()
        page(texts, pager_of(os.environ, jump=jump, is_wide=is_wide) if is_paged else None)

    def show_commands(self, text: str) -> None:
        """Data for people in which commands are, with how these reach the database where only a flag named it."""
        self.show([text])
        if self.db and "aiscorr " in text:
            self.say(f"for the commands above: export AISCORR_DB={shlex.quote(self.db)}")

    def say(self, text: str) -> None:
        """Talk, on stderr, unless -q."""
        if self.verbosity >= 0:
            click.echo(text, err=True)


def emit_bytes(content: bytes, output: str) -> None:
    """The bytes to a file, or with `-` to stdout. Raises UsageError where the file cannot be written."""
    try:
        with click.open_file(output, "wb") as target:
            target.write(content)
    except OSError as error:
        raise UsageError(f"the file cannot be written: {error.strerror}", where=output, try_this="check -o") from None


def has_colors(wanted: bool | None, output: str | None = None) -> bool:
    """Whether output is coloured: as a flag wants it, else on a terminal that can, unless `NO_COLOR` is set."""
    if wanted is not None:
        return wanted
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return output is None and sys.stdout.isatty() and not is_plain


def emit(text: str, output: str | None) -> None:
    """The text as it is to a file, or to stdout. Raises UsageError where the file cannot be written."""
    if output is None or output == "-":
        click.echo(text, nl=False, color=True)
        return
    try:
        with open(output, "w", encoding="utf-8") as target:
            target.write(text)
    except OSError as error:
        raise UsageError(f"the file cannot be written: {error.strerror}", where=output, try_this="check -o") from None
