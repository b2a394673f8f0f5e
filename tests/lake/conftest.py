"""The servers of a lake, started when a test first asks for one and stopped at the end; each process has its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lakes import LakeHere
from servers import dask as dask_server
from servers import postgres as postgres_server
from servers import s3 as s3_server

from aiscorr.cache import cache_folder

if TYPE_CHECKING:
    from servers.dask import Cluster
    from servers.postgres import Postgres
    from servers.s3 import S3

DUCKDB = "1.5.5"
#: What requirements/lake.txt has and the other locks do not.
PACKAGES = ("duckdb-extension-ducklake", "duckdb-extension-postgres-scanner", "duckdb-extension-httpfs", "psycopg")
_LEAKS = ("PG", "AWS_", "DASK_", "DUCKDB_")
_NUMBERS = count(1)


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


@pytest.fixture(params=["folder"])
def lake(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> LakeHere:
    """A lake that is not made yet, in a folder, or on S3 where a test asks for that; variables lead to it.

    Its slices are in a cache of their own.
    """
    environment = postgres.environment()
    store, data = None, f"{tmp_path}/lake-data/"
    if request.param == "s3":
        store = request.getfixturevalue("s3")
        data = store.new_bucket(f"lake-{os.getpid()}-{next(_NUMBERS)}") + "site/"
        environment |= store.environment()
    cache_folder().mkdir(parents=True, exist_ok=True)
    shutil.copytree(cache_folder(), tmp_path / "cache" / "aiscorr", ignore=shutil.ignore_patterns("lake", "*.tmp"))
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return LakeHere(postgres, postgres.new_database(), data, tmp_path / "home", store)
