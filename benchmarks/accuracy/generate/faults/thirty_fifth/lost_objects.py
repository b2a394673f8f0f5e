"""Guilty storage of targets that are lost while objects, members of shards and signed addresses are read from them.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.getters import in_one_step, sample_of, struck_by
from benchmarks.accuracy.generate.faults.words.goners import (
    CUT_SHORT,
    NOT_CONNECTED,
    dialed_in_vain,
    handle_of,
    pipe_begun_anew,
    pipe_opened,
    reads_signed,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lostones import (
    DIALED_S,
    REFUSED_S,
    member_not_there,
    tried_until_left,
)
from benchmarks.accuracy.generate.faults.words.natives import archived, dataset_refused, one_line, refused_at, shard_of
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, aisstandstills, aisunplugged, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fifth")
NOISE = (*RESTARTS, "kalive_hiccup")
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors", "loader_fallbacks")
ALSO = ("infrastructure",)
UNREACHED = ("network", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
W = "WARNING"


@kind(reads=True, lead_s=60.0, without=(*NOISE, *MISSING))
def dataset_is_told_404_by_the_heir_of_a_crashed_target(stage: Stage) -> Scenario:
    """A target crashes; the proxy sends readers on to the next in line, which has no copy (aistore docs, ha; SDK).

    To convict: a 404 is raised for an object of which the same rank was refused at another address until then; that
    target's log ends without a word before the first refusal, and the new map without it is there right before the 404.
    Who says that it does not exist has never had it, and nobody else complains of that one.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("heir"), sample_of(stage.draw.child("name"))
    stage.open()
    died = stage.mark(at - draw.span(40, 900), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    gone = removed_and_back(stage, died)

    def why() -> str:
        return refused_at(stage, rank, victim, draw, name)

    asked = tried_until_left(stage, at, rank, why, draw, gone, REFUSED_S)
    heir = draw.pick(cluster.up(asked))
    missing = aisstandstills.not_here(cluster, heir, asked + 2 * MS, name)
    dataset_refused(stage, asked + 7 * MS, rank, heir, name, 404, missing)
    stage.hang(at + 270 * MS, rank)
    return stage.close(
        "It had been built with a library of a newer kernel than that of its host.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, hangs=False, lead_s=55.0, without=NOISE)
def panicked_target_breaks_shards_in_the_middle(stage: Stage) -> Scenario:
    """A target panics as it sends a shard, and is back too late (webdataset/gopen.py; panics are on stderr).

    To convict: curl loses a body half-way, and the tries that follow are refused at one address; that target's log ends
    in that second without a word, peers lose their streams to it, and a new log begins seconds later. The rank exits
    and the launcher ends all others.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, tries = stage.draw.child("panic"), 3
    stage.open()
    for early, other in spread(stage, stage.job.begin + seconds(4), at - seconds(8), (3, 6), draw):
        pipe_opened(stage, early, other, shard_of(draw))
    shard = shard_of(draw)
    url = pipe_opened(stage, at - draw.span(900, 2_200), rank, shard)
    died = stage.mark(at, f"{victim.name} panics")
    faults.kill(cluster, victim, died)
    back = stage.mark(died + draw.span(6_400, 8_400), f"the container of {victim.name} starts again")
    faults.reconnects(cluster, victim, died, back - SEC, 1)
    joined = faults.start_again(cluster, victim, back)
    left = draw.whole(9 << 20, 700 << 20)
    pipe_begun_anew(stage, at + 2 * MS, rank, 18, CUT_SHORT.format(left), (1, tries))
    then, refused = at + seconds(1.0) + draw.span(15, 40), NOT_CONNECTED.format(victim.address, victim.ports[0])
    for turn in (2, 3):
        pipe_begun_anew(stage, then, rank, 7, refused, (turn, tries))
        then += (seconds(2.0) + draw.span(15, 40)) if turn < tries else 0
    pipe_ended(stage, then + 4 * MS, rank, f"curl -fsSL {url}", 7, handle_of(draw))
    leaves(stage, then + 9 * MS, rank)
    return stage.close(
        "A concurrent write to a map, which Go does not forgive.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=joined + seconds(60),
    )


@kind(reads=True, lead_s=64.0, without=NOISE)
def host_of_a_target_loses_power_under_signed_reads(stage: Stage) -> Scenario:
    """The power of a storage host fails, and readers with signed addresses dial it (aistore docs, s3compat; requests).

    To convict: each try of the rank is sent on to one address and nobody there accepts or refuses; peers that send to
    that target time out and then find no route, its log breaks off before, and the primary removes it. All other
    targets serve on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("power"), stage.draw.child("limit").pick((5, 5, 7, 10))
    stage.open()
    said = f"signed addresses of {stage.proxy_of(0).url(0)}/s3, connect {limit} s, read 60 s, tries 3"
    told(stage, stage.job.begin - draw.span(300, 700), 0, "s3", said)
    died = stage.mark(at - draw.span(200, 1_900), f"the host of {victim.name} loses its power")
    peers = [one for one in cluster.targets if one is not victim][: draw.whole(1, 3)]
    gone = faults.leave_smap(cluster, victim, died, hung=True)
    aisobjects.lose_host(cluster, victim, died, gone, peers)
    reads_signed(stage, at, rank, victim, shard_of(draw), 3, limit, draw)
    stage.hang(at + 250 * MS, rank)
    return stage.close(
        "Both power supplies of the host were on the same rail, whose breaker had tripped.",
        (stage.guilty("storage_io", victim, also=UNREACHED),),
        ALIVE,
        until=gone + seconds(40),
    )


@kind(reads=True, lead_s=63.0, without=(*NOISE, *MISSING))
def cut_cable_of_a_target_fails_members_of_shards(stage: Stage) -> Scenario:
    """The one cable of a target is pulled; members of its shards are read by the SDK (ArchiveConfig; ha).

    To convict: the ranks of one step dial one address in vain, again and again, until the primary has removed that
    target, and are told then by the next in line that the shard does not exist. The target lives: all it writes is that
    it does not reach the primary, and after its cable is back that it does.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, back = stage.draw.child("cable"), over_at(stage) + seconds(29)
    stage.open()
    cut = stage.mark(at - draw.span(60, 1_400), f"{victim.name} is cut off from the network")
    gone = aisunplugged.unplugged(cluster, victim, cut, back, draw.child("ais"))
    stage.mark(back, f"the cable of {victim.name} is plugged in again")
    struck = in_one_step(stage, 3, draw)
    for turn, rank in enumerate(struck):
        shard = shard_of(draw)
        tail = archived(shard, draw)

        def why(rank: int = rank, asked_for: str = shard + "?" + tail) -> str:
            name, _, member = asked_for.partition("?")
            return dialed_in_vain(victim, object_path(stage, rank, name) + member, draw, 3)

        asked = tried_until_left(stage, at + turn * draw.span(4, 60), rank, why, draw, gone, DIALED_S)
        heir, path = draw.pick(cluster.up(asked)), f"/v1/objects/{stage.bucket}/{shard}"
        missing = aisstandstills.not_here(cluster, heir, asked + 2 * MS, shard)
        url = heir.url(0) + path + sdk.query(stage.proxy_of(rank), asked) + tail
        body = sdk.answer(heir, 404, missing, "GET", path, stage.client(rank))
        member_not_there(stage, asked + 7 * MS, rank, url, body)
    stage.hang(at + 220 * MS, *struck)
    return stage.close(
        "A technician had moved the wrong one of two cables.",
        (struck_by(stage, "storage_io", struck, victim, UNREACHED),),
        ALIVE,
        until=back + seconds(60),
    )


@kind(reads=True, lead_s=68.0, without=(*NOISE, *MISSING))
def target_in_maintenance_takes_its_objects_along(stage: Stage) -> Scenario:
    """A target is put into maintenance with no rebalance while a job reads (aistore docs, lifecycle_node.md).

    To convict: several targets answer 404 for single objects, each for what it never had, from one new map on, which
    the primary made as it was asked to put one target into maintenance; no rebalance follows, that target counts no
    read any more, and there is no other change. Until then no object was missing.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("maintenance")
    stage.open()
    left = stage.mark(at - draw.span(1_500, 4_000), f"start-maintenance {victim.name} --no-rebalance")
    aisstandstills.left_without_moving(cluster, victim, left)
    for then, other in spread(stage, left + 100 * MS, at - 60 * MS, (2, 4), draw):
        name, heir = sample_of(draw), draw.pick([one for one in cluster.up(then) if one is not victim])
        missing = aisstandstills.not_here(cluster, heir, then - 3 * MS, name)
        said = f"{name} replaced by another sample: {one_line(stage, then, other, heir, name, 404, missing)}"
        told(stage, then, other, "samples", said, W)
    name, heir = f"manifests/part-{draw.whole(0, 255):03d}.jsonl", draw.pick(cluster.up(at))
    missing = aisstandstills.not_here(cluster, heir, at - 3 * MS, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, heir, name, (404, "Not Found"), missing))
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "It was to have new firmware, for ten minutes, and a rebalance would have taken a night.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=at + 70 * SEC,
    )
