"""`python -m benchmarks.lake month` makes the month, `… incident`, `… days` and `… scan` measure and print tables."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from aiscorr.lake.address import Lake
from benchmarks.lake.copies import after, copy, database_of
from benchmarks.lake.day_logs import write_day
from benchmarks.lake.growth import HEAD, measure_days, measure_incident, show
from benchmarks.lake.month import Site, write_days
from benchmarks.lake.scan import measure_scan

_DAY_CLUSTER = "month0001"


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes a month or measures."""
    given = _parser().parse_args(arguments)
    record: dict[str, object] = {"at": datetime.now(UTC).date().isoformat(), "load": round(os.getloadavg()[0], 1)}
    if given.verb == "scan":
        record["scan"] = measure_scan(given.logs, given.rounds)
        print(json.dumps(record, indent=2))
        _keep(record, given.record)
        return
    lake = Lake(given.catalogue, str(given.data) if given.data else None)
    if given.verb == "month":
        _make_month(lake, given)
        return
    print(HEAD)
    if given.verb == "incident":
        measured = measure_incident(lake, given.logs, given.since, given.rounds)
    else:
        logs = given.data.parent / "day-logs"
        write_day(logs, given.last + timedelta(days=1), given.nodes, _DAY_CLUSTER)
        measured = measure_days(lake, given.days, logs, given.rounds)
    rows = []
    for one in measured:
        print(show(one), flush=True)
        rows.append(vars(one))
    _keep({**record, given.verb: rows}, given.record)


def _keep(record: dict[str, object], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(record, indent=2) + "\n")


def _make_month(lake: Lake, given: argparse.Namespace) -> None:
    """From the last day back, so that the day after it follows on each copy alike."""
    site = Site(node_count=given.nodes, first_cluster=given.cluster)
    for count in range(1, given.days + 1):
        rows = write_days(lake, site, [given.last - timedelta(days=count - 1)])
        print(f"{count} days, {count * rows:,} rows", flush=True)
        if count in given.copies:
            copy(lake, database_of(lake), after(lake, count))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    month = verbs.add_parser("month", help="write a month of a site into a new lake")
    incident = verbs.add_parser("incident", help="read an incident into the lake, and ask for it")
    days = verbs.add_parser("days", help="read a day's logs into copies of the lake as it was after so many days")
    for verb in (month, incident, days):
        verb.add_argument("--catalogue", required=True, help="a database of PostgreSQL, as libpq is told")
        verb.add_argument("--data", type=Path, required=True, help="the folder of the lake's Parquet")
    for verb in (month, days):
        verb.add_argument("--last", type=date.fromisoformat, default=date(2026, 11, 30), help="the month's last day")
    month.add_argument("--days", type=int, default=30)
    month.add_argument("--nodes", type=int, default=1000)
    month.add_argument("--cluster", help="the name of the first cluster, as in the logs of the incident")
    month.add_argument(
        "--copies", type=int, nargs="*", default=[1, 10, 20, 30], help="copy the catalogue after so many days"
    )
    incident.add_argument("--logs", type=Path, required=True, help="a folder with ais/ and workers/")
    incident.add_argument("--since", default="30d")
    days.add_argument("--days", type=int, nargs="*", default=[0, 1, 10, 20, 30])
    days.add_argument("--nodes", type=int, default=20, help="nodes whose day is read")
    scan = verbs.add_parser("scan", help="read logs with one and with two Dask workers")
    scan.add_argument("--logs", type=Path, nargs="+", required=True, help="folders with logs")
    for verb in (incident, days, scan):
        verb.add_argument("--rounds", type=int, default=3, help="the median of so many rounds counts")
        verb.add_argument("--record", type=Path, help="also write the figures as JSON")
    return parser


if __name__ == "__main__":
    main()
