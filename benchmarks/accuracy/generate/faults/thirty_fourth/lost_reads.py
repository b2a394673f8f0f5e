"""Guilty storage of the thirty-fourth part: targets that are lost while ranks read objects, shards and their members.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.absentees import REFUSED, pipe_tried
from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.getters import in_one_step, sample_of, struck_by
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import read_timed_out
from benchmarks.accuracy.generate.faults.words.lostones import (
    DIALED_S,
    REFUSED_S,
    member_not_there,
    signature,
    too_many_left_out,
    tried_until_left,
)
from benchmarks.accuracy.generate.faults.words.natives import archived, refused_at, shard_of
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.settlers import mapped_object_gone
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisassemblies, aisstandstills, aisunplugged, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "network", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "mountpath_before", "tenant_errors", "soft_errors")
W = "WARNING"


@kind(reads=True, lead_s=60.0, without=NOISE)
def objects_of_a_killed_target_are_missing_at_its_heirs(stage: Stage) -> Scenario:
    """A target is killed, several ranks read single objects of it (recorded 02; aistore/pytorch; docs, rebalance).

    To convict: what the ranks raise is a 404 of targets that are well; but each has been refused for half a minute at
    the address of one other target, for the same object, and the 404 came with the first try after the primary had
    removed that one. Its log ends without a word, and it has nothing of the time until it is started again.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("heirs")
    struck = in_one_step(stage, 4, draw)
    stage.open()
    died = stage.mark(at - draw.span(10, 90), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, gone - 400 * MS, draw.whole(1, 2))
    for turn, one in enumerate(struck):
        name, own = sample_of(draw), draw.child("rank", one)

        def why(one: int = one, name: str = name) -> str:
            return refused_at(stage, one, victim, draw, name)

        asked = tried_until_left(stage, at + turn * draw.span(2, 70), one, why, own, gone, REFUSED_S)
        heir = stage.other_target(victim, draw.whole(0, 50))
        missing = aisstandstills.not_here(cluster, heir, asked + 2 * MS, name)
        mapped_object_gone(stage, asked + 6 * MS, one, heir, name, missing)
    stage.hang(at + 400 * MS, *struck)
    back = stage.mark(gone + draw.span(12_000, 40_000), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    return stage.close(
        "The bucket has one copy of each object and no slices of it.",
        (struck_by(stage, "storage_io", struck, victim, also=("data", *ALSO)),),
        ALIVE,
        until=joined + seconds(60),
    )


@kind(reads=True, lead_s=62.0, without=NOISE)
def members_of_shards_lie_behind_a_cut_cable(stage: Stage) -> Scenario:
    """Somebody pulls the cable of a storage host, and a rank reads members of a shard there (aistore/sdk, retries).

    To convict: the rank dials one target three seconds at a time and in vain, then another one tells it 404 for the
    same shard, as the first has just left the map. That one's log goes on: it cannot reach the primary either, nobody
    has an error with anybody else, and it is added back when the cable is.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cable")
    shard = shard_of(draw)
    tail = archived(shard, draw)
    path = object_path(stage, rank, shard) + tail
    stage.open()
    pulled = stage.mark(at - draw.span(200, 1_900), f"the cable of {victim.name} is pulled")
    back = stage.mark(over_at(stage) + seconds(draw.between(15, 50)), f"the cable of {victim.name} is back")
    gone = aisunplugged.unplugged(cluster, victim, pulled, back, draw.child("pulled"))

    def why() -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], path, cause)

    asked = tried_until_left(stage, at, rank, why, draw.child("tries"), gone, DIALED_S)
    heir = stage.other_target(victim, draw.whole(0, 50))
    missing = aisstandstills.not_here(cluster, heir, asked + 2 * MS, shard)
    where = f"/v1/objects/{stage.bucket}/{shard}"
    url = heir.url(0) + where + sdk.query(stage.proxy_of(rank), asked) + tail
    body = sdk.answer(heir, 404, missing, "GET", where, stage.client(rank))
    member_not_there(stage, asked + 6 * MS, rank, url, body)
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "Two cables had the same label.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=back + seconds(70),
    )


@kind(reads=True, hangs=False, lead_s=56.0, without=NOISE)
def pipes_of_curl_find_a_target_that_has_panicked(stage: Stage) -> Scenario:
    """A target panics, which its log does not tell, and is started again too late for WebDataset (issues/354, 317).

    To convict: curl names the address it was sent on to, the same in each try; the log of that target ends without a
    word just before, peers lose their streams to it, the primary fails to reach it twice, and then it begins anew. The
    rank whose tries are at an end exits; other ranks have been refused there as well.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, tries = stage.draw.child("panic"), 3
    stage.open()
    died = stage.mark(at - draw.span(30, 400), f"{victim.name} panics")
    faults.kill(cluster, victim, died)
    back = stage.mark(died + draw.span(16_000, 23_000), f"{victim.name} is started again")
    aisunplugged.missed_twice(cluster, victim, died, back)
    faults.reconnects(cluster, victim, died, back - 300 * MS, draw.whole(1, 2))
    joined = faults.start_again(cluster, victim, back)
    text = REFUSED.format(victim.address, victim.ports[0])
    ended = at + seconds(6.0)
    for then, other in spread(stage, at + seconds(0.8), ended, (1, 3), draw):
        url = f"{stage.proxy_of(other).url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        pipe_tried(stage, then, other, 7, text, url, (1, tries))
        if then + seconds(2.1) < ended:
            pipe_tried(stage, then + seconds(2.02) + draw.span(6, 40), other, 7, text, url, (2, tries))
    url, then = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}", at
    for turn in range(1, tries + 1):
        pipe_tried(stage, then, rank, 7, text, url, (turn, tries))
        then += (seconds(2.0 * turn) + draw.span(30, 60)) if turn < tries else 3 * MS
    pipe_ended(stage, then, rank, f"curl -fsSL {url}", 7, draw.token(10, HEX))
    leaves(stage, then + 5 * MS, rank)
    return stage.close(
        "A nil pointer: the stack went to the standard error of a container that is not there any more.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=joined + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=58.0, without=NOISE)
def signed_address_leads_to_a_host_that_is_suspended(stage: Stage) -> Scenario:
    """A storage host stands still for half a minute, a read of a signed address has 20 s (docs/s3compat; requests).

    To convict: the exception names host and port of one target; that one has written and counted nothing since the
    read began and until half a minute later, while the primary failed to reach it twice. It goes on without a word of
    an error, and is never removed. The other targets have served all the time.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("signed"), stage.draw.child("limit").pick((18, 20, 20, 24))
    stage.open()
    for then, other in spread(stage, stage.job.begin + seconds(4), at - seconds(9), (2, 4), draw):
        url = f"{stage.proxy_of(other).url(0)}/s3/{stage.bucket}/{tar_of(draw)}{signature(draw)}"
        told(stage, then, other, "signed", f"200 in {draw.between(0.1, 0.9):.2f} s: {url}")
    stood = stage.mark(at - draw.span(4, 60), f"the host of {victim.name} is suspended")
    until = stage.mark(at + seconds(draw.between(29.0, 34.0)), f"the host of {victim.name} goes on")
    aisassemblies.frozen_for_seconds(cluster, victim, stood, until)
    url = f"{stage.proxy_of(rank).url(0)}/s3/{stage.bucket}/{tar_of(draw)}{signature(draw)}"
    ended = at + seconds(limit) + draw.span(9, 30)
    told(stage, ended, rank, "signed", f"no answer in {limit} s: {url}", W)
    read_timed_out(stage, ended + 2 * MS, rank, victim, limit)
    leaves(stage, ended + 6 * MS, rank)
    return stage.close(
        "The hypervisor had taken a snapshot of the virtual machine, with its memory.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        until=until + seconds(60),
    )


@kind(reads=True, lead_s=66.0, without=NOISE)
def shards_of_a_drained_host_are_asked_of_others(stage: Stage) -> Scenario:
    """A storage host is drained for an upgrade, one copy of each object (kubernetes docs, drain; aistore docs, ha).

    To convict: no shard was missing as the job began; from the second in which one target has ended itself in an
    orderly way and left the map, and only from then on, several ranks are told 404 by whoever else is asked, until one
    of them gives up. Nobody else has left, and no rebalance was run before, which would have moved its objects.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    stage.open()
    said = f"index of ais://{stage.bucket} names 4096 shards, all 4096 are there"
    told(stage, stage.job.begin + draw.span(200, 900), 0, "corpus", said)
    left = stage.mark(at - seconds(draw.between(5, 11)), f"SIGTERM {victim.name}, whose host is drained")
    faults.terminate(cluster, victim, left)
    moves = iter(range(draw.whole(0, 50), 120))

    def missing(then: int, one: int) -> str:
        shard, node = shard_of(draw), stage.other_target(victim, next(moves))
        text = aisstandstills.not_here(cluster, node, then - 4 * MS, shard)
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{shard}{sdk.query(stage.proxy_of(one), then - 5 * MS)}"
        body = sdk.answer(node, 404, text, "GET", f"/v1/objects/{stage.bucket}/{shard}", stage.client(one))
        return f"{shard}: " + sdk.request_error(404, body, url, " ")

    for then, other in spread(stage, left + seconds(1), at - 300 * MS, (1, 3), draw):
        told(stage, then, other, "reader", f"shard left out (1 of 4): {missing(then, other)}", W)
    then = at
    for turn in range(1, 5):
        told(stage, then, rank, "reader", f"shard left out ({turn} of 4): {missing(then, rank)}", W)
        then += draw.span(6, 60)
    too_many_left_out(stage, then, rank, 4, draw.pick((64, 96, 128)))
    stage.hang(at + 350 * MS, rank)
    back = stage.mark(over_at(stage) + seconds(draw.between(20, 60)), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    return stage.close(
        "The runbook had a step that moves the objects first, which nobody had waited for.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=joined + seconds(60),
    )
