"""What the sections of a report show where there is more to tell than a page holds, and where there is no failure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from commands import Command
from reports import scenario_report
from scenes import FIXTURES, NOW, Library

from aiscorr.report import document as doc
from aiscorr.report.blocks import Bullets, Facts, Paragraph, Places, Steps, Table
from aiscorr.report.citation import citations, with_checks
from aiscorr.report.render import render_markdown, render_text
from aiscorr.report.sections import chain as chain_section
from aiscorr.report.sections import counters as counters_section
from aiscorr.report.sections import job as job_section
from aiscorr.report.sections import ruled_out as ruled_out_section
from aiscorr.report.sections import timeline as timeline_section
from aiscorr.report.sections import verdict as verdict_section

STORAGE = "target_killed_short_batch"


@pytest.fixture(name="failure")
def failure_of_storage(library: Library) -> doc.FailureReport:
    """The report of a failure that storage caused."""
    return scenario_report(library, STORAGE).failures[0]


def with_chain(
    failure: doc.FailureReport, steps: list[doc.ChainStep], *requests: doc.ChainRequest
) -> doc.FailureReport:
    """The failure with other steps and requests of its verdict's chain."""
    chain = replace(failure.chains[0], steps=tuple(steps), requests=requests, wids=tuple(item.wid for item in requests))
    return replace(failure, chains=(chain,))


def noisy(failure: doc.FailureReport) -> doc.FailureReport:
    """A failure whose rank's own request ended long after the hang began, behind many repeated steps."""
    began = failure.chains[0].steps[0]
    assert began.at is not None
    later = began.at + timedelta(minutes=5)

    def step(kind: str, node_id: str, line_no: int, **other: object) -> doc.ChainStep:
        base = doc.ChainStep(kind, began.at, node_id, None, "/logs/x", line_no, f"line {line_no}", 1)
        return replace(base, **other)  # type: ignore[arg-type]

    steps = [began, *(step("stream_break", f"t{number}", number) for number in range(1, 30))]
    steps += [
        step("reconnect", "t1", 40, times=24, last_at=began.at + timedelta(minutes=4)),
        step("short_batch", "t3", 41, wid="w1"),
    ]
    steps += [step("client_error", "p1", 42, wid="w2", at=later), step("client_error", "p1", 43, wid="w3", at=later)]
    own, other = (
        doc.ChainRequest("w2", "t2", 5, "wid", "/logs/worker.out", 30),
        (doc.ChainRequest("w1", "t3", None), doc.ChainRequest("w3", "t2", None)),
    )
    return with_chain(failure, steps, own, *other)


