"""Storage faults of the twenty-seventh part of targets that are gone for a while or for good."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.applicants import (
    aiohttp_status,
    connection_of_rclone,
    curl_gives_up,
    others_tell,
    since_text,
    wds_shard,
)
from benchmarks.accuracy.generate.faults.words.clients import pipe_failed, upload_failed
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.rclone import rclone_reads_again
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk, aisobjects, aisquiet, aisshifts, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_seventh")
WAITS = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def storage_pod_is_oom_killed_below_curl(stage: Stage) -> Scenario:
    """A target grows to its limit and is killed while curl reads from it (ais-k8s, OOMKilled; webdataset, curl 18).

    To convict: curl is cut off in the middle of a shard, others are refused at the address of one target; that target
    had told of too little memory, its log breaks off in that second, and it starts again some seconds later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("oom killed")
    stage.open()
    died = at - draw.span(30, 90)
    stage.mark(died - draw.span(33_000, 39_000), f"{victim.name} runs out of memory")
    aisdisk.memory_pressure(cluster, victim, died - draw.span(29_000, 32_000), died, "high", draw)
    aisquiet.too_much_memory(cluster, victim, died - draw.span(12_500, 14_000), draw)
    stage.mark(died, f"{victim.name} is killed for its memory")
    killed_for_a_while(stage, died, (8_000, 12_000))
    for other in readers(stage)[: draw.whole(1, 3)]:
        shard = wds_shard(draw)
        said = f"Failed to connect to {victim.address} port {victim.ports[0]} after 0 ms: Couldn't connect to server"
        curl_gives_up(stage, at + draw.span(20, 620), other, 7, said, shard)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{wds_shard(draw)}?provider=ais"
    left, over = draw.whole(20_000_000, 310_000_000), at + draw.span(2, 40)
    pipe_failed(stage, over, rank, f"'{url}'", (18, f"transfer closed with {left} bytes remaining to read"))
    leaves(stage, over + 8 * MS, rank)
    return stage.close(
        "Its limit had been set when a target had half as many disks.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=(*RESTARTS, "tenant_errors"))
def drained_target_takes_its_objects_along(stage: Stage) -> Scenario:
    """A host is drained for a new kernel, its objects have no copy (ais-k8s, kubectl drain; aistore issues, 404).

    To convict: objects that the index of the bucket lists are not there, for many ranks, at all targets that are left,
    and only since one has taken itself out of the map in an orderly way; no 404 before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    stage.open()
    begun = stage.job.begin - draw.span(700, 1_400)
    many = draw.whole(21_000, 98_000)
    told(stage, begun, 0, "streams", f"index of ais://{stage.bucket}: {many} shards, all of them present")
    gone = stage.mark(at - draw.span(16_000, 26_000), f"the host of {victim.name} is drained")
    faults.terminate(cluster, victim, gone)
    left = [one for one in cluster.targets if one is not victim]
    cluster.start_batches(gone + seconds(6.5), left[0])

    def says(then: int) -> str:
        node, name = draw.pick(left), wds_shard(draw)
        aisobjects.not_there(cluster, node, then, name)
        return f"404 for {node.url(0)}/v1/objects/{stage.bucket}/{name}, another shard instead"

    others_tell(stage, gone + seconds(7), at, (3, 6), draw, says)
    node, name = draw.pick(left), wds_shard(draw)
    aisobjects.not_there(cluster, node, at - 5 * MS, name)
    url = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}{sdk.query(stage.proxy_of(rank), at - 9 * MS)}"
    aiohttp_status(stage, at, rank, url, (404, "Not Found"))
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "The bucket had no mirror, and whoever drained thought that every bucket had one.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(45),
    )


@kind(reads=True, min_timeout_s=90, lead_s=65.0, without=(*RESTARTS, "kalive_hiccup"))
def storage_host_goes_dark_below_rclone(stage: Stage) -> Scenario:
    """The host of a target loses power; a read below a mount of rclone never ends (rclone forum).

    To convict: the mount of the rank that all wait for has a connection to one target that gives nothing, mounts of
    other ranks cannot dial it; peers find no route to it, the primary removes it, its log ends in the middle.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("dark below rclone")
    stage.open()
    died = stage.mark(at - draw.span(300, 1_900), f"the host of {victim.name} has lost its power")
    peers = [one for one in cluster.up(died) if one is not victim][:3]
    aisobjects.lose_host(cluster, victim, died, over + seconds(20), peers)
    faults.leave_smap(cluster, victim, died, hung=True)

    name, then = wds_shard(draw), at + draw.span(31_000, 36_000)
    while then < over - SEC:
        said = f"no batch for {since_text(at, then)}, last open: /mnt/{stage.bucket}/{name}"
        told(stage, then, rank, "loader", said, "WARNING")
        then += draw.span(30_000, 61_000)
    connection_of_rclone(stage, at + draw.span(62_000, 66_000), rank, victim, died, draw)
    for other in readers(stage)[: draw.whole(1, 3)]:
        own, then = wds_shard(draw), at + draw.span(500, 6_000) + seconds(10)
        why = f'Get "{victim.url(0)}/s3/{stage.bucket}/{own}": dial tcp {victim.endpoint(0)}: i/o timeout'
        rclone_reads_again(stage, then, other, own, 1, why)
        rclone_reads_again(stage, then + draw.span(10_010, 10_600), other, own, 2, why)
    stage.hang(at + 260 * MS, rank)
    return stage.close(
        "Both supplies of the host hung on one circuit.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
        until=over + seconds(20),
    )


@kind(culprit=0, hangs=False, min_timeout_s=60, lead_s=65.0, without=RESTARTS)
def upload_is_unknown_after_a_crash(stage: Stage) -> Scenario:
    """A target crashes in the middle of a multipart upload and has forgotten it when it is back (boto3, NoSuchUpload).

    To convict: parts of a checkpoint are refused with 404 by the target that had begun the upload: its log breaks off
    in between, without a word of an end, and a new one begins.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("forgotten")
    stage.open()
    key = f"{stage.job.job.task}/last-{stage.step:06d}.ckpt"
    upload = draw.token(9)
    told(stage, at - 30 * MS, 0, "ckpt", f"upload of s3://checkpoints/{key} begins, {draw.whole(60, 380)} parts")
    aisshifts.upload_starts(cluster, victim, at, upload)
    died = stage.mark(at + draw.span(3_000, 5_500), f"{victim.name} crashes")
    joined = killed_for_a_while(stage, died, (6_000, 9_500))
    told(stage, died + 200 * MS, 0, "ckpt", "Connection was closed before we received a valid response", "WARNING")
    over = joined + draw.span(4_000, 6_500)
    for turn in range(draw.whole(2, 4), 0, -1):
        aisshifts.upload_unknown(cluster, victim, over - turn * 60 * MS, key, upload)
    text = aisshifts.upload_unknown(cluster, victim, over - 4 * MS, key, upload)
    upload_failed(stage, over, 0, key, "NoSuchUpload", text)
    leaves(stage, over + 6 * MS, 0)
    return stage.close(
        "What is known of an upload is kept in memory until it is complete.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=over + seconds(50),
    )
