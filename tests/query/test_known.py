"""`aiscorr explain` knows what the database knows: a job, failure, chain, node, request or host, as what it was."""

from __future__ import annotations

import json
import shlex

import pytest
from commands import Command
from scenes import Library, rows

from aiscorr.catalog.known import known
from aiscorr.store.database import reading

SCENARIO = "target_killed_short_batch"
FAILURE = "4184269.0-20260914T102238"
CHAIN = "chain-0914T102138-AZq6Oo53-killed"


@pytest.fixture(name="db")
def db_fixture(library: Library) -> str:
    """The database of one incident."""
    return library.database(SCENARIO)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (FAILURE, f"{FAILURE} is a failure of job 4184269, of class storage_io: storage guilty"),
        ("4184269", "4184269 is a training job"),
        (CHAIN, f"{CHAIN} is a chain of broken x-get-batch requests that began at node AZq6Oo53 (killed)."),
        ("AZq6Oo53", "AZq6Oo53 is a target of the AIStore cluster"),
        ("uvb6zd6-1kcMU", "uvb6zd6-1kcMU is one request of x-get-batch (work item), put together by target gREiOVxt."),
        ("gbt-nCxtm8Ipg", "gbt-nCxtm8Ipg is an xaction"),
        ("pool3-0311", "pool3-0311 is a host of job 4184269."),
        ("ais-target-1", "ais-target-1 is a host of target AZq6Oo53"),
        ("4184269.0", f"{FAILURE} is a failure of job 4184269"),
        ("chain-0914T102138", f"{CHAIN} is a chain"),
    ],
)
def test_what_it_is(name: str, words: str, db: str, run: Command) -> None:
    """Each is said to be what it is, in sentences, with what it was in the failure and commands that work."""
    done = run("--db", db, "explain", name)
    said = " ".join(done.out.split())
    assert done.code == 0 and said.startswith(words) and "{" not in said and "None" not in said
    commands = [line.strip() for line in done.out.splitlines() if line.startswith("  aiscorr ")]
    assert commands
    for command in commands:
        outcome = run("--db", db, *shlex.split(command)[1:])
        assert outcome.code == 0 and outcome.out, command


def test_its_part_in_the_failure(db: str, run: Command) -> None:
    """A node, a host, a request and a chain name the failure and what they were in it."""
    said = {name: " ".join(run("--db", db, "explain", name).out.split()) for name in ("AZq6Oo53", "pool3-0311", CHAIN)}
    assert f"In failure {FAILURE} it is held responsible: " in said["AZq6Oo53"] and ": killed" in said["AZq6Oo53"]
    assert f"In failure {FAILURE} it ran ranks 4, 5, 6, 7; rank 5 kept the others waiting" in said["pool3-0311"]
    assert f"In failure {FAILURE} it reached rank 5" in said[CHAIN] and "carries the verdict." in said[CHAIN]
    assert "and broke 1 request of " in said[CHAIN] and ", for which gREiOVxt was the designated target." in said[CHAIN]


def test_a_number_is_a_job_before_it_is_alert_flags(db: str, run: Command) -> None:
    """A bare number that a job has for its id is that job; another one is a value of state.flags."""
    assert "is a training job" in run("--db", db, "explain", "4184269").out
    assert "state.flags" not in run("--db", db, "explain", "4184269").out
    assert "as state.flags of an AIStore node: " in run("--db", db, "explain", "4184270").out
    assert "as state.flags of an AIStore node: " in run("explain", "4184269").out


def test_a_beginning_of_several(db: str, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of one id is enough everywhere; that of several is refused with the candidates."""
    begun = ("query", "@timeline", "--format", "csv", "-p")
    assert run("--db", db, *begun, "failure=4184269.0").out.count("\n") > 1
    assert run("--db", db, *begun, "failure=latest").out.count("\n") > 1
    others = [("419.0-A", "419"), (FAILURE, "4184269"), ("418.0-B", "418")]
    monkeypatch.setattr("aiscorr.report.failure_choice.newest_first", lambda _: others)
    for arguments in (("report", "4"), ("lines", "4"), ("verify", "4"), (*begun, "failure=4")):
        done = run("--db", db, *arguments)
        assert done.code == 2 and done.err.startswith("error: 3 failures begin with '4'"), arguments
        assert "try: 419.0-A, 4184269.0-20260914T102238, 418.0-B" in done.err
    with reading(db) as connection:
        many = "select g.* replace ('chain-' || n as chain_id) from get_batch_chain as g, range(11) as r(n)"
        connection.execute(f"create temp table many as {many} qualify row_number() over (partition by n) = 1")
        connection.execute("create temp view get_batch_chain as from many")
        (said,) = known(connection, "chain-")
        assert said.startswith("11 ids begin with chain-: chain-0, chain-1, ") and said.endswith(" and 3 more.")


def test_odd_names(db: str) -> None:
    """A name with quotes or codes is no statement, and what comes back holds no control characters."""
    with reading(db) as connection:
        assert (
            known(connection, "'; drop table ais_line; --")
            == known(connection, "")
            == known(connection, "\x1b[2J")
            == []
        )
        connection.execute(
            "create temp view job as select 'j' as job_id, 0 as attempt, chr(27) || '[2J' || chr(8238) as task, null as"
            " framework, 1 as rank_count, null as world_size, false as is_world_stated, 1 as node_count,"
            " null::timestamp as started_at,"
            " null::timestamp as ended_at, null as end_reason, ['h'] as hosts"
        )
        (said,) = known(connection, "j")
    assert said.startswith("j is a training job (\\x1b[2J\\u202e) with 1 rank on 1 node.") and "\n  aiscorr " in said


def test_a_node_as_a_log_writes_it(db: str) -> None:
    """A node is known by the beginning of its id, and as AIStore's own lines write it."""
    with reading(db) as connection:
        whole = known(connection, "AZq6Oo53")
        assert whole and whole[0].startswith("AZq6Oo53 is a target")
        assert known(connection, "AZq6") == known(connection, "t[AZq6Oo53]") == whole


def test_a_class_as_a_report_prints_it(db: str, run: Command) -> None:
    """`class / kind` of a report explains both."""
    said = run("--db", db, "explain", "storage_io / killed").out
    assert said.startswith("failure class storage_io: ") and "\nfault killed: an AIStore node was killed." in said


def test_a_mountpath(library: Library, run: Command) -> None:
    """A mountpath that lines of AIStore name is explained with its node."""
    db = library.database("mountpath_faulted")
    ((path, node_id),) = rows(db, "select distinct mountpath, node_id from ais_event where mountpath is not null")
    said = run("--db", db, "explain", path).out
    assert said.startswith(f"{path} is a mountpath, a disk of AIStore node {node_id}.")


def test_counters_of_two_nodes(db: str, run: Command) -> None:
    """The counters around a failure can be narrowed to some nodes, which are then next to each other."""
    found = run("--db", db, "query", "@counters", "-p", "node=AZq6Oo53,gREiOVxt", "--format", "jsonl").out
    assert {json.loads(line)["node_id"] for line in found.splitlines()} == {"AZq6Oo53", "gREiOVxt"}
