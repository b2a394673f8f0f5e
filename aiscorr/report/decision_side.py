"""What a report says of the case as a whole: what may be the cause, what was read of it, what to do, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aiscorr.report.plain_records import all_of

if TYPE_CHECKING:
    import duckdb

_ACTIONS = {
    "restart": "Restart the job",
    "restart_without_hosts": "Restart the job without {hosts}",
    "stop_and_repair_storage": "Repair the storage, then restart",
    "stop_and_fix_program": "Fix the program, then restart",
    "look": "Look closer before a restart",
    "none": "Nothing to do with the job",
}


@dataclass(frozen=True)
class Suspect:
    """A candidate for the cause, the likeliest first; `would_decide` is the command that would tell more."""

    place: int
    what: str
    probability: float
    failure_class: str
    storage_verdict: str
    rank: int | None
    node_id: str | None
    would_decide: str | None
    path: str | None
    line_no: int | None
    locator: str | None


@dataclass(frozen=True)
class CoverageItem:
    """A rank's output, a node's log, a dump or a stack: complete, cut, missing or unknown, and how that is known."""

    of: str
    kind: str
    rank: int | None
    from_: datetime | None
    to: datetime | None
    state: str
    because: str


@dataclass(frozen=True)
class Decision:
    """What to do with the job, and the hosts to leave out."""

    action: str
    hosts: tuple[str, ...]
    because: str

    @property
    def words(self) -> str:
        """The action as a sentence without its end."""
        return _ACTIONS.get(self.action, self.action).format(hosts=", ".join(self.hosts))


@dataclass(frozen=True)
class Impact:
    """The ranks that stopped, the seconds they lost, and the steps since the last saved checkpoint."""

    ranks: int | None
    lost_s: float | None
    steps_since_checkpoint: int | None


def decision_side(connection: duckdb.DuckDBPyConnection, failure_id: str) -> dict[str, Any]:
    """The fields of a failure's report that this file describes."""
    return {
        "suspects": all_of(connection, Suspect, _SUSPECT, failure_id),
        "coverage": all_of(connection, CoverageItem, _COVERAGE, failure_id),
        "decision": all_of(connection, Decision, _DECISION, failure_id)[0],
        "impact": all_of(connection, Impact, _IMPACT, failure_id)[0],
    }


_SUSPECT = """
select s.place, s.what, s.probability, s.failure_class, s.storage_verdict, s.rank, s.node_id, s.would_decide, f.path,
    case when p.locator is null then s.line_no end as line_no, p.locator
from suspect as s
left join fr_place as p on p.file_id = s.file_id and p.place_no = s.line_no
left join ingested_file as f on f.file_id = s.file_id
where s.failure_id = $id order by s.place
"""
_COVERAGE = """
select c."of", c.kind, c.rank, c.started_at as from_,
    if(c.kind = 'log', greatest(c.started_at, least(c.ended_at, f.window_ended_at)), c.ended_at) as "to",
    c.state, c.because
from coverage as c
join failure as f on f.failure_id = c.failure_id
where c.failure_id = $id
order by case c.kind when 'output' then 1 when 'log' then 2 else 3 end, c.kind, c.rank, c."of"
"""
_DECISION = "select action, hosts, because from decision where failure_id = $id"
_IMPACT = "select ranks, lost_s, steps_since_checkpoint from impact where failure_id = $id"
