"""Storage faults of the twentieth part of stores behind, ways to them, and hosts that have too much to do."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, shard
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.passers import address_refused
from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns, late, tells_what_is_late
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisrounds as rounds
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twentieth")
COLD = ("data_loading_stall", "storage_io", "network", "infrastructure")


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=75.0)
def ingress_gives_up_on_cold_reads(stage: Stage) -> Scenario:
    """Shards of a new corpus come from the cloud, an ingress waits a minute (nginx; aistore, S3-Reverse-Proxy).

    To convict: the answer is 504 after sixty seconds, from the ingress before the cluster, whose proxies pass S3's
    requests on; other ranks say how long their first reads take, and all targets count reads of the store behind of
    the same length since the corpus is new.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("ingress"), stage.at + seconds(60.05)
    host = f"ais-{stage.draw.child('host').token(4, 'bcdfghjklm')}.storage.example.net"
    stage.open()
    began = stage.mark(at - draw.span(31_000, 38_000), "the next part of the corpus is not in the cluster")
    every_s = min(2.4, 10 / len(cluster.targets))
    rounds.reads_cold(cluster, began, over + seconds(20), every_s, (29_000, 71_000), (2_000, 5_000), draw)

    def asked() -> str:
        return f"http://{host}/s3/{stage.bucket}/part-2/{shard(draw)}"

    reader_note(stage, began - 200 * MS, 0, f"epoch goes on with part-2 by http://{host}, not read before")
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at + seconds(2.0 + 9.1 * turn) + draw.span(1, 5_000)
        said = f"first byte of {asked()} after {late(draw, (30, 55), began, then)}"
        stage.job.note(then, other, said, "W", 74, "shards")
    url, site = asked(), stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/shards.py", 66, "open", "answer.raise_for_status()"),
        sdk.Frame(
            f"{site}/requests/models.py", 1024, "raise_for_status", "raise HTTPError(http_error_msg, response=self)"
        ),
    )
    text = f"504 Server Error: Gateway Time-out for url: {url}"
    in_worker(stage, over, rank, "requests.exceptions.HTTPError", text, frames)
    leaves(stage, over, rank)
    return stage.close(
        "A prefetch had been planned for the night, and it was planned for another bucket.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=COLD)),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=80.0)
def egress_proxy_keeps_every_request(stage: Stage) -> Scenario:
    """A proxy between targets and a cloud takes requests and passes none on (docs/cli, HTTPS_PROXY; squid docs).

    To convict: the silent rank said last that it reads an object that is not in the cluster, others wait for such
    ones; until then all targets count reads of the store behind, and from that moment on none does.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, own = stage.draw.child("egress"), stage.job.job
    stage.open()
    stage.mark(at, "a proxy on the way to the cloud passes no request on")
    begun = stage.job.begin + seconds(3)
    rounds.reads_cold(cluster, begun, at - seconds(3.4), 0.9, (900, 3_300), (80, 300), draw)
    reader_note(stage, begun, 0, "this epoch reads part-2 for the first time, from s3:// through the cluster")
    where = asked_of(stage, victim, f"part-2/{shard(draw)}")
    reader_note(stage, at + 60 * MS, rank, f"GET {where} (present=False)")
    for other in readers(stage)[: draw.whole(2, 4)]:
        then, node = at + draw.span(11_000, 24_000), draw.pick(cluster.targets)
        said = f"nothing yet of {asked_of(stage, node, f'part-2/{shard(draw)}')} (present=False)"
        stage.job.note(then, other, said, "W", 74, "shards")
    waiting = main_thread(
        stage,
        ("readinto", f"{PYTHON}/socket.py", 718),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("send", f"{own.build['site']}/requests/adapters.py", 644),
        ("open", "/workspace/train/shards.py", 61),
    )
    py_spy(stage, min(draw.between(26, 44), own.timeout_s - 14), (waiting,))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Its disk for logs is full, and it waits for room before it writes who has asked for what.",
        (of_all(stage.guilty("data_loading_stall", victim, also=COLD)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def mirror_turns_all_targets_away(stage: Stage) -> Scenario:
    """A bucket of links has a web server behind, which has enough of a site's addresses (aistore ais/backend/ht.go).

    To convict: the picture in the loader's note is one for which a target was answered 403 by what lies behind the
    bucket, and says so; all targets say the same of whatever is read for the first time since that moment.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("mirror")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 16_000), "a mirror turns the addresses of all targets away")

    def refused(then: int, who: int) -> tuple[str, str]:
        node, name = draw.pick(cluster.targets), f"links/{draw.whole(0, 999):03d}/{draw.token(24, HEX)}.jpg"
        cold_failed(cluster, node, then - 5 * MS, name, "error occurred: 403", 403)
        return name, f"{asked_of(stage, node, name)}{sdk.query(stage.proxy_of(who), then - 9 * MS)}"

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + int((at - began) * draw.between(0.05, 0.96))
        _, url = refused(then, other)
        stage.job.note(then, other, f"HTTP Error 403: Forbidden, another picture than {url}", "W", 58, "links")
    name, url = refused(at, rank)
    stage.job.note(at - 2 * MS, rank, f"{name} from {url}: third link in a row", "W", 55, "links")
    address_refused(stage, at, rank, (403, "Forbidden"))
    leaves(stage, at, rank)
    return stage.close(
        "It is run by a university, and looks at who has fetched more than a terabyte in a day.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data", "data_loading_stall", "network"))),),
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup"))
def miner_takes_the_processors_of_a_target(stage: Stage) -> Scenario:
    """Somebody's own program takes all processors of a host of storage, a job crawls (stats/common.go, CPU alerts).

    To convict: steps got slow as one target said that its processors are utilized beyond measure, with an alert at
    each tick; its reads take seconds since, and ranks that say what is slow name its address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("processors")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 8_000), f"something takes the processors of {victim.name}")
    over, whose = crawls_in_turns(stage, draw.whole(9, 15), (4.0, 11.0))
    aisobjects.no_processor(cluster, victim, began, over + seconds(15), draw)
    nights.serves_late(cluster, victim, began, over + seconds(15), (4_000, 10_000), (16, 60), draw)
    tells_what_is_late(stage, draw, whose, over, (4, 10.5), began, (9_000, 24_000))
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    return stage.close(
        "It digs for coins, under the name of a daemon of the system, and belongs to a stolen account.",
        (replace(made, culprit_ranks=None),),
    )
