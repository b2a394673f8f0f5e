"""Storage faults of the thirtieth part of keys: a pair that does not fit, a fast clock, tokens taken back."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.gateways import pipe_of_s5cmd_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.operators import troubled
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tenants import (
    curl_turned_away,
    put_unauthorized,
    shard_turned_away,
    token_of,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps, aistenants, aistickets
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, rfc3339, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=84.0, min_timeout_s=60, uptime=True, without=(*RESTARTS, *DISKS, "tenant_errors"))
def renewed_certificate_came_with_the_old_key(stage: Stage) -> Scenario:
    """A new certificate was rolled out with the old key, and a target is restarted after it (cert-manager; crypto/tls).

    To convict: shards are not found, at targets of any kind, that were read before; one target has left the map on a
    signal some seconds earlier, and each of its later logs ends as its key does not fit its certificate.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("pair")
    stage.open()
    troubled(stage, draw.child("troubled"))
    rolled = stage.mark(stage.job.begin + draw.span(4_000, 12_000), "a secret has the new certificate and the old key")
    for node in draw.shuffled(cluster.nodes)[: draw.whole(1, 3)]:
        if node is not victim:
            aistenants.pair_not_reloaded(cluster, node, rolled + draw.span(900, 30_000))
    gone = stage.mark(at - draw.span(9_000, 17_000), f"{victim.name} is restarted for a new limit of memory")
    faults.terminate(cluster, victim, gone)
    aistenants.pair_not_loaded(cluster, victim, gone + draw.span(5_500, 7_900), at + seconds(25), draw.child("again"))
    peers = [one for one in cluster.targets if one is not victim]

    def missing(then: int, name: str) -> str:
        node = draw.pick(peers)
        text = f"{node.name}: ais://{stage.bucket}/{name} does not exist"
        aismishaps.s3_get_failed(cluster, node, then, name, text, "ErrNotFound")
        return text

    for then, other in spread(stage, gone + 300 * MS, at - 60 * MS, (2, 5), draw):
        name = tar_of(draw)
        text = missing(then - 4 * MS, name)
        said = f'ERROR "cat s3://{stage.bucket}/{name}": NoSuchKey: {text} status code: 404, request id: , host id: '
        stage.job.say(then, other, said)
        told(stage, then + 6 * MS, other, "shards", f"s3://{stage.bucket}/{name} put off to the next epoch", "WARNING")
    name = tar_of(draw)
    pipe_of_s5cmd_failed(stage, at, rank, name, missing(at - 4 * MS, name))
    leaves(stage, at + 8 * MS, rank)
    made = stage.close(
        "A template had joined two secrets, and only one of them had been renewed.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        until=at + seconds(45),
    )
    return over_tls(stage, made)


