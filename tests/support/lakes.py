"""A lake for one test: commands on it as processes of their own, killed where a test wants, and what is then in it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenes import REPO
from stored_rows import stored
from waiting import wait_for

from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.lake.site import attached
from aiscorr.schema.tables import FILE_TABLES
from aiscorr.store.database import in_memory
from aiscorr.store.load import known_files

if TYPE_CHECKING:
    from servers.postgres import Postgres
    from servers.s3 import S3

    from aiscorr.model import KnownFile

#: A committer that ends as by kill -9: where it has claimed, where its Parquet is written, where the lake has it.
DIES = {
    "claimed": "into_lake.push = lambda *given: die()",
    "written": "push = into_lake.push; into_lake.push = lambda *given: (push(*given), die())",
    "committed": "Ledger.confirm = lambda *given: die()",
}
#: A committer that says that its Parquet is written, and goes on to commit when the file `go` is there.
WAITS = "push = into_lake.push; into_lake.push = lambda *given: (push(*given), await_go())"
_PROGRAM = """
import os, sys, time
from aiscorr.ingest import into_lake
from aiscorr.lake.ledger import Ledger

def die():
    os.kill(os.getpid(), 9)

def await_go():
    open("waits", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.02)

{changed}

from aiscorr.cli import main
main(sys.argv[1:])
"""
_IN_CATALOGUE = (
    "select path from ducklake_data_file union all select path from ducklake_delete_file"
    " union all select path from ducklake_files_scheduled_for_deletion"
)


@dataclass(frozen=True)
class LakeHere:
    """A lake, its servers, and the folder that commands on it run in."""

    postgres: Postgres
    database: str
    data: str
    home: Path
    s3: S3 | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def lake(self) -> Lake:
        """The lake as the program knows it."""
        return Lake(self.postgres.dsn(self.database), self.data)

    def begun(
        self, *arguments: str | Path, changed: str = "", db: str | None = None, **more: str
    ) -> subprocess.Popen[str]:
        """The process of a command on the lake; `changed` is run in it before, `more` are variables."""
        self.home.mkdir(exist_ok=True)
        places = {"PYTHONPATH": f"{REPO}{os.pathsep}{REPO / 'tests' / 'support'}"}
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.replace("{changed}", changed), *map(str, arguments)],
            env={**os.environ, "AISCORR_LAKE_DATA": self.data, "AISCORR_DB": db or self.lake.name, **places,
                 **self.environment, **more},
            cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def aiscorr(
        self, *arguments: str | Path, changed: str = "", db: str | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """A command on the lake, to its end."""
        return ended(self.begun(*arguments, changed=changed, db=db, **more))

    def await_written(self) -> None:
        """Comes back where a command that WAITS has written its Parquet."""
        wait_for((self.home / "waits").exists, 120)

    def go(self) -> None:
        """Lets a command that WAITS go on."""
        (self.home / "go").touch()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the lake, whose tables are in `lake`."""
        with (
            ledger(self.lake) as book,
            contextlib.closing(in_memory()) as connection,
            attached(connection, book, snapshot=book.snapshot()),
        ):
            return connection.execute(sql).fetchall()

    def write(self, statement: str) -> None:
        """Runs one statement that changes the lake."""
        with (
            ledger(self.lake) as book,
            contextlib.closing(in_memory()) as connection,
            attached(connection, book),
        ):
            connection.execute(statement)

    def stored(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows that came from files, by table, with the path in place of the file's number."""
        found = {}
        for table in FILE_TABLES:
            names = ", ".join(f"r.{name}" for name in table.column_names if name != "file_id")
            found[table.name] = self.rows(
                f"select f.path, {names} from lake.{table.name} as r join lake.ingested_file as f using (file_id)"
                " order by all"
            )
        return found

    def in_catalogue(self) -> set[str]:
        """The names of the Parquet files that the lake knows of."""
        return {str(row[0]).rpartition("/")[2] for row in self.postgres.run(_IN_CATALOGUE, self.database)}

    def in_store(self) -> set[str]:
        """The names of the files that there are."""
        if self.s3 is not None:
            return {key.rpartition("/")[2] for key in self.s3.keys(self.data.split("/")[2])}
        return {path.name for path in Path(self.data).rglob("*") if path.is_file()}

    def known(self) -> tuple[dict[str, KnownFile], dict[str, KnownFile]]:
        """What the lake knows of files, and what the ledger does."""
        with (
            ledger(self.lake) as book,
            contextlib.closing(in_memory()) as connection,
            attached(connection, book, snapshot=book.snapshot()),
        ):
            there = known_files(connection, "lake.ingested_file")
            return there, book.known({path.partition("!")[0] for path in there})


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a process said until it ended."""
    out, err = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def check_whole(lake: LakeHere, db: Path | str) -> None:
    """The lake has each row of a database file once, no file too many or too few, and a ledger that says so."""
    assert lake.stored() == stored(db)
    assert lake.in_store() == lake.in_catalogue()
    there, said = lake.known()
    assert said == there
    originals = sorted(one.file_id for one in there.values() if one.state == "ingested" and one.byte_count)
    found = lake.postgres.run("select file_id from aiscorr_content order by 1", lake.database)
    assert [row[0] for row in found] == originals
    assert lake.postgres.run("select 1 from aiscorr_batch where state = 'claimed'", lake.database) == []


def die_in_tasks(what: str) -> None:
    """On a Dask worker: from now on it is killed where it is to read, or to judge."""
    from aiscorr.ingest import engine

    checked = engine.checked

    def dying(key: str, call: Any, *given: Any) -> Any:
        if what in getattr(getattr(call, "func", call), "__name__", ""):
            os.kill(os.getpid(), 9)
        return checked(key, call, *given)

    engine.checked = dying


def be_of_another_release() -> None:
    """On a Dask worker: from now on it runs another aiscorr."""
    from aiscorr.ingest import engine

    engine.own_key = lambda: "of another release"  # type: ignore[assignment]
