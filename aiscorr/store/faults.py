"""What an error of DuckDB over a database file means, in plain words."""

from __future__ import annotations

import re

from aiscorr.errors import TRY_AFTER_FAULT, AiscorrError, DatabaseBusyError, DatabaseError

_BUSY = ("Conflicting lock", "Could not set lock", "lock on file")
_PID = re.compile(r"PID (\d+)")


def is_busy(error: Exception) -> bool:
    """Whether another process holds the file."""
    return any(text in str(error) for text in _BUSY)


def busy_error(path: str, error: Exception) -> DatabaseBusyError:
    """What to say of a file that another process holds."""
    pid = _PID.search(str(error))
    holder = f" by process {pid.group(1)}" if pid else ""
    return DatabaseBusyError(
        f"the database is held{holder}",
        where=path,
        try_this="close the program that has it open for writing (a DuckDB shell?), then run this again",
    )


def broken(path: str, error: Exception) -> DatabaseError:
    """What to say of a file that cannot be opened."""
    text = str(error).split("\n")[0]
    if "not a valid DuckDB" in text or "can only read" in text or "newer version" in text:
        return DatabaseError(
            f"not a database this DuckDB can read: {text}",
            where=path,
            try_this="name another file with --db, or ingest into a new one",
        )
    return DatabaseError(f"the database cannot be opened: {text}", where=path, try_this="check the path and the disk")


def write_error(path: str, error: Exception) -> Exception:
    """An error met while a file is written as one of aiscorr's, where it is known what it means; else itself."""
    import duckdb

    if isinstance(error, AiscorrError):
        return error
    text = str(error)
    if any(
        word in text
        for word in ("No space left", "Could not write", "disk quota", "File too large", "max_temp_directory_size")
    ):
        return DatabaseError(
            f"the disk is full or limited: {text.splitlines()[0]}",
            where=path,
            try_this="free space; the database is as it was before this run",
        )
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        said = text.partition("\n")[0]
        return DatabaseError(f"DuckDB failed inside: {said}", where=path, try_this=TRY_AFTER_FAULT)
    return error
