"""What every form of a report starts from: the sections of a failure as blocks, its paths shortened, nothing unseen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar, cast

from aiscorr.query.formats import printable
from aiscorr.report import document as doc
from aiscorr.report.blocks import Block, Bullets, Facts, Paragraph, Places, listed, shorten, span
from aiscorr.report.job_side import world_words
from aiscorr.report.sections import sections, verdict
from aiscorr.report.speaking import said

_T = TypeVar("_T")
NO_FAILURE = "No failure was found in these logs."
_NO_LOGS = "No failure was found, as this database holds no logs: aiscorr ingest FOLDER reads them."
_NOT_KNOWN = (
    "No failure was found: {} read, and none recognised as a log. Why: aiscorr query @files. A worker log in"
    " another form: aiscorr ingest --kind worker_log FILE"
)
_MANY = 8
_STRONGEST = 3
#: So many characters of an advice or of a line are enough for a brief report, whose text form cuts them to its width.
_WORDS = 160
#: How much of a report is shown: the verdict with its strongest lines, what a reader needs, or all there is.
Extent = Literal["brief", "usual", "full"]
_ONE_LOOK = (
    "One set of stacks proves no hang. Take them again after a minute (aiscorr collect stacks) and read them in too:"
    " a rank that is still there keeps the others waiting. Where all are: aiscorr query @stacks"
)


class Placed(Protocol):
    """Anything that names the file it is from."""

    @property
    def path(self) -> str | None:
        """The file, absolute."""


class Made(Protocol):
    """A document that says what made it, and when."""

    @property
    def aiscorr_version(self) -> str:
        """The release of aiscorr."""

    @property
    def generated_at(self) -> datetime:
        """The moment, UTC."""


@dataclass(frozen=True)
class LaidOut:
    """One failure, harmless to show: its sections with their titles, and how its paths are shortened."""

    failure: doc.FailureReport
    places: Places
    sections: tuple[tuple[str, list[Block]], ...]

    @property
    def failure_id(self) -> str:
        """The id of the failure."""
        return self.failure.failure_id

    @property
    def root(self) -> str:
        """The folder that its paths are below, empty for none."""
        return self.places.root


def laid_out(failure: doc.FailureReport, extent: Extent = "usual") -> LaidOut:
    """The sections of a failure in their order; an empty one says why, or is left out."""
    shown = unseen_shown(failure)
    places = Places(_paths(shown))
    return LaidOut(shown, places, tuple(_sections(shown, places, extent)))


def standing_apart(report: doc.Report) -> list[Block]:
    """Jobs that may hang now; nothing where there are none."""
    shown = unseen_shown(report.standing_apart)
    if not shown:
        return []
    items = tuple((f"job {item.job_id}: {item.statement}", f"{item.path}:{item.line_no}") for item in shown)
    blocks: list[Block] = [Paragraph("A job may hang now:", "open"), Bullets(items)]
    return blocks if all(item.is_still for item in shown) else [*blocks, Paragraph(_ONE_LOOK, "dim")]


def other_failures(report: doc.Report) -> list[Block]:
    """The failures that the database holds beside the latest, each with the command that shows it; nothing for none."""
    shown = unseen_shown(report.other_failures)
    if not shown:
        return []
    items = [
        (f"storage {item.storage_verdict}: {shorten(item.statement, 90)}", f"aiscorr report {item.failure_id}")
        for item in shown[:_MANY]
    ]
    if len(shown) > _MANY:
        items.append((f"{len(shown) - _MANY} more:", "aiscorr query @failures"))
    head = f"The latest of {len(shown) + 1} failures in this database; all of them: aiscorr report all. The others:"
    return [Paragraph(head, "open"), Bullets(tuple(items))]


def latest_of(report: doc.Report) -> list[Block]:
    """That there are other failures, which are named at the end: what the reader came for stands first."""
    count = len(report.other_failures)
    said = f"The latest of {count + 1} failures in this database; the {count} others are at the end."
    return (
        [Paragraph(said if count > 1 else "The latest of 2 failures in this database; the other is at the end.", "dim")]
        if count
        else []
    )


def no_failure(report: doc.Report) -> list[Block]:
    """That no failure was found, and in which logs: jobs, nodes, and AIStore's own faults."""
    if report.overview is not None:
        return []  # the overview says it
    covered = unseen_shown(report.covered)
    if covered is None or not (covered.jobs or covered.node_ids):
        count = covered.unknown_file_count if covered else 0
        return [Paragraph(_NOT_KNOWN.format(f"{count} file{'s' * (count > 1)}") if count else _NO_LOGS)]
    items = [_job(job) for job in covered.jobs[:_MANY]]
    if len(covered.jobs) > _MANY:
        items.append(f"{len(covered.jobs) - _MANY} more jobs: aiscorr query 'select * from job'")
    if not covered.jobs:
        items.append("no worker log is available: a failure is that of a job, and its logs would show it")
    names = listed(covered.node_ids, _MANY) or "no log of any is available"
    items.append(f"AIStore nodes: {names}")
    blocks: list[Block] = [Paragraph(NO_FAILURE), Bullets(tuple((item, "") for item in items))]
    return [*blocks, *_own_faults(covered)]


