"""Storage faults of the ninth part in what AIStore is asked for, and in settings: sorts, promotions, ETL, redirects."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.errands import (
    promotion_refused,
    redirected,
    sort_note,
    transformer_refused,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfailings as failings
from fixtures.generator import aistasks as tasks
from fixtures.generator import aistroubles as troubles
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "ninth")


@kind(culprit=0, hangs=False, lead_s=60.0, without=("mountpath_before", "disk_busy"))
def sort_aborted(stage: Stage) -> Scenario:
    """Rank 0 has the cluster shuffle shards for an epoch; a disk is attached to a target, which gives that up."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, epoch = stage.draw.child("sort"), stage.draw.child("epoch").whole(2, 14)
    stage.open()
    over, to = at + seconds(draw.between(11, 34)), f"{stage.bucket}-e{epoch}"
    job.note(at - 40 * MS, 0, f"epoch {epoch}: shuffling shards of {stage.bucket} into {to}", line=69)
    sort = tasks.sort_begins(cluster, at, over, to, draw)
    for turn in range(int((over - at) / seconds(5)) + 1):
        sort_note(stage, at + seconds(0.2 + 5.02 * turn), f"Waiting on dsort job '{sort}'...")
    stage.mark(over, f"a disk is attached to {victim.name}, which gives up the sort of rank 0")
    tasks.sort_aborted(cluster, at, over, sort, to, victim, f"nvme{len(victim.disks)}n1", draw)
    failings.resilver_at_length(cluster, victim, over + 30 * MS, over + seconds(160), draw)
    told = over + draw.span(200, 4_900)
    sort_note(stage, told, f"DSort job '{sort}' aborted")
    script = job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 177, "main", "shards = shuffled(client, bucket, epoch)", True),
        sdk.Frame(script, 74, "shuffled", "raise RuntimeError("),
    )
    text = f"RuntimeError: epoch {epoch}: {to} is not complete, dsort job {sort} was aborted"
    job.raise_on(told + 30 * MS, 0, sdk.traceback(sdk.Raised(frames, text)))
    ended = job.agents_end([Exit(0, told + 900 * MS, 1)], told + 900 * MS)
    also = ("data_loading_stall", "software", "data")
    return stage.close(
        "AIStore does not sort while its disks change; an operator has waited for a quiet hour to add one.",
        (stage.guilty("storage_io", victim, also=also),),
        until=ended,
    )


@kind(culprit=0, hangs=False, trains=False)
def promote_without_share(stage: Stage) -> Scenario:
    """A job begins with a folder of a filer that AIStore is to take over; one target does not have it mounted."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, proxy = stage.draw.child("promote"), stage.proxy_of(0)
    job.start()
    at = stage.mark(job.begin + seconds(0.5), f"{victim.name} has no filer mounted")
    folder = f"/mnt/{draw.pick(('corpora', 'nfs-speech', 'vast'))}/{draw.pick(('week47', 'batch-0311', 'de-DE'))}"
    why = draw.pick(("no such file or directory", "stale file handle", "host is down"))
    job.note(at - 130 * MS, 0, f"promoting {folder} to ais://{stage.bucket}", line=60)
    text = tasks.cannot_promote(cluster, proxy, victim, at, folder, why)
    job.raise_on(at + 14 * MS, 0, promotion_refused(stage, at, proxy, folder, text))
    ended = job.agents_end([Exit(0, at + 900 * MS, 1)], at + 900 * MS)
    also = ("infrastructure", "data_loading_stall", "data", "software")
    return stage.close(
        "Hosts of storage mount a filer by hand; one has been set up anew since.",
        (stage.guilty("storage_io", victim, also=also),),
        until=ended,
    )


@kind(culprit=0, hangs=False, trains=False)
def transformer_never_starts(stage: Stage) -> Scenario:
    """A job begins with an ETL; its pod does not become ready beside one target, and the cluster starts none."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, proxy = stage.draw.child("never"), stage.proxy_of(0)
    job.start()
    etl = draw.pick(("resample-16k", "logmel-80", "trim-silence"))
    at = job.begin + seconds(0.5)
    job.note(at, 0, f"starting ETL {etl} on all targets, at most 45 s", line=57)
    stage.mark(at + seconds(1), f"the pod of {etl} beside {victim.name} does not become ready")
    over = at + seconds(45) + draw.span(60, 900)
    text = tasks.transformer_waits(cluster, proxy, victim, over, etl, draw)
    job.raise_on(over + 14 * MS, 0, transformer_refused(stage, over, proxy, etl, text))
    ended = job.agents_end([Exit(0, over + 900 * MS, 1)], over + 900 * MS)
    also = ("infrastructure", "data_loading_stall", "software")
    return stage.close(
        "A transformer runs on the host of each target, and one host has no room for it, or cannot fetch it.",
        (stage.guilty("storage_io", victim, also=also),),
        until=ended,
    )


@kind(reads=True, may_be_undetermined=True)
def reverse_proxying_off(stage: Stage) -> Scenario:
    """Proxies have passed reads over S3 on; an operator switches that off, and clients that follow no redirect stop."""
    cluster, job, at = stage.cluster, stage.job, stage.at
    draw, every = stage.draw.child("reverse"), stage.params.read_every
    by_arrow = draw.chance(0.4)
    client = "pyarrow" if by_arrow else "boto3"
    job.note(
        job.begin - seconds(1.1), 0, f"reading s3://{stage.bucket} with {client} through {stage.proxy_of(0).url(0)}/s3"
    )
    stage.open()
    began = stage.mark(at - draw.span(90, 290), "an operator changes the features of the cluster")
    troubles.reconfigured(cluster, began, draw)
    ranks = sorted({stage.culprit, *(one for one in readers(stage) if (one - stage.culprit) % every == 0)})
    for rank in ranks:
        redirected(stage, at + draw.span(4, 90), rank, utterance(draw), by_arrow)
    stage.hang(at + 340 * MS, *ranks)
    also = ("software", "data_loading_stall", "network")
    made = replace(stage.guilty("storage_io", also=also), culprit_ranks=tuple(ranks), ais_nodes=None)
    return stage.close(
        "A flag of the cluster spares clients a redirect and costs proxies their network; it was to be tried without.",
        (made,),
    )
