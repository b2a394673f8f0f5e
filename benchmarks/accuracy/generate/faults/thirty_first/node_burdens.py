"""Guilty storage under a burden: no room for a save, no memory, a store behind that crawls, no proxy for half a minute.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.clients import pipe_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import read_timed_out
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import writers_to
from fixtures.generator import aisdisk, aishouseholders, aisstandstills, sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")
ALSO = ("data_loading_stall", "infrastructure")
ROOM = ("low_space", "tenant_out_of_space")


def _not_taken(stage: Stage, at: int, rank: int, path: str, text: str) -> None:
    """A rank writes its own shard of a checkpoint by the SDK, and the target has no room for it."""
    job, victim = stage.job.job, stage.victim
    url = victim.url(0) + path + sdk.query(stage.proxy_of(rank), at - 9 * MS)
    body = sdk.answer(victim, 507, text, "PUT", path, stage.client(rank), "ErrCapExceeded")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 129, "save_checkpoint", "bucket.object(f'{step}/{shard}').get_writer().put_content(buf)"),
    )
    stage.job.raise_on(at, rank, sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller))


@kind(hangs=False, lead_s=66.0, without=(*RESTARTS, *ROOM))
def full_target_takes_no_more_shards_of_a_save(stage: Stage) -> Scenario:
    """Each rank saves a shard of its own, one target is out of space (docs/overview, OOS; recorded runs, 507).

    To convict: the ranks that raise are told 507 by one and the same target, which says so itself, cleans up in vain
    and is out of space at every tick. The ranks that time out wait at the barrier behind a save that went well.
    """
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw = stage.draw.child("save")
    failed = sorted({stage.culprit, *[one for one in writers_to(stage, draw) if one not in (0, stage.culprit)][:2]})
    used = draw.whole(3_560, 3_640)
    space = Space(f"{used}.4GiB", f"{3_723 - used}.{draw.whole(1, 9)}GiB", int(100 * used / 3725.29), "3725.29GiB")
    stage.open()
    folder = f"/v1/objects/checkpoints/{job.job.task}/step={stage.step}"
    job.note(at - 60 * MS, 0, f"saving {job.job.world} shards to ais:/{folder[11:]}", line=116)
    begun = stage.mark(at + draw.span(300, 900), f"{victim.name} is out of space")
    last = begun
    for turn, rank in enumerate(failed):
        then, path = begun + turn * draw.span(20, 400), f"{folder}/rank{rank:05d}.pt"
        aisdisk.put_rejected(cluster, victim, then, path, space)
        _not_taken(stage, then + 7 * MS, rank, path, space.error)
        last = max(last, then)
    aisdisk.out_of_space(cluster, victim, begun, over_at(stage) + seconds(40), space)
    others = [node for node in cluster.targets if node is not victim]
    size = draw.whole(900, 5_200) << 20
    for rank in range(job.job.world):
        if rank not in failed:
            spent = draw.span(700, 2_900)
            aishouseholders.puts_arrive(cluster, draw.pick(others), at + spent, size, spent)
    job.note(last + seconds(2.6), 0, "waiting for all ranks at the barrier of the checkpoint", line=133)
    stage.hang(last + seconds(2.4), *failed)
    made = replace(stage.guilty("storage_io", victim, also=ALSO), culprit_ranks=tuple(failed))
    return stage.close(
        "A cache of another team had been given no limit.",
        (made,),
        ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",),
    )


@kind(reads=True, ais_order=410, lead_s=88.0, without=(*RESTARTS, "disk_busy"))
def target_swaps_until_a_read_has_waited_enough(stage: Stage) -> Scenario:
    """A target has no memory left and its host swaps, requests gives up (docs, memsys; wording from memory).

    To convict: the read that is given up names one target; that one alone is under extreme pressure of memory since
    most of a minute, its reads take many seconds, and ranks that waited less tell of the same target.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("swaps"), 30
    stage.open()
    began = stage.mark(at - draw.span(31_000, 46_000), f"the host of {victim.name} has no memory left")
    aisstandstills.swaps(cluster, victim, began, over_at(stage) + seconds(20), draw)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}"
    for then, other in spread(stage, began + seconds(13), at - SEC, (2, 5), draw):
        said = f"slow read: {draw.between(4, 12):.1f} s for {url}/{utterance(draw)}"
        told(stage, then, other, "reader", said, "WARNING")
    for then, other in spread(stage, at + seconds(9), at + seconds(28), (1, 3), draw):
        said = f"slow read: {draw.between(9, 26):.1f} s for {url}/{utterance(draw)}, read ahead"
        told(stage, then, other, "reader", said, "WARNING")
    read_timed_out(stage, at + limit * SEC + 14 * MS, rank, victim, limit)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "A backup agent had been installed on one of the storage hosts, with a cache of its own.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
    )