def test_what_many_nodes_say_is_one_row(failure: doc.FailureReport) -> None:
    """Sixty targets that rebalance take one row, and never the place of what a rank says."""
    assert failure.first_error_at is not None
    base = replace(failure.timeline[0], weight=1, node_id=None, rank=5, path="/w", at=failure.first_error_at)
    target = replace(base, rank=None, at=base.at.replace(second=1) - timedelta(minutes=5), path="/t")
    many = [
        replace(target, node_id=f"t{number}", text=f"target t{number} was rebalancing", line_no=number)
        for number in range(60)
    ]
    alone = [replace(target, node_id=f"t{number}", text=f"word {'x' * number}", line_no=number) for number in range(60)]
    crash = replace(base, text="crash: OSError", line_no=900)
    shown = timeline_section.shown_events(replace(failure, timeline=(*many, crash)))
    assert [(item.text, len(more)) for item, more in shown] == [("target t0 was rebalancing", 59), (crash.text, 0)]
    launchers = [replace(base, rank=None, text="cancel: Received 15", line_no=number) for number in range(9)]
    culprit = failure.culprit_ranks[0]
    ranks = [replace(crash, rank=number, text="crash: it") for number in (*range(20, 26), culprit)]
    told = timeline_section.shown_events(replace(failure, timeline=(crash, *launchers, *ranks)))
    assert [(item.rank, len(more)) for item, more in told] == [(None, 8), (5, 0), (20, 5), (culprit, 0)]
    crowd = timeline_section.shown_events(replace(failure, timeline=(*alone, crash)))
    assert crowd[-1] == (crash, []) and len(crowd) == 40
    span = "(01:00:00 to 01:00:50 UTC)"
    suspicion = doc.RuledOut(f"target t1 was rebalancing {span}", "it had ended 36 s before", "/t", 1)
    others = [replace(suspicion, what=f"target t2{n} was rebalancing (01:00:0{n} to 01:00:51 UTC)") for n in range(3)]
    bullets, query = ruled_out_section.blocks(replace(failure, ruled_out=(suspicion, *others)), Places({}))
    assert isinstance(bullets, Bullets) and [text[-21:] for text, _ in bullets.items] == [" (and 3 more like it)"]
    assert isinstance(query, Paragraph) and query.text.startswith("each: aiscorr query")
    (few,) = ruled_out_section.blocks(replace(failure, ruled_out=(suspicion, *others[:2])), Places({}))
    assert isinstance(few, Bullets) and len(few.items) == 3
    firsts = [
        doc.RuledOut(f"rank {n}, which torchrun lists as root cause", "it waited", "/w", n) for n in (4, 20, 21, 22)
    ]
    after = replace(firsts[0], because="it went down after rank 3")
    ranks, _ = ruled_out_section.blocks(replace(failure, ruled_out=(*firsts, after)), Places({}))
    assert isinstance(ranks, Bullets) and [text.partition(": ")[2] for text, _ in ranks.items] == [
        "it waited (and 3 more like it: ranks 20-22)",
        "it went down after rank 3",
    ]


def test_what_many_culprits_say_is_one_row(failure: doc.FailureReport) -> None:
    """The same error of more culprits than a few takes one row, though its end differs; of few each but a retry."""
    assert failure.first_error_at is not None
    base = replace(failure.timeline[0], weight=1, node_id=None, path="/w", at=failure.first_error_at)
    items = tuple(replace(base, rank=n, text=f"crash: {'E' * 200} port {n}", line_no=n) for n in range(9))
    many = replace(failure, timeline=items, culprit_ranks=tuple(range(9)))
    assert [(item.rank, len(more)) for item, more in timeline_section.shown_events(many)] == [(0, 8)]
    few = replace(failure, timeline=items[:4], culprit_ranks=(0, 1, 2, 3))
    assert len(timeline_section.shown_events(few)) == 4
    retries = tuple(replace(item, text="retry: 1 of 3") for item in items[:4])
    block, *_ = timeline_section.blocks(replace(few, timeline=retries), Places({}))
    assert isinstance(block, Table) and ["ranks 1-3)" in str(row[2]) for row in block.rows] == [True]


def test_own_request_is_shown(failure: doc.FailureReport) -> None:
    """The rank's own request is shown however late it ended; other steps once a kind, for how many, until the last."""
    (steps,) = [block for block in chain_section.blocks(noisy(failure), Places([])) if isinstance(block, Steps)]
    heads = [head.partition(" ")[2] for head, _, place in steps.items if place.startswith("/logs/x")]
    assert heads == [
        "t1 stream break (and 28 more like it, 24 × reconnect at t2, t3, t4 …, until 10:25:38.002)",
        "t3 short batch w1",
        "p1 client error w2",
    ]


