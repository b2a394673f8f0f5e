"""The servers of a lake, started when a test first asks for one and stopped at the end; each process has its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest
from servers import dask as dask_server
from servers import postgres as postgres_server
from servers import s3 as s3_server

if TYPE_CHECKING:
    from servers.dask import Cluster
    from servers.postgres import Postgres
    from servers.s3 import S3

DUCKDB = "1.5.5"
#: What requirements/lake.txt has and the other locks do not.
PACKAGES = ("duckdb-extension-ducklake", "duckdb-extension-postgres-scanner", "duckdb-extension-httpfs", "psycopg")
_LEAKS = ("PG", "AWS_", "DASK_", "DUCKDB_")


def _skip_for(reason: str | None) -> None:
    if reason is not None:
        pytest.skip(reason)


def not_installed() -> str | None:
    """What the lake lacks in this environment, in words."""
    if version("duckdb") != DUCKDB:
        return f"the lake's extensions are for DuckDB {DUCKDB}, this is {version('duckdb')} (requirements/lake.txt)"
    for name in PACKAGES:
        try:
            version(name)
        except PackageNotFoundError:
            return f"{name} is not installed (requirements/lake.txt)"
    return None


@pytest.fixture(scope="session", autouse=True)
def own_variables(own_home: None) -> Iterator[None]:
    """No variable of this machine leads to another server."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_LEAKS):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def lake_packages() -> None:
    """DuckDB with the extensions of a lake."""
    _skip_for(not_installed())


@pytest.fixture(scope="session")
def postgres(own_variables: None, lake_packages: None) -> Iterator[Postgres]:
    """A PostgreSQL server; a test takes a `new_database()` of it."""
    _skip_for(postgres_server.missing())
    with postgres_server.postgres() as server:
        yield server


@pytest.fixture(scope="session")
def s3(own_variables: None, lake_packages: None) -> Iterator[S3]:
    """An S3 endpoint; a test takes a `new_bucket(NAME)` of it."""
    _skip_for(s3_server.missing())
    with s3_server.s3() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def lake_environment(postgres: Postgres, s3: S3) -> dict[str, str]:
    """The variables that lead to both, passwords among them; `PGDATABASE` is a database without tables of a lake."""
    return {**postgres.environment(), **s3.environment()}


@pytest.fixture(scope="session")
def dask_workers(lake_environment: dict[str, str]) -> Iterator[Cluster]:
    """A Dask scheduler and two workers, which reach both servers."""
    _skip_for(dask_server.missing())
    with dask_server.cluster(2, lake_environment) as cluster:
        yield cluster
