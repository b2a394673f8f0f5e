"""Starts PostgreSQL, S3 and two Dask workers, and runs a command with the variables that lead to them.

`python -m tests.support.servers COMMAND…`; without a command it prints the variables, and runs until it is interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

from . import Missing
from .dask import cluster
from .postgres import postgres
from .s3 import s3

_DATABASE = "lake"


def main(arguments: list[str]) -> int:
    """The exit code of the command; 2 where something is not installed."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.servers", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="Dask workers (2)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what runs beside the servers, with its arguments")
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    with ExitStack() as held:
        try:
            variables = _variables(held, given.workers)
        except Missing as reason:
            sys.stderr.write(f"{reason}\n")
            return 2
        if command:
            return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode
        sys.stdout.write("".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()))
        sys.stdout.flush()
        while True:
            time.sleep(1)


def _variables(held: ExitStack, worker_count: int) -> dict[str, str]:
    """The variables that lead to the servers, which run until `held` ends; the lake has its database and bucket."""
    catalogue, store = held.enter_context(postgres()), held.enter_context(s3())
    both = {**catalogue.environment(catalogue.new_database(_DATABASE)), **store.environment()}
    both["AISCORR_LAKE_DATA"] = store.new_bucket(_DATABASE)
    both["AISCORR_ENGINE"] = held.enter_context(cluster(worker_count, both)).engine
    return {**both, "AISCORR_DB": f"ducklake:postgres:{catalogue.dsn(_DATABASE)}"}


if __name__ == "__main__":
    # A signal to end ends the servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