def test_error_of_the_rank_stands_at_its_moment(failure: doc.FailureReport) -> None:
    """The chain leads to the error of the rank and what came of it; what others noticed later stands apart."""
    began = failure.chains[0].steps[0]
    assert began.at is not None
    error, late = began.at + timedelta(seconds=1), began.at + timedelta(seconds=9)
    line = doc.CitedLine("/w", 5, None, error, error, "E: gone", "the error of rank 5")
    noticed = doc.ChainStep("reconnect", late, "p1", None, "/logs/x", 40, "line 40", 1)
    own = doc.ChainStep("short_batch", late, "p1", "w1", "/logs/x", 41, "line 41", 1)
    cause = replace(failure.root_causes[0], supports=(line,))
    asked = doc.ChainRequest("w1", "p1", failure.culprit_ranks[0], "wid")
    told = replace(with_chain(failure, [began, noticed, own], asked), root_causes=(cause,))
    blocks = chain_section.blocks(told, Places([]))
    (steps,) = [block for block in blocks if isinstance(block, Steps)]
    heads = [head for head, _, _ in steps.items]
    assert [" ".join(head.split()[1:3]) for head in heads[1:3]] == ["the error", "p1 short"]
    assert "begin to wait" in heads[3]
    assert steps.items[1][1] == "E: gone"
    (after,) = [block for block in blocks if isinstance(block, Bullets)]
    assert [text.split()[2] for text, _ in after.items] == ["reconnect:"]


def test_a_line_of_an_estimated_moment_is_shown_once(failure: doc.FailureReport) -> None:
    """A node's loss whose begin is estimated from its first line is one step, however the line itself counts."""
    began = replace(failure.chains[0].steps[0], step="node_loss")
    assert began.at is not None
    said = replace(began, at=began.at + timedelta(seconds=20), node_id="p1")
    again = replace(said, line_no=(began.line_no or 0) + 1)
    (steps,) = [
        block
        for block in chain_section.blocks(with_chain(failure, [began, said, again]), Places([]))
        if isinstance(block, Steps)
    ]
    losses = [head for head, _, _ in steps.items if "node loss" in head]
    assert len(losses) == 1 and "(and 1 more like it at p1" in losses[0]


def test_killed_node_shown_by_its_next_start(failure: doc.FailureReport) -> None:
    """A step whose line is a later start of the daemon says so, as the line has the time of another moment."""
    began = replace(failure.chains[0].steps[0], step="node_loss", text="Started up at 2026/11/21 08:58:34, host h")
    told = with_chain(failure, [began])
    (steps,) = [block for block in chain_section.blocks(told, Places([])) if isinstance(block, Steps)]
    said = "node loss: its process vanished without shutdown lines; known from its next start"
    assert said in steps.items[0][0]


def test_each_request_has_its_designated_target(failure: doc.FailureReport) -> None:
    """What is said of the rank's request names the designated target of that request, not of the chain's others."""
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (noisy(failure),)), width=200, color=False)
    assert "The rank's request: w2 (designated target t2)." in text
    rest = "More requests that it broke, the job's logs do not say whose: w1 (designated target t3); w3 (designated "
    assert rest + "target t2)." in text
    assert ", request w2 and 2 more" in text


def test_whose_the_requests_are(failure: doc.FailureReport) -> None:
    """A request that moment and count of entries tie to the rank is the rank's; others' only where they name it."""
    own = doc.ChainRequest("w2", "t2", 5, "wid", "/logs/worker.out", 30)
    by_count = doc.ChainRequest("w1", "t3", 5, "count", "/logs/worker.out", 21)
    other = doc.ChainRequest("w3", "t2", 6, "wid")
    told = with_chain(noisy(failure), list(failure.chains[0].steps), own, by_count, other)
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (told,)), width=300, color=False)
    assert "The rank's request: w2 (designated target t2).\n" in text
    counted = "The rank's too, as their moments and counts of entries say: w1 (designated target t3); its lines: "
    assert re.search(re.escape(counted) + r"\S+:21\.\n", text)
    assert "Requests of other ranks that it broke: w3 (designated target t2).\n" in text
    assert "do not say whose" not in text


def test_the_rank_asked_the_proxy(failure: doc.FailureReport) -> None:
    """What the rank asked stands first; where AIStore's proxy asked for it is told as inside AIStore."""
    now = failure.ended_at or NOW
    proxy, node = "http://10.0.0.1:51080/v1/ml/moss/train", "http://10.0.0.5:51081/v1/ml/moss/train/noxid/w"
    asked = doc.AskedFor(5, None, None, proxy, "10.0.0.1:51080", "p1", "chained", 0, now, "/w", 4)
    inner = replace(asked, url=f"{node}1/4", endpoint="10.0.0.5:51081", is_inner_address=True)
    told = replace(failure, asked_for=(asked, inner, replace(inner, url=f"{node}2/4"), replace(asked, url="u")))
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (told,)), width=300, color=False)
    assert f"asked for     {proxy} (inside AIStore {node}1/4 and 1 more), and 1 more\n" in text


