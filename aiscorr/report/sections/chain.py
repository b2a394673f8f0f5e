"""How it came to this: the x-get-batch chain from the node where it began to the rank, with arrows.

The rank's own request and the lines that the verdict cites are always shown; of other steps one of a kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from aiscorr.report.blocks import (
    Block,
    Bullets,
    Paragraph,
    Places,
    Steps,
    clock,
    clock_between,
    listed,
    ranges,
)
from aiscorr.report.document import Chain, ChainRequest, ChainStep, CitedLine, FailureReport
from aiscorr.report.speaking import said

TITLE = "Root-cause chain"
ORDER = 50
EMPTY = "No chain leads from a node of AIStore to this failure."

_LIMIT = 4
_TEXT = 100
_LONG = 220
#: Why a killed node is shown by a later line, in the time of its own clock.
_RESTART = ": its process vanished without shutdown lines; known from its next start"
#: How the reason of a line begins that is the error of one rank, of some by number, or of a count of ranks.
_ERROR = re.compile(r"the error of (?:\d+ )?ranks?\b")
_KIND = {"reconnect": "stream_break", "abort_notice": "abort_broadcast"}
_LATE, _SOON = timedelta(seconds=30), timedelta(seconds=1)
_COUNTED = "The rank's too, as their moments and counts of entries say"
_UNTOLD = "the job's logs do not say whose"
#: A line of the chain: what, its text, its place.
Line = tuple[str, str, str]


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The chain of the verdict with its steps; without one, the lines that carry the verdict."""
    chain = failure.verdict_chain
    result: list[Block] = []
    if chain is not None:
        shown = shown_steps(failure, chain)
        result += [Paragraph(_head(chain)), *map(Paragraph, _requests(failure, chain, places))]
        way, after = _in_order(failure, chain, places)
        ranks = () if _errors(failure, chain) else ((f"rank {ranges(failure.culprit_ranks)}", "", ""),)
        result.append(Steps((*way, *ranks, *(line for _, line in _effects(failure, places)))))
        if after:
            result += [Paragraph("By their times after the error of the rank:", "dim"), Bullets(after)]
        hidden = len(chain.steps) - len(shown)
        if hidden:
            query = f"select * from get_batch_chain_step where chain_id = '{chain.chain_id}' order by step_no"
            words = "Left out as repeats or as later than the rank's end"
            result.append(Paragraph(f'{words}, {hidden} of {len(chain.steps)} steps: aiscorr query "{query}"', "dim"))
    elif failure.root_causes and (steps := _from_cause_to_effect(failure, places)):
        result.append(Steps(steps))
    said = {(line.path, line.line_no) for cause in failure.root_causes[:1] for line in cause.supports}
    others = [
        chain
        for chain in failure.chains
        if not chain.is_verdict and not any((step.path, step.line_no) in said for step in chain.steps[:1])
    ]
    if others:
        for how, some in (
            ("reached a culprit", [chain.chain_id for chain in others if chain.match_kind != "time"]),
            ("broke at that time", [chain.chain_id for chain in others if chain.match_kind == "time"]),
        ):
            if some:
                result.append(Paragraph(f"Other chains that {how}: {', '.join(some[:6])}.", "dim"))
    return result


