"""Storage faults of the twenty-ninth part of gateways: rolled one by one, killed as primary, not ready."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.operators import (
    command_failed,
    gone_for_boto,
    listing_repeated,
    rclone_not_sent,
    rclone_says,
    troubled,
)
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn, aisdeeds, aisgates, aismishaps
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_ninth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(
    reads=True,
    hangs=False,
    min_timeout_s=90,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=90.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def gateway_is_rolled_below_boto_without_a_word(stage: Stage) -> Scenario:
    """Gateways get a new image one after the other, and each waits for it to be pulled (k8s, StatefulSet; botocore).

    To convict: ranks of some hosts cannot connect to their endpoint, those of other hosts read on; that proxy has ended
    in an orderly way some seconds before, the primary notes it, and it is back when the job is over.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("rolled gateways"), stage.proxy_of(rank)
    stage.open()
    troubled(stage, draw.child("troubled"))
    down = stage.mark(at - draw.span(9_500, 13_000), f"{proxy.name} is stopped for a new image")
    aischurn.proxy_stops(cluster, proxy, down)
    beside = [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(1, 4)]
    for other in beside:
        name, then = utterance(draw), at - draw.span(20, 2_400)
        where = f"{proxy.url(0)}/s3/{stage.bucket}/{name}"
        said = f'{name} left out: Could not connect to the endpoint URL: "{where}"'
        told(stage, then, other, "s3", said, "WARNING")
    gone_for_boto(stage, at, rank, proxy, utterance(draw))
    leaves(stage, at + 6 * MS, rank)
    aisgates.proxy_starts(cluster, proxy, at + draw.span(19_000, 33_000), draw.child("back"))
    return stage.close(
        "The registry had the image on slow disks, and the roll-out was set to go on without looking.",
        (stage.guilty("storage_io", proxy, also=ALSO),),
        until=at + seconds(45),
    )


@kind(
    culprit=0, reads=True, hangs=False, min_timeout_s=90, proxies=2, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup")
)
def rclone_keeps_asking_a_primary_that_was_killed(stage: Stage) -> Scenario:
    """The primary is killed, another is elected, and rclone has the address of the old one (rclone docs, retries; ha).

    To convict: rclone is refused by the same address for half a minute; that proxy's log ends without a word just
    before, and the next proxy in line finds it gone and is voted in while rclone still asks.
    """
    cluster, at = stage.cluster, stage.at
    draw, primary = stage.draw.child("killed primary"), stage.cluster.primary(stage.at)
    stage.open()
    died = stage.mark(at - draw.span(200, 1_500), f"{primary.name} is killed")
    faults.kill(cluster, primary, died)
    heir = next(one for one in cluster.proxies if one is not primary)
    elected = faults.elect(cluster, primary, heir, died)
    shards = [shard_of(draw) for _ in range(draw.whole(2, 4))]
    then = at + draw.span(1_300, 2_900)
    for attempt in range(1, 4):
        for shard in shards:
            why = rclone_not_sent(primary, stage.bucket, shard)
            rclone_says(stage, then, 0, "ERROR", f"{shard}: Failed to copy: {why}")
            then += draw.span(900, 2_600)
        last = rclone_not_sent(primary, stage.bucket, shards[-1])
        rclone_says(stage, then, 0, "ERROR", f"Attempt {attempt}/3 failed with {len(shards)} errors and: {last}")
        then += draw.span(2_500, 4_500)
    over = then - draw.span(2_000, 2_400)
    last = rclone_not_sent(primary, stage.bucket, shards[-1])
    rclone_says(stage, over, 0, "NOTICE", f"Failed to copy with {len(shards)} errors: last error was: {last}")
    frames = ((184, "main", "staging.result()"), (91, "stage_next", "subprocess.run(command, check=True)"))
    command = (
        f"rclone copy ais:{stage.bucket}/shards /scratch/next --files-from /scratch/next.txt --transfers {len(shards)}"
    )
    command_failed(stage, over + 8 * MS, 0, command, frames)
    leaves(stage, over + 14 * MS, 0)
    return stage.close(
        "Its host had been taken for one of the pool that is scaled by the hour.",
        (stage.guilty("storage_io", primary, also=ALSO),),
        until=max(over, elected) + seconds(25),
    )


@kind(hangs=False, trains=False, min_timeout_s=120, uptime=True, without=(*RESTARTS, "tenant_errors"))
def job_begins_before_its_cluster_is_ready(stage: Stage) -> Scenario:
    """After a change of its settings a cluster waits for its targets, and a job is started meanwhile (aistore, 503).

    To convict: all ranks end after a minute and a half, in which gateways answered 503; each gateway says that it is
    not ready, all nodes have started a minute before the job, and the primary has all its targets long after that.
    """
    cluster, job = stage.cluster, stage.job
    draw = stage.draw.child("not ready")
    down = stage.mark(job.begin - draw.span(66_000, 74_000), "all pods of the cluster are replaced")
    ready = job.begin + draw.span(121_000, 139_000)
    aismishaps.restart_all(cluster, down, down + draw.span(34_000, 41_000), ready, draw)
    job.start()
    at, last = job.begin + seconds(0.5), job.begin
    for rank in speakers(stage):
        proxy, since = stage.proxy_of(rank), at + draw.span(20, 260)
        for after in TRIES_S:
            aisdeeds.starts_slowly(cluster, proxy, since + seconds(after) + 3 * MS)
        over = since + seconds(TRIES_S[-1]) + draw.span(6, 40)
        listing_repeated(stage, over, rank, proxy)
        last = max(last, over)
    ended = all_exit(stage, last + 40 * MS)
    made = stage.guilty("storage_io", stage.victim, also=("infrastructure", "data_loading_stall", "network"))
    return stage.close(
        "One target had to be told of a moved volume, and all others waited for it.",
        (replace(of_all(made), culprit_ranks=None),),
        until=max(ended, ready) + seconds(20),
    )
