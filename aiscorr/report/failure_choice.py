"""Which failures are meant by what a user says: `latest`, `all`, an id or its beginning, or a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiscorr.analysis.conclusions import newest_first
from aiscorr.errors import UsageError

if TYPE_CHECKING:
    import duckdb

_MANY = 8


def failure_ids(connection: duckdb.DuckDBPyConnection, which: str) -> list[str]:
    """The ids that `latest`, `all`, a failure id, its beginning or a job id stand for; the newest first."""
    rows = newest_first(connection)
    if which == "latest":
        return [row[0] for row in rows[:1]]
    if which == "all":
        return [row[0] for row in rows]
    found = [row[0] for row in rows if row[0] == which] or [row[0] for row in rows if row[1] == which]
    if found:
        return found
    begun = [row for row in rows if row[0].startswith(which)]
    if not begun:
        raise _unknown(connection, which, [row[0] for row in rows])
    if len(begun) > 1:
        shown = ", ".join(row[0] for row in begun[:_MANY])
        more = f" and {len(begun) - _MANY} more" if len(begun) > _MANY else ""
        raise UsageError(f"{len(begun)} failures begin with {which!r}", where="the database", try_this=shown + more)
    return [begun[0][0]]


def whole_names(connection: duckdb.DuckDBPyConnection, given: dict[str, str]) -> dict[str, str]:
    """The values of a query, of which `failure` may be the beginning of one id, and `latest`.

    What fits none is left as it is. Raises UsageError for the beginning of several.
    """
    named = given.get("failure")
    rows = newest_first(connection) if named else []
    if not named or any(named in row for row in rows):
        return given
    if named != "latest" and not any(row[0].startswith(named) for row in rows):
        return given
    return given | {"failure": failure_ids(connection, named)[0]} if rows else given


def _unknown(connection: duckdb.DuckDBPyConnection, which: str, failure_ids: list[str]) -> UsageError:
    """What to say of a name that fits no failure: perhaps it is a job that had none."""
    job = connection.execute("select max(end_reason) from job where job_id = $id having count(*) > 0", {"id": which})
    ended = job.fetchone()
    if ended is not None:
        how = "had not ended when its logs end" if ended[0] == "end_of_logs" else ended[0]
        tell = "aiscorr report   # without a name: what was looked at, and jobs that may hang"
        said = f"job {which!r} is known and no failure of it is: it {how}"
        return UsageError(said, where="the database", try_this=tell)
    known = "one of: " + ", ".join(failure_ids[:8])
    if len(failure_ids) > 8:
        known += f" and {len(failure_ids) - 8} more (`aiscorr query 'select failure_id from failure'`)"
    if not failure_ids:
        known = "aiscorr ingest PATH…: no failure is known so far"
    return UsageError(f"no failure is called {which!r}", where="the database", try_this=known)
