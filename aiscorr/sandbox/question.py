"""What the service and the process of a statement tell each other: a question, its limits, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aiscorr.errors import QueryError

FORMATS = ("json", "jsonl", "csv", "arrow", "parquet")
#: Longer statements are refused before a process is started for them.
MOST_SQL_BYTES = 64 << 10


@dataclass(frozen=True)
class Limits:
    """What a statement may use: time from the start of its process, memory, rows and bytes of the answer.

    `at_a_time`: how many statements may run together; one more is refused.
    """

    seconds: float = 10.0
    memory_bytes: int = 512 << 20
    row_count: int = 10_000
    byte_count: int = 16 << 20
    at_a_time: int = 2


@dataclass(frozen=True)
class Question:
    """A statement. `is_named`: it is a named query, which an administrator chose, not one that came from outside."""

    sql: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    form: str = "json"
    row_count: int | None = None
    is_named: bool = False


@dataclass(frozen=True)
class Answer:
    """Rows as bytes of the format asked for; not complete where there are more than `row_limit` of them."""

    form: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    row_count: int
    row_limit: int
    is_complete: bool
    body: bytes


class LimitError(QueryError):
    """A statement that ran into a limit; `limit` is time, memory, size, count, or closed for a service that ends."""

    def __init__(self, limit: str, what: str, try_this: str) -> None:
        self.limit = limit
        super().__init__(what, where="the limits of queries", try_this=try_this)
