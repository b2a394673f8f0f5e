"""Storage faults of the twenty-fourth part of limits and settings: descriptors, certificates, rebalances, logins."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.consumers import not_trusted_by_boto, socket_timed_out
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered, one_object
from benchmarks.accuracy.generate.faults.words.servers import control_port_waits
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aistroubles as troubles
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.aisstats import ticks_between
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fourth")
WAITS = ("storage_io", "infrastructure", "network")


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=RESTARTS)
def target_has_as_many_files_open_as_it_may(stage: Stage) -> Scenario:
    """A target cannot accept connections, its limit of open files is too low (aistore docs, ulimit; systemd, NOFILE).

    To convict: aiohttp had a connection and read nothing for a minute, from a target that its loader names; that target
    says that it cannot accept, for want of descriptors, since just before, and others cannot reach it either.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("files"), utterance(stage.draw.child("own object"))
    stage.open()
    began = stage.mark(at - draw.span(300, 4_000), f"{victim.name} has no descriptor left")
    over = at + seconds(60.02)
    aisobjects.no_descriptors(cluster, victim, began, over + seconds(60), draw)
    control_port_waits(cluster, victim, began + draw.span(40, 900), over + seconds(60), draw)
    faults.leave_smap(cluster, victim, began, hung=True)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = at + draw.span(31_000, 38_000)
        said = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}: connected, no answer in 30 s"
        stage.job.note(then, other, said, "W", 61)
    said = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}: connected, no answer in 30 s"
    stage.job.note(at + seconds(30.01), rank, said, "W", 61)
    socket_timed_out(stage, over, rank)
    leaves(stage, over, rank)
    return stage.close(
        "The unit was rewritten for another distribution, whose default is 1024.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
        until=over + seconds(12),
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def certificates_of_the_store_have_run_out(stage: Stage) -> Scenario:
    """The certificate of all nodes ends while a job reads, new connections fail (cert-manager; botocore, SSLError).

    To convict: botocore does not trust the endpoint, whose certificate has expired; all nodes have counted its last
    minutes and have an alert of it within a minute, and no rank had failed before.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("certificate")
    stage.open()
    ended = stage.mark(at - draw.span(2_000, 21_000), "the certificate of all nodes has expired")
    for node in cluster.nodes:
        upkeep.certificate_expires(cluster, node, ended, at + seconds(75), draw.child(node.node_id))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = ended + int((at - ended) * draw.between(0.1, 0.95))
        said = f"{tar_of(draw)}: new connection failed (certificate has expired), using one of the pool"
        stage.job.note(then, other, said, "W", 57)
    not_trusted_by_boto(stage, at, rank, stage.proxy_of(rank), tar_of(draw))
    leaves(stage, at, rank)
    made = stage.close(
        "A new one had lain in the secret for ten days, and nobody had restarted anything.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("network", "infrastructure", "data_loading_stall"))),),
        until=at + seconds(70),
    )
    return over_tls(stage, made)


@kind(reads=True, min_timeout_s=60, lead_s=70.0, without=RESTARTS)
def rebalance_by_day_starves_the_readers(stage: Stage) -> Scenario:
    """An operator starts a rebalance of terabytes while jobs read (aistore docs, rebalance; minio issue 20879).

    To convict: running batches are aborted by a rebalance, disks of all targets are busy with it from then on; ranks
    run into the time limit of one target after another, which was not so before.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("by day")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 17_000), "an operator starts a rebalance")
    upkeep.rebalance_at_length(cluster, began, over + seconds(30), draw)
    cluster.start_batches(began + seconds(3.4), draw.pick(cluster.targets))
    for node in cluster.up(at):
        for tick in ticks_between(cluster.last_process(node), began + seconds(5), over):
            many, waited = draw.whole(1, 6), min(draw.span(7_000, 18_500), tick - SEC - began - seconds(2))
            cluster.count(node, tick - SEC, getbatch_n=many, getbatch_obj_n=many * 30, getbatch_obj_size=many << 19)
            cluster.count(node, tick - SEC, getbatch_rxwait_ns=many * waited)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = max(began + seconds(25), at + seconds(3 + 9 * turn)) + draw.span(1, 4_000)
        chains.read_timed_out(stage, then, draw.pick(cluster.targets), other, round(draw.between(1, 1.5), 2))
    then, last = at + seconds(20.02), stage.victim
    for attempt in range(6):
        if then < over - SEC:
            last, wait = draw.pick(cluster.targets), round(draw.between(1.0, 2.0 ** min(attempt, 4) + 0.5), 2)
            chains.read_timed_out(stage, then, last, rank, wait)
            then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, last)
        leaves(stage, then + 2 * MS, rank)
    else:
        stage.hang(at + 320 * MS, rank)
    return stage.close(
        "Two targets had come in spring, and were as empty as then.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=WAITS)),),
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def login_is_demanded_since_a_change(stage: Stage) -> Scenario:
    """Authentication is switched on, and clients have no token (aistore docs, authn; config auth.enabled).

    To convict: a proxy wants a token for what the rank asks, 401; proxies turn all clients away since a new
    configuration was given out some seconds before, and had asked for no token until then.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("login"), stage.proxy_of(stage.culprit)
    stage.open()
    changed = stage.mark(at - draw.span(500, 2_400), "authentication is switched on")
    troubles.reconfigured(cluster, changed, draw)
    for _ in range(draw.whole(4, 12)):
        then, gate = changed + draw.span(30, 9_000), draw.pick(cluster.proxies)
        troubles.token_required(
            cluster, gate, then, f"GET /v1/objects/{draw.pick(('scratch', 'logs', 'tenant-b'))}/{draw.token(8)}"
        )
    for other in readers(stage)[: draw.whole(1, 3)]:
        then, name = changed + int((at - changed) * draw.between(0.3, 0.95)), utterance(draw)
        text = troubles.token_required(
            cluster, stage.proxy_of(other), then - 2 * MS, f"GET /v1/objects/{stage.bucket}/{name}"
        )
        stage.job.note(then, other, f"{name} skipped: 401 {text}", "W", 86)
    path = f"/v1/objects/{stage.bucket}/{utterance(draw)}"
    text = troubles.token_required(cluster, proxy, at - 2 * MS, f"GET {path}")
    body, url = sdk.answer(proxy, 401, text, "GET", path, stage.client(rank)), f"{proxy.url(0)}{path}?provider=ais"
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(401, body, url)
    caller = sdk.main_frames(stage.job.job, stage.step, *one_object(stage))
    stage.job.raise_on(at, rank, sdk.http_failure(stage.job.job, 401, "Unauthorized", url, failure, caller))
    leaves(stage, at, rank)
    return stage.close(
        "It was tried out on the small cluster first, which has the same name in another file.",
        (of_all(stage.guilty("storage_io", proxy, also=("software", "data_loading_stall", "infrastructure"))),),
        until=at + seconds(11),
    )