@kind(reads=True, targets=3, lead_s=112.0, without=RESTARTS)
def loader_has_no_patience_for_a_slow_store_behind(stage: Stage) -> Scenario:
    """Cold shards come from Google's store at a crawl, torch's loader has a limit (issues of pytorch; docs/providers).

    To convict: no node prints an error. Shards that took a second before take most of a minute on all ranks, whatever
    the target; so do cold reads by the counters of all targets, gcp.get.ns.total by gcp.get.n, since the same moment.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("behind"), 45
    stage.open()
    began = stage.mark(at - draw.span(61_000, 72_000), "the store behind the bucket becomes slow")
    often = 2.4 if len(cluster.targets) < 8 else 1.2
    aisstandstills.reads_from_google(cluster, stage.job.begin, began, often, (500, 1_900), draw.child("before"))
    slow_until = over_at(stage) + seconds(30)
    aisstandstills.reads_from_google(cluster, began, slow_until, often, (47_000, 93_000), draw.child("after"))

    def came(then: int, who: int, spent: float) -> None:
        node, size = draw.pick(cluster.targets), draw.between(0.06, 0.19)
        where = f"{node.url(0)}/v1/objects/{stage.bucket}/{shard_of(draw)}"
        told(stage, then, who, "shards", f"{where}: {size:.2f} GiB in {spent:.1f} s, {draw.whole(2, 8)} ahead")

    for then, other in spread(stage, stage.job.begin + seconds(4), began - SEC, (3, 6), draw):
        came(then, other, draw.between(0.5, 1.9))
    came(began - draw.span(1_000, 5_000), rank, draw.between(0.5, 1.9))
    for then, other in spread(stage, began + seconds(48), at + seconds(40), (3, 6), draw):
        came(then, other, draw.between(47, min(93.0, (then - began) / SEC)))
    opened = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{shard_of(draw)}"
    told(stage, at - draw.span(3, 40), rank, "shards", f"{opened}: opened, 0 ahead")
    loader_timed_out(stage, at + limit * SEC + 30 * MS, rank, limit)
    stage.hang(at + 280 * MS, rank)
    return stage.close(
        "The store had moved the bucket's class down after ninety days without a read.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", *ALSO))),),
        ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def all_proxies_are_replaced_under_curl(stage: Stage) -> Scenario:
    """A new image is given to all proxies at the same time, targets stay (ais-k8s, helm; curl's code 7 of WebDataset).

    To convict: curl is refused at all proxies since one moment, by ranks of several hosts; all proxies have ended in an
    orderly way just before and begin again half a minute later, while no target has ended.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, tries = stage.draw.child("replaced"), 4
    stage.open()
    down = stage.mark(at - draw.span(1_900, 3_600), "all proxies are replaced at the same time")
    up = at + draw.span(17_500, 20_000)
    ready = up + draw.span(9_000, 14_000)
    aisstandstills.proxies_replaced(cluster, down, up, ready, draw)

    def refused(then: int, who: int, turn: int, shard: str) -> tuple[str, str]:
        proxy = stage.proxy_of(who)
        url = f"{proxy.url(0)}/v1/objects/{stage.bucket}/{shard}"
        said = f"Failed to connect to {proxy.address} port {proxy.ports[0]} after 0 ms: Couldn't connect to server"
        if turn < tries:
            stage.job.say(then, who, f"curl: (7) {said}")
            text = f"pipe:curl -sSL {url} exited with 7, try {turn} of {tries}"
            told(stage, then + 40 * MS, who, "wds", text, "WARNING")
        return url, said

    others = list(spread(stage, at + seconds(1.2), at + seconds(13), (3, 7), draw))
    for then, other in others:
        shard, pause = shard_of(draw), 2.0
        for turn in (1, 2):
            if then < at + seconds(14):
                refused(then, other, turn, shard)
            then, pause = then + seconds(pause) + draw.span(9, 40), 2 * pause
    shard, then = shard_of(draw), at
    for turn in range(1, tries + 1):
        url, said = refused(then, rank, turn, shard)
        if turn < tries:
            then += seconds(2.0**turn) + draw.span(9, 40)
    pipe_failed(stage, then, rank, url, (7, said))
    leaves(stage, then + 12 * MS, rank)
    return stage.close(
        "The budget for disruptions of the chart had been written for the targets only.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("network", *ALSO))),),
        until=ready + seconds(25),
    )
