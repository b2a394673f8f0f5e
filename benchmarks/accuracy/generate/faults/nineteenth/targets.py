"""Storage faults of the nineteenth part of targets that end, lose their host, or come back as members of nothing."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, asked_of_proxy, shard
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.settlers import cli_gave_up
from benchmarks.accuracy.generate.faults.words.travellers import (
    NOT_SENT,
    frame_not_read,
    gave_up,
    grid_not_opened,
    query_failed,
    raster,
    s3_of,
    table,
    tile_not_read,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects
from fixtures.generator import aisquiet as quiet
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "nineteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, lead_s=75.0, without=STILL)
def threads_of_a_target_run_out(stage: Stage) -> Scenario:
    """A pod may have so many threads and no more: its target ends, Polars is refused (kubernetes docs, PID limits).

    To convict: Polars names the address of a target that has told of more and more routines at each tick, whose log
    ends without a word of shutting down, and whose peers lose their streams from it at that moment.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("threads")
    stage.open()
    died = stage.mark(at - draw.span(2_200, 3_600), f"{victim.name} gets no thread any more, and ends")
    began = stage.mark(died - draw.span(38_000, 52_000), f"routines of {victim.name} pile up")
    nights.routines_pile_up(cluster, victim, began, died, draw)
    joined = killed_for_a_while(stage, died, (13_000, 21_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = died + int((at + SEC - died) * draw.between(0.2, 1))
        url, spent = s3_of(stage, victim, table(draw)), draw.span(300, 1_900)
        stage.job.note(
            then, other, f"row groups left out: {gave_up(url, spent, (2, 2, 10), NOT_SENT)}", "W", 66, "tables"
        )
    url = s3_of(stage, victim, table(draw))
    frame_not_read(stage, at, rank, gave_up(url, draw.span(400, 1_900), (2, 2, 10), NOT_SENT))
    leaves(stage, at, rank)
    return stage.close(
        "The limit of a pod was a default of its nodes, and is far below what a target of that size needs.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def tile_ends_with_its_target(stage: Stage) -> Scenario:
    """A target crashes as it sends tiles, GDAL has a part of one and says nothing of who sent it (rasterio#2119).

    To convict: a tile could not be decoded at the very moment at which peers lost their streams from a target; other
    ranks are refused at the address of that target right after, and its log ends in the middle.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("tile"), raster(stage.draw.child("tile name"))
    stage.open()
    died = stage.mark(at - draw.span(12, 90), f"{victim.name} crashes")
    joined = killed_for_a_while(stage, died, (8_000, 14_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, where = at + draw.span(5, 900), f"{victim.address} port {victim.ports[0]}"
        told = f"CURL error: Failed to connect to {where} after 0 ms: Connection refused"
        stage.job.note(then, other, f"{raster(draw)}: {told}, another window", "W", 52, "tiles")
    stage.job.note(at - 2 * MS, rank, f"window of {asked_of_proxy(stage, rank, name)} not decoded", "E", 49, "tiles")
    tile_not_read(stage, at, rank, name, draw)
    leaves(stage, at, rank)
    return stage.close(
        "A nil pointer, says what its container wrote last, which nobody has kept.",
        (stage.guilty("storage_io", victim, also=("network", "data", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=60, without=STILL)
def query_waits_for_a_dead_host(stage: Stage) -> Scenario:
    """A host of storage loses its power, DuckDB waits for its answer (duckdb-httpfs#334; aistore docs/ha).

    To convict: the rank that DuckDB fails said where it had been sent on to, as others do: a target which wrote nothing
    since before, whose peers find no route to it, and which the primary removes.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("power"), stage.at + seconds(30.1)
    stage.open()
    reader_note(stage, stage.job.begin + 60 * MS, 0, "duckdb: SET http_timeout=30; SET http_retries=0")
    died = stage.mark(at - draw.span(60, 900), f"the host of {victim.name} has no power")
    peers = [node for node in cluster.up(died) if node is not victim]
    aisobjects.lose_host(cluster, victim, died, over + seconds(20), peers[:3])
    faults.leave_smap(cluster, victim, died, hung=True)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at + seconds(9.0 + 4.6 * turn) + draw.span(1, 3_000)
        url = s3_of(stage, victim, table(draw))
        stage.job.note(then, other, f"still no row group of {url}", "W", 71, "tables")
    name = table(draw)
    stage.job.note(at + seconds(15), rank, f"still no row group of {s3_of(stage, victim, name)}", "W", 71, "tables")
    url = s3_of(stage, stage.proxy_of(rank), name)
    query_failed(stage, over, rank, "IOException", f"Timeout was reached error for HTTP GET to '{url}'")
    leaves(stage, over, rank)
    return stage.close(
        "A breaker of its rack, which holds two hosts of storage, of which one has another feed.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, targets=4, lead_s=75.0, without=STILL)
def provider_upgrades_two_hosts_at_once(stage: Stage) -> Scenario:
    """A provider upgrades nodes of a pool, two at once; netCDF has an I/O failure (GKE docs, surge upgrades).

    To convict: other targets say of the very file that netCDF could not read that it does not exist, and two targets
    have left the map within seconds, by their own removal, shortly before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("surge")
    second = stage.other_target(victim, draw.whole(0, 50))
    stage.open()
    down = stage.mark(at - draw.span(8_000, 24_000), f"the nodes of {victim.name} and {second.name} are upgraded")
    nights.drains(cluster, [victim, second], down, draw)
    left = [node for node in cluster.targets if node not in (victim, second)]

    def missing(then: int, name: str) -> None:
        aisobjects.not_there(cluster, draw.pick(left), then, name)

    def grid() -> str:
        return f"era5/{draw.whole(1979, 2023)}/{draw.whole(1, 12):02d}/{draw.pick(('t2m', 'z500', 'q700', 'u10'))}.nc"

    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name = down + seconds(3.4) + int((at - down - seconds(3.5)) * draw.between(0, 1)), grid()
        missing(then, name)
        stage.job.note(then + 6 * MS, other, f"{name}: [Errno -68] NetCDF: I/O failure, another day", "W", 39, "grids")
    name = grid()
    missing(at - 5 * MS, name)
    grid_not_opened(stage, at, rank, asked_of_proxy(stage, rank, name))
    leaves(stage, at, rank)
    return stage.close(
        "A budget of disruptions is kept for an hour and no longer; then nodes are taken all the same.",
        (stage.guilty("storage_io", victim, second, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=90.0, without=STILL)
def state_of_another_cluster(stage: Stage) -> Scenario:
    """A target comes back with state of another cluster, and is refused (docs/troubleshooting, integrity errors).

    To convict: a target's last logs are some lines each and end with a cluster integrity error, which the primary says
    too; another target says of the very file in DuckDB's error that it does not exist.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cie")
    stage.open()
    down = stage.mark(at - draw.span(44_000, 62_000), f"SIGTERM {victim.name}, its host is moved")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(12_000, 19_000), f"{victim.name} has state of another cluster")
    nights.of_another_cluster(cluster, victim, up, at + seconds(40), draw)

    def missing(then: int, name: str) -> str:
        node = stage.other_target(victim, draw.whole(0, 50))
        text = f"{node.name}: ais://{stage.bucket}/{name} does not exist"
        mishaps.s3_get_failed(cluster, node, then, name, text, "")
        url = s3_of(stage, stage.proxy_of(rank), name)
        return f"HTTP GET error reading '{url}' in region 'us-east-1' (HTTP 404 Not Found)"

    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name = down + seconds(6) + int((at - down - seconds(6)) * draw.between(0, 0.98)), table(draw)
        stage.job.note(then + 6 * MS, other, f"left out: {missing(then, name)}", "W", 71, "tables")
    query_failed(stage, at, rank, "HTTPException", missing(at - 6 * MS, table(draw)))
    leaves(stage, at, rank)
    return stage.close(
        "Its small volume for state was restored from a backup, and that was one of the cluster next door.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=STILL)
def cli_is_refused_five_times(stage: Stage) -> Scenario:
    """A kubelet evicts a target for memory, the AIS CLI below NeMo is refused (NeMo, data_utils; kubernetes, eviction).

    To convict: NeMo says which address refused the CLI five times, that of a target whose log ends in the
    middle, mostly with an alert that its kernel has next to nothing left; the primary cannot reach it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("evicted"), shard(stage.draw.child("evicted name"))
    stage.open()
    died = stage.mark(at - draw.span(1_900, 6_000), f"the kubelet evicts {victim.name}")
    quiet.too_much_memory(cluster, victim, died - draw.span(14_000, 29_000), draw)
    faults.kill(cluster, victim, died)
    faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, at + seconds(30), 2)

    def refused(name: str) -> str:
        where = f"{victim.address}:{victim.ports[0]}"
        return f'Error: Get "{asked_of(stage, victim, name)}": dial tcp {where}: connect: connection refused'

    for other in readers(stage)[: draw.whole(1, 4)]:
        then, own = died + int((at + SEC - died) * draw.between(0.1, 1)), shard(draw)
        stage.job.note(then, other, f"{own} left out: {refused(own)}", "W", 915, "audio_to_text")
    cli_gave_up(stage, at, rank, name, refused(name))
    leaves(stage, at, rank)
    made = stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure"))
    return stage.close("It asks for less memory than it uses, and so is the first to go.", (made,))
