"""Storage faults of the thirtieth part of ways between nodes: racks that cannot send, a gateway that went elsewhere."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.operators import troubled
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tenants import not_of_this_cluster
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn, aisstrain, aistenants, sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, targets=4, lead_s=84.0, min_timeout_s=60, without=RESTARTS)
def racks_of_targets_cannot_send_to_each_other(stage: Stage) -> Scenario:
    """A new list of a switch keeps data of two storage racks apart, control passes (docs/networking; ACL change).

    To convict: batches are given up for want of an entry, at targets of either rack; each target cannot dial the data
    port of others, which are those of the other rack without exception, while keepalives and single reads are well.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, half = stage.draw.child("racks"), len(cluster.targets) // 2
    racks = (list(cluster.targets[:half]), list(cluster.targets[half:]))
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(27_000, 39_000), "a switch keeps the data of two storage racks apart")
    aistenants.racks_apart(cluster, racks, began, at + seconds(25), draw.child("apart"))

    def fails(then: int, who: int) -> tuple[str, str]:
        node, wid = draw.pick(cluster.targets), cluster.wid(stage.proxy_of(who), draw)
        text = aisstrain.entry_missing(cluster, node, then, wid, draw.whole(2, 40))
        return assembly_failed(stage, who, node, wid, text)

    for then, other in spread(stage, max(began + seconds(21.5), at - seconds(9)), at - 90 * MS, (2, 5), draw):
        said = fails(then - 4 * MS, other)[0]
        told(stage, then, other, "batches", f"get-batch failed ({said}), its cuts go back to the sampler", "WARNING")
    stage.job.raise_on(at, rank, fails(at - 4 * MS, rank)[1])
    leaves(stage, at + 6 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=ALSO))
    return stage.close(
        "The list was written by the addresses of a plan, and one rack had moved since.",
        (made,),
        until=at + seconds(40),
    )


@kind(
    reads=True,
    hangs=False,
    min_timeout_s=60,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=72.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def gateway_returns_from_maintenance_in_another_cluster(stage: Stage) -> Scenario:
    """A gateway's host is installed again by the wrong list and joins a cluster of tests (docs/lifecycle_node).

    To convict: ranks of some hosts are refused by their gateway, then told by the same address, in the name of a node
    that this cluster has never had, that there is no such bucket; the gateway left in an orderly way, all others read.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("elsewhere"), stage.proxy_of(rank)
    stage.open()
    troubled(stage, draw.child("troubled"))
    down = stage.mark(at - draw.span(13_000, 22_000), f"the host of {proxy.name} is installed again")
    aischurn.proxy_stops(cluster, proxy, down)
    other_id, back = draw.token(len(proxy.node_id), LOWER), at - draw.span(900, 2_400)

    def asks(who: int, until: int) -> str:
        name = utterance(draw)
        path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        then, turn = down + draw.span(600, 5_000), 0
        while then < back:
            wait = round(draw.between(1.0, 2.0 ** min(turn, 3) + 0.5), 2)
            wait = wait if then + seconds(wait) < back - SEC else round((until - then) / SEC - 0.02, 2)
            stage.job.sdk_warning(then, who, sdk.retrying(wait, "ConnectionError", text))
            then, turn = then + seconds(wait) + 20 * MS, turn + 1
        return name

    beside = [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(1, 4)]
    for other in beside:
        then = back + int((at - back) * draw.between(0.2, 0.95))
        name = asks(other, then)
        said = not_of_this_cluster(stage, then, other, proxy, other_id, name)[0]
        told(stage, then, other, "fs", f"ais://{stage.bucket}/{name} left out: {said}", "WARNING")
    raised = not_of_this_cluster(stage, at, rank, proxy, other_id, asks(rank, at))[1]
    stage.job.raise_on(at, rank, raised)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The list of hosts had been sorted anew, and the one below was of another room.",
        (stage.guilty("storage_io", proxy, also=("data", *ALSO)),),
        until=at + seconds(40),
    )
