"""Storage faults of the thirteenth part that checkpoints meet: told too late, or not there when a job goes on."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.fetchers import shards_not_loaded, upload_of_before
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirteenth")
RESET = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
GIB_PER_S = 0.28


@kind(culprit=0, hangs=False, lead_s=90.0, without=("tenant_out_of_space", "low_space"))
def upload_of_before_has_failed(stage: Stage) -> Scenario:
    """An upload in the background finds no room and is told with the next one (pytorch#159374; orbax issue 605)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, percent = stage.draw.child("before"), stage.draw.child("percent").whole(95, 97)
    used = 7450.58 * percent / 100
    space = Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")
    stage.open()
    sent = at - draw.span(31_000, 62_000)
    before = stage.step - int((at - sent) / seconds(stage.params.step_s))
    name = f"{job.job.task}/step={before}.pt"
    job.note(sent, 0, f"checkpoint of step {before} is written in the background: ais://checkpoints/{name}", line=123)
    full = stage.mark(sent + draw.span(2_000, 9_000), f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, full, at + seconds(60), space)
    disk.put_rejected(cluster, victim, full + 4 * MS, f"/v1/objects/checkpoints/{name}", space)
    job.note(at - 5 * MS, 0, f"waiting for the checkpoint of step {before} before that of {stage.step}", line=115)
    told = upload_of_before(stage, victim, sent, f"/v1/objects/checkpoints/{name}", space.error)
    job.raise_on(at, 0, told)
    exits(stage, at, 0)
    return stage.close(
        "The upload runs in a thread of its own; the program looks at its result when it needs the thread again.",
        (stage.guilty("storage_io", victim),),
    )


@kind(trains=False, hangs=False, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def resume_finds_a_target_away(stage: Stage) -> Scenario:
    """A job goes on while a target is in maintenance: some shards are not found (aistore docs/lifecycle_node)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("resume"), stage.job.job
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    down = max(opened + 20 * SEC, job.begin - draw.span(70_000, 220_000))
    faults.terminate(cluster, victim, stage.mark(down, f"the host of {victim.name} is taken for maintenance"))
    job.start()
    at, step = job.begin + draw.span(900, 2_600), draw.whole(9, 60) * 500
    path = f"checkpoints/{own.task}/step-{step}"
    job.note(at - 90 * MS, 0, f"going on from s3://{path} ({own.world} shards)", line=104)
    share = max(1, own.world // len(cluster.targets))
    lost = sorted(draw.shuffled(range(own.world))[: min(share, 6)])
    for rank in range(own.world):
        node = stage.other_target(victim, rank + draw.whole(0, 9))
        then = at + draw.span(3, 400)
        if rank in lost:
            cluster.count(node, then, head_n=1, err_head_n=1)
        else:
            size = draw.whole(90, 700) << 20
            cluster.count(node, then + 300 * MS, get_n=1, get_ns_total=draw.span(300, 1_400), get_size=size)
    ended = shards_not_loaded(stage, at + draw.span(900, 2_600), {rank: f"{path}/__{rank}_0.distcp" for rank in lost})
    made = stage.guilty("storage_io", victim, also=("data", "infrastructure", "data_loading_stall"))
    return stage.close(
        "Somebody changes a fan; until the target is back its objects are nowhere else.",
        (replace(made, culprit_ranks=tuple(lost)),),
        until=ended,
    )


@kind(culprit=0, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def upload_begins_anew_too_late(stage: Stage) -> Scenario:
    """A target dies in the middle of a checkpoint, which is sent anew from its start (pytorch, watchdog in save)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, over = stage.draw.child("anew"), over_at(stage)
    stage.open()
    name = f"{job.job.task}/step={stage.step}.pt"
    size = (stage.params.timeout_s + draw.between(20, 90)) * GIB_PER_S
    job.note(at - 60 * MS, 0, f"saving checkpoint to ais://checkpoints/{name} ({size:.1f} GiB)", line=116)
    died = stage.mark(at + draw.span(4_000, 11_000), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(24))
    left = faults.leave_smap(cluster, victim, died)
    job.sdk_warning(died + 3 * MS, 0, sdk.retrying(1.0, "ConnectionError", RESET))
    path = f"/v1/objects/checkpoints/{name}?provider=ais&pid={stage.proxy_of(0).node_id}"
    text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    then = died + SEC + 4 * MS
    for attempt in range(1, 6):
        if then < min(left, over - SEC):
            wait = round(draw.between(0.65, 1) * min(30.0, 2.0**attempt + 0.5), 2)
            job.sdk_warning(then, 0, sdk.retrying(wait, "ConnectionError", text))
            then += seconds(wait) + 4 * MS
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "Once the map has changed another target takes the file, from its first byte; nobody waits that long.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )
