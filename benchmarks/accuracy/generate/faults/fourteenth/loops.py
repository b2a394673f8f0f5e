"""Storage faults of the fourteenth part as the job's side shows them: a loader's watchdog, mounts, idle devices."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.fourteenth.training import ALL_SPEAK, all_raise
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.words import mounts
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aislosses, aistroubles, sdk
from fixtures.generator import aistasks as tasks
from fixtures.generator.aisdisk import Space
from fixtures.generator.aislog import Say
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "fourteenth")


@kind(reads=True, min_timeout_s=90, lead_s=60.0, without=("disk_busy", "mountpath_before"))
def sample_watchdog_triggers(stage: Stage) -> Scenario:
    """A loader's watchdog sees no sample for a minute: a disk is slow (Megatron-Energon, watchdog_dataset)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over, site = stage.draw.child("watchdog"), over_at(stage), stage.job.job.build["site"]
    stage.open()
    began = stage.mark(at - draw.span(4_000, 19_000), f"a disk of {victim.name} does a hundredth of what it did")
    aislosses.disk_slows(cluster, victim, began, over + seconds(20), draw.child("disk"))
    module = f"{site}/megatron/energon/wrappers/watchdog_dataset.py"
    said = "RuntimeWarning: Watchdog triggered. Sample processing took longer than 60 seconds."
    for who in (rank, *readers(stage)[: draw.whole(0, 2)]):
        then = at + seconds(60.0) + draw.span(1, 40) + (draw.span(900, 9_000) if who != rank else 0)
        if then < over - SEC:
            stage.job.say(then, who, f"{module}:47: {said}\n  warnings.warn(")
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then = at + seconds(11 + 13 * turn) + draw.span(1, 5_000)
        if then < over - SEC:
            shard = f"s3://{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
            late = f"{shard} via {victim.url(0)}: {draw.between(9, 24):.1f} s for {draw.whole(1, 9)} MiB"
            stage.job.note(then, other, late, "W", 80, "source")
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The drive repeats every read until it has it; its table of spare blocks is nearly full.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=("mountpath_before", "disk_busy"))
def mapped_page_not_read(stage: Stage) -> Scenario:
    """A page of a mapped file below a mount is not read: a bus error in a loader (mountpoint-s3#974; Megatron-LM)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("mapped")
    stage.open()
    stage.mark(at - draw.span(5_900, 9_900), f"a sector of {victim.disks[0]} of {victim.name} cannot be read")
    name = f"granary_{draw.pick(('en', 'de', 'es', 'fr'))}_{draw.whole(0, 63):02d}_text_document.bin"
    file = mounts.opened(stage, rank, name, draw)
    offset = draw.whole(900, 40_000) * (8 << 20)
    for after in (5.8, 5.3, 4.1, 2.0, 0.3):
        then = at - seconds(after) + draw.span(1, 90)
        aistroubles.not_readable(cluster, victim, then, name, True)
        mounts.request_failed(stage, then + 3 * MS, file, offset, draw.between(9, 70))
    mounts.read_failed(stage, at - 190 * MS, file, offset)
    mounts.bus_error_in_worker(stage, at, rank)
    exits(stage, at + 90 * MS, rank)
    return stage.close(
        "Whoever maps a file gets no error of its reads, only a signal.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )


@kind(culprit=0, hangs=False, lead_s=70.0, without=("tenant_out_of_space", "low_space"))
def archive_through_a_mount(stage: Stage) -> Scenario:
    """torch.save writes to a mounted bucket whose target is full: 507 (mountpoint-s3 docs, troubles of writes)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, percent = stage.draw.child("mount"), stage.draw.child("percent").whole(95, 97)
    used = 7450.58 * percent / 100
    space = Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")
    stage.open()
    name = f"{job.job.task}/step-{stage.step}.pt"
    path = f"/mnt/checkpoints/{name}"
    job.note(at - draw.span(2_900, 9_000), 0, f"saving checkpoint to {path}", line=116)
    full = stage.mark(at - draw.span(400, 1_900), f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, full, at + seconds(60), space)
    disk.put_rejected(cluster, victim, full + 4 * MS, f"/s3/checkpoints/{name}", space)
    file = mounts.opened(stage, 0, name, draw)
    mounts.write_failed(stage, at - draw.span(20, 90), file, draw.whole(90, 900) * (8 << 20))
    mounts.archive_not_written(stage, at, path, draw)
    exits(stage, at, 0)
    return stage.close("Checkpoints of the last three projects are still there.", (stage.guilty("storage_io", victim),))


def _held_back(stage: Stage, node: Node, at: int, until: int, draw: Draw) -> None:
    """A target whose disks are at their limit lets batches wait, for them and for entries of its peers."""
    cluster, xact, then = stage.cluster, stage.cluster.xact, at + draw.span(2_000, 9_000)
    while then < until:
        if xact is not None and draw.chance(0.3):
            level, slept = draw.pick((("high", "10ms"), ("high", "10ms"), ("critical", "100ms")))
            advice = ev.advice(level, slept, "low", "low", level)
            cluster.say(node, then, ev.throttled(xact, draw.whole(9, 40), advice, slept, node.release.order))
            cluster.count(node, then, getbatch_throttle_ns=draw.whole(2, 90) * 10 * MS)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=36, getbatch_obj_size=36 * 16_000)
        cluster.count(node, then, getbatch_rxwait_ns=draw.span(6_000, 17_000))
        then += draw.span(9_000, 26_000)