def _from_cause_to_effect(failure: FailureReport, places: Places) -> tuple[Line, ...]:
    """The lines that carry the verdict, then what came of it: that the others waited, and that a watchdog fired.

    A line that was written after the others began to wait shows a cause all the same, as of a rank that never came: it
    says when it was written. Only what a watchdog said is an effect, and the line of an effect is no cause.
    """
    hang = failure.hang_started_at
    fired = {(item.path, item.line_no) for item in failure.timeline if item.text.startswith("timeout:")}
    causes: list[tuple[int, datetime, Line]] = []
    effects: list[tuple[datetime, Line]] = []
    later = _effects(failure, places)
    shown = {line[2] for _, line in later}
    for line in failure.root_causes[0].supports:
        moment = line.at if line.is_estimate else line.latest_at or line.at
        head, text, place = _line(line, places)
        if moment is None:
            causes.append((1, datetime.min, (head, text, place)))
        elif moment == hang and (line.locator or "").startswith("record_id"):
            effects.append((moment, (head, text, place)))  # the call of one that waits
        elif hang is None or moment <= hang:
            causes.append((0, moment, (head, text, place)))
        elif (line.path, line.line_no) in fired:
            effects.append((moment, (head, text, place)))
        elif place not in shown:
            causes.append((2, moment, (f"{line.why} (written {clock(moment)})", text, place)))
    effects += later
    cited = cited_lines(failure)
    is_seen = any(
        item.rank in failure.culprit_ranks and (item.path, item.line_no) in cited for item in failure.timeline
    )
    if effects and failure.culprit_ranks and not causes and not is_seen:
        who = f"rank{'s' * (len(failure.culprit_ranks) > 1)} {ranges(failure.culprit_ranks)}"
        causes.append((0, datetime.min, (f"{who}: no line shows what happened there", "", "")))
    causes.sort(key=lambda one: one[:2])
    effects.sort(key=lambda one: one[0])
    return (*(line for _, _, line in causes), *(line for _, line in effects))


def _effects(failure: FailureReport, places: Places) -> list[tuple[datetime, Line]]:
    """What came of it, as far as no line of the chain says so: the others began to wait, and a watchdog fired."""
    cited = cited_lines(failure)
    steps: list[tuple[datetime, Line]] = []
    waiting = (item for item in failure.timeline if item.source == "ranks" and item.at == failure.hang_started_at)
    every = [item for item in failure.timeline if item.text.startswith("timeout:")]
    is_told = not cited.isdisjoint((item.path, item.line_no) for item in every)
    fired = None if is_told else next((item for item in every if item.weight == 1), None)
    for item in (next(waiting, None), fired):
        if item is not None:
            who = f"rank {item.rank} " if item.rank is not None else ""
            head, _, words = item.text.partition(": ") if who else (item.text, "", "")
            text = said(words, _TEXT) if words else ""
            title = f"{clock(item.at, is_exact=item.is_exact)} {who}{head}"
            steps.append((item.at, (title, text, places.line(item.path, item.line_no))))
    return steps


def _in_order(failure: FailureReport, chain: Chain, places: Places) -> tuple[list[Line], tuple[tuple[str, str], ...]]:
    """The steps that led to the rank's error, and that error; apart those of others that came after it."""
    own, cited = own_wids(failure, chain), cited_lines(failure)
    errors = [_error(line, places) for line in _errors(failure, chain)]
    failed = max((moment for moment, _ in errors if moment), default=None)
    reasons: dict[tuple[str | None, int | None], str] = {
        (line.path, line.line_no): line.why for cause in failure.root_causes[:1] for line in cause.supports
    }
    dated: list[tuple[datetime | None, Line]] = []
    after: list[tuple[str, str]] = []
    for number, (step, more) in enumerate(shown_steps(failure, chain)):
        is_own = number == 0 or step.wid in own or (step.path, step.line_no) in cited
        why = reasons.pop((step.path, step.line_no), "")
        item = _step(step, more, places, _LONG if step.wid in own else _TEXT, why)
        if is_own or failed is None or step.at is None or step.at <= failed:
            dated.append((step.at, item))
        else:
            after.append((f"{item[0]}: {item[1]}", item[2]))
    for moment, item in errors:
        later = (no for no, (at, _) in enumerate(dated) if no and moment and at and at > moment)
        dated.insert(next(later, len(dated)), (moment, item))
    return [item for _, item in dated], tuple(after)


