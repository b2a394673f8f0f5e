"""The address of a lake, as `--db` takes it; a password has no place in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aiscorr.errors import UsageError

PREFIX = "ducklake:"
_EXAMPLE = "ducklake:postgres:dbname=aiscorr host=HOST user=NAME"
_SECRETS = (
    "PGPASSWORD, ~/.pgpass or PGPASSFILE; for S3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials"
)
#: What would hold a password: in the keywords of libpq, in a URI before the @, in the query of one.
_PASSWORD = re.compile(r"(?i)\b(?:password|sslpassword)\s*=|://[^/@\s]*:[^/@\s]*@")


def is_lake(db: str) -> bool:
    """Whether a database is named that is a lake."""
    return db.startswith(PREFIX)


@dataclass(frozen=True)
class Lake:
    """Where a lake is: its catalogue in PostgreSQL as libpq is told, and what is said of its data and of this machine.

    `data`: where Parquet goes, a folder or s3://bucket/prefix, needed only where the lake is made; `work`: a folder for
    rows on their way, which workers on other machines see too; `most_rows`: of so many rows a lake is pulled whole.
    """

    catalogue: str
    data: str | None = None
    work: str | None = None
    most_rows: int = 2_000_000

    @property
    def name(self) -> str:
        """The address, as messages name it."""
        return f"{PREFIX}postgres:{self.catalogue}"


def check_address(db: str, where: str) -> str:
    """What libpq is told, from the address of a lake. Raises UsageError, also for a password."""
    kind, mark, catalogue = db.removeprefix(PREFIX).partition(":")
    if _PASSWORD.search(db):
        raise UsageError(
            "a password has no place in the address of a lake: others see it in the list of processes and in logs",
            where=where,
            try_this=_SECRETS,
        )
    if kind != "postgres" or not mark or not catalogue.strip():
        raise UsageError("a lake has its catalogue in PostgreSQL", where=where, try_this=_EXAMPLE)
    return catalogue.strip()