def _own_faults(covered: doc.Covered) -> list[Block]:
    """What was wrong with AIStore on its own, where no job is known to have felt it."""
    blocks: list[Block] = []
    if covered.faults:
        count = len(covered.faults)
        which = "" if count == covered.fault_count else f", the {count} heaviest of {covered.fault_count}"
        blocks.append(Paragraph(f"AIStore's own faults in these logs{which} (aiscorr query @faults):"))
        places = Places(one.path for one in covered.faults if one.path)
        if places.root:
            blocks.append(Paragraph(f"Paths are below {places.root}", "dim"))
        blocks.append(Bullets(tuple((one.statement, places.line(one.path, one.line_no)) for one in covered.faults)))
    if covered.broken_chain_count:
        count, chains = covered.broken_request_count, covered.broken_chain_count
        requests = f"{count} x-get-batch request{'s' * (count > 1)} broke, in {chains} chain{'s' * (chains > 1)}"
        blocks.append(Paragraph(f"{requests} (aiscorr query @chains)."))
    return blocks


def _job(job: doc.CoveredJob) -> str:
    attempt = f", attempt {job.attempt}" if job.attempt else ""
    size = f" of {world_words(job.world_size, job.world_size_is)}" if job.world_size else ""
    ran = f", {span(job.started_at, job.ended_at, job.least_s)}" if job.started_at else ""
    end = f", ended: {job.end_reason.replace('_', ' ')}" if job.end_reason else ""
    return f"job {job.job_id}{attempt}: {job.rank_count}{size} ranks{ran}{end}"


def foot(report: Made) -> str:
    """What made the report, and when."""
    return f"aiscorr {report.aiscorr_version}, {report.generated_at:%Y-%m-%d %H:%M:%S} UTC"


def unseen_shown(value: _T) -> _T:
    """The same with control characters of logs and file names shown by their codes: a terminal must not obey them."""
    if isinstance(value, str):
        return cast(_T, printable(value))
    if isinstance(value, tuple):
        return cast(_T, tuple(map(unseen_shown, value)))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: unseen_shown(getattr(value, field.name)) for field in fields(value)})
    return value


def _sections(failure: doc.FailureReport, places: Places, extent: Extent) -> Iterable[tuple[str, list[Block]]]:
    if extent == "brief":
        yield verdict.TITLE, _brief(failure, places)
        return
    for section in sections():
        if section.is_hidden(failure) and extent != "full":
            continue
        blocks = section.blocks(failure, places)
        if blocks:
            yield section.title, blocks
        elif section.empty:
            yield section.title, [Paragraph(section.empty, "dim")]


def _brief(failure: doc.FailureReport, places: Places) -> list[Block]:
    """The verdict, what to do with the job and the first advice for each team, else what would tell most, and the
    strongest lines."""
    advice = {"job": f"{failure.decision.words}: {failure.decision.because}"}
    for item in failure.recommendations:
        advice.setdefault(item.to, item.text)
    if failure.deciding:
        advice["next"] = failure.deciding
    supports = failure.root_causes[0].supports[:_STRONGEST] if failure.root_causes else ()
    blocks: list[Block] = list(verdict.blocks(failure, places)[:2])
    when = f"{failure.ended_at:%Y-%m-%d %H:%M:%S} {verdict.utc(failure)}" if failure.ended_at else "not known when"
    hosts = list(dict.fromkeys(one.host for one in failure.ranks if one.host and one.rank in failure.culprit_ranks))
    advice = {"ended": f"{when}, job {failure.job_id}" + (f", host {listed(hosts, 3)}" if hosts else ""), **advice}
    blocks.append(Facts(tuple((to, shorten(text, _WORDS)) for to, text in advice.items())))
    if supports:
        lines = ((said(line.text or line.why, _WORDS), places.line(line.path, line.line_no)) for line in supports)
        blocks.append(Bullets(tuple(lines)))
    return blocks


def _paths(failure: doc.FailureReport) -> Iterable[str]:
    placed: tuple[Placed, ...] = (
        *failure.timeline,
        *failure.key_files,
        *failure.ruled_out,
        *failure.not_judged,
        *failure.ranks,
        *failure.triage,
        *failure.worker_files,
        *failure.counter_deltas,
        *failure.clocks,
        *(step for chain in failure.chains for step in chain.steps),
        *(request for chain in failure.chains for request in chain.requests),
    )
    yield from (item.path or "" for item in placed)
    for cause in failure.root_causes:
        yield from (line.path for line in (*cause.supports, *cause.contradicts))