def own_wids(failure: FailureReport, chain: Chain) -> list[str]:
    """The requests that a culprit names, and those whose lines are the verdict's link; what it failed with goes first.

    The first line of a chain is of whoever met the trouble first, perhaps another client.
    """
    named = [item.wid for item in chain.requests if item.rank in failure.culprit_ranks and item.told_by == "wid"]
    supports = [line for cause in failure.root_causes[:1] for line in cause.supports]
    links = {(line.path, line.line_no) for line in supports if "the link: " in line.why}
    tied = [step.wid for step in chain.steps if step.wid and (step.path, step.line_no) in links]
    return list(dict.fromkeys([*named[:_LIMIT], *tied]))


def cited_lines(failure: FailureReport) -> set[tuple[str | None, int | None]]:
    """The lines that carry the verdict."""
    return {(line.path, line.line_no) for cause in failure.root_causes[:1] for line in cause.supports}


def _line(line: CitedLine, places: Places) -> Line:
    head = f"{clock_between(line.at, line.latest_at, is_estimate=line.is_estimate)} {line.why}".strip()
    mark = "" if line.check in (None, "verified") else f" [{line.check}]"
    limit = _LONG if _ERROR.match(line.why) else _TEXT
    return head, said(line.text or "", limit), places.line(line.path, line.line_no, line.locator) + mark


def _head(chain: Chain) -> str:
    began = f"began at {chain.suspect_node_id}" if chain.suspect_node_id else "where it began is not said"
    return (
        ", ".join(part for part in (chain.chain_id, f"xaction {chain.xid}" if chain.xid else "", began) if part) + "."
    )


def _requests(failure: FailureReport, chain: Chain, places: Places) -> Iterable[str]:
    """Whose the requests are, as far as the job's logs tell: each has a designated target of its own."""
    place = {wid: position for position, wid in enumerate(own_wids(failure, chain))}
    named = [item for item in chain.requests if item.rank in failure.culprit_ranks and item.told_by == "wid"]
    tied = [item for item in chain.requests if item.wid in place and item not in named]
    mine = sorted((*named, *tied), key=lambda item: place.get(item.wid, len(place)))
    rest = [item for item in chain.requests if item not in mine]
    counted = [item for item in rest if item.rank in failure.culprit_ranks]
    others = [item for item in rest if item.rank is not None and item not in counted]
    untold = [item for item in rest if item.rank is None]
    if mine:
        whose = "The rank's request" if named else "The request that links the rank"
        yield f"{whose}{'s' if len(mine) > 1 else ''}: {_by_target(mine)}."
    if counted:
        spots = sorted({(item.path or "", item.line_no or 0) for item in counted})
        lines = listed([places.line(path, line_no) for path, line_no in spots], _LIMIT)
        yield f"{_COUNTED}: {_by_target(counted)}; its lines: {lines}."
    if others:
        yield f"Requests of other ranks that it broke: {_by_target(others)}."
    if untold:
        yield f"{'More requests' if mine or counted else 'Requests'} that it broke, {_UNTOLD}: {_by_target(untold)}."


def _by_target(requests: Iterable[ChainRequest]) -> str:
    groups: dict[str | None, list[str]] = {}
    for request in requests:
        groups.setdefault(request.designated_node_id, []).append(request.wid)
    return "; ".join(
        listed(wids, _LIMIT) + (f" (designated target {node_id})" if node_id else "")
        for node_id, wids in groups.items()
    )


