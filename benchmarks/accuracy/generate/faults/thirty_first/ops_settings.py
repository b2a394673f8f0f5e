"""Storage faults of the thirty-first part of what operators set: a limit of space, of memory, who may read a bucket."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.handlings import answered_by_proxy, tried
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdisk, aismishaps, aisoperations, aistroubles, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_first")
ALSO = ("data_loading_stall", "infrastructure")
#: What would say that targets are full, or write checkpoints to them.
FULL = ("tenant_out_of_space", "low_space", "second_job")
#: When urllib3 asks again with the SDK's back-off for 429, in seconds since the first request.
ASKED_S = (0.0, 0.0, 6.0, 18.0, 42.0, 90.0)


def _not_saved(stage: Stage, at: int, path: str, space: Space) -> None:
    """Rank 0's checkpoint is answered with 507, which the SDK does not repeat."""
    job, node = stage.job.job, stage.victim
    url = node.url(0) + path + sdk.query(stage.proxy_of(0), at - 5 * MS)
    body = sdk.answer(node, 507, space.error, "PUT", path, stage.client(0), "ErrCapExceeded")
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 119, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)", True),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    stage.job.raise_on(at, 0, sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller))


@kind(culprit=0, hangs=False, lead_s=72.0, without=(*RESTARTS, *DISKS, *FULL))
def limit_of_space_is_set_below_what_is_used(stage: Stage) -> Scenario:
    """space.out_of_space is lowered under what all targets use already (aistore docs, storage_svcs, OOS; a run of 5.0).

    To convict: a checkpoint is answered 507 by a target that says it is out of space at three quarters of its total;
    all targets found that out within seconds of a new configuration, and an earlier checkpoint was taken.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, task = stage.draw.child("limit"), stage.job.job.task
    stage.open(save_every=10_000)
    earlier = max(1, stage.step // 3)
    told(stage, stage.job.step_at(earlier), 0, "ckpt", f"step {earlier}: ais://checkpoints/{task}/latest.pt is written")
    changed = stage.mark(at - draw.span(19_000, 33_000), "an operator lowers the limit of space")
    aistroubles.reconfigured(cluster, changed, draw)
    spaces = aisoperations.limit_below_use(cluster, changed + 400 * MS, at + seconds(70), draw)
    path = f"/v1/objects/checkpoints/{task}/step-{stage.step:06d}.pt"
    told(stage, at - draw.span(800, 2_900), 0, "ckpt", f"step {stage.step}: writing ais:/{path[11:]}")
    aisdisk.put_rejected(cluster, victim, at - 6 * MS, path, spaces[victim.node_id])
    _not_saved(stage, at, path, spaces[victim.node_id])
    leaves(stage, at + 8 * MS, 0)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure",)))
    return stage.close("Evictions were to be tried out with a limit that is met.", (made,), until=at + seconds(50))


@kind(reads=True, ais_order=425, lead_s=118.0, without=(*RESTARTS, "tenant_rejected", "kalive_hiccup"))
def restarted_target_keeps_more_memory_free_than_it_has(stage: Stage) -> Scenario:
    """memsys.min_free of one target is set for larger hosts, and holds from its restart on (aistore docs, memsys; 429).

    To convict: the client has been told 429 six times, or is still waiting between; each time by the same target,
    whose log after its restart tells of extreme pressure with most of its memory free: its min-free is larger than
    what is free, that of all others is not. (The alert and the rejection follow the sources.)
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, kept = stage.draw.child("min free"), stage.draw.child("kept").pick((384, 400, 448, 512))
    stage.open()
    down = stage.mark(at - draw.span(86_000, 94_000), f"{victim.name} is restarted with another configuration")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, down + draw.span(7_000, 10_500))
    memory = aisoperations.starts_with_little_left(cluster, victim, kept)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    over = at + stage.params.timeout_s * SEC
    aisoperations.too_little_memory(cluster, victim, joined + seconds(4.1), over, memory, draw)
    critical = ev.advice("critical", "100ms", "critical", "low", "low")
    for after in ASKED_S:
        if after < stage.params.timeout_s:
            chains.reject(stage, at + seconds(after) + draw.span(1, 9), victim, rank, critical, draw.whole(0, 6))
    stage.mark(at, f"{victim.name} turns the batch of rank {rank} down")
    if stage.params.timeout_s > ASKED_S[-1] + 2:
        failed = chains.too_many_requests(stage, rank)
        stage.job.raise_on(at + seconds(ASKED_S[-1]) + 16 * MS, rank, failed.traceback)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Its configuration was copied from that of a host with two terabytes.",
        (stage.guilty("storage_io", victim, also=ALSO),),
    )


@kind(reads=True, lead_s=60.0, without=("restart_before", "second_job"))
def corpus_is_closed_while_it_is_read(stage: Stage) -> Scenario:
    """A bucket may not be read any more, by its access attributes (aistore docs, bucket access attributes; 403).

    To convict: all tries of a batch are answered 403 by the gateway itself, `GET access denied`, from the moment on in
    which the primary gives out new properties of a bucket; the same rank was served until then, with the same client
    and no token. Another tenant's reads go on.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("closed"), stage.proxy_of(stage.culprit)
    stage.open()
    closed = stage.mark(at - draw.span(60, 330), "the owner of the corpus has it closed")
    aismishaps.change_buckets(cluster, closed, "set-bprops", draw)
    then, most = at, draw.pick((3, 4, 5))
    for turn in range(most):
        text = aisoperations.reading_denied(cluster, proxy, then)
        failed = answered_by_proxy(stage, rank, proxy, 403, "AISError", text, "ErrBucketAccessDenied")
        if turn + 1 < most:
            tried(stage, then + 5 * MS, rank, failed, turn + 1, most)
        else:
            stage.job.raise_on(then + 6 * MS, rank, failed.traceback)
        then += seconds(min(8.0, 2.0 ** (turn + 1))) + draw.span(9, 60)
    stage.hang(at + 320 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "data", "data_loading_stall")))
    return stage.close("Some of its speakers have withdrawn their consent.", (made,), until=then + 10 * SEC)
