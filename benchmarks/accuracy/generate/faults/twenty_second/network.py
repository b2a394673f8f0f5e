"""Storage faults of the twenty-second part of the way to a target: a slow link, no descriptors, a wrong certificate."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import (
    TOO_SLOW,
    asks_until_the_end,
    audio_of,
    comes_to_an_end,
    keeps_asking,
    name_of_address_differs,
    spread,
    told,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisdesk as desk
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aistickets as tickets
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
PIPE = "curl -fsSL --speed-limit 1048576 --speed-time 30"


@kind(reads=True, hangs=False, lead_s=70.0, min_timeout_s=90)
def link_of_a_target_fell_to_a_hundred_megabit(stage: Stage) -> Scenario:
    """A bad cable makes a port negotiate 100 Mb/s, WebDataset's curl gives up below a speed (ethtool; curl, exit 28).

    To convict: the pipeline says of each shard from which target it comes and how fast: all slow ones are of one target
    and fast ones of others. Nothing of that target is an error; where its counters are printed in time they show few
    reads of many seconds each.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, shard = stage.draw.child("link"), tar_of(stage.draw.child("own link"))
    stage.open()
    began = stage.mark(at - draw.span(6_000, 15_000), f"the port of {victim.name} negotiates 100 Mb/s")
    over = at + seconds(31) + draw.span(200, 3_000)
    others = [node for node in cluster.targets if node is not victim]
    tickets.shards_served(cluster, others, stage.job.begin + seconds(2), over + seconds(5), draw)
    tickets.shards_served(cluster, [victim], stage.job.begin + seconds(2), began - seconds(1), draw.child("before"))
    desk.crawls_out(cluster, victim, began, over + seconds(20), (0.3, 0.9), draw)
    for then, other in spread(stage, stage.job.begin + seconds(8), over, (3, 6), draw):
        where = f"{draw.pick(others).url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        told(stage, then, other, "INFO", f"{where}: {draw.whole(180, 640)} MiB/s")
    for then, other in spread(stage, began + seconds(31), over + 50 * MS, (2, 4), draw.child("slow")):
        where = f"{victim.url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        told(stage, then, other, "WARNING", f"{where}: {draw.between(0.2, 0.9):.1f} MiB/s for 30 s, next shard")
    where = f"{victim.url(0)}/v1/objects/{stage.bucket}/{shard}"
    told(stage, at + seconds(15), rank, "WARNING", f"{where}: {draw.between(0.2, 0.9):.1f} MiB/s for 15 s")
    stage.job.say(over, rank, f"curl: (28) {TOO_SLOW}")
    asked = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    pipe_ended(stage, over + 4 * MS, rank, f"{PIPE} {asked}", 28, draw.token(10, HEX))
    leaves(stage, over, rank)
    return stage.close(
        "Somebody had pulled another cable through the same duct that morning.",
        (stage.guilty("data_loading_stall", victim, also=("network", "infrastructure", "storage_io")),),
        until=over + seconds(10),
    )


@kind(reads=True, lead_s=60.0)
def descriptors_of_a_target_are_used_up(stage: Stage) -> Scenario:
    """A container was started with a limit of 1024 open files (docker, ulimit nofile; Go, accept4: EMFILE).

    To convict: what the rank that all wait for asks of one target ends in read time-outs, others are told 500; since
    then that target repeats that it can accept nothing (`accept4: too many open files`), and cannot open objects.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("descriptors")
    stage.open()
    began = stage.mark(at - draw.span(300, 2_500), f"{victim.name} has no descriptor left")
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, audio_of(draw)), cause)
    end = asks_until_the_end(stage, text, draw)
    aisobjects.no_descriptors(cluster, victim, began, end + seconds(20), draw)
    for then, other in spread(stage, began + 100 * MS, end - SEC, (2, 5), draw):
        name = audio_of(draw)
        why = f"open {draw.pick(victim.mountpaths)}/@ais/{stage.bucket}/%ob/{name}: too many open files"
        aisobjects.get_failed(cluster, victim, then - 4 * MS, name, why)
        told(stage, then, other, "WARNING", f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}: 500, left out")
    comes_to_an_end(stage, end)
    return stage.close(
        "The host's engine had been updated, and its new defaults are those of a desktop.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=120)
def renewed_certificate_lacks_the_address(stage: Stage) -> Scenario:
    """A target's certificate is renewed without its IP among the names (cert-manager, ipAddresses; Python ssl).

    To convict: all connections to one target fail as its certificate is not valid for its address, since the moment at
    which that target has loaded another (`certloader`); those to all other targets succeed.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("names")
    stage.open()
    loaded = stage.mark(at - draw.span(900, 7_000), f"{victim.name} loads a certificate without its address")
    desk.certificate_reloaded(cluster, victim, loaded)

    def refused(who: int) -> str:
        path = object_path(stage, who, audio_of(draw))
        return sdk.pool_error(victim.address, victim.ports[0], path, name_of_address_differs(victim))

    own = refused(rank)
    over = retries(stage, at, rank, draw, 0.03, own, at + seconds(95), "SSLError")
    for then, other in spread(stage, at, over, (3, 6), draw):
        keeps_asking(stage, then, over, other, draw, 0.03, refused(other), "SSLError")
    exhausted(stage, over, rank, own, "SSLError", one_object(stage))
    leaves(stage, over, rank)
    made = stage.close(
        "Its pod had been given another address in spring, and the request for the certificate had not.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure", "data_loading_stall")),),
        until=over + 3 * SEC,
    )
    return over_tls(stage, made)
