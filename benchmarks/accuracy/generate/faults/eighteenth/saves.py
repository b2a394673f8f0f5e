"""Storage faults of the eighteenth part of checkpoints and of batches that are short: slow, refused, or incomplete."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.boarders import plan_not_gathered
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import ALL_SPEAK, reader_note, shards_not_saved
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back
from benchmarks.accuracy.generate.faults.words.visitors import connector_cancelled
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisevents as ev
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aistroubles as troubles
from fixtures.generator import sdk
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighteenth")


def _write_failed(stage: Stage, node: Node, at: int, key: str, disk: int) -> str:
    """A disk gives an error for what is written to it: the text, which the client gets with 500."""
    where = f"{node.mountpaths[disk]}/@ais/checkpoints/%wk/{key}.put.{stage.draw.child('work', at).token(7)}"
    text = f"write {where}: input/output error"
    stage.cluster.count(node, at, err_put_n=1, err_io_put_n=1)
    request, trace = f"PUT /s3/checkpoints/{key}", "htrun.go:1636 <- tgts3.go:140 <- tgts3.go:88"
    stage.cluster.say(node, at, ev.http_error(node, text, request, trace))
    return text


@kind(hangs=False, lead_s=60.0, min_timeout_s=60, without=DISKS)
def shards_on_a_slow_disk_hold_up_gloo(stage: Stage) -> Scenario:
    """Shards of a checkpoint creep onto a disk, others wait in gloo until its limit (pytorch docs, DCP; marin#9209).

    To convict: the ranks that are not done tell how little of their shard has been sent, and to which target, whose
    disk has been at its limit since before with a few small writes a second; those that are done only waited.
    """
    cluster, victim, at, world = stage.cluster, stage.victim, stage.at, stage.params.ranks
    draw, size = stage.draw.child("gloo"), stage.draw.child("size").whole(4, 19)
    late, limit = writers_to(stage, draw), stage.draw.child("limit").pick((60, 90, 120, 180))
    over = at + seconds(limit) + draw.span(40, 900)
    stage.open()
    began = stage.mark(at - draw.span(7_000, 33_000), f"a disk of {victim.name} hardly writes any more")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(25), draw)
    folder = f"{stage.job.job.task}/step-{stage.step:07d}"
    stage.job.note(at - 90 * MS, 0, f"saving shards to ais://checkpoints/{folder}, gloo timeout {limit} s", line=116)
    for rank in late:
        url, then = f"{victim.url(0)}/v1/objects/checkpoints/{folder}/__{rank}_0.distcp", at + draw.span(9_000, 13_000)
        sent = 0.0
        while then < over - seconds(1):
            sent += draw.between(0.01, 0.07)
            said = f"{sent:.2f} of {size}.0 GiB sent to {url}"
            stage.job.note(then, rank, said, "W", 131, "writer")
            then += draw.span(14_900, 20_300)
    every = 1 if world <= ALL_SPEAK else stage.params.ranks_per_node
    plan_not_gathered(stage, over, [rank for rank in range(0, world, every) if rank not in late], limit)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "rank_hang", "software"))
    made = replace(made, culprit_ranks=tuple(late))
    return stage.close("It is one of a series that its maker has called back, for its firmware.", (made,))


@kind(hangs=False, lead_s=60.0, without=DISKS)
def disk_takes_no_shard(stage: Stage) -> Scenario:
    """A disk gives errors for each write, some shards of a checkpoint fail, all ranks raise (pytorch docs, DCP; s3fs).

    To convict: the error of the ranks that failed has the path of a mountpath of one target in it, which says the same
    of their shards in its log, wakes its health check and gives the disk up.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, failed = stage.draw.child("no shard"), dict[int, str]()
    stage.open()
    folder = f"{stage.job.job.task}/step-{stage.step:07d}"
    began = at - seconds(5)
    stage.job.note(began - seconds(1), 0, f"saving shards to s3://checkpoints/{folder}", line=116)
    late = writers_to(stage, draw)
    stage.mark(began, f"a disk of {victim.name} takes no writes")
    for turn, rank in enumerate(late):
        key = f"{folder}/__{rank}_0.distcp"
        for after in (0.0, 0.4, 1.1, 2.2, 3.6):
            text = _write_failed(stage, victim, began + seconds(after) + turn * 40 * MS, key, 0)
        refused = "An error occurred (InternalError) when calling the PutObject operation (reached max retries: 4)"
        failed[rank] = f"{refused}: {text}"
    troubles.examined(cluster, victim, began + 30 * MS, text, False, draw)
    ended = shards_not_saved(stage, at, failed)
    made = stage.guilty("storage_io", victim, also=("infrastructure",))
    return stage.close(
        "Reads of what it has were still answered, and so nobody had noticed.",
        (replace(made, culprit_ranks=tuple(sorted(late))),),
        until=ended,
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=(*RESTARTS, *DISKS, "kalive_hiccup"))
def upload_is_cut_by_a_restart(stage: Stage) -> Scenario:
    """A target is restarted while rank 0 uploads a checkpoint in parts: canceled (s3-connector PR 232; docs/s3compat).

    To convict: the target that rank 0 said it uploads to was told to stop (Signal 15) in the middle, logs that very key
    as not received, its own connection being closed, and begins a new log some seconds later.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, size = stage.draw.child("cut"), stage.draw.child("size").whole(6, 40)
    stage.open()
    key = f"{stage.job.job.task}/step-{stage.step:07d}.pt"
    begun = at - draw.span(2_500, 6_000)
    stage.job.note(begun, 0, f"uploading {size}.0 GiB to s3://checkpoints/{key}, to {victim.url(0)}", line=116)
    stopped = at - draw.span(90, 900)
    cluster.count(victim, stopped - MS, err_put_n=1)
    closed = f"read tcp {victim.endpoint(0)}->{stage.client(0)}: use of closed network connection"
    text = f"{victim.name}: failed to receive ais://checkpoints/{key} (written {draw.whole(1, 15)}MiB): {closed}"
    trace = "htrun.go:1636 <- tgts3mpt.go:118 <- tgts3.go:88"
    cluster.say(victim, stopped + 3 * MS, ev.http_error(victim, text, f"PUT /s3/checkpoints/{key}", trace))
    joined = comes_back(stage, stopped, "for another limit of its memory")
    ended = connector_cancelled(stage, at, [0])
    return stage.close(
        "Whoever restarts it looks whether anybody reads.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure")),),
        until=max(joined + seconds(5), ended),
    )


@kind(reads=True, ais_order=410, hangs=False, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def batch_has_too_few_entries(stage: Stage) -> Scenario:
    """A target is restarted, streamed batches lack its entries, and a program counts them (docs/get_batch, streaming).

    To convict: batches of several ranks lack about the share of one target at the same moment, soft errors are counted
    then by whoever assembles, and that target has just been told to stop and is back some seconds later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, job = stage.draw.child("few"), stage.job.job
    stage.open()
    joined = comes_back(stage, at - draw.span(300, 2_500), "for a setting of its pod")
    share = max(1, 48 // len(cluster.targets))
    limit = share + 2
    reader_note(
        stage, stage.job.begin + 60 * MS, 0, f"get-batch: streaming, at most {limit} of 48 entries may be empty"
    )

    def short(then: int, missing: int) -> None:
        node = stage.other_target(victim, draw.whole(0, 50))
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=48 - missing, err_soft_getbatch_n=missing)

    for other in readers(stage)[: draw.whole(2, 5)]:
        then, missing = at - 250 * MS + draw.span(1, 800), draw.whole(max(1, share - 2), limit)
        short(then, missing)
        name = utterance(draw)
        said = f"{missing} of 48 entries empty (Batch entry failed on the server), as {name}: batch goes on without"
        stage.job.note(then + 4 * MS, other, said, "W", 102)
    missing = limit + draw.whole(1, 3)
    short(at - 4 * MS, missing)
    why = "Batch entry failed on the server"
    text = f"RuntimeError: {missing} of 48 entries of a batch are empty, at most {limit} may be ({why})"
    frame = sdk.Frame(job.script, 68, "fetch", "raise RuntimeError(")
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(sdk.main_frames(job, stage.step, frame), text)))
    leaves(stage, at, rank)
    return stage.close(
        "A change of an annotation restarts a pod as any other change does.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
        until=joined + seconds(5),
    )
