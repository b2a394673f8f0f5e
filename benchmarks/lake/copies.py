"""Copies of the catalogue of a lake, which share its Parquet: each is the lake as it was, to try something on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from aiscorr.lake.address import Lake


def database_of(lake: Lake) -> str:
    """The database of PostgreSQL that holds the catalogue."""
    return str(conninfo_to_dict(lake.catalogue)["dbname"])


def after(lake: Lake, day_count: int) -> str:
    """The name of the copy that is made when a lake holds so many days."""
    return f"{database_of(lake)}_after_{day_count}"


def copy(lake: Lake, template: str | None, name: str) -> Lake:
    """A lake over a copy of the database `template`, or over a new one, in the place of what had the name."""
    drop(lake, name)
    made = sql.SQL("create database {}").format(sql.Identifier(name))
    if template:
        made += sql.SQL(" template {}").format(sql.Identifier(template))
    with _server(lake) as connection:
        connection.execute(made)
    return replace(lake, catalogue=make_conninfo(lake.catalogue, dbname=name))


def drop(lake: Lake, name: str) -> None:
    """Removes a database."""
    with _server(lake) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@contextlib.contextmanager
def _server(lake: Lake) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    connection = psycopg.connect(make_conninfo(lake.catalogue, dbname="postgres"), autocommit=True)
    with contextlib.closing(connection):
        yield connection
