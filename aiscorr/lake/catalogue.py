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
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr.errors import AiscorrError, DatabaseBusyError, DatabaseError
from aiscorr.lake.address import Lake
from aiscorr.lake.shape import LAKE

if TYPE_CHECKING:
    import duckdb

_INSTALL = "pip install -r requirements/lake.txt, or INSTALL ducklake, postgres and httpfs in a DuckDB of this release"
#: A refused request is sent again after 0.25 s, 0.5 s, 1 s …: for more than half a minute.
_HTTP = ("http_retries = 8", "http_retry_wait_ms = 250", "http_retry_backoff = 2", "http_timeout = 60")
#: What a message says, in small letters; what that means; what to try.
_MEANINGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("expiredtoken", "token has expired", "tokenrefreshrequired"), "the token for the store has expired",
     "get new credentials (AWS_SESSION_TOKEN), then run this again; nothing is half done"),
    (("nosuchbucket", "bucket does not exist"), "the bucket of the lake does not exist",
     "create it, or check AISCORR_LAKE_DATA and AWS_ENDPOINT_URL"),
    (("invalidaccesskeyid", "signaturedoesnotmatch", "accessdenied", "http 403", "status code 403", "forbidden"),
     "the store refuses these credentials", "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do"),
    (("password authentication failed", "no password supplied", "fe_sendauth", "authentication failed"),
     "the catalogue refuses these credentials", "PGPASSWORD, ~/.pgpass or PGPASSFILE holds the password"),
    (("read-only transaction", "permission denied for", "must be owner of", "attached in read-only mode"),
     "the catalogue may only be read with these credentials", "a role of PostgreSQL that may write"),
    (("transaction conflict",), "another program wrote the lake at the same moment",
     "run this again: nothing of this run was stored"),
    (("terminating connection", "server closed the connection", "connection refused", "could not connect to server",
      "connection reset", "the connection is lost", "could not receive data", "starting up", "shutting down",
      "connection timed out", "no route to host", "could not translate host name", "the connection is closed"),
     "the catalogue or the store of the lake cannot be reached",
     "check the host and the network, then run this again; nothing is half done"),
    (("no magic bytes", "too small to be a parquet", "invalid input error: no magic", "corrupt", "snappy", "zstd decomp",
      "tprotocolexception", "tprotocol", "don't know what type", "footer"),
     "a Parquet file of the lake is damaged or half written", "restore the file that is named, from a copy or a backup"),
    (("no space left", "quota"), "the disk is full or limited", "free space; the lake is as it was before this run"),
    (("cannot open file", "no such file", "404"), "a file of the lake is gone", "restore it from a copy or a backup"),
)  # fmt: skip


def load_extensions(connection: duckdb.DuckDBPyConnection, lake: Lake, *, has_http: bool) -> None:
    """Loads what the lake needs. Raises AiscorrError where an extension is not there for this DuckDB."""
    import duckdb

    for name in ("ducklake", "postgres_scanner", *(["httpfs"] if has_http else [])):
        try:
            connection.execute(f"load {_quoted(found) if (found := _packaged(name)) else name}")
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            raise AiscorrError(
                f"a lake needs DuckDB's extension {name}: {said}", where=f"DuckDB {duckdb.__version__}", try_this=_INSTALL
            ) from None
    connection.execute("set ducklake_max_retry_count = 100")
    for setting in _HTTP if has_http else ():
        connection.execute(f"set {setting}")


def attach(
    connection: duckdb.DuckDBPyConnection, lake: Lake, data: str, *, snapshot: int | None = None, is_new: bool = False
) -> None:
    """Attaches the lake as `lake`: to write, or as of a snapshot to read. `data`: where its Parquet is."""
    has_http = data.startswith(("s3://", "http://", "https://"))
    with explained(lake):
        load_extensions(connection, lake, has_http=has_http)
        if has_http:
            connection.execute(_secret(os.environ))
        options = ["read_only", f"snapshot_version {snapshot}"] if snapshot is not None else []
        if is_new:
            options += [f"data_path {_quoted(data)}"]
        chosen = f" ({', '.join(options)})" if options else ""
        connection.execute(f"attach {_quoted(lake.name)} as {LAKE}{chosen}")


def detach(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets the lake go, where it is attached."""
    connection.execute(f"detach database if exists {LAKE}")


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


def meaning(error: Exception, lake: Lake) -> DatabaseError:
    """What an error of the catalogue or the store means, and what to try."""
    text = str(error)
    said = " ".join(text.split())[:400]
    low = text.lower()
    for signs, what, try_this in _MEANINGS:
        if any(sign in low for sign in signs):
            kind = DatabaseBusyError if signs[0] == "transaction conflict" else DatabaseError
            return kind(f"{what}: {said}", where=lake.name, try_this=try_this)
    return DatabaseError(f"the lake cannot be used: {said}", where=lake.name, try_this="check the catalogue and the store")


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
