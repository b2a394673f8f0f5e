"""Guilty storage of who takes part and what is there: a gateway killed, maintenance, a bucket destroyed, a certificate.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.attendants import asked_ahead, asked_in_vain
from benchmarks.accuracy.generate.faults.words.caretakers import bucket_not_found, gateway_refuses
from benchmarks.accuracy.generate.faults.words.loaders import certificate_expired, over_tls
from benchmarks.accuracy.generate.faults.words.requests import exhausted, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aiscaretakers, aisgates, aisshifts, aisstandstills, aistroubles, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.chains import Failed
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fifth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Noise of objects that are missing for reasons of their own, or that are not missing to a neighbour.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors", "second_job")


@kind(proxies=2, hosts=2, off_primary=True, reads=True, lead_s=58.0, without=(*RESTARTS, "kalive_hiccup"))
def proxy_that_a_host_asks_is_killed(stage: Stage) -> Scenario:
    """The proxy that a host asks is killed, and the primary is another one (facts: kill -9; aistore docs, ha).

    To convict: the rank is refused at the address of one proxy and gives up after seven tries; the log of that proxy
    breaks off without an end, the primary misses it at its keepalive and removes it half a minute later, and it
    starts again after the last try. Ranks of hosts that ask another proxy read on; nothing is said of any target.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("gateway"), stage.proxy_of(stage.culprit)
    stage.open()
    died = stage.mark(at - draw.span(3, 50), f"kill -9 {proxy.name}, a proxy")
    faults.kill(cluster, proxy, died)
    faults.leave_smap(cluster, proxy, died)
    over = over_at(stage)
    text = gateway_refuses(stage, proxy, draw)
    then = retries(stage, at, rank, draw, 0.004, text, over - 2 * SEC)
    if then < over - 2 * SEC:
        exhausted(stage, then, rank, text)
    last = then
    same = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for other in same[: draw.whole(0, 2)]:
        refused = gateway_refuses(stage, proxy, draw)
        last = max(last, asked_ahead(stage, at + draw.span(900, 9_000), other, draw, refused, "ConnectionError"))
    stage.hang(at + 340 * MS, rank)
    back = stage.mark(max(last, died + seconds(43)) + draw.span(900, 4_000), f"{proxy.name} is started again")
    joined = aisgates.proxy_starts(cluster, proxy, back, draw.child("starts"))
    return stage.close(
        "Its pod had the smallest limit of memory on the host.",
        (stage.guilty("storage_io", proxy, also=("network", *ALSO)),),
        ALIVE,
        until=joined + seconds(20),
    )


@kind(reads=True, lead_s=61.0, without=(*RESTARTS, *MISSING))
def maintenance_begins_without_a_rebalance(stage: Stage) -> Scenario:
    """A target is put into maintenance under a running job, its objects stay on it (aistore docs, lifecycle of a node).

    To convict: entries of all tries do not exist by targets that are now asked for them; the primary has told of
    `start-maintenance` of one target right before, the map has one less and no rebalance follows. That one
    lives on, with what the batch lacks. No batch was short of anything before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("maintenance")
    stage.open()
    begun = stage.mark(at - draw.span(20, 170), f"an operator puts {victim.name} into maintenance, without a rebalance")
    aisstandstills.left_without_moving(cluster, victim, begun)
    heirs = [stage.other_target(victim, draw.whole(0, 50)) for _ in range(3)]
    entries = [(one, utterance(draw)) for one in heirs]
    many = max(1, min(9, 48 // len(cluster.targets) - draw.whole(0, 3)))

    def fails(then: int) -> Failed:
        owner, name = draw.pick(entries)
        return chains.missing_entry(stage, then, draw.pick(cluster.up(then)), owner, name, many)

    last = asked_in_vain(stage, rank, 5, draw, fails)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "Its memory was to be replaced, which takes ten minutes, and a rebalance would have taken the night.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=last + seconds(60),
    )


@kind(reads=True, lead_s=59.0, without=(*RESTARTS, "tenant_errors", "soft_errors", "loader_fallbacks", "second_job"))
def bucket_is_destroyed_while_it_is_read(stage: Stage) -> Scenario:
    """Somebody destroys the bucket of a running job (aistore docs/bucket, destroy; ErrBckNotFound of the SDK).

    To convict: the rank is told that its bucket does not exist, having read of it from the first step on; the primary
    gave out a list of buckets for `destroy-bck` in the second before, and every target aborted its get-batch for that.
    Other ranks are told the same of their next batch.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("destroyed")
    stage.open()
    gone = stage.mark(at - draw.span(25, 210), f"ais://{stage.bucket} is destroyed")
    aiscaretakers.bucket_destroyed(cluster, gone, draw)
    asked = f"GET /v1/ml/moss/{stage.bucket}"

    def missed(then: int, one: int) -> tuple[Node, str]:
        proxy = stage.proxy_of(one)
        return proxy, aistroubles.no_bucket(cluster, proxy, then - 2 * MS, asked)

    proxy, text = missed(at, rank)
    bucket_not_found(stage, at, rank, proxy, text)
    for then, other in spread(stage, at + 700 * MS, at + seconds(14), (1, 3), draw):
        asker, why = missed(then, other)
        body = sdk.answer(asker, 404, why, "GET", asked.split(" ")[1], stage.client(other), "ErrBckNotFound")
        failed = sdk.request_error(404, body, sdk.moss_url(asker.url(0), stage.bucket), " ")
        told(stage, then, other, "prefetch", f"next batch is not there: ErrBckNotFound: {failed}", "WARNING")
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A script removed what had no owner in a table, and the table was a month old.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data", "software", *ALSO))),),
        ALIVE,
        until=at + seconds(60),
    )


@kind(reads=True, uptime=True, lead_s=72.0, without=(*RESTARTS, "idle_resets", "second_job"))
def certificate_of_the_cluster_expires_at_night(stage: Stage) -> Scenario:
    """The X.509 certificate of all nodes runs out while a job trains (aistore docs/https and tls; urllib3, OpenSSL).

    To convict: new connections of the rank fail since the certificate has expired, whichever node it asks; all
    nodes have counted its last minutes and tell `tls-cert-expired` since a moment before the first failure.
    All batches before that were answered.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("certificate")
    client_told(stage, "get-batch: 48 entries, over TLS, a new connection for every batch")
    stage.open()
    over = over_at(stage)
    expired = stage.mark(at - draw.span(60, 290), "the certificate of the cluster expires")
    aisshifts.certificate_runs_out(cluster, expired, over + seconds(30), draw)

    def untrusted(node: Node) -> str:
        path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
        return sdk.pool_error(node.address, node.ports[0], path, certificate_expired())

    text = untrusted(stage.proxy_of(rank))
    then = retries(stage, at, rank, draw, 0.012, text, over - 2 * SEC, "SSLError")
    if then < over - 2 * SEC:
        exhausted(stage, then, rank, text, "SSLError")
    for early, other in spread(stage, at + SEC, at + seconds(16), (1, 3), draw):
        asked_ahead(stage, early, other, draw, untrusted(stage.proxy_of(other)), "SSLError")
    stage.hang(at + 320 * MS, rank)
    made = stage.close(
        "It was issued for 397 days by somebody who has left since.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("network", "software", *ALSO))),),
        ALIVE,
        until=over + seconds(20),
    )
    return over_tls(stage, made)
