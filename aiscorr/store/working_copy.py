"""The copy of a database that a writer changes, and the one connection to it, which can be opened again.

What is in the copy, how it is made and what becomes of it is left to others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_WORTH_PACKING = 16 << 20


class WorkingCopy:
    """A copy of a database; `connection` is the one to use now, and is another after each `reopen`."""

    def __init__(self, opener: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._opener = opener
        self.connection = opener()

    def save(self) -> None:
        """Writes to the file what was committed.

        That takes as long as the number of tables asks for, however little changed.
        """
        self.connection.execute("checkpoint")

    def reopen(self) -> duckdb.DuckDBPyConnection:
        """Another connection, for where DuckDB failed inside: from then on it refuses even to roll back.

        What was saved is there; what was not may be gone, as are the connection's settings. Raises DatabaseError.
        """
        self.connection.close()
        self.connection = self._opener()
        return self.connection

    def is_roomy(self) -> bool:
        """More than a third of the file is free, and enough to be worth writing it again."""
        sql = (
            "select block_size, total_blocks, free_blocks from pragma_database_size()"
            " where database_name = current_database()"
        )
        block_bytes, count, free = self.connection.execute(sql).fetchall()[0]
        return bool(free * 3 > count and free * block_bytes > _WORTH_PACKING)
