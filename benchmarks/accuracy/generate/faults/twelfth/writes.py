"""Storage faults of the twelfth part that writes meet: appends, parts, writes that go through to a source."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at, saved_in_vain
from benchmarks.accuracy.generate.faults.words.visitors import append_refused, connector_cancelled
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aispassages as passages
from fixtures.generator import sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twelfth")
PART_TRACE = "htrun.go:1636 <- tgts3mpt.go:118 <- tgts3.go:88"


@kind(culprit=0, lead_s=60.0, without=RESTARTS)
def handle_of_a_lost_target(stage: Stage) -> Scenario:
    """A checkpoint is appended to, and who has its beginning is gone (NVIDIA/aistore docs/http_api, append handles)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, proxy = stage.draw.child("handle"), stage.proxy_of(0)
    name, parts = f"{stage.job.job.task}/step={stage.step}.pt", draw.whole(9, 24)
    path = f"/v1/objects/checkpoints/{name}"
    stage.open()
    began, done = at - draw.span(3_100, 8_000), draw.whole(2, 7)
    stage.job.note(began, 0, f"appending checkpoint to ais://checkpoints/{name}, {parts} parts of 512 MiB", line=116)
    died = stage.mark(at - draw.span(4, 30), f"kill -9 {victim.name}")
    for part in range(done):
        cluster.count(victim, began + (died - began) * (part + 1) // (done + 2), append_n=1)
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    cause = sdk.refused(draw.whole(*HANDLES))
    asked = f"{path}?provider=ais&append_type=append&pid={proxy.node_id}"
    text = sdk.pool_error(victim.address, victim.ports[0], asked, cause)
    then = retries(stage, at, 0, draw, 0.004, text, left)
    if then < left:
        exhausted(stage, then, 0, text, "ConnectionError", saving_frames(stage)[1:])
    else:
        refused = passages.handle_of_nobody(cluster, proxy, then, path, victim)
        append_refused(stage, then + 4 * MS, proxy, path, refused)
    stage.hang(at + 300 * MS, 0)
    back = max(left, at) + draw.span(61_000, 90_000)
    if back < over_at(stage):
        faults.start_again(cluster, victim, back)
    return stage.close(
        "An object that is appended to lies on one target until its end; nobody begins it anew elsewhere.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(hangs=False, lead_s=60.0, without=("tenant_out_of_space", "low_space"))
def parts_find_no_room(stage: Stage) -> Scenario:
    """Parts of a checkpoint find no room, and the client says no more than `canceled` (s3-connector PR 232)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, percent = stage.draw.child("parts"), stage.draw.child("percent").whole(95, 98)
    used = 7450.58 * percent / 100
    space = Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")
    stage.open()
    folder, saving = f"{job.job.task}/step-{stage.step}", at - draw.span(3_000, 9_000)
    job.note(saving, 0, f"saving shards of the checkpoint to s3://checkpoints/{folder} (s3torchconnector)", line=121)
    full = stage.mark(at - draw.span(300, 1_900), f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, full, at + seconds(40), space)
    for node in cluster.targets:
        puts = draw.whole(9, 60)
        spent = puts * draw.span(60, 420)
        cluster.count(node, full - 90 * MS, put_n=puts, put_ns_total=spent, put_size=puts << 25)
    ranks = sorted({stage.culprit, *readers(stage)[: draw.whole(1, 4)]})
    for turn, rank in enumerate(ranks):
        for _ in range(draw.whole(2, 6)):
            then = max(full + 4 * MS, at + turn * seconds(0.7) - draw.span(5, 240))
            request = f"PUT /s3/checkpoints/{folder}/rank-{rank:05d}.pt"
            cluster.say(victim, then, ev.http_error(victim, space.error, request, PART_TRACE, "ErrCapExceeded"))
    ended = connector_cancelled(stage, at, ranks)
    made = replace(stage.guilty("storage_io", victim), culprit_ranks=tuple(ranks))
    return stage.close(
        "Uploads that were begun and never completed keep their parts; nobody has listed them for a year.",
        (made,),
        until=ended,
    )


@kind(culprit=0, lead_s=60.0)
def written_through_too_slowly(stage: Stage) -> Scenario:
    """A bucket writes through to a cloud that takes its time: a PUT outlasts its client (aistore docs/bucket)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, over = stage.draw.child("through"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(20_000, 41_000), "the store behind takes a tenth of what it took")
    for node in cluster.up(began):
        passages.writes_through(cluster, node, began, over + seconds(40), draw.child("node", node.node_id))
    passages.writes_through(cluster, victim, at - 20 * SEC, over + seconds(40), draw.child("victim"))
    saved_in_vain(stage, draw, 20.02)
    stage.hang(at + 300 * MS, 0)
    return stage.close(
        "What is written is there when the cloud has it; its line is shared with a backup.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )
