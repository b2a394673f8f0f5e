"""Storage faults of the twenty-ninth part that get-batch runs into: a target not ready, a panic, lazy volumes."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import FALLING, one_by_one_failed, unanswered_at
from benchmarks.accuracy.generate.faults.words.operators import HUNG_UP, troubled
from benchmarks.accuracy.generate.faults.words.requests import exhausted, retries
from benchmarks.accuracy.generate.faults.words.servers import entries_are_late
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aischurn, aisdeeds, aisshifts, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_ninth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=80.0, without=(*RESTARTS, "kalive_hiccup"))
def restarted_target_is_not_ready_for_batches(stage: Stage) -> Scenario:
    """A target is in the map again and not ready for minutes, so every batch of any rank fails (aistore, 503; urllib3).

    To convict: the SDK names its gateway, which answered 503 for a minute and a half; the gateway's errors of that time
    all quote one target, which has restarted just before and says of each batch that it is not ready yet.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("not ready"), stage.proxy_of(stage.culprit)
    stage.open()
    down = stage.mark(at - draw.span(11_500, 14_000), f"SIGTERM {victim.name}, its pod is moved to new memory limits")
    faults.terminate(cluster, victim, down)
    joined = aischurn.returns(cluster, victim, down + draw.span(8_000, 9_000), draw)
    process = cluster.last_process(victim)
    ready = at + seconds(TRIES_S[-1] + 25)
    process.entries = [one for one in process.entries if one.at < joined + 200 * MS]
    over = at + seconds(TRIES_S[-1]) + draw.span(8, 40)
    askers = [rank, *readers(stage)[: draw.whole(4, 11)]]
    for one in askers:
        own, gate = draw.child("asker", one), stage.proxy_of(one)
        since = at if one == rank else at + own.span(30, 2_600)
        for after in TRIES_S:
            then, wid = since + seconds(after) + 3 * MS, cluster.wid(gate, own)
            if then < over:
                many = len(cluster.targets)
                own_line, forwarded = ev.phase_one_failed(gate, victim, stage.bucket, wid, many, "not ready yet")
                cluster.say(victim, then, own_line)
                cluster.say(gate, then + 2 * MS, forwarded)
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.too_many(503))
    caller = sdk.main_frames(stage.job.job, stage.step, *sdk.batch_get_frames(stage.job.job))
    stage.job.raise_on(over, rank, sdk.exhausted(stage.job.job, caller, "RetryError", text))
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "It walked all its disks before it served anybody, since its cache of capacities was lost.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=ready,
    )


@kind(reads=True, hangs=False, min_timeout_s=120, ais_order=410, lead_s=64.0)
def every_target_panics_at_one_batch(stage: Stage) -> Scenario:
    """A release of AIStore meets a nil pointer at a batch of members, whoever assembles it (aistore issues; net/http).

    To convict: the SDK's connection is closed without an answer, each time it asks; each time a target has a panic of
    its handler of batches in that moment, every time another one, and other batches are served.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("panics")
    stage.open()
    stage.mark(at - 12 * MS, "a batch meets a mistake of this release")
    nodes, moments, then = draw.shuffled(list(cluster.up(at))), [at], at
    for attempt in range(6):
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", HUNG_UP))
        then += seconds(wait) + draw.span(9, 60)
        moments.append(then)
    for turn, moment in enumerate(moments):
        node = nodes[turn % len(nodes)]
        aisdeeds.batch_panics(cluster, node, moment - 4 * MS, stage.client(rank), draw.child("panic", turn))
    exhausted(stage, then, rank, HUNG_UP)
    leaves(stage, then + 8 * MS, rank)
    return stage.close(
        "A member of no bytes was put into a shard for the first time.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("software", "data", "data_loading_stall", "network"))),),
        until=then + seconds(25),
    )


@kind(reads=True, min_timeout_s=60, ais_order=410, lead_s=70.0, without=(*DISKS, *RESTARTS, "loader_fallbacks"))
def restored_volumes_load_lazily_below_lhotse(stage: Stage) -> Scenario:
    """Volumes of a target were made of snapshots, and each block is fetched when it is first read (AWS docs, EBS).

    To convict: a stream gave nothing for 20 s and the object alone neither, from the target that has it; its volumes
    read some megabytes a second and have no time left, its reads take ten seconds and more, and all others wait for it.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("lazy")
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(9_000, 15_000), f"the job comes to what {victim.name} has not read yet")
    aisshifts.volumes_capped(cluster, victim, began, over + seconds(20), draw.whole(5, 11), draw.child("volumes"))
    entries_are_late(cluster, victim, began, over + seconds(20), draw.child("entries"))
    peers = [node for node in cluster.up(at) if node is not victim]

    def late_stream(then: int, who: int) -> None:
        node = draw.pick(peers)
        slow = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
        said = f"Timeout while fetching batch result at index {draw.whole(1, 40)}: {slow} {FALLING}."
        stage.job.sdk_warning(then, who, said)

    for other in readers(stage)[: draw.whole(2, 5)]:
        late_stream(min(at + draw.span(300, 14_000) + seconds(20.02), over - SEC), other)
    name, first = utterance(draw), at + seconds(20.02)
    late_stream(first, rank)
    text = unanswered_at(stage, rank, victim, name)
    end = retries(stage, first, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        stage.job.sdk_warning(end, rank, "All retries exhausted; request failed", "ERROR")
        one_by_one_failed(stage, end + MS, rank, name, text, sequential=False)
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "Its node had been replaced in the night, and the volumes with it.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
        until=over + seconds(15),
    )
