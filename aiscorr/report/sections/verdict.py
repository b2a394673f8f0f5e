"""The answer: was it the storage, which rank, which node, which chain, how sure, and what speaks against it."""

from __future__ import annotations

from aiscorr.report.blocks import (
    Block,
    Bullets,
    Facts,
    Paragraph,
    Places,
    clock,
    date_and_clock,
    days_apart,
    listed,
    ranges,
)
from aiscorr.report.document import Chain, FailureReport
from aiscorr.report.sections.chain import own_wids

TITLE = "Verdict"
ORDER = 10
EMPTY = ""

_TONE = {"guilty": "guilty", "innocent": "innocent", "undetermined": "open"}
#: What is said of each verdict, surely and where answers of this confidence are wrong now and then.
_WORDS = {
    "guilty": ("Storage failed this job", "Storage probably failed this job"),
    "innocent": ("Storage is not the cause", "Storage is probably not the cause"),
    "undetermined": ("Undetermined: these logs are not enough to say whether storage is the cause",) * 2,
}
#: Kinds of failure in which no node failed: somebody took away or changed what is stored.
_CHANGED = frozenset({"bucket_changed", "deleted", "deleted_behind"})
_SURE, _HIGH = 0.8, 0.9
#: A clock that is no surer contradicts what other logs say of it.
_DOUBTED = 0.5


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Verdict, statement, the facts in one table, what speaks against it."""
    words = _WORDS[failure.storage_verdict][failure.confidence < _SURE]
    if failure.storage_verdict == "guilty" and failure.failure_kind in _CHANGED:
        words = "No node of AIStore failed this job: what it reads was changed or taken away"
    verdict = f"{words} (storage {failure.storage_verdict}{_confidence(failure)})."
    result: list[Block] = [
        Paragraph(verdict, _TONE[failure.storage_verdict]),
        Paragraph(failure.statement + "."),
        Facts(tuple((label, value) for label, value in _facts(failure) if value)),
    ]
    against = failure.root_causes[0].contradicts if failure.root_causes else ()
    if against:
        result.append(Paragraph("What contradicts it:"))
        result.append(Bullets(tuple((line.why, places.line(line.path, line.line_no)) for line in against)))
    elif failure.storage_verdict != "undetermined":
        result.append(Paragraph("Nothing in these logs contradicts it.", "dim"))
    if any(line.method == "given" and line.confidence < _DOUBTED for line in failure.clocks):
        words = "The zone given for some logs does not fit the others: moments may be hours off (blind spots)."
        result.append(Paragraph(words, "open"))
    lost = _not_found_again(failure)
    if lost:
        result.append(Paragraph(lost, "open"))
    return result


def _not_found_again(failure: FailureReport) -> str:
    """What became of the cited lines that no longer stand where they stood when they were read; empty if all do."""
    states = [item.check for item in failure.cited]
    counts = {state: states.count(state) for state in ("gone", "moved")}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    head = f"{sum(counts.values())} of {len(states)} lines cited as evidence are no longer where they were ({told})"
    return f"{head}: files were changed, rotated or removed since they were read (aiscorr verify)." if told else ""


def _confidence(failure: FailureReport) -> str:
    word = "high" if failure.confidence >= _HIGH else "medium" if failure.confidence >= _SURE else "low"
    if failure.storage_verdict == "undetermined":
        return f"; confidence that these logs cannot tell: {failure.confidence:.2f}, {word}"
    return f", confidence {failure.confidence:.2f}, {word}"


def utc(failure: FailureReport) -> str:
    """`UTC`, and that it or the year is only assumed where no line of the job shows its time zone or a year."""
    own = [line for line in failure.clocks if line.who == "worker logs"]
    is_year_guessed = bool(own) and all(line.is_year_guessed for line in own)
    if any(line.method == "assumed" for line in own):
        told = ("UTC and year", "zone or a year") if is_year_guessed else ("UTC", "zone")
        return f"{told[0]} assumed: no line of the job shows its time {told[1]}"
    if is_year_guessed:
        return "UTC, year assumed: no line of the job shows one"
    return "taken as UTC" if any(line.is_untold for line in own) else "UTC"


def _facts(failure: FailureReport) -> list[tuple[str, str]]:
    kind = f"{failure.failure_class} / {failure.failure_kind}" if failure.failure_kind else failure.failure_class
    hosts = {line.rank: line.host for line in failure.ranks}
    culprits = ", ".join(
        f"{rank} (host {hosts[rank]})" if hosts.get(rank) else str(rank) for rank in failure.culprit_ranks[:8]
    )
    if len(failure.culprit_ranks) > 8:
        culprits = ranges(failure.culprit_ranks)
    nodes = ", ".join(
        f"{node.role or 'node'} {node.node_id}" + (f" ({node.host})" if node.host else "") for node in failure.ais_nodes
    )
    chain = failure.verdict_chain
    wids = _wids(failure, chain) if chain else ""
    hang, error, ended = failure.hang_started_at, failure.first_error_at, failure.ended_at
    far = days_apart((hang, error, ended))
    moments = [
        f"first error {clock(error, is_exact=failure.first_error_at_is == 'exact', has_day=far)}"
        if error not in (None, hang)
        else "",
        f"hang since {clock(hang, has_day=far)}" if hang else "",
        f"ended {clock(ended, has_day=far)}" if ended else "",
    ]
    alike = failure.ranks and all(rank.role == "crashed" for rank in failure.ranks)
    return [
        ("class", kind),
        ("rank", culprits or ("none before the others" if alike else "none can be named")),
        ("AIStore node", nodes),
        ("asked for", _asked_for(failure)),
        ("chain", f"{chain.chain_id}{wids}" if chain else ""),
        (
            "moments",
            f"{', '.join(part for part in moments if part)} ({utc(failure)}{'' if far else _day(failure)})"
            if any(moments)
            else "",
        ),
    ]


def _asked_for(failure: FailureReport) -> str:
    """What the culprit had asked storage for, whom, and how often it tried; of several the last."""
    if not failure.asked_for:
        return ""
    one = failure.asked_for[0]
    name = f"{one.bucket or ''}/{one.object}".lstrip("/") if one.object else one.url or ""
    whom = f" of {one.endpoint}" if one.endpoint and one.endpoint not in name else ""
    named = whom and one.node_id and one.node_id not in [node.node_id for node in failure.ais_nodes]
    owner = f" ({one.node_id})" if named else ""
    tried = ""
    if one.retry_count:
        times = f"{one.retry_count} time{'s' * (one.retry_count != 1)}"
        elsewhere = one.retry_endpoint if whom and one.retry_endpoint not in (None, one.endpoint) else ""
        how = f", before that {times} of {elsewhere}" if elsewhere else f", tried again {times}"
        tried = f"{how} since {clock(one.first_at)}" if one.first_at else how
    rest = failure.asked_for[1:]
    inner = [item.url or "" for item in rest if item.is_inner_address and item.rank == one.rank]
    others = len(rest) - len(inner)
    within = f" (inside AIStore {listed(inner, 1)})" if inner else ""
    return f"{name}{whom}{owner}{tried}{within}" + (f", and {others} more" if others else "")


def _day(failure: FailureReport) -> str:
    moment = failure.ended_at or failure.first_error_at or failure.hang_started_at
    return f", {date_and_clock(moment)[:10]}" if moment else ""


def _wids(failure: FailureReport, chain: Chain) -> str:
    """The rank's own request first, and how many more the chain broke."""
    first = list(dict.fromkeys([*own_wids(failure, chain), *chain.wids]))[:1]
    more = f" and {len(chain.wids) - 1} more" if len(chain.wids) > 1 else ""
    return f", request {first[0]}{more}" if first else ""
