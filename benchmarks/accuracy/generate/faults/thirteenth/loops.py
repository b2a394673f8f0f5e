"""Storage faults of the thirteenth part as the worker's side shows them: loops of retries, wrapped and silent waits."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words import pipelines
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, others_wait, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischores as chores
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, aistroubles, sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit
from fixtures.generator.watchdog import Work

kind = kinds_of("storage", "thirteenth")

#: In larger worlds so many ranks speak for all.
SPEAKERS = 16


def _shard(draw: Draw) -> str:
    return f"shards/train-{draw.whole(0, 4095):06d}.tar"


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def streaming_tries_twenty_times(stage: Stage) -> Scenario:
    """A streaming data set asks a lost target again every five seconds (huggingface/datasets#5374, #6172)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("streaming"), over_at(stage)
    stage.open()
    died = stage.mark(at - draw.span(20, 900), f"the container of {victim.name} is killed, and cannot be started again")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(24), 2)
    left = faults.leave_smap(cluster, victim, died)

    def asks(who: int, since: int, times: int) -> int:
        shard, owner, then = _shard(draw), stage.other_target(victim, draw.whole(0, 99)), since
        for attempt in range(1, times + 1):
            if then >= over - SEC:
                return then
            if then > left + 20 * MS:
                aisobjects.not_there(cluster, owner, then, shard)
            pipelines.disconnected(stage, then + 3 * MS, who, attempt)
            then += seconds(5) + draw.span(3, 40)
        if times == 20:
            pipelines.server_disconnected(stage, then, who, owner, f"/v1/objects/{stage.bucket}/{shard}")
        return then

    asks(rank, at, 20)
    for other in readers(stage)[: draw.whole(1, 3)]:
        asks(other, at + draw.span(900, 16_000), draw.whole(3, 19))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "An image is pulled anew at each start of a pod, and the registry is down.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "data")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=("disk_busy", "mountpath_before"))