def test_what_is_left_out_of_a_chain_is_counted(failure: doc.FailureReport) -> None:
    """Steps that are not shown are counted, with the query that shows them."""
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (noisy(failure),)), width=300, color=False)
    assert '30 of 34 steps: aiscorr query "select * from get_batch_chain_step' in text


def test_retries_between_the_first_and_the_last(failure: doc.FailureReport) -> None:
    """Of the retries of a rank the timeline shows the first and the last."""
    base = replace(failure.timeline[0], weight=1, node_id=None, path="/w", rank=5)
    retries = tuple(replace(base, text=f"retry: {number}", line_no=number) for number in range(1, 6))
    crash = replace(base, text="crash: it", line_no=9)
    shown = timeline_section.shown_events(replace(failure, timeline=(*retries, crash)))
    assert [item.text for item, _ in shown] == ["retry: 1", "retry: 5", "crash: it"]


def test_chain_is_told_once(failure: doc.FailureReport) -> None:
    """A step of the chain that the verdict does not cite stands in the chain's section, not in the timeline too."""
    steps = {(step.path, step.line_no) for step in failure.chains[0].steps[1:]} - chain_section.cited_lines(failure)
    shown = {(item.path, item.line_no) for item, _ in timeline_section.shown_events(failure)}
    assert steps & {(item.path, item.line_no) for item in failure.timeline} and not steps & shown


def test_confidence_of_an_open_verdict(failure: doc.FailureReport) -> None:
    """The confidence of an undetermined verdict says what it is sure of."""
    report = doc.Report(doc.SCHEMA, NOW, "1", (replace(failure, storage_verdict="undetermined", confidence=0.98),))
    for text in (render_text(report, width=300, color=False), render_markdown(report)):
        assert "(storage undetermined; confidence that these logs cannot tell: 0.98, high)." in text
        assert "Undetermined: these logs are not enough to say whether storage is the cause (" in text


def test_a_changed_bucket_is_no_failure_of_a_node(failure: doc.FailureReport) -> None:
    """Where somebody changed what a job reads, the verdict does not say that storage failed it."""
    for kind, failed in (
        ("bucket_changed", "No node of AIStore failed this job"),
        ("killed", "Storage failed this job"),
    ):
        told = replace(failure, storage_verdict="guilty", failure_kind=kind, confidence=0.95)
        first = verdict_section.blocks(told, Places([]))[0]
        assert isinstance(first, Paragraph) and first.text.startswith(failed)


def test_what_is_not_known_of_a_job(failure: doc.FailureReport) -> None:
    """A world size or a moment that no log states is not printed as a blank or a question mark."""
    job = replace(failure.job, world_size=None, started_at=None)
    bare = replace(failure, job=job, ended_at=None, first_error_at=None, hang_started_at=None)
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (bare,)), width=200, color=False)
    assert "world size not said" in text and "a moment not known to 2026-09-14" in text
    assert "None" not in text.partition("\nRanks\n")[0] and "(UTC, ?)" not in text
    for size_is, count, words in (
        ("at_least", 8, "at least 1 node, world size at least 8, 8 ranks seen"),
        ("stated", 2, "at least 1 node, world size 8, 2 ranks seen"),
        ("stated", 8, "1 node × 8 ranks, world size 8, 8 ranks seen"),
    ):
        job = replace(
            failure.job, world_size=8, world_size_is=size_is, rank_count=count, node_count=1, ranks_per_node=8
        )
        facts = job_section.blocks(replace(failure, job=job), Places([]))[0]
        assert isinstance(facts, Facts) and ("ranks", words) in facts.pairs


