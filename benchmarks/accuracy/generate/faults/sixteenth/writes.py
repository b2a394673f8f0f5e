"""Storage faults of the sixteenth part of checkpoints: a full target, a fetch without an end, a disk of no use."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.comers import console, moves, s5cmd_failed
from benchmarks.accuracy.generate.faults.words.outlets import shards_not_saved
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, writers_to
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aistroubles as troubles
from fixtures.generator.aisdisk import Space
from fixtures.generator.aismishaps import S3_TRACE
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "sixteenth")
FULL = ("tenant_out_of_space", "low_space")
#: How often a mover is shown at most while it looks at its command once a step.
LOOKS = 60


def _space(percent: int) -> Space:
    used = 7450.58 * percent / 100
    return Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")


def _command(local: str, remote: str, is_upload: bool) -> list[str]:
    head = ["s5cmd", "--json", "--numworkers", "96", "cp"]
    skipped = ["--exclude", "*.lock", "--exclude", "*.lock.*"] if is_upload else []
    ends = [local, remote] if is_upload else [f"{remote}*", local]
    return [*head, *skipped, "--concurrency", "10", *ends]


def _uploads(stage: Stage, at: int, full: int, rank: int, space: Space, draw: Draw) -> tuple[list[str], str]:
    """A mover begins to upload, and some files of it find no room: its command, and what it prints of it."""
    folder = stage.job.job.task
    local, remote = f"/scratch/{folder}//{stage.step}", f"s3://checkpoints/{folder}//{stage.step}"
    text = f"Uploading checkpoint in background from {local} to {remote} {console(stage, folder)}"
    moves(stage, at + draw.span(1, 40), rank, text)
    errors, then = [], full + draw.span(100, 2_000)
    for turn in range(draw.whole(1, 3)):
        part = f"model/layers.{draw.whole(0, 31)}/model_weight_pp-rank-0_tp-rank-{turn}.safetensors"
        key = f"{folder}/{stage.step}/{part}"
        for _ in range(3):
            disk.put_rejected(stage.cluster, stage.victim, then, f"/s3/checkpoints/{key}", space)
            then += draw.span(200, 1_900)
        why = f"InternalError: {space.error} status code: 507, request id: , host id: "
        errors.append((f"{local}/{part} {remote}/{part}", why))
    return _command(local, remote, True), s5cmd_failed(stage, _command(local, remote, True), "UPLOADING", errors)


@kind(hangs=False, slurm=True, lead_s=60.0, without=FULL)
def mover_is_never_done(stage: Stage) -> Scenario:
    """A mover cannot upload to a full target and is waited for for ever (nanotron, s3_mover; docs/storage_svcs)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, own, space = stage.draw.child("mover"), stage.job.job, _space(stage.draw.child("percent").whole(95, 97))
    stage.open()
    movers = [own.ranks_per_node * node for node in range(len(own.hosts))]
    ill = sorted(draw.shuffled(movers)[: max(1, len(movers) // 2)])
    full = stage.mark(at + draw.span(900, 2_900), f"{victim.name} runs out of space")
    ended, last = full + draw.span(9_000, 15_000), stage.step + int(24 / stage.params.step_s)
    then = max(job.step_at(last) + SEC, ended + SEC)
    over = then + draw.span(40_000, 90_000)
    disk.out_of_space(cluster, victim, full, over + seconds(30), space)
    job.train(stage.step, last)
    for rank in ill:
        _, failed = _uploads(stage, at, full, rank, space, draw)
        for look in range(min(LOOKS, int((then - ended) / SEC / stage.params.step_s))):
            moves(stage, ended + look * seconds(stage.params.step_s), rank, failed)
        waits = (
            f"Waiting previous checkpoint saving is finished - S3Mover {rank} still in S3MoverState.UPLOADING state."
        )
        job.note(then, rank, waits, "W", 191, "s3_mover")
        many = draw.whole(90, 99)
        for turn in range(int((over - then) / seconds(1.1))):
            saved, row = own.world - len(ill), failed.rsplit("\n", 1)[-1].split("return message ")[-1]
            said = f"Waiting UPLOADING: {saved} / {own.world}. Stdout: {many} end: [{row!r}]"
            moves(stage, then + turn * seconds(1.1), rank, said)
    cancelled_by_hand(stage, over)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "infrastructure", "rank_hang"))
    return stage.close(
        "Who is on call for training sees a job that prints and does not train, and ends it.",
        (replace(made, culprit_ranks=tuple(ill)),),
    )


@kind(trains=False, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def download_is_never_done(stage: Stage) -> Scenario:
    """A target crashed, a checkpoint is fetched in part, and movers look for ever (nanotron, s3_mover; docs/ha)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("download"), stage.job.job
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    died = max(opened + 20 * SEC, job.begin - draw.span(45_000, 90_000))
    stage.mark(died, f"{victim.name} crashes and is not started again")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(26))
    left = faults.leave_smap(cluster, victim, died)
    job.start()
    at = max(job.begin, left + 4 * SEC) + draw.span(900, 1_900)
    folder, step = own.task, draw.whole(3, 60) * 500
    remote, local = f"s3://checkpoints/{folder}/{step}/", f"/scratch/{folder}/{step}/"
    movers = [own.ranks_per_node * node for node in range(len(own.hosts))]
    names = [f"optimizer/optimizer_pp-0-of-1_tp-0-of-1_exp-{turn}.pt" for turn in draw.shuffled(range(own.world))]
    names = sorted(names[: max(1, own.world // len(cluster.targets))])[:6]
    errors = [
        (f"{remote}{name} {local}{name}", "NoSuchKey:  status code: 404, request id: , host id: ") for name in names
    ]
    failed = s5cmd_failed(stage, _command(local, remote, False), "DOWNLOADING", errors)
    over = at + seconds(stage.params.timeout_s)
    for turn, rank in enumerate(movers):
        text = f"Downloading checkpoint in background from {remote} to {local} {console(stage, folder)}"
        moves(stage, at + turn * 20 * MS, rank, text)
        ended = at + draw.span(2_900, 6_000)
        for name in names:
            owner = stage.other_target(victim, draw.whole(0, 99))
            where = f"ais://checkpoints/{folder}/{step}/{name}"
            _not_there(stage, owner, ended - draw.span(100, 2_000), where)
        for look in range(int((over - ended) / seconds(5))):
            moves(stage, ended + look * seconds(5) + draw.span(1, 9), rank, failed)
    stage.hang(at + seconds(1), *movers, step=0)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "rank_hang", "data"))
    return stage.close(
        "What the command could not fetch is looked at every five seconds, and nobody fetches it again.",
        (replace(made, culprit_ranks=tuple(movers)),),
    )


def _not_there(stage: Stage, node: Node, at: int, where: str) -> None:
    """A read over the S3 API of something that a target does not have: 404."""
    request = f"GET /s3/{where.removeprefix('ais://')}"
    stage.cluster.count(node, at, err_get_n=1)
    said = ev.http_error(node, f"{node.name}: {where} does not exist", request, S3_TRACE, "ErrNotFound")
    stage.cluster.say(node, at, said)


@kind(hangs=False, lead_s=60.0, without=(*DISKS, *FULL))
def shards_meet_a_read_only_disk(stage: Stage) -> Scenario:
    """A file system is read-only after an error, and some shards of a checkpoint fail (pytorch#144752; docs/fshc)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, ill = stage.draw.child("read-only"), writers_to(stage, stage.draw.child("ill"))[:4]
    stage.open()
    where = f"checkpoints/{job.job.task}/step-{stage.step}"
    job.note(at - 60 * MS, 0, f"saving s3://{where}: a shard of each of {job.job.world} ranks", line=116)
    began = stage.mark(at - draw.span(900, 60_000), f"a file system of {victim.name} is read-only from now on")
    began, failed, last = max(began, at + 20 * MS), {}, at
    for rank in ill:
        then = began + draw.span(40, 2_900)
        for again in (0.0, 0.5, 1.3, 3.0):
            last = max(last, then + seconds(again))
            name = f"{job.job.task}/step-{stage.step}/__{rank}_0.distcp"
            failed[rank] = troubles.not_writable(cluster, victim, then + seconds(again), "checkpoints", name, draw)
    troubles.examined(cluster, victim, last - draw.span(20, 900), failed[ill[0]], False, draw)
    for rank in range(job.job.world):
        if rank not in ill:
            spent, size = draw.span(900, 3_100), draw.whole(210, 640) << 20
            cluster.count(stage.other_target(victim, rank), at + spent, put_n=1, put_ns_total=spent, put_size=size)
    ended = shards_not_saved(stage, last + 30 * MS, dict(sorted(failed.items())))
    made = stage.guilty("storage_io", victim, also=("software",))
    return stage.close(
        "The kernel has found an error in a journal; other disks of the target take what comes.",
        (replace(made, culprit_ranks=tuple(sorted(ill))),),
        until=ended,
    )