def arrays_are_checked(stage: Stage) -> Scenario:
    """A monthly check reads all disks of a target; fsspec's time-out has no text (scirepeval#48, datasets#7175)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("arrays")
    stage.open()
    began = stage.mark(at - draw.span(12_000, 37_000), f"the arrays of {victim.name} are checked, as every month")
    limit = draw.pick((30, 60, 60))
    chores.arrays_checked(cluster, victim, began, at + seconds(limit + 60), draw.child("disks"))
    others_wait(stage, [victim], draw)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{_shard(draw)}"
    if draw.chance(0.5):
        reader_note(stage, at - 40 * MS, rank, f"open {url}, block size 5242880, timeout {limit} s")
    for other in readers(stage)[: draw.whole(1, 2)]:
        late = at + draw.span(3_000, 17_000)
        said = f"{draw.whole(11, 90)} MB of {victim.url(0)}/v1/objects/{stage.bucket}/{_shard(draw)} in"
        stage.job.note(late, other, f"{said} {draw.between(11, 27):.1f} s", "W", 61, "shards")
    over = at + seconds(limit) + draw.span(3, 60)
    pipelines.fsspec_timed_out(stage, over, rank)
    ended = stage.job.agents_end([Exit(rank, over + 700 * MS, 1)], over + 700 * MS)
    return stage.close(
        "A timer of the distribution compares the halves of every array on the first Sunday of a month.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
        until=ended,
    )


def _resuming(stage: Stage, at: int, key: str, draw: Draw) -> None:
    """Rank 0 says what is loaded; other ranks have their shards soon."""
    own = stage.job.job
    stage.job.note(at - 200 * MS, 0, f"resuming from s3://checkpoints/{key}, {own.world} shards", line=108)
    for other in [one for one in range(own.world) if one != stage.culprit][: 2 * SPEAKERS]:
        spent = draw.between(3.1, 9.9)
        said = f"__{other}_0.distcp: {draw.between(7.1, 7.4):.2f} GB in {spent:.1f} s"
        reader_note(stage, at + seconds(spent), other, said)


@kind(hangs=False, trains=False, uptime=True, torch_order=203, torch_before=215, without=(*RESTARTS, "low_space"))
def shard_of_checkpoint_is_cold(stage: Stage) -> Scenario:
    """One shard of a checkpoint was evicted: its rank loads for minutes (transformers#48228, lhotse#1465)."""
    cluster, victim, job, rank = stage.cluster, stage.victim, stage.job, stage.culprit
    draw, own, site = stage.draw.child("cold shard"), stage.job.job, stage.job.job.build["site"]
    key = f"{own.task}/step-{draw.whole(20, 900) * 100}"
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    began = max(opened + 9 * SEC, job.begin - draw.span(190_000, 260_000))
    stage.mark(began, f"{victim.name} evicts what nobody has read for two hours")
    aisobjects.evict(cluster, victim, began, began + draw.span(39_000, 71_000), draw.child("evicts"))
    job.start()
    at = job.begin + draw.span(400, 1_900)
    _resuming(stage, at, key, draw)
    over = at + seconds(10) + seconds(stage.params.timeout_s)
    chores.restored_whole(cluster, victim, at + 40 * MS, draw.span(230_000, 640_000), draw.whole(7_100, 7_400) << 20)
    path = f"/v1/objects/checkpoints/{key}/__{rank}_0.distcp?provider=aws&pid={stage.proxy_of(rank).node_id}"
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    then = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        caller = (
            sdk.Frame(own.script, 212, "<module>", "main()"),
            sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
            sdk.Frame(
                own.script, 112, "load_checkpoint", "content = bucket.object(shard).get_reader().read_all()", True
            ),
        )
        job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
        job.raise_on(then + 2 * MS, rank, sdk.exhausted(own, caller, "ConnectionError", text))
        ended = job.agents_end([Exit(rank, then + 700 * MS, 1)], then + 700 * MS)
    else:
        frames = (
            f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4622",
            f"#1 load_checkpoint from {own.script}:121",
            f"#2 main from {own.script}:171",
            f"#3 <module> from {own.script}:212",
        )
        stuck = {one: Work(2, "ALLREDUCE", 1, 1, 2, 1, frames) for one in range(own.world) if one != rank}
        ended = stage.mark(job.hang(at + seconds(10), stuck, (rank,), {rank: 1}), f"job {own.job_id} has ended")
    return stage.close(
        "The queue was long; meanwhile the checkpoint was the oldest that the target had.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang")),),
        until=ended,
    )


@kind(hangs=False, lead_s=60.0)
def validation_may_not_be_read(stage: Stage) -> Scenario:
    """A validation reads its bucket of the cloud for the first time: 403 (aistore docs/cloud_bucket, aws re:Post)."""
    cluster, job, at = stage.cluster, stage.job, stage.at
    draw, own = stage.draw.child("validation"), stage.job.job
    stage.open()
    bucket = draw.pick(("heldout-2026", "eval-noisy", "valid-sets", "dev-other"))
    stage.mark(at - 60 * MS, f"a validation begins, and no target may read s3://{bucket}")
    job.note(at - 60 * MS, 0, f"validation of step {stage.step} on s3://{bucket}", line=190)
    bare = draw.chance(0.5)
    last, firsts = at, dict[int, Exit]()
    for rank in range(own.world) if own.world <= SPEAKERS else range(0, own.world, own.ranks_per_node):
        then, node = at + draw.span(30, 900), draw.pick(cluster.up(at))
        name = utterance(draw, "valid")
        error = "aws-error[AccessDenied: Access Denied]" if bare else chores.no_policy_allows(bucket, name, draw)
        chores.cold_denied(cluster, node, then, bucket, name, error)
        job.raise_on(then + 5 * MS, rank, pipelines.denied(stage, then, rank, node, bucket, name, error))
        firsts.setdefault(own.node_of(rank), Exit(rank, then + 800 * MS, 1))
        last = max(last, then)
    ended = job.agents_end(list(firsts.values()), last + seconds(0.9))
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "data_loading_stall")))
    return stage.close(
        "The policy of AIStore's own user names the buckets one by one; this one is of last week.",
        (replace(made, culprit_ranks=None),),
        until=ended,
    )


