"""Every exception of aiscorr, with its exit code and its message form: what, where, what to try."""

from __future__ import annotations

#: What to try where DuckDB fails inside, as it does on some rows and not on others.
TRY_AFTER_FAULT = "fewer logs at a time, or another release of DuckDB; the database is as it was before this run"


class AiscorrError(Exception):
    """Base of all errors that end a command. `exit_code` is what the process returns (1 = failed)."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", try_this: str = "") -> None:
        self.what = what
        self.where = where
        self.try_this = try_this
        super().__init__(what)

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"  at: {self.where}")
        if self.try_this:
            parts.append(f"  try: {self.try_this}")
        return "\n".join(parts)


class UsageError(AiscorrError):
    """A flag, an argument or the configuration file is wrong (exit code 2)."""

    exit_code = 2


class SpecError(AiscorrError):
    """A format, pattern, view or named query file is wrong (exit code 2).

    `regex` and `position` add the offending expression with a caret below the place.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        try_this: str = "",
        regex: str = "",
        position: int | None = None,
    ) -> None:
        self.regex = regex
        self.position = position
        super().__init__(what, where=where, try_this=try_this)

    def __str__(self) -> str:
        text = super().__str__()
        if not self.regex:
            return text
        head, *rest = text.split("\n")
        shown = ["    " + self.regex]
        if self.position is not None:
            shown.append("    " + " " * self.position + "^")
        return "\n".join([head, *shown, *rest])


class PlanError(SpecError):
    """DuckDB failed inside while it planned or ran a view, or asked for more memory than it may take (exit code 2)."""


class SourceError(AiscorrError):
    """A source could not be read; the others were still ingested (exit code 3)."""

    exit_code = 3


class DatabaseBusyError(AiscorrError):
    """Another process holds the database (exit code 4)."""

    exit_code = 4


class DatabaseError(AiscorrError):
    """The database cannot be used: not ours, another version, damaged, disk full (exit code 1)."""


class QueryError(AiscorrError):
    """A SQL statement of the user failed (exit code 1)."""


class Interrupted(AiscorrError):
    """The user or the service asked to stop; what was finished is kept (exit code 130)."""

    exit_code = 130
