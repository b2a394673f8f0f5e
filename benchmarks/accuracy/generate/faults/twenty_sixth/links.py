"""Storage faults of the twenty-sixth part of ways to a target: a lower MTU, a link that flaps, a rule of a firewall."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.claimants import NO_ISSUER, boto_stream_broken, webshard
from benchmarks.accuracy.generate.faults.words.enquirers import archive_of, s3_url
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells, shard_left_out
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.stragglers import tries_too
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdesk, aisgates, aisupkeep, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_sixth")
WAITS = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=65.0)
def port_of_a_target_takes_small_frames_only(stage: Stage) -> Scenario:
    """A switch port is back at an MTU of 1500, large frames vanish (ceph-users, jumbo frames; kubernetes, MTU).

    To convict: curl is connected to one target, has its headers and then no byte more for a minute, on several ranks;
    what that target and its peers write to each other ends in time-outs, others are well with each other.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("small frames")
    stage.open()
    over = at + draw.span(60_010, 60_400)
    began = stage.mark(at - draw.span(3_000, 9_000), f"the port of {victim.name} has another MTU")
    aisgates.frames_dropped(cluster, victim, began, over + seconds(20), draw)
    patience = "--speed-limit 1000 --speed-time 60"
    slow = "Operation too slow. Less than 1000 bytes/sec transferred the last 60 seconds"
    for other in readers(stage)[: draw.whole(1, 4)]:
        asked = f"{patience} {victim.url(0)}/v1/objects/{stage.bucket}/{webshard(draw)}"
        shard_left_out(stage, over - draw.span(-900, 4_000), other, asked, 28, slow)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{webshard(draw)}"
    told(stage, at + seconds(30), rank, "shards", f"{url}: HTTP 200, 0 bytes of body after 30 s", "WARNING")
    curl_tells(stage, over, rank, f"{patience} {url}", 28, slow)
    leaves(stage, over + 5 * MS, rank)
    return stage.close(
        "The switch had been replaced in the night, with the template for offices.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=("kalive_hiccup",))
def cable_of_a_target_comes_and_goes(stage: Stage) -> Scenario:
    """A loose cable takes the link of a target away for seconds (switch logs, link flap; s3fs, connections reset).

    To convict: reads are reset at one target alone, each time its peers cannot dial it either; it and the primary miss
    each other's keepalive and are fine some seconds later, again and again.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cable")
    stage.open()
    began = stage.mark(at - draw.span(19_000, 27_000), f"the link of {victim.name} comes and goes")
    lost = aisupkeep.link_flaps(cluster, victim, began, at + seconds(40), draw)
    for down, back in lost:
        for other in readers(stage)[: draw.whole(1, 3)]:
            then = back + draw.span(20, 700)
            if then < at:
                url, got = s3_url(victim, stage.bucket, archive_of(draw)), draw.whole(8, 900)
                said = f"{url}: connection reset after {got} MB, {(then - down) / 1e9:.1f} s without a byte, again"
                told(stage, then, other, "ranges", said, "WARNING")
    over = next((back for _, back in lost if back > at), at + seconds(8)) + draw.span(90, 800)
    url = s3_url(victim, stage.bucket, archive_of(draw))
    told(stage, over - 2 * MS, rank, "ranges", f"{url}: connection reset, no try left", "ERROR")
    boto_stream_broken(stage, over, rank)
    leaves(stage, over + 3 * MS, rank)
    return stage.close(
        "The latch of the plug had been broken since the rack was moved.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(30),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=65.0)
def firewall_of_a_host_lets_no_client_in(stage: Stage) -> Scenario:
    """A rule on one storage host drops new connections to its public port (ais-k8s docs, ports; forum posts).

    To convict: new connections of ranks of all hosts to one target's public port time out from one moment on, none to
    others do; the target says nothing and is in the map, peers reach it on the ports they use.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rule")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 7_000), f"a firewall closes the public port of {victim.name}")

    def why(who: int) -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    own = why(rank)
    over = retries(stage, at, rank, draw, 3.01, own, at + seconds(280), "ConnectTimeout")
    for other in readers(stage)[: draw.whole(3, 6)]:
        tries_too(stage, began + draw.span(300, 9_000), other, draw, 3.01, why(other), over, "ConnectTimeout")
    exhausted(stage, over, rank, own, "ConnectTimeout", one_object(stage))
    leaves(stage, over + 3 * MS, rank)
    return stage.close(
        "The role of its host had been changed in the inventory, by one letter.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(15),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=65.0, ais_order=410)
def renewed_certificate_lacks_its_issuer(stage: Stage) -> Scenario:
    """A target loads its new certificate without the one that signed it (cert-manager, full chain; requests issues).

    To convict: all clients that connect anew do not trust one target since the moment at which it says that it has
    loaded a certificate; that is valid by its dates, and the others, asked in the same seconds, are trusted.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("issuer")
    stage.open()
    loaded = stage.mark(at - draw.span(3_000, 9_000), f"{victim.name} loads a certificate without its issuer")
    aisdesk.certificate_reloaded(cluster, victim, loaded)

    def why(who: int) -> str:
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), NO_ISSUER)

    own = why(rank)
    over = retries(stage, at, rank, draw, 0.03, own, at + seconds(280), "SSLError")
    for other in readers(stage)[: draw.whole(2, 5)]:
        tries_too(stage, loaded + draw.span(300, 9_000), other, draw, 0.03, why(other), over, "SSLError")
    exhausted(stage, over, rank, own, "SSLError", one_object(stage))
    leaves(stage, over + 3 * MS, rank)
    made = stage.close(
        "The file of the chain and that of the certificate differ by five letters.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(15),
    )
    return over_tls(stage, made)