@kind(reads=True, hangs=False, slurm=True, ais_order=410, lead_s=60.0, without=("disk_busy", "mountpath_before"))
def idle_devices_are_reaped(stage: Stage) -> Scenario:
    """A sort takes all disks, devices idle, and a guard cancels (aistore docs/dsort; Princeton RC, policies)."""
    cluster, at, job = stage.cluster, stage.at, stage.job
    draw, own = stage.draw.child("reaped"), stage.job.job
    stage.open()
    began = stage.mark(at - draw.span(5_000, 14_000), "another team sorts its shards anew, on all disks of the cluster")
    over = crawls(stage, draw.whole(9, 14), 11.0, 20.5)
    tasks.sort_begins(cluster, began, over + seconds(50), "imgnet-shuffled", draw)
    for node in cluster.up(began):
        disk.disk_pressure(cluster, node, began + draw.span(900, 3_000), over + seconds(20), draw.child(node.node_id))
        _held_back(stage, node, began, over + seconds(20), draw.child("held", node.node_id))
    mean = draw.whole(2, 7)
    for turn, after in enumerate((55.0, 110.0), 1):
        then = at + seconds(after)
        if then < over:
            said = (
                f"gpu-guard: job {own.job_id}: {own.world} devices {mean} % busy in the last minute, warning {turn}/3"
            )
            for host in range(min(4, len(own.hosts))):
                watched(stage, then + host * MS, host, said)
    watched(stage, over - 40 * MS, 0, f"gpu-guard: job {own.job_id}: {mean} % busy, cancelled")
    for turn, other in enumerate([stage.culprit, *readers(stage)[:4]]):
        noted = at + seconds(13 + 17 * turn) + draw.span(1, 4_000)
        if noted < over:
            took = (
                f"batch of 48 took {draw.between(10.5, 20.1):.1f} s to read, {draw.between(0.1, 0.4):.1f} s to decode"
            )
            job.note(noted, other, took, "W", 80)
    cancelled_by_hand(stage, over)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close(
        "The sort was to run in the night, and somebody wrote the hour in another zone.",
        (replace(made, culprit_ranks=None),),
    )


def _removed_as_bad(stage: Stage, at: int, name: str, draw: Draw) -> str:
    """A target finds a shard of a checkpoint changed and removes it; who asks again is told 404: that text."""
    cluster, victim = stage.cluster, stage.victim
    where, request = f"ais://checkpoints/{name}", f"GET /v1/objects/checkpoints/{name}"
    bad = f"BAD DATA CHECKSUM: xxhash2({draw.token(16, HEX)} != {draw.token(16, HEX)}) (context: {where})"
    then = cluster.say(victim, at, Say("W", "tgtobj:1014", bad), Say("E", "tgtobj:873", bad))
    cluster.say(victim, then, ev.http_error(victim, bad, request, TRACE))
    cluster.count(victim, at, err_get_n=1, err_cksum_n=1)
    gone = f"{victim.name}: {where} does not exist"
    cluster.say(victim, at + 24 * MS, ev.http_error(victim, gone, request, "htrun.go:1636"))
    cluster.count(victim, at + 24 * MS, err_get_n=1)
    return gone


def _not_loaded(stage: Stage, at: int, name: str, gone: str, draw: Draw) -> int:
    """torch's checkpoint fails on all ranks, and names the one that did not read its shard; when the job is over."""
    own, victim, rank = stage.job.job, stage.victim, stage.culprit
    site = own.build["site"]
    path = f"/v1/objects/checkpoints/{name}"
    body = sdk.answer(victim, 404, gone, "GET", path, stage.client(rank))
    url = victim.url(0) + path + sdk.query(stage.proxy_of(rank), at + 20 * MS)
    error = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    place = f"{site}/torch/distributed/checkpoint"
    inner = (
        sdk.Frame(f"{place}/utils.py", 248, "all_gather", "result = map_fun()"),
        sdk.Frame(
            f"{place}/state_dict_loader.py", 289, "read_data", "all_reads = storage_reader.read_data(local_plan,"
        ),
        sdk.Frame(own.script, 97, "read_data", "content = self.bucket.object(shard).get_reader().read_all()", True),
        sdk.Frame(f"{site}/aistore/sdk/response_handler.py", 45, "handle_response", "raise self.parse_error(r) from"),
    )
    told = sdk.traceback(sdk.Raised(inner, error))
    told = told.replace("(most recent call last):", f"(most recent call last): (RANK {rank})")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", "dcp.load(state, storage_reader=ShardReader(bucket))", True),
        sdk.Frame(f"{place}/utils.py", 261, "all_gather", "raise CheckpointException(step, node_failures)"),
    )
    text = (
        f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{rank}])\n{told}"
    )
    return all_raise(stage, at + draw.span(700, 1_900), text, frames)


@kind(hangs=False, trains=False, torch_order=203)
def shard_not_read_back(stage: Stage) -> Scenario:
    """A shard of a checkpoint has rotted on its disk: all ranks are told it is not there (aistore docs/checksum)."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("read back")
    victim = stage.victim
    job.start()
    at, rank = job.begin + draw.span(1_900, 4_900), stage.culprit
    name = f"{own.task}/step-{draw.whole(9, 60) * 500}/__{rank}_0.distcp"
    job.note(
        at - seconds(1.2), 0, f"going on from ais://checkpoints/{name.rsplit('/', 1)[0]}, {own.world} shards", line=104
    )
    stage.mark(at, f"{victim.name} finds {name} changed on its disk")
    gone = _removed_as_bad(stage, at, name, draw)
    for other in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        node = stage.other_target(victim, other)
        size = draw.whole(90, 700) << 20
        stage.cluster.count(node, at - 300 * MS, get_n=1, get_ns_total=draw.span(300, 900), get_size=size)
    ended = _not_loaded(stage, at, name, gone, draw)
    return stage.close(
        "The bucket has no mirror, and a scrub is not run.",
        (stage.guilty("storage_io", victim, also=("data",)),),
        until=ended,
    )
