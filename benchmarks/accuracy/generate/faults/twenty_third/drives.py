"""Storage faults of the twenty-third part of drives: capped volumes, worn flash, flipped bits, lists without end."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import tar_of, waited
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisshifts as shifts
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_third")


@kind(reads=True, min_timeout_s=60, lead_s=75.0, without=DISKS)
def burst_credits_of_cloud_volumes_are_spent(stage: Stage) -> Scenario:
    """Volumes of a cloud fall back to their base rate after hours of reading (AWS docs, EBS BurstBalance).

    To convict: ranks wait for reads of various targets; since one moment all volumes of all targets give the same few
    MiB a second, tick for tick, with no time left, and reads count seconds each.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, targets = stage.draw.child("credits"), stage.cluster.targets
    stage.open()
    spent = stage.mark(at - draw.span(11_000, 21_000), "volumes of all targets have no burst credits left")
    cap = draw.pick((20, 40, 62))
    for node in targets:
        before = cap * len(node.disks) * 4
        many, begun = (before, before * 3 // 2), stage.job.begin
        shifts.serves_as_ever(cluster, [node], begun, spent, (3_500, 4_600), draw.child("before", node.node_id), many)
        shifts.volumes_capped(cluster, node, spent, over + seconds(20), cap, draw.child(node.node_id))
    speakers = [rank, *readers(stage)[: draw.whole(3, 6)]]
    for turn, who in enumerate(speakers):
        then = at + int((over - at) * (0.12 + 0.1 * turn)) + draw.span(1, 2_500)
        url = f"{draw.pick(targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        lag = waited(max(spent, then - draw.span(9_000, 26_000)), then)
        left = draw.whole(3, 20)
        stage.job.note(then, who, f"batch incomplete, {left} of 24 samples missing; {lag} for {url}", "W", 90, "feed")
    stage.hang(at + 210 * MS, rank)
    return stage.close(
        "They had been chosen by their size, which is what is paid for.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=70.0, without=DISKS)
def worn_flash_is_read_again_and_again(stage: Stage) -> Scenario:
    """A worn drive reads weak cells with ever other thresholds, up to half a minute each (linux-nvme, read retry).

    To convict: the ranks that wait name one target; of its drives one alone is at its limit at every tick, with some
    kilobytes a second, while its target counts a read of many seconds now and then among many short ones.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("worn")
    stage.open()
    worn = draw.pick(victim.disks)
    began = stage.mark(at - draw.span(6_000, 17_000), f"{worn} of {victim.name} reads its cells again and again")
    before = draw.child("before")
    shifts.serves_as_ever(cluster, list(cluster.targets), stage.job.begin, began - seconds(10), (300, 700), before)
    shifts.cells_reread(cluster, victim, worn, began, over + seconds(20), draw)
    well = [node for node in cluster.targets if node is not victim]
    shifts.serves_as_ever(cluster, well, began, over, (300, 700), draw)
    name = utterance(draw)
    stage.job.note(
        at + seconds(31), rank, f"get {_url(stage, name)}: no byte for {waited(at, at + seconds(31))}", "W", 66
    )
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then = at + seconds(9 + 8.5 * turn) + draw.span(1, 4_000)
        asked = max(began, then - draw.span(11_000, 29_000))
        stage.job.note(then, other, f"get {_url(stage, utterance(draw))}: took {waited(asked, then)}", "W", 71)
    stage.hang(at + 190 * MS, rank)
    return stage.close(
        "It has written four times what it was sold for, and reports no error as long as a read ends well.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
    )


def _url(stage: Stage, name: str) -> str:
    """Where an object is read from, on the victim."""
    return f"{stage.victim.url(0)}/v1/objects/{stage.bucket}/{name}"


@kind(reads=True, hangs=False, lead_s=70.0)
def flipped_bits_are_found_in_shards(stage: Stage) -> Scenario:
    """Reads validate checksums, find other content, and remove it (aistore docs/checksum; support: bad data checksum).

    To convict: the shard of the SDK's 404 is one for which the target found a bad checksum at its first try a moment
    before, and removed it; it has found and removed others before, which ranks left out.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("flipped")
    stage.open()
    began = stage.mark(
        at - draw.span(12_000, 30_000), f"memory of {victim.name}'s host has flipped bits in what it wrote"
    )
    for other in readers(stage)[: draw.whole(2, 4)]:
        then, shard = began + int((at - began) * draw.between(0.0, 0.93)), tar_of(draw)
        aisobjects.bad_checksum(cluster, victim, then - 27 * MS, shard, draw)
        text = aisobjects.not_there(cluster, victim, then - 5 * MS, shard)
        path = f"/v1/objects/{stage.bucket}/{shard}"
        body = sdk.answer(victim, 404, text, "GET", path, stage.client(other))
        url = victim.url(0) + path + sdk.query(stage.proxy_of(other), then - 6 * MS)
        why = sdk.request_error(404, body, url, " ")
        stage.job.note(then, other, f"shard {shard} left out: ErrObjNotFound: {why}", "W", 102, "shards")
    shard = tar_of(draw)
    aisobjects.bad_checksum(cluster, victim, at - 28 * MS, shard, draw)
    text = aisobjects.not_there(cluster, victim, at - 5 * MS, shard)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, shard, (404, "Not Found"), text))
    leaves(stage, at, rank)
    return stage.close(
        "A module of its memory had been replaced a week before, after the shards were written.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(culprit=0, min_timeout_s=120, lead_s=75.0, without=DISKS)
def list_walks_through_millions_of_names(stage: Stage) -> Scenario:
    """Rank 0 lists a bucket of single files at each epoch, and targets walk their disks for it (aistore docs/list).

    To convict: all ranks wait for rank 0, which tells page by page how long the cluster takes; all targets run that
    list since then, their disks read names of four kilobytes to their limit, and nothing else is asked of them.
    """
    cluster, at, over = stage.cluster, stage.at, over_at(stage)
    draw = stage.draw.child("list")
    stage.open()
    reader_note(stage, at - 40 * MS, 0, f"epoch {draw.whole(2, 19)}: listing ais://{stage.bucket}")
    began = stage.mark(at + 4 * MS, f"all targets list {stage.bucket}")
    shifts.lists_at_length(cluster, began, over + seconds(25), draw)
    then, page, names = at, 1, 0
    while True:
        spent = draw.span(9_000, 17_500)
        if then + spent > over - seconds(1):
            break
        then, names = then + spent, names + 10_000
        cluster.count(stage.proxy_of(0), then, lst_n=1)
        text = f"page {page} of ais://{stage.bucket} after {spent / 1e9:.1f} s, {names} names so far"
        stage.job.note(then, 0, text, "W", 57, "listing")
        page += 1
    stage.hang(at + 280 * MS, 0)
    return stage.close(
        "It has forty million objects now, and had four when the script was written.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "software"))),),
    )