def test_releases_of_a_cluster(failure: doc.FailureReport) -> None:
    """The job's section names each release of AIStore with its nodes, and how many of these have no log."""
    (version,) = failure.ais_versions
    assert (version.target_count, version.proxy_count, version.unread_count) == (3, 1, 0)

    def shown(*versions: doc.AisVersion) -> str:
        report = doc.Report(doc.SCHEMA, NOW, "1", (replace(failure, ais_versions=versions),))
        return render_text(report, width=200, color=False).partition("  storage  ")[2].partition("\n")[0]

    one, other, silent = (replace(version, cluster="c", version=name) for name in ("4.9.a", "5.0.b", None))
    assert shown(one) == "AIStore 4.9.a, 3 targets and 1 proxy, cluster c"
    lost = replace(silent, target_count=1, proxy_count=1, unread_count=2)
    assert shown(one, other, lost) == (
        "AIStore 4.9.a (4 nodes) and 5.0.b (4 nodes), 7 targets and 3 proxies, no log of 2 of them, cluster c"
    )
    assert shown(replace(silent, proxy_count=0)) == "AIStore, 3 targets, cluster c" and shown() == ""


def test_nodes_of_another_zone_are_named(failure: doc.FailureReport) -> None:
    """The clocks name the nodes whose logs have another offset than those of most nodes, and no others."""
    usual = next(line for line in failure.clocks if line.node_ids)
    many, one = (
        replace(usual, offset_s=offset, node_ids=names)
        for offset, names in ((3600, ("t1", "t2", "p1")), (7200, ("t4", "t5", "t6", "t7", "t8")))
    )

    def shown(*lines: doc.ClockLine) -> list[str]:
        report = doc.Report(doc.SCHEMA, NOW, "1", (replace(failure, clocks=lines),))
        text = render_text(report, width=200, color=False).partition("\nClocks\n")[2]
        return [line for line in text.split("\n\n")[0].split("\n") if line.startswith("AIStore logs")]

    first, second = shown(many, replace(one, node_ids=("t9",)))
    assert first.split()[2].isdigit() and second.startswith("AIStore logs of t9 ")
    first, second = shown(many, one)
    assert first.startswith("AIStore logs of t1, t2, p1 ")
    assert second.split()[2].isdigit()
    assert " and 2 more " in shown(replace(many, node_ids=tuple("abcdef")), one)[1]


def test_no_failure_says_what_was_looked_at(library: Library, run: Command) -> None:
    """Without a failure the report names the jobs and nodes whose logs are available."""
    text = run("--db", library.database("healthy_run"), "report").out
    assert "No failure was found in these logs.\n" in text
    assert " of 8 ranks, " in text and "ended: completed" in text and "AIStore nodes: " in text


def test_no_worker_log(run: Command) -> None:
    """AIStore logs alone are no failure of a job: the report says what is missing, and names AIStore's own faults."""
    run("ingest", FIXTURES / STORAGE / "ais")
    for form in ("text", "markdown", "html"):
        text = (
            run("report", "--format", form)
            .out.replace("\\", "")
            .replace("`aiscorr query @chains`", "aiscorr query @chains")
        )
        assert "no worker log is available" in text and "target AZq6Oo53 was killed at 2026-09-14 10:21:38 UTC" in text
        assert "aiscorr query @faults" in text and "aistarget.ais-target-" in text
        assert "1 x-get-batch request broke, in 1 chain (aiscorr query @chains)" in text


def test_verdict_tells_of_lines_that_are_gone(failure: doc.FailureReport) -> None:
    """Beside the answer stands how many of the lines it rests on were not found again; nothing where all were."""
    report = doc.Report("", NOW, "", (failure,))
    cited = [item.key for item in citations(report)]
    states = dict.fromkeys(cited, "verified")
    said = []
    for lost in ({}, {cited[0]: "gone", cited[1]: "gone", cited[-1]: "moved"}):
        checked = with_checks(report, states | lost).failures[0]
        texts = [block.text for block in verdict_section.blocks(checked, Places([])) if isinstance(block, Paragraph)]
        said.append([text for text in texts if "cited as evidence" in text])
    assert said[0] == []
    assert [text.partition(":")[0] for text in said[1]] == [
        f"3 of {len(cited)} lines cited as evidence are no longer where they were (2 gone, 1 moved)"
    ]


