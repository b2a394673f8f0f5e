"""The first screen of a failure: the verdict, what to do and who does it, what it cost, and if it came before."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import Block, Paragraph, date_and_clock

_WHO = {"storage": "Storage", "client": "Client", "training": "Training"}
_MARKS = {
    "guilty": '<path d="M12 2 23 21H1Z"/><path class="paper" d="M11 9h2v6h-2zM11 17h2v2h-2z"/>',
    "innocent": '<circle cx="12" cy="12" r="11"/><path class="paper" d="m6 12 2-2 3 3 6-6 2 2-8 8z"/>',
    "undetermined": '<rect x="1" y="1" width="22" height="22" rx="3"/>'
    '<path class="paper" d="M8 9a4 4 0 1 1 5 4v2h-2v-4a2 2 0 1 0-1-2zM11 17h2v2h-2z"/>',
}
_SUBJECTS = {"node": "with AIStore node", "host": "with host", "kind": "of the kind"}
_ORDINALS = {2: "Second", 3: "Third", 4: "Fourth", 5: "Fifth", 6: "Sixth"}


def first_screen(failure: doc.FailureReport, words: list[Paragraph]) -> str:
    """The first screen; `words` are the paragraphs in which the verdict's section says it."""
    head, *rest = [paragraph.text for paragraph in words]
    strong, _, sure = head.partition(" (")
    statement = "".join(f"<p>{escape(text)}</p>\n" for text in rest)
    return (
        f'<div class="first {escape(failure.storage_verdict)}">\n<div class="verdict">\n'
        f'<svg class="sign" viewBox="0 0 24 24" aria-hidden="true">{_MARKS.get(failure.storage_verdict, "")}</svg>\n'
        f'<div>\n<p class="said"><strong>{escape(strong)}</strong> <span>{escape(sure.rstrip(")."))}</span></p>\n'
        f"{statement}{_meter(failure)}</div>\n</div>\n"
        f'<div class="cards">\n{_decision(failure)}{_impact(failure)}{_before(failure)}</div>\n</div>\n'
    )


def verdict_words(failure: doc.FailureReport, blocks: list[Block]) -> list[Paragraph]:
    """Of the verdict's section what the first screen shows: its leading paragraphs."""
    words: list[Paragraph] = []
    for block in blocks:
        if not isinstance(block, Paragraph):
            break
        words.append(block)
    return words or [Paragraph(failure.statement)]


def _meter(failure: doc.FailureReport) -> str:
    percent = f"{failure.confidence:.0%}"
    words = f"confidence {failure.confidence:.2f}"
    steps = "".join(
        f'<i class="{"on" if failure.confidence >= step / 20 - 0.001 else "off"}"></i>' for step in range(1, 21)
    )
    return f'<p class="meter" role="img" aria-label="{words}" title="{percent}">{steps}</p>\n'


def _decision(failure: doc.FailureReport) -> str:
    decision = failure.decision
    advice: dict[str, str] = {}
    for item in failure.recommendations:
        advice.setdefault(item.to, item.text)
    rows = "".join(
        f"<dt>{who}</dt><dd>{escape(advice[to]) if to in advice else _nothing(failure, to)}</dd>\n"
        for to, who in _WHO.items()
    )
    because = decision.because[:1].upper() + decision.because[1:]
    return (
        f'<section class="card wide"><h2>What to do</h2>\n<p class="big">{escape(decision.words)}</p>\n'
        f'<p class="dim">{escape(because)}.</p>\n<dl class="acts">\n{rows}</dl>\n{_would_tell(failure)}</section>\n'
    )


def _would_tell(failure: doc.FailureReport) -> str:
    """Where the logs leave it open, or nobody is advised to do anything: the command that would tell most."""
    commands = [one.would_decide for one in failure.suspects] + [one.command for one in failure.blind]
    command = next((one for one in commands if one), "")
    if not command or (failure.recommendations and failure.is_determined):
        return ""
    return f'<p>What would tell more: <code class="command">{escape(command)}</code></p>\n'


def _nothing(failure: doc.FailureReport, to: str) -> str:
    if to == "storage" and failure.storage_verdict == "innocent":
        return '<span class="dim">Nothing: storage is not the cause.</span>'
    return '<span class="dim">Nothing for now.</span>'


def _impact(failure: doc.FailureReport) -> str:
    impact = failure.impact
    count = f"{impact.ranks:,} rank{'s' * (impact.ranks != 1)}" if impact.ranks is not None else ""
    lost = span_words(impact.lost_s) if impact.lost_s is not None else ""
    facts = []
    if count and lost:
        total = span_words((impact.ranks or 0) * (impact.lost_s or 0.0))
        facts.append((f"{count} × {lost}", f"from the failure to the end of the job: {total} of rank time lost"))
    elif count or lost:
        facts.append((count or lost, "stopped" if count else "from the failure to the end of the job"))
    if failure.ended_at is None and (failure.hang_started_at or failure.first_error_at):
        facts.append(("", "No line shows the end of the job: it may still hang."))
    if impact.steps_since_checkpoint is not None:
        facts.append((f"{impact.steps_since_checkpoint:,} steps", "since the last saved checkpoint, to be done again"))
    else:
        facts.append(("", "Steps since the last checkpoint: no line shows them."))
    rows = "".join(f"<p><b>{escape(value)}</b> {escape(words)}</p>\n" for value, words in facts)
    return f'<section class="card facts"><h2>Impact</h2>\n{rows}</section>\n'


def _before(failure: doc.FailureReport) -> str:
    items = []
    for one in failure.recurrence:
        nth = _ORDINALS.get(one.occurrence_no) or _ordinal(one.occurrence_no)
        subject = f"{_SUBJECTS.get(one.subject_kind, one.subject_kind)} {one.subject}"
        before = "the one before" if one.occurrence_no == 2 else "the last one"
        items.append(
            f"<li><b>{nth} failure</b> {escape(subject)} in {one.span_days} days; {before}:"
            f" <code>{escape(one.last_failure_id)}</code></li>\n"
        )
    body = f"<ul>\n{''.join(items)}</ul>\n" if items else f'<p class="dim">{_no_other(failure)}</p>\n'
    when = failure.ended_at or failure.first_error_at or failure.hang_started_at
    dated = f"<p>{time_of(when)}, job <b>{escape(failure.job_id)}</b></p>\n" if when else ""
    return f'<section class="card"><h2>When, and before</h2>\n{dated}{body}</section>\n'


def _no_other(failure: doc.FailureReport) -> str:
    """Why no failure before this one is shown."""
    if not (failure.ended_at or failure.first_error_at or failure.hang_started_at):
        return "No line gives its time, so that no failure is known to be before it."
    if failure.failure_class == "undetermined":
        return "Its cause is not known, so that it cannot be compared with failures before it."
    return "This database has no recent failure like it."


def _ordinal(number: int) -> str:
    """`7th`, `21st`, `112th`."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def time_of(moment: datetime) -> str:
    """A moment as people and programs read it."""
    exact = moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    return f'<time datetime="{exact}">{escape(date_and_clock(moment))}</time>'


def span_words(seconds: float) -> str:
    """`42 s`, `10 min 12 s`, `3 h 5 min`."""
    whole = timedelta(seconds=round(seconds))
    hours, rest = divmod(int(whole.total_seconds()), 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"
