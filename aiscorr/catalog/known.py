"""What a name is in a database: a failure, job, chain, AIStore node, batch request, xaction or host, in prose.

Each comes with what it was in which failure, and with the commands that show more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aiscorr.query.formats import printable

if TYPE_CHECKING:
    import duckdb

#: So many are named; of more their number is said.
_MANY = 4
#: A shorter beginning of an id may be a word.
_TELLING = 4
#: A fault that explains a failure, as the timeline of a report has it.
_HEAVY = 0.5
#: A node as AIStore's logs write it.
_NODE = re.compile(r"^[pt]\[(\w+)\]$")


@dataclass(frozen=True)
class _Asker:
    """Asks a database about one name."""

    connection: duckdb.DuckDBPyConnection
    name: str

    def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement, which may use `$name`."""
        given = {"name": self.name, **values}
        used = {key: value for key, value in given.items() if f"${key}" in sql}
        return self.connection.execute(sql, used).fetchall()


def known(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """A paragraph for each thing of the database that is called so, or whose id alone begins so."""
    readers: tuple[Callable[[_Asker], Iterable[str]], ...] = (
        _failures, _jobs, _chains, _nodes, _requests, _hosts, _mountpaths,
    )  # fmt: skip
    whole = _Asker(connection, _NODE.sub(r"\1", name))
    found = [text for reader in readers for text in reader(whole)]
    if not found:
        begun = _beginnings(whole)
        if len(begun) > 1:
            more = f" and {len(begun) - 2 * _MANY} more" if len(begun) > 2 * _MANY else ""
            return [printable(f"{len(begun)} ids begin with {whole.name}: {', '.join(begun[: 2 * _MANY])}{more}.")]
        found = [text for longer in begun for text in known(connection, longer)]
    return [printable(text.replace("\n", "\0")).replace("\\x00", "\n") for text in found] if found else []


def _beginnings(asker: _Asker) -> list[str]:
    """The failures, chains and nodes whose ids begin so."""
    rows = asker.rows(
        "select failure_id from failure where starts_with(failure_id, $name) union all"
        " select chain_id from get_batch_chain where starts_with(chain_id, $name) union"
        " select node_id from node where starts_with(node_id, $name) order by 1"
    )
    return [str(row[0]) for row in rows] if len(asker.name) >= _TELLING else []


def _failures(asker: _Asker) -> Iterable[str]:
    rows = asker.rows(
        "select failure_id, job_id, failure_class, storage_verdict, round(confidence, 2), statement, hang_started_at,"
        " first_error_at, ended_at from failure where failure_id = $name"
    )
    for failure_id, job, kind, verdict, confidence, statement, hang, error, end in rows:
        moments = [
            f"{word} {_moment(moment)}"
            for word, moment in (
                ("its first error is of", error),
                ("the others waited since", hang),
                ("it ended at", end),
            )
            if moment
        ]
        chains = asker.rows("select c.chain_id from failure_chain as c where c.failure_id = $name and c.is_verdict")
        yield _text(
            f"{failure_id} is a failure of job {job}, of class {kind}: storage {verdict}, confidence {confidence}.",
            f"{statement}.",
            f"{'; '.join(moments).capitalize()} (UTC)." if moments else "",
            f"Its chain is {chains[0][0]}." if chains else "",
            commands=(f"report {failure_id}", f"lines {failure_id}", f"query @timeline -p failure={failure_id}"),
        )


def _jobs(asker: _Asker) -> Iterable[str]:
    rows = asker.rows(
        "select attempt, task, framework, rank_count, world_size, is_world_stated, node_count, started_at, ended_at,"
        " end_reason from job where job_id = $name order by attempt"
    )
    if not rows:
        return
    failures = asker.rows("select failure_id, statement from failure where job_id = $name order by ended_at desc")
    _, task, framework, ranks, world, is_stated, nodes, started, ended, reason = rows[-1]
    what = " / ".join(str(part) for part in (task, framework) if part)
    whole = world if is_stated else f"at least {world}"
    size = f"{ranks} of {whole} ranks" if world else f"{ranks} rank{'s' * (ranks != 1)}"
    sentences = [
        f"{asker.name} is a training job{f' ({what})' if what else ''} with {size}"
        + (f" on {nodes} node{'s' * (nodes != 1)}" if nodes else "") + ".",
        f"{'Its last attempt' if len(rows) > 1 else 'It'} ran from {_moment(started)} to {_moment(ended)} UTC"
        + (f" and ended: {str(reason).replace('_', ' ')}" if reason else "") + ".",
        *(f"It failed: {statement} (failure {failure_id})." for failure_id, statement in failures[:_MANY]),
        _more(failures, "failures"),
        "" if failures else "No failure of it is known.",
    ]  # fmt: skip
    first = (
        f"report {asker.name}" if failures else f"query \"from worker_event where job_id = '{_quoted(asker.name)}'\""
    )
    yield _text(*sentences, commands=(first, *((f"lines {asker.name}",) if failures else ())))


def _chains(asker: _Asker) -> Iterable[str]:
    rows = asker.rows(
        "select chain_id, suspect_node_id, fault_kind, designated_node_id, xid, wid_count, (select count(*) from"
        " get_batch_chain_step where chain_id = $name), started_at, ended_at from get_batch_chain"
        " where chain_id = $name"
    )
    for chain_id, suspect, fault, designated, xid, wids, steps, started, ended in rows:
        reached = asker.rows(
            "select c.failure_id, c.ranks, c.match_kind, c.is_verdict from failure_chain as c where c.chain_id = $name"
        )
        yield _text(
            f"{chain_id} is a chain of broken x-get-batch requests"
            + (f" that began at node {suspect}" if suspect else "")
            + (f" ({str(fault).replace('_', ' ')})" if fault and suspect else "") + ".",
            f"It has {steps} steps from {_moment(started)} to {_moment(ended)} UTC and broke {wids}"
            f" request{'s' * (wids != 1)}"
            + (f" of xaction {xid}" if xid else "")
            + (f", for which {designated} was {'the' if wids == 1 else 'a'} designated target" if designated else "")
            + ".",
            *(
                f"In failure {failure_id} it reached rank {', '.join(map(str, ranks or []))} (by {kind})"
                + (" and carries the verdict." if is_verdict else ".")
                for failure_id, ranks, kind, is_verdict in reached[:_MANY]
            ),
            "" if reached else "It reached no rank of a known failure.",
            commands=(
                *(f"report {row[0]}" for row in reached[:1]),
                *(f"query @steps -p failure={row[0]}" for row in reached[:1]),
                *((f"explain {suspect}",) if suspect else ()),
            ),
        )  # fmt: skip


def _nodes(asker: _Asker) -> Iterable[str]:
    rows = asker.rows(
        "select node_id, role, cluster, host, version, has_log, first_at, last_at from node where node_id = $name"
    )
    for node_id, role, cluster, host, version, has_log, first, last in rows:
        faults = asker.rows(
            "select fault_kind, started_at, ended_at, last_sign_at from node_fault where node_id = $name"
            f" and cluster = $cluster and weight >= {_HEAVY} order by started_at", cluster=cluster,
        )  # fmt: skip
        held = asker.rows(
            "select failure_id, why from failure_node where node_id = $name and cluster = $cluster order by failure_id",
            cluster=cluster,
        )
        yield _text(
            f"{node_id} is a {role} of the AIStore cluster {cluster}" + (f" on host {host}" if host else "")
            + (f", AIStore {version}" if version else "") + ".",
            f"Its log covers {_moment(first)} to {_moment(last)} UTC." if has_log else "No log of it was read.",
            *(
                f"At {_moment(start)} UTC: {str(kind).replace('_', ' ')}, "
                + (f"until {_moment(end)}." if end else f"last seen at {_moment(seen)}; no line shows its end.")
                for kind, start, end, seen in faults[:_MANY]
            ),
            _more(faults, "faults"),
            *(f"In failure {failure_id} it is held responsible: {why}." for failure_id, why in held[:_MANY]),
            "" if held else "No known failure is put down to it.",
            commands=(
                *(f"report {row[0]}" for row in held[:1]), *(f"lines {row[0]}" for row in held[:1]),
                f"query \"from ais_event where node_id = '{_quoted(node_id)}' and severity <> 'I' order by event_at\"",
            ),
        )  # fmt: skip


def _requests(asker: _Asker) -> Iterable[str]:
    broken = asker.rows(
        "select g.chain_id, r.designated_node_id, b.failure_id, b.rank from chain_request as r"
        " join get_batch_chain as g on g.root_key = r.root_key and g.cluster is not distinct from r.cluster"
        " left join broken_request as b on b.chain_id = g.chain_id and b.wid = r.wid where r.wid = $name"
    )
    named = broken or asker.rows("select 1 from ais_event where wid = $name limit 1")
    if named:
        chain_id, designated, failure_id, rank = broken[0] if broken else (None,) * 4
        yield _text(
            f"{asker.name} is one request of x-get-batch (work item)"
            + (f", put together by target {designated}" if designated else "") + ".",
            f"It was broken in chain {chain_id}." if chain_id else "No chain broke it.",
            f"It is that of rank {rank} in failure {failure_id}." if failure_id and rank is not None else "",
            commands=(f"query @request -p wid={asker.name}", *((f"explain {chain_id}",) if chain_id else ())),
        )  # fmt: skip
    jobs = asker.rows("select chain_id, wid_count from get_batch_chain where xid = $name order by started_at")
    if jobs or asker.rows("select 1 from ais_event where xid = $name limit 1"):
        yield _text(
            f"{asker.name} is an xaction: the job inside AIStore that serves the batch requests of one bucket.",
            *(f"Chain {chain_id} broke {count} of its requests." for chain_id, count in jobs[:_MANY]),
            commands=(f"query @request -p xid={asker.name}", *(f"explain {row[0]}" for row in jobs[:1])),
        )


def _hosts(asker: _Asker) -> Iterable[str]:
    nodes = asker.rows("select node_id, role from node where host = $name order by node_id")
    jobs = asker.rows("select distinct job_id from job where list_contains(hosts, $name) order by job_id")
    ranks = asker.rows(
        "select failure_id, list(rank order by rank), list(rank order by rank) filter (where role = 'culprit')"
        " from rank_state where host = $name group by failure_id order by failure_id"
    )
    if not (nodes or jobs or ranks):
        return
    yield _text(
        f"{asker.name} is a host"
        + (f" of {', '.join(f'{role} {node_id}' for node_id, role in nodes[:_MANY])}" if nodes else "")
        + (f"{' and' if nodes else ''} of job {', '.join(str(row[0]) for row in jobs[:_MANY])}" if jobs else "") + ".",
        *(
            f"In failure {failure_id} it ran {_ranks(every)}"
            + (f"; {_ranks(culprits)} kept the others waiting or failed first" if culprits else "") + "."
            for failure_id, every, culprits in ranks[:_MANY]
        ),
        commands=(*(f"report {row[0]}" for row in ranks[:1]), *(f"explain {row[0]}" for row in nodes[:1])),
    )  # fmt: skip


def _mountpaths(asker: _Asker) -> Iterable[str]:
    rows = asker.rows(
        "select node_id, count(*), min(event_at), max(event_at) from ais_event where mountpath = $name"
        " group by node_id order by node_id"
    )
    if len(rows) > _MANY:
        nodes = ", ".join(str(row[0]) for row in rows[:_MANY])
        yield f"{asker.name} is a mountpath, a disk of {len(rows)} AIStore nodes: {nodes} and {len(rows) - _MANY} more."
        return
    for node_id, count, first, last in rows:
        yield _text(
            f"{asker.name} is a mountpath, a disk of AIStore node {node_id}.",
            f"{count} line{'s' * (count > 1)} of the node name{'s' * (count == 1)} it, from {_moment(first)} to"
            f" {_moment(last)} UTC.",
            commands=(
                f"query \"from ais_event where mountpath = '{_quoted(asker.name)}' order by event_at\"",
                f"explain {node_id}",
            ),
        )


def _ranks(ranks: list[int]) -> str:
    more = f" and {len(ranks) - 16} more" if len(ranks) > 16 else ""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:16]))}{more}"


def _text(*sentences: str, commands: Iterable[str]) -> str:
    lines = [" ".join(one for one in sentences if one)]
    return "\n".join([*lines, *(f"  aiscorr {command}" for command in commands)])


def _more(rows: list[tuple[Any, ...]], noun: str) -> str:
    return f"There are {len(rows) - _MANY} more {noun}." if len(rows) > _MANY else ""


def _moment(moment: datetime | None) -> str:
    return "a moment not known" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _quoted(text: str) -> str:
    return text.replace("'", "''")
