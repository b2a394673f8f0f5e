"""Attaches a lake to a connection of DuckDB, and says in plain words what went wrong with it.

DuckDB reaches the catalogue and the data through its extensions ducklake, postgres and httpfs. They are looked for as
packages of Python (`duckdb_extension_ducklake` …, there for 1.5.5) and then where `INSTALL` puts them.
"""

from __future__ import annotations

import configparser
import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiscorr.errors import AiscorrError, DatabaseBusyError, DatabaseError
from aiscorr.lake.address import Lake
from aiscorr.lake.shape import LAKE

if TYPE_CHECKING:
    import duckdb

_INSTALL = "pip install -r requirements/lake.txt, or INSTALL ducklake, postgres and httpfs in a DuckDB of this release"
#: A refused request is sent again after 0.25 s, 0.5 s, 1 s …: for more than half a minute.
_HTTP = ("http_retries = 8", "http_retry_wait_ms = 250", "http_retry_backoff = 2", "http_timeout = 60")


def load_extensions(connection: duckdb.DuckDBPyConnection, lake: Lake, *, has_http: bool) -> None:
    """Loads what the lake needs. Raises AiscorrError where an extension is not there for this DuckDB."""
    import duckdb

    for name in ("ducklake", "postgres_scanner", *(["httpfs"] if has_http else [])):
        try:
            connection.execute(f"load {_quoted(found) if (found := _packaged(name)) else name}")
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            raise AiscorrError(
                f"a lake needs DuckDB's extension {name}: {said}",
                where=f"DuckDB {duckdb.__version__}",
                try_this=_INSTALL,
            ) from None
    connection.execute("set ducklake_max_retry_count = 100")
    for setting in _HTTP if has_http else ():
        connection.execute(f"set {setting}")


def open_store(connection: duckdb.DuckDBPyConnection, lake: Lake, data: str) -> None:
    """Lets the connection reach what is at `data`, the place of a lake's Parquet."""
    has_http = data.startswith(("s3://", "http://", "https://"))
    with explained(lake):
        load_extensions(connection, lake, has_http=has_http)
        if has_http:
            connection.execute(_secret(os.environ))


def attach(
    connection: duckdb.DuckDBPyConnection, lake: Lake, data: str, *, snapshot: int | None = None, is_new: bool = False,
    name: str = LAKE,
) -> None:  # fmt: skip
    """Attaches the lake as `lake`, or by another name: to write, or as of a snapshot to read.

    `data`: where its Parquet is.
    """
    open_store(connection, lake, data)
    with explained(lake):
        options = ["read_only", f"snapshot_version {snapshot}"] if snapshot is not None else []
        if is_new:
            options += [f"data_path {_quoted(data)}"]
        chosen = f" ({', '.join(options)})" if options else ""
        connection.execute(f"attach {_quoted(lake.name)} as {name}{chosen}")


def detach(connection: duckdb.DuckDBPyConnection, name: str = LAKE) -> None:
    """Lets the lake go, where it is attached."""
    connection.execute(f"detach database if exists {name}")


@contextlib.contextmanager
def explained(lake: Lake) -> Iterator[None]:
    """An error of the catalogue, the store or DuckDB inside the block, in plain words."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise meaning(error, lake) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "psycopg":
            raise meaning(error, lake) from error
        raise


def meaning(error: Exception, lake: Lake) -> AiscorrError:
    """What an error of the catalogue or the store means, and what to try."""
    text = str(error)
    said = " ".join(text.split())[:400]
    low = " ".join(text.lower().split())
    for one in _meanings():
        if any(sign in low for sign in one["signs"]):
            kind = DatabaseBusyError if "transaction conflict" in one["signs"] else DatabaseError
            return kind(f"{one['means']}: {said}", where=lake.name, try_this=one["try"])
    return DatabaseError(
        f"the lake cannot be used: {said}", where=lake.name, try_this="check the catalogue and the store"
    )


@lru_cache(maxsize=1)
def _meanings() -> list[dict[str, Any]]:
    import tomllib
    from importlib.resources import files

    found: list[dict[str, Any]] = tomllib.loads(files("aiscorr.lake").joinpath("errors.toml").read_text("utf-8"))[
        "error"
    ]
    return found


def _packaged(name: str) -> str | None:
    """The file of an extension that is installed as a package."""
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in Path(folder).glob(f"extensions/*/{name}.duckdb_extension"):
            return str(path)
    return None


def _secret(environment: Mapping[str, str]) -> str:
    """What DuckDB is told of S3: the environment as AWS's own tools read it, else their file of credentials."""
    values = {**_profile(environment), **{key: value for key, value in environment.items() if value}}
    endpoint = values.get("AWS_ENDPOINT_URL_S3") or values.get("AWS_ENDPOINT_URL") or ""
    scheme, mark, host = endpoint.partition("://")
    parts = {
        "key_id": values.get("AWS_ACCESS_KEY_ID"),
        "secret": values.get("AWS_SECRET_ACCESS_KEY"),
        "session_token": values.get("AWS_SESSION_TOKEN"),
        "region": values.get("AWS_REGION") or values.get("AWS_DEFAULT_REGION") or "us-east-1",
        "endpoint": (host if mark else endpoint).rstrip("/") or None,
        "url_style": "path" if endpoint else None,
    }
    given = ", ".join(f"{name} {_quoted(value)}" for name, value in parts.items() if value)
    plain = ", use_ssl false" if scheme == "http" else ""
    return f"create or replace temporary secret lake_store (type s3, {given}{plain})"


def _profile(environment: Mapping[str, str]) -> dict[str, str]:
    """The credentials of a profile in the file that AWS's tools share."""
    home = os.path.join(os.path.expanduser("~"), ".aws", "credentials")
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(environment.get("AWS_SHARED_CREDENTIALS_FILE") or home, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    profile = environment.get("AWS_PROFILE") or "default"
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    if profile not in parser:
        return {}
    return {name.upper(): parser[profile][name] for name in names if name in parser[profile]}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
