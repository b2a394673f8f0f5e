"""Guilty storage of daemons that stand still: nobody is refused, and the one that is guilty prints nothing at all.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.natives import one_line, shard_of, unanswered_at
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisstandstills, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_first")
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors")
ALSO = ("data_loading_stall", "infrastructure")
#: What the SDK waits for an answer.
LIMIT_S = 20.02


def _prefetched(stage: Stage, draw: Draw) -> None:
    """Loaders of ranks that wait for the culprit read ahead, and are not answered by the victim either."""
    at, victim = stage.at, stage.victim
    for then, other in spread(stage, at + seconds(20.4), at + seconds(33), (1, 3), draw):
        text = unanswered_at(stage, other, victim, shard_of(draw))
        wait = round(draw.between(1.0, 1.9), 2)
        stage.job.sdk_warning(then, other, sdk.retrying(wait, "ConnectionError", text))


@kind(reads=True, min_timeout_s=120, lead_s=62.0, without=(*RESTARTS, *MISSING, "kalive_hiccup"))
def heir_of_a_stopped_target_has_no_such_shard(stage: Stage) -> Scenario:
    """A target is stopped and removed, who inherits its shard answers 404 to the SDK (facts, recorded incidents).

    To convict: the rank's first reads of the shard run into 20 s at another target than the one that answers 404 later;
    the primary's keepalive has no answer of that other one, which writes no line meanwhile, and removes it in between.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, until = stage.draw.child("heir"), over_at(stage) + seconds(38)
    heir, name = stage.other_target(victim, draw.whole(0, 50)), shard_of(draw)
    stage.open()
    stood = stage.mark(at - 10 * MS, f"SIGSTOP {victim.name}")
    faults.stop(cluster, victim, stood, until)
    gone = faults.leave_smap(cluster, victim, stood, hung=True)
    _prefetched(stage, draw.child("ahead"))
    then, late = at + seconds(LIMIT_S), unanswered_at(stage, rank, victim, name)
    wait = round(draw.between(1.0, 1.5), 2)
    stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", late))
    then += seconds(wait + LIMIT_S)
    wait = round(draw.between(1.2, 2.5), 2)
    stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", late))
    then = max(then + seconds(wait), gone + 300 * MS) + 6 * MS
    for turn in range(2, 6):
        text = aisstandstills.not_here(cluster, heir, then - 3 * MS, name)
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        said = one_line(stage, then, rank, heir, name, 404, text)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ErrObjNotFound", said))
        then += seconds(wait) + 6 * MS
    text = aisstandstills.not_here(cluster, heir, then - 3 * MS, name)
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    stage.job.raise_on(then + 2 * MS, rank, refused_get(stage, then, rank, heir, name, (404, "Not Found"), text))
    stage.hang(at + 360 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "A debugger had been attached to the wrong process of the storage host.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
        until=back + seconds(5),
    )


@kind(culprit=0, proxies=2, hosts=2, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def first_rank_asks_a_primary_that_stands_still(stage: Stage) -> Scenario:
    """The primary is stopped and another proxy elected; who has its address is not answered (docs/ha; SIGSTOP).

    To convict: all time-outs name the address of one proxy and no target, and come from ranks of hosts that have it as
    endpoint; that proxy writes nothing since then, all other nodes miss it at their keepalives and elect another.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, proxy = stage.draw.child("primary"), cluster.primary(stage.at)
    stage.open()
    stood = stage.mark(at - draw.span(12, 190), f"SIGSTOP {proxy.name}, the primary")
    aisstandstills.primary_stands_still(cluster, cluster.proxy(1), stood, draw)

    def asked(name: str) -> str:
        cause = sdk.read_timeout(proxy.address, proxy.ports[0])
        path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, cause)

    name = f"manifests/dev-{draw.whole(1, 9)}.jsonl"
    told(stage, at - 2 * MS, 0, "validation", f"reading ais://{stage.bucket}/{name}")
    beside = [one for one in readers(stage) if stage.proxy_of(one) is proxy and one != rank][: draw.whole(1, 3)]
    for other in beside:
        then = at + draw.span(20_200, 31_000)
        if then < over - SEC:
            wait = round(draw.between(1.0, 1.9), 2)
            stage.job.sdk_warning(then, other, sdk.retrying(wait, "ConnectionError", asked(shard_of(draw))))
    then = at + seconds(LIMIT_S)
    for turn in range(6):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", asked(name)))
        then += seconds(wait + LIMIT_S)
    if then < over - SEC:
        exhausted(stage, then, rank, asked(name), "ConnectionError", one_object(stage))
    stage.hang(at + 240 * MS, rank)
    return stage.close(
        "The cluster was well again after half a minute, and the job's hosts had one address each.",
        (stage.guilty("storage_io", proxy, also=ALSO),),
    )


@kind(reads=True, lead_s=70.0, without=(*RESTARTS, *MISSING, "kalive_hiccup"))
def list_lacks_the_share_of_a_stopped_target(stage: Stage) -> Scenario:
    """A list waits for a stopped target, and lacks what it has once it is removed (facts, SIGSTOP; docs/bucket).

    To convict: the rank's lists run into 20 s at its proxy, which waits itself; the primary removes a target that does
    not answer keepalives in between; the list that comes then is shorter by about the share of one target.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, until, proxy = stage.draw.child("list"), over_at(stage) + seconds(35), stage.proxy_of(stage.culprit)
    stage.open()
    stood = stage.mark(at - draw.span(8, 60), f"SIGSTOP {victim.name}")
    faults.stop(cluster, victim, stood, until)
    gone = faults.leave_smap(cluster, victim, stood, hung=True)
    whole = draw.whole(9_000, 42_000)
    share = 1 / len(cluster.targets)
    found = whole - round(whole * share * draw.between(0.93, 1.07))
    prefix = f"shards/epoch-{draw.whole(2, 7)}/"
    told(stage, at - 3 * MS, rank, "shards", f"listing ais://{stage.bucket}/{prefix}, {whole} names in its index")
    path = f"/v1/buckets/{stage.bucket}?provider=ais"
    cause = sdk.read_timeout(proxy.address, proxy.ports[0])
    late = sdk.pool_error(proxy.address, proxy.ports[0], path, cause)
    then = at + seconds(LIMIT_S)
    wait = round(draw.between(1.0, 1.5), 2)
    stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", late))
    then += seconds(wait + LIMIT_S)
    wait = round(draw.between(1.2, 2.5), 2)
    stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", late))
    then = max(then + seconds(wait), gone + 300 * MS) + draw.span(300, 1_400)
    cluster.count(proxy, then, lst_n=1)
    for node in cluster.up(then):
        cluster.count(node, then, lst_n=1)
    script = stage.job.job.script
    frames = sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(script, 81, "fetch", "self.shards = self.list_shards(prefix)", True),
        sdk.Frame(script, 52, "list_shards", "raise ValueError("),
    )
    text = f"ValueError: ais://{stage.bucket}/{prefix}: {found} shards are listed, the index has {whole}"
    stage.job.raise_on(then + 3 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    stage.hang(at + 300 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "A snapshot of the storage host was taken with its memory, at noon.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
        until=back + seconds(5),
    )