def shown_steps(failure: FailureReport, chain: Chain) -> list[tuple[ChainStep, list[ChainStep]]]:
    """The steps to show, each with those of its kind that it stands for: the rank's own all, of others the first."""
    own, cited = set(own_wids(failure, chain)), cited_lines(failure)
    ended = {step.wid for step in chain.steps if step.step in ("short_batch", "aborted")}
    shown: list[tuple[ChainStep, list[ChainStep]]] = []
    first: dict[str, list[ChainStep]] = {}
    for number, step in enumerate(chain.steps):
        kind = _KIND.get(step.step, step.step)
        is_own = step.wid in own and not (step.step == "abort_broadcast" and step.wid in ended)
        is_kept = number == 0 or (step.path, step.line_no) in cited or (is_own and step.step != "cleanup")
        if number == 1 and (step.path, step.line_no, kind) == (shown[0][0].path, shown[0][0].line_no, shown[0][0].step):
            first[kind] = shown[0][1]  # the moment estimated for the line, and the line itself
        elif is_kept and (number == 0 or is_own or kind in first):
            shown.append((step, []))
        elif kind in first:
            first[kind].append(step)
        elif is_kept or (step.step != "cleanup" and not _is_late(step, failure)):
            shown.append((step, first.setdefault(kind, [])))
    return shown


def _is_late(step: ChainStep, failure: FailureReport) -> bool:
    stopped = failure.hang_started_at or failure.ended_at
    return step.at is not None and stopped is not None and step.at > stopped + _LATE


def _step(step: ChainStep, more: list[ChainStep], places: Places, limit: int, why: str) -> Line:
    times = f" × {step.times}" if step.times > 1 else ""
    wid = f" {step.wid}" if step.wid else ""
    repeats = _repeats(step, more)
    moment = clock(step.at, is_exact=step.is_exact)
    restart = _RESTART if step.step == "node_loss" and step.text.startswith("Started up at") else ""
    kind = step.step.replace("_", " ")
    head = f"{moment} {step.node_id or ''} {kind}{wid}{times}{repeats}{restart}{f' — {why}' if why else ''}"
    mark = "" if step.check in (None, "verified") else f" [{step.check}]"
    return head, said(step.text, limit), places.line(step.path, step.line_no) + mark


def _repeats(step: ChainStep, more: list[ChainStep]) -> str:
    """What a step stands for: how many like it and of kinds near to it, until when, and where."""
    counts: dict[str, int] = {}
    for item in more:
        counts[item.step] = counts.get(item.step, 0) + item.times
    like = counts.pop(step.step, 0)
    words = [f"{like} more like it"] if like else []
    words += [f"{count} × {kind.replace('_', ' ')}" for kind, count in counts.items()]
    nodes = list(dict.fromkeys(item.node_id for item in more if item.node_id))
    where = f" at {', '.join(nodes[:3])}{' …' if len(nodes) > 3 else ''}" if nodes else ""
    last = max((item.last_at or item.at for item in more if item.at), default=None)
    until = f", until {clock(last)}" if last and step.at and last - step.at > _SOON else ""
    return f" (and {', '.join(words)}{where}{until})" if words else ""


def _errors(failure: FailureReport, chain: Chain) -> list[CitedLine]:
    """The errors of ranks that the verdict cites and that are no step of the chain."""
    known = {(step.path, step.line_no) for step in chain.steps}
    supports = failure.root_causes[0].supports if failure.root_causes else ()
    return [line for line in supports if _ERROR.match(line.why) and (line.path, line.line_no) not in known]


def _error(line: CitedLine, places: Places) -> tuple[datetime | None, Line]:
    """The error of a rank with the moment up to which it may have been: a clock of whole seconds means the second."""
    moment = line.at if line.is_estimate else line.latest_at or line.at
    if moment and not moment.microsecond:
        moment += _SOON
    place = places.line(line.path, line.line_no)
    return moment, (_line(line, places)[0], said(line.text or "", _LONG), place)


def told_above(failure: FailureReport) -> set[tuple[str | None, int | None]]:
    """The lines that the chain shows: those of the verdict's chain and the errors of ranks, else all it stands on."""
    chain = failure.verdict_chain
    if chain is None:
        return cited_lines(failure)
    steps = {(step.path, step.line_no) for step, _ in shown_steps(failure, chain)}
    return steps | {(line.path, line.line_no) for line in _errors(failure, chain)}
