"""What a stored table is: a name, a sentence, and columns with type and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column: its name, its DuckDB type and what it holds (with the unit)."""

    name: str
    type: str
    meaning: str


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
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return f"create table if not exists {self.name} ({columns})"


def columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    """Columns from name, type and meaning."""
    return tuple(Column(*row) for row in rows)