@kind(
    reads=True,
    proxies=2,
    hosts=2,
    off_primary=True,
    min_timeout_s=90,
    without=("kalive_hiccup", "restart_before", "kill_after"),
)
def warns_and_continues(stage: Stage) -> Scenario:
    """A handler passes over each shard that fails, and all do: its proxy is gone (webdataset#308, StableCascade#25)."""
    cluster, at = stage.cluster, stage.at
    draw, proxy, over = stage.draw.child("handler"), stage.proxy_of(stage.culprit), over_at(stage)
    stage.open()
    died = stage.mark(at - draw.span(90, 2_400), f"kill -9 {proxy.name}, which is not started again")
    faults.kill(cluster, proxy, died)
    faults.leave_smap(cluster, proxy, died)
    absent = sorted(one for one in (stage.culprit, *readers(stage)) if stage.proxy_of(one) is proxy)
    for rank in absent[:SPEAKERS]:
        for process in range(draw.pick((1, 2))):
            then = at + draw.span(20, 900) + process * draw.span(100, 4_000) + seconds(31)
            while then < over - SEC:
                handle = draw.child("pipe", rank, then).token(10, HEX)
                pipelines.shard_skipped(stage, then, rank, proxy, _shard(draw), handle)
                then += seconds(31.5) + draw.span(10, 90)
    stage.hang(at + 340 * MS, *absent)
    made = stage.guilty("data_loading_stall", proxy, also=("storage_io", "network"))
    return stage.close(
        "Some shards are broken for years, so the handler was told to go on.",
        (replace(made, culprit_ranks=tuple(absent)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=("mountpath_before", "disk_busy", "loader_fallbacks"))
def transform_meets_failing_disk(stage: Stage) -> Scenario:
    """Reads fail on a disk until it is given up; MONAI names a transform (MONAI#3604, #6162; aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, job = stage.draw.child("transform"), stage.job.job
    stage.open()
    stage.mark(at - draw.span(200, 1_900), f"a disk of {victim.name} begins to fail")
    name = f"volumes/case-{draw.whole(0, 9_999):04d}/{draw.pick(('ct', 't1', 'flair'))}.nii.gz"
    for after in (0.0, 0.02, 6.05):
        aistroubles.not_readable(cluster, victim, at + seconds(after) + draw.span(1, 9), name, False)
    given_up = at + draw.span(8_900, 13_000)
    disk.lose_mountpath(cluster, victim, given_up, victim.mountpaths[0], victim.disks[0], draw.between(40, 140))
    for other, after in zip(readers(stage), (1.3, 4.1, 13.2, 15.4), strict=False):
        then, missed = at + seconds(after) + draw.span(1, 900), f"volumes/case-{draw.whole(0, 9_999):04d}/seg.nii.gz"
        if then < given_up:
            text = aistroubles.not_readable(cluster, victim, then, missed, False)
        else:
            text = aisobjects.not_there(cluster, victim, then, missed)
        stage.job.note(then + 5 * MS, other, f"{missed} left out: {text}", "W", 72, "volumes")
    then = at + seconds(18.1) + draw.span(2, 30)
    text = aisobjects.not_there(cluster, victim, then, name)
    path = f"/v1/objects/{stage.bucket}/{name}"
    url = victim.url(0) + path + sdk.query(stage.proxy_of(rank), then)
    body = sdk.answer(victim, 404, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    read = "content = self.bucket.object(data[key]).get_reader().read_all()"
    caller = pipelines.applied(stage, sdk.Frame("/workspace/asr/volumes.py", 48, "__call__", read, True))
    cause = sdk.http_failure(job, 404, "Not Found", url, failure, caller)
    pipelines.in_transform(stage, then + 4 * MS, rank, cause, "volumes.FetchVolumed")
    ended = stage.job.agents_end([Exit(rank, then + 700 * MS, 1)], then + 700 * MS)
    return stage.close(
        "The drive was on the list of those to be replaced next week.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "software")),),
        until=ended,
    )