def test_what_is_known_of_the_time_after(failure: doc.FailureReport) -> None:
    """A counter whose statistics end within the time after is not called complete; nor is a sum that holds one."""
    known = replace(failure.counter_deltas[0], role="target", counter="get.n", is_error=True, is_complete=True)
    ends = replace(known, node_id="t9", is_after_complete=False)
    told = replace(failure, counter_deltas=(replace(known, node_id="t8", is_after_complete=True), ends))
    (table,) = [block for block in counters_section.blocks(told, Places([])) if isinstance(block, Table)]
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("target t8", "yes"),
        ("target t9", "not after"),
        ("all targets", "not after"),
    ]
    text = render_text(doc.Report(doc.SCHEMA, NOW, "1", (told,)), width=110, color=False)
    assert "`not after`: only those after it" in " ".join(text.split())
    plain = doc.to_json(told)
    assert isinstance(plain, dict)
    (delta, _) = plain["counter_deltas"]
    assert delta["is_after_complete"]


def test_a_chain_of_an_innocent_job_runs_from_cause_to_effect(failure: doc.FailureReport) -> None:
    """What a rank did comes first, whenever its line was written; then that the others waited and a watchdog fired."""
    hang = failure.hang_started_at
    assert hang is not None
    second = timedelta(seconds=1)
    base = doc.CitedLine(
        "/w", 1, None, None, None, "[rank5]:[E914 10:22:38.95 x.cpp:1] [Rank 5] Received a dump signal", ""
    )
    fired = replace(
        failure.timeline[0], at=hang + 60 * second, weight=1, text="timeout: x", path="/w", line_no=4, rank=6
    )
    lines = (
        replace(base, line_no=4, at=hang + 60 * second, latest_at=hang + 60 * second, why="the failure itself"),
        replace(base, line_no=3, at=hang + 61 * second, latest_at=hang + 61 * second, why="it had not come"),
        replace(base, line_no=2, why="its stack"),
        replace(base, line_no=1, at=hang - second, latest_at=hang - second, why="its last step"),
        replace(base, at=hang, locator="record_id=9", why="the first that waits"),
    )
    cause = replace(failure.root_causes[0], supports=lines)
    told = replace(failure, chains=(), root_causes=(cause,), timeline=(*failure.timeline, fired))
    (steps,) = [block for block in chain_section.blocks(told, Places([])) if isinstance(block, Steps)]
    heads = [head for head, _, _ in steps.items]
    assert heads[0].endswith("its last step") and heads[1] == "its stack"
    assert heads[2].startswith("it had not come (written ") and "begin to wait" in heads[4]
    assert heads[3].endswith("the first that waits")
    assert heads[-1].endswith("the failure itself") and steps.items[2][1] == "Received a dump signal"
    waiting = next(item for item in failure.timeline if item.source == "ranks" and item.at == hang)
    apart = replace(waiting, path="/w", line_no=9)
    only = replace(cause, supports=(replace(lines[0], line_no=9),))
    bare = replace(told, root_causes=(only,), culprit_ranks=(2, 3), timeline=(apart,))
    (steps,) = [block for block in chain_section.blocks(bare, Places([])) if isinstance(block, Steps)]
    assert steps.items[0] == ("ranks 2-3: no line shows what happened there", "", "")
    assert "begin to wait" in steps.items[1][0]
    own = replace(apart, rank=3, path=only.supports[0].path, line_no=only.supports[0].line_no)
    (steps,) = [
        b for b in chain_section.blocks(replace(bare, timeline=(apart, own)), Places([])) if isinstance(b, Steps)
    ]
    assert "begin to wait" in steps.items[0][0]
