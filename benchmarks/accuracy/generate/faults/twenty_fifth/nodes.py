"""Storage faults of the twenty-fifth part of nodes that go: killed, patched, rolled, or scaled away."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import upload_failed
from benchmarks.accuracy.generate.faults.words.enquirers import archive_of, payload_not_completed, s3_url
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.loaders import broken_off
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, refused_get, retries
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn, aisdisk, aisobjects, aisshifts, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fifth")
WAITS = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def target_is_killed_for_memory(stage: Stage) -> Scenario:
    """The kernel kills a target at its limit while ranks read of it (s3fs#786; kubernetes, OOMKilled; ais-k8s issues).

    To convict: s3fs lost its connection in the middle of a read when a target, short of memory for a while, ended
    without a word and was started anew; others name that target as the one they lost.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("memory")
    stage.open()
    short = stage.mark(at - draw.span(31_000, 52_000), f"{victim.name} is short of memory")
    aisdisk.memory_pressure(cluster, victim, short, at, "high", draw)
    stage.mark(at, f"{victim.name} is killed by the kernel")
    killed_for_a_while(stage, at, (9_000, 14_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, url = at + draw.span(3, 70), s3_url(victim, stage.bucket, archive_of(draw))
        told(
            stage, then, other, "frames", f"ClientOSError [Errno 104] Connection reset by peer: {url}, again", "WARNING"
        )
    payload_not_completed(stage, at + draw.span(60, 110), rank)
    leaves(stage, at + 120 * MS, rank)
    return stage.close(
        "Its limit was set when a host had a quarter of the disks that it has now.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(75),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def host_is_patched_under_the_job(stage: Stage) -> Scenario:
    """A host is shut down for its kernel without a drain: what it alone had is missing (aistore docs, lifecycle).

    To convict: a batch has too many entries missing, and others are told 404 by several targets, for names that had all
    come from one: it took itself out of the map some seconds ago, and nothing was missing before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("patched")
    stage.open()
    down = stage.mark(at - draw.span(9_000, 15_000), f"SIGTERM {victim.name}, its host is patched")
    faults.terminate(cluster, victim, down)
    heirs = [one for one in cluster.targets if one is not victim]
    for other in readers(stage)[: draw.whole(2, 5)]:
        name, then, heir = utterance(draw), at - draw.span(700, 7_000), draw.pick(heirs)
        text = aisobjects.not_there(cluster, heir, then - 4 * MS, name)
        said = f"ErrObjNotFound: {text}; left out (its epoch 0 copy came from {victim.endpoint(0)})"
        told(stage, then, other, "dataset", said, "WARNING")
    failed = chains.soft_limit(stage, at, draw.pick(heirs), rank)
    stage.job.raise_on(at + 5 * MS, rank, failed.traceback)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The window was announced, on the list of those who run the other cluster.",
        (stage.guilty("storage_io", victim, also=("data", *WAITS)),),
        until=at + seconds(40),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=RESTARTS)
def upload_is_forgotten_over_a_restart(stage: Stage) -> Scenario:
    """A target that restarts knows nothing of an upload in parts it had begun (aistore, tgts3mpt; minio, NoSuchUpload).

    To convict: boto3 is told that there is no such upload, by a target that had given this very id out, was stopped
    and started again while the parts were sent, and has no place for the part since.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("forgotten")
    key, upload = f"{stage.job.job.task}/epoch0-step{stage.step}.ckpt", draw.token(9)
    stage.open()
    parts, done = draw.whole(160, 420), draw.whole(21, 60)
    told(stage, at, 0, "ckpt", f"s3://checkpoints/{key}: {parts} parts of 64 MiB, 10 at a time")
    aisshifts.upload_starts(cluster, victim, at + draw.span(20, 190), upload)
    down = at + draw.span(4_000, 8_000)
    joined = comes_back(stage, down, "its pod is moved to another priority class")
    said = f'part {done} of {parts}: Could not connect to the endpoint URL: "{s3_url(victim, "checkpoints", key)}'
    for turn in range(3):
        then = down + seconds(0.6 + turn) + draw.span(10, 300)
        told(stage, then, 0, "ckpt", f'{said}?uploadId={upload}&partNumber={done}", attempt {turn + 1}/10', "WARNING")
    refused = joined + draw.span(2_600, 4_900)
    text = aisshifts.upload_unknown(cluster, victim, refused, key, upload)
    upload_failed(stage, refused + 9 * MS, 0, key, "NoSuchUpload", text)
    leaves(stage, refused + 9 * MS, 0)
    return stage.close(
        "A restart takes ten seconds, it had been said, and nobody would notice.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=refused + seconds(60),
    )


@kind(reads=True, hangs=False, targets=4, lead_s=160.0, without=RESTARTS)
def pods_are_rolled_one_by_one(stage: Stage) -> Scenario:
    """An operator rolls all targets for a new setting; a reader resumes at one that is just down (ais-k8s, rollout).

    To convict: a large object broke off when its target took its turn to stop, minutes after another had; the reader
    comes again, and whoever is asked for it now does not have it: 404.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, first = stage.draw.child("rolled"), stage.other_target(stage.victim)
    early = stage.mark(stage.job.begin + seconds(14), f"SIGTERM {first.name}, pods are rolled")
    stage.open()
    faults.terminate(cluster, first, early)
    joined = faults.start_again(cluster, first, early + draw.span(8_000, 12_000))
    cluster.start_batches(joined + seconds(51), stage.other_target(victim))
    stage.mark(at - 30 * MS, f"SIGTERM {victim.name}, pods are rolled")
    faults.terminate(cluster, victim, at - 30 * MS)
    faults.start_again(cluster, victim, at + draw.span(9_000, 13_000))
    name, got, left = archive_of(draw), draw.whole(40, 300) << 20, draw.whole(20, 200) << 20
    cut = at + draw.span(500, 900)
    broken_off(stage, cut, rank, name, 1, got, left)
    head = f"{comma_stamp(cut + 240 * MS, stage.job.job.zone)} [rank{rank}] WARNING aistore.sdk.obj.obj_file.utils"
    refused = sdk.refused(draw.whole(*HANDLES))
    path = f"/v1/objects/{stage.bucket}/{name}?provider=ais&pid={stage.proxy_of(rank).node_id}"
    why = sdk.pool_error(victim.address, victim.ports[0], path, refused)
    stage.job.say(cut + 240 * MS, rank, f"{head}: Resuming 'objects/{stage.bucket}/{name}' after {why} (2/5)")
    heir, over = stage.other_target(victim, draw.whole(0, 9)), cut + draw.span(1_300, 2_900)
    text = aisobjects.not_there(cluster, heir, over - 4 * MS, name)
    stage.job.raise_on(over, rank, refused_get(stage, over, rank, heir, name, (404, "Not Found"), text))
    leaves(stage, over + MS, rank)
    return stage.close(
        "The budget for disruptions says one at a time, and one at a time it was.",
        (stage.guilty("storage_io", victim, also=("data", *WAITS)),),
        until=at + seconds(70),
    )


@kind(
    reads=True,
    hangs=False,
    proxies=2,
    hosts=2,
    off_primary=True,
    min_timeout_s=180,
    lead_s=60.0,
    without=("kalive_hiccup",),
)
def gateway_of_some_hosts_is_gone(stage: Stage) -> Scenario:
    """A gateway is scaled away, and hosts that were given its address have no other (kubernetes, fixed endpoints).

    To convict: ranks of hosts that use one gateway have every connection refused by its address until they give up,
    ranks of other hosts have no trouble; this proxy has stopped in an orderly way some seconds before.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, own, draw = stage.proxy_of(stage.culprit), stage.job.job, stage.draw.child("gateway")
    stage.open()
    stage.mark(at - 2 * SEC, f"{proxy.name} is scaled away")
    aischurn.proxy_stops(cluster, proxy, at - draw.span(1_400, 2_600))

    def why() -> str:
        refused = sdk.refused(draw.whole(*HANDLES))
        return sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", refused)

    here = [one for one in range(own.world) if stage.proxy_of(one) is proxy and one != rank]
    for other in draw.shuffled(here)[:6]:
        retries(stage, at + draw.span(200, 4_000), other, draw, 0.02, why(), at + seconds(29))
    over = retries(stage, at, rank, draw, 0.02, why(), at + seconds(400))
    exhausted(stage, over, rank, why())
    leaves(stage, over + 3 * MS, rank)
    return stage.close(
        "Autoscaling had found that a gateway has little to do.",
        (stage.guilty("storage_io", proxy, also=WAITS),),
        until=over + seconds(15),
    )
