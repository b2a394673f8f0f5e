"""A PostgreSQL of its own: new, empty, on a free port of this machine, reached with a password and gone at the end.

PostgreSQL does not run as root: where this process does, the server runs as `postgres`, else as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from . import Missing
from .processes import LOOPBACK, answers, await_start, ended, free_port, killed, last_of, new_password, started

USER = "aiscorr"
_ATTEMPTS = 5
#: A crash of the machine may lose what this server holds, a kill of its processes does not.
_SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=100", "shared_buffers=32MB", "timezone=UTC")


@dataclass
class Postgres:
    """A server: where it listens, who may enter, and what may be done to it."""

    programs: Path
    folder: Path
    owner: tuple[int, int] | None
    password: str
    port: int = 0
    host: str = LOOPBACK
    user: str = USER
    _process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def dsn(self, database: str = "postgres") -> str:
        """What a client needs to find a database; the password is in `environment`."""
        return f"dbname={database} host={self.host} port={self.port} user={self.user}"

    def environment(self, database: str = "postgres") -> dict[str, str]:
        """The variables that libpq reads, the password among them."""
        return {
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": database,
            "PGPASSWORD": self.password,
        }

    def run(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows that one statement gives, each in a transaction of its own."""
        import psycopg

        with psycopg.connect(self.dsn(database), password=self.password, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, name: str | None = None) -> str:
        """The name of a new database without tables."""
        name = name or f"lake_{next(self._numbers)}"
        self.run(f'create database "{name}"')
        return name

    def start(self) -> None:
        """Starts the server, again too: on the same port, with what it held."""
        log = self.folder / "log"
        for _ in range(_ATTEMPTS):
            port = self.port or free_port()
            settings = [part for setting in _SETTINGS for part in ("-c", setting)]
            self._process = started(
                [self.programs / "postgres", "-D", self.folder / "data", "-h", self.host, "-p", str(port), "-k", "",
                 *settings],
                log, owner=self.owner, folder=self.folder,
            )  # fmt: skip
            if await_start(self._process, lambda port=port: answers(port) and self._lets_in(port), log):  # type: ignore[misc]
                self.port = port
                return
        raise RuntimeError(f"PostgreSQL does not start:\n{last_of(log)}")

    def stop(self) -> None:
        """Stops the server as an administrator does: what runs is rolled back."""
        if self._process is not None:
            ended(self._process, signal.SIGINT)
            self._process = None

    def kill9(self) -> None:
        """Kills the server and every process of it at once."""
        if self._process is not None:
            killed(self._process)
            self._process = None

    def _lets_in(self, port: int) -> bool:
        """It has a check of its own: right after a crash the port answers before the server does."""
        ready = [str(self.programs / "pg_isready"), "-q", "-h", self.host, "-p", str(port), "-d", "postgres"]
        return subprocess.run(ready, check=False).returncode == 0


def missing() -> str | None:
    """What there is not to run a server with, in words."""
    if _programs() is None:
        return "PostgreSQL is not installed: there is no initdb on PATH or in /usr/lib/postgresql (apt: postgresql)"
    if find_spec("psycopg") is None:
        return "psycopg is not installed (requirements/lake.txt)"
    return None


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server as long as the block runs. Raises Missing."""
    programs, reason = _programs(), missing()
    if programs is None or reason is not None:
        raise Missing(reason)
    owner = _owner()
    with tempfile.TemporaryDirectory(prefix="aiscorr-postgres-") as name:
        folder = Path(name)
        if owner is not None:
            os.chown(folder, *owner)
        server = Postgres(programs, folder, owner, new_password())
        _initialise(server)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _initialise(server: Postgres) -> None:
    """Makes the files of a server without databases."""
    log, secret = server.folder / "log", server.folder / "secret"
    secret.touch(0o600)
    secret.write_text(server.password)
    log.touch()
    if server.owner is not None:
        os.chown(secret, *server.owner)
    made = started(
        [server.programs / "initdb", "-D", server.folder / "data", "-U", server.user, f"--pwfile={secret}",
         "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"],
        log, owner=server.owner, folder=server.folder,
    )  # fmt: skip
    if made.wait():
        raise RuntimeError(f"initdb failed:\n{last_of(log)}")
    secret.unlink()


def _programs() -> Path | None:
    """The folder of the newest PostgreSQL's programs; a link on PATH is followed to where the others are."""
    on_path = shutil.which("initdb")
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    for found in ([Path(on_path).resolve()] if on_path else []) + known[::-1]:
        if (found.parent / "postgres").is_file():
            return found.parent
    return None


def _owner() -> tuple[int, int] | None:
    """Who runs the server: None for the user of this process."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise Missing("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")
