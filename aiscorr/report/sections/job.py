"""What the job was, so that a storage engineer knows what they look at."""

from __future__ import annotations

from collections.abc import Sequence

from aiscorr.report.blocks import Block, Facts, Places, listed, span
from aiscorr.report.document import AisVersion, FailureReport, JobDetails

TITLE = "Job"
ORDER = 20
EMPTY = "Nothing is known of the job."


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Id, task, ranks and nodes, data source, times."""
    job = failure.job
    is_all = job.world_size_is == "stated" and job.rank_count >= (job.world_size or 0)
    is_split = job.ranks_per_node and (is_all or (job.world_size_is == "stated" and job.node_count != 1))
    per_node = f" × {job.ranks_per_node} rank{'s' * (job.ranks_per_node != 1)}" if is_split else ""
    is_part = not per_node and not is_all
    nodes = f"{'at least ' if is_part else ''}{job.node_count} node{'s' if job.node_count != 1 else ''}{per_node}"
    ranks = f"{nodes}, world size {job.world}, {job.rank_count} rank{'s' * (job.rank_count != 1)} seen"
    pairs = [
        ("job", f"{failure.job_id}" + (f", attempt {job.attempt}" if job.attempt else "")),
        ("task", " / ".join(part for part in (job.task, job.framework, _torch(job)) if part)),
        ("resumed from", job.resumed_from or ""),
        ("ranks", ranks),
        ("hosts", listed(job.hosts, 8)),
        ("data", job.data_source or "not said in the logs"),
        ("storage", _cluster(failure.ais_versions)),
        ("ran", _span(job)),
    ]
    return [Facts(tuple((label, value) for label, value in pairs if value))]


def _cluster(versions: Sequence[AisVersion]) -> str:
    """The cluster beside the job: its daemons, their release, and of how many no log was read."""
    if not versions:
        return ""
    targets, proxies, unread = (
        sum(getattr(one, name) for one in versions) for name in ("target_count", "proxy_count", "unread_count")
    )
    known = [one for one in versions if one.version]
    counts = [f" ({one.target_count + one.proxy_count} nodes)" if len(versions) > 1 else "" for one in known]
    releases = " and ".join(f"{one.version}{count}" for one, count in zip(known, counts, strict=True))
    parts = [
        f"AIStore {releases}" if known else "AIStore",
        " and ".join(
            f"{count} {one if count == 1 else more}"
            for count, one, more in ((targets, "target", "targets"), (proxies, "proxy", "proxies"))
            if count
        ),
        f"no log of {unread} of them" if unread else "",
        f"cluster {versions[0].cluster}",
    ]
    return ", ".join(part for part in parts if part)


def _torch(job: JobDetails) -> str:
    return f"PyTorch {job.torch_release}" if job.torch_release else ""


def _span(job: JobDetails) -> str:
    if job.started_at is None and job.ended_at is None:
        return "its lines print no date"
    return span(job.started_at, job.ended_at, job.least_s)