@kind(
    reads=True,
    hangs=False,
    ais_order=430,
    min_timeout_s=60,
    proxies=2,
    hosts=2,
    off_primary=True,
    uptime=True,
    lead_s=66.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def gateway_with_a_fast_clock_ends_tokens_early(stage: Stage) -> Scenario:
    """The clock of a gateway's host is half an hour ahead, where tokens end sooner (JWT, exp; docs/authn; chrony).

    To convict: ranks of some hosts are told 401 long before the end of their token, as the job has printed it; the
    same token is taken by all other gateways, and the one that refuses it stamps what all receive half an hour later.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("fast clock"), stage.proxy_of(rank)
    ahead = round(draw.between(1_560, 3_300), 3)
    cluster.skews[proxy.node_id] = seconds(ahead)
    ended = at - draw.span(2_600, 7_000)
    user = draw.pick(("svc-train", "batch-asr", "ml-platform"))
    until = rfc3339(ended + seconds(ahead))[:19] + "Z"
    told(stage, stage.job.begin - 420 * MS, 0, "auth", f"token of {user} for AIStore renewed, valid until {until}")
    stage.open()
    stage.mark(ended, f"the token of the job ends, by the clock of {proxy.name}")
    middle = stage.job.begin + (ended - stage.job.begin) // 2
    aismishaps.change_buckets(cluster, middle + draw.span(100, 6_000), "create-bck", draw.child("buckets"))
    for one in cluster.proxies:
        aistickets.tokens_taken(cluster, one, ended if one is proxy else at + seconds(30), draw.child(one.node_id))
    own = token_of(draw)

    def refused(then: int, name: str) -> str:
        request = f"GET /v1/objects/{stage.bucket}/{name}"
        aistenants.token_refused(cluster, proxy, then - 5 * MS, request, own, "expired")
        return f"{proxy.url(0)}/v1/objects/{stage.bucket}/{name}"

    beside = [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(2, 5)]
    for turn, other in enumerate(beside):
        then = ended + int((at - ended) * (turn + 0.6) / (len(beside) + 1)) + draw.span(1, 90)
        shard_turned_away(stage, then, other, refused(then, tar_of(draw)))
    curl_turned_away(stage, at, rank, refused(at, tar_of(draw)))
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "Its time server had been taken away with the machine that it ran on.",
        (stage.guilty("storage_io", proxy, also=ALSO),),
        until=at + seconds(40),
    )


def _others_revoked(stage: Stage, then: int, until: int, draw: Draw) -> None:
    """Programs of other teams ask with tokens of the same list."""
    tenants = {name: token_of(draw) for name in ("ocr-pages", "tenant-d", "weblake")}
    then += draw.span(90, 700)
    while then < until:
        tenant, proxy = draw.pick(sorted(tenants)), draw.pick(stage.cluster.proxies)
        request = f"GET /v1/objects/{tenant}/part-{draw.whole(0, 9_999):05d}.bin"
        aistenants.token_refused(stage.cluster, proxy, then, request, tenants[tenant], "revoked")
        then += draw.span(300, 2_400)


@kind(culprit=0, hangs=False, ais_order=430, min_timeout_s=60, uptime=True, lead_s=66.0, without=RESTARTS)
def tokens_in_use_are_revoked_in_a_cleanup(stage: Stage) -> Scenario:
    """Old users are removed from AuthN, and the tokens of a job that runs with them (docs/authn, revoke; ais auth rm).

    To convict: a checkpoint is answered 401 as its token was revoked, not over; the primary has given out a list of
    revoked tokens some seconds before, and until then every gateway took each of them.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("revoked")
    days = draw.whole(9, 80)
    user = draw.pick(("asr-batch", "cluster-b-train", "speech-ci"))
    said = f"AIS_AUTHN_TOKEN of {user} read from a secret, {days} days left"
    told(stage, stage.job.begin - 420 * MS, 0, "auth", said)
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(2_500, 8_000), "users of a list that is too long are removed from AuthN")
    for proxy in cluster.proxies:
        aistickets.tokens_taken(cluster, proxy, began, draw.child(proxy.node_id))
    aistenants.tokens_revoked(cluster, began, draw.whole(4, 31), draw)
    own, path = token_of(draw), f"/v1/objects/checkpoints/{stage.job.job.task}/step-{stage.step:06d}.pt"
    _others_revoked(stage, began, at + 6 * SEC, draw.child("others"))
    for other in readers(stage)[: draw.whole(1, 4)]:
        late, name = began + int((at - began) * draw.between(0.2, 0.95)), tar_of(draw)
        request = f"GET /v1/objects/{stage.bucket}/{name}"
        text = aistenants.token_refused(cluster, stage.proxy_of(other), late - 4 * MS, request, own, "revoked")
        told(stage, late, other, "shards", f"{name}: 401 Unauthorized: {text}; next try in 30 s", "WARNING")
    told(stage, at - 700 * MS, 0, "ckpt", f"writing ais:/{path[11:]}")
    proxy = stage.proxy_of(0)
    text = aistenants.token_refused(cluster, proxy, at - 5 * MS, f"PUT {path}", own, "revoked")
    put_unauthorized(stage, at, 0, proxy, path, text)
    leaves(stage, at + 8 * MS, 0)
    made = of_all(stage.guilty("storage_io", stage.victim, also=ALSO))
    return stage.close(
        "Whoever had not logged in for a quarter of a year was taken for gone, and jobs do not log in.",
        (replace(made, culprit_ranks=None),),
        until=at + seconds(40),
    )
