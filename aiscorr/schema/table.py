"""What a stored table is: a name, a sentence, and columns with type and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column: its name, its DuckDB type and what it holds (with the unit).

    `compression`: the method DuckDB is told to use, where trying all of them takes time that is felt.
    """

    name: str
    type: str
    meaning: str
    compression: str = ""

    def declaration(self) -> str:
        """As it stands in the statement that creates the table."""
        chosen = f" using compression {self.compression}" if self.compression else ""
        return f"{self.name} {self.type}{chosen}"


@dataclass(frozen=True)
class Table:
    """One stored table: its name, a sentence saying what a row is, and its columns in order."""

    name: str
    sentence: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in stored order."""
        return tuple(column.name for column in self.columns)

    def create_statement(self) -> str:
        """The statement that creates the table where it is missing."""
        columns = ", ".join(column.declaration() for column in self.columns)
        return f"create table if not exists {self.name} ({columns})"


def columns(*rows: tuple[str, str, str] | tuple[str, str, str, str]) -> tuple[Column, ...]:
    """Columns from name, type, meaning and perhaps a compression."""
    return tuple(Column(*row) for row in rows)
