"""Storage faults of the sixth part that say little: a port, garbled and lost answers, an eviction, a disk."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.gateways import s3_upload_unanswered, stream_stopped, stream_warning
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "sixth")


def _far_and_near(stage: Stage, how_many: int) -> list[int]:
    """Ranks that read, of another host than the culprit's before those of its own."""
    job = stage.job.job
    return sorted(readers(stage), key=lambda one: job.node_of(one) == job.node_of(stage.culprit))[:how_many]


@kind(reads=True, hosts=2)
def public_port_closed(stage: Stage) -> Scenario:
    """A firewall is switched on at the host of a target: its public port turns clients away, its peers reach it."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("port")
    stage.open()
    began = stage.mark(at - draw.span(900, 3_000), f"a firewall closes the public port of {victim.name}")
    moss = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for other in _far_and_near(stage, 4):
        late = began + draw.span(200, 9_000)
        text = sdk.pool_error(victim.address, victim.ports[0], moss, sdk.no_route(draw.whole(*HANDLES)))
        stage.job.sdk_warning(late, other, sdk.retrying(1.2, "ConnectionError", text))
    path, then = object_path(stage, rank, utterance(draw)), at
    limit = at + seconds(min(stage.params.timeout_s - 8, 70))
    for attempt in range(7):
        text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.no_route(draw.whole(*HANDLES)))
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        if attempt == 6 or then + seconds(wait) >= limit:
            in_worker(stage, then, rank, "requests.exceptions.ConnectionError", text, dataset_frames(stage))
            break
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(1, 4)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A security update brings a firewall that knows the ports inside the cluster only.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, hosts=2)
def target_garbles(stage: Stage) -> Scenario:
    """The memory of a target flips bits: what it sends is not what it has stored, and it does not look."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("garbles")
    stage.open()
    stage.mark(at - seconds(19), f"the memory of {victim.name} begins to flip bits")
    where = f"http://{victim.endpoint(0)}"

    def differs(name: str, stored: str, size: int) -> str:
        sums = f"xxhash2 {draw.token(16, HEX)}, ais-checksum-value {stored}"
        return f"{name}: {sums} (200, {size} bytes from {where})"

    for other, after in zip(_far_and_near(stage, 4), (-18.1, -9.6, -3.3, 5.2), strict=False):
        said = differs(utterance(draw), draw.token(16, HEX), draw.whole(9_000, 31_000))
        stream_warning(stage, at + seconds(after) + draw.span(1, 900), other, f"{said}, read again")
    name, stored, size, then = utterance(draw), draw.token(16, HEX), draw.whole(9_000, 31_000), at
    for _ in range(3):
        stream_warning(stage, then, rank, f"{differs(name, stored, size)}, read again")
        then += seconds(0.5) + draw.span(1, 30)
    seen = f"{draw.whole(3, 9)} of the last 4096 objects differed, all of them from {where}"
    frame = sdk.Frame(stage.job.job.script, 83, "verify", "raise ChecksumError(")
    caller = fetch_frames(stage, "content = self.read(name)", frame)
    text = f"ChecksumError: {differs(name, stored, size)} after 4 attempts; {seen}"
    stage.job.raise_on(then, rank, sdk.traceback(sdk.Raised(caller, text)))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A module of memory is bad. Objects on disk are whole, targets validate them only when they are asked to.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "network")),),
    )


@kind(reads=True, hosts=2)
def large_answers_lost(stage: Stage) -> Scenario:
    """A switch port of a target passes no large frames: every answer begins, none of a shard's bytes arrives."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("frames")
    stage.open()
    began = stage.mark(at - draw.span(500, 2_000), f"large frames of {victim.name} get lost")
    over = at + seconds(stage.params.timeout_s) - SEC

    def nothing(then: int, who: int, tried: int) -> None:
        shard = stage.draw.child("shard", who)
        where = f"http://{victim.endpoint(0)}/v1/objects/{stage.bucket}/shards/train-{shard.whole(0, 4095):06d}.tar"
        got = f"200 after {draw.whole(2, 9)} ms, then 0 of {shard.whole(300, 900) << 20} bytes in 15 s"
        cluster.count(victim, then + draw.span(100, 900), err_http_write_n=1)
        if then < over:
            stream_warning(stage, then, who, f"GET {where}: {got}, trying again ({tried}/4)")

    for other in _far_and_near(stage, 3):
        first = began + draw.span(10, 3_000)
        for tried in range(1, 3):
            nothing(first + seconds(16.02 * tried) - SEC, other, tried)
    then = at
    for tried in range(1, 5):
        then += seconds(15.01) + draw.span(1, 9)
        nothing(then, rank, tried)
        then += SEC
    if then + seconds(15) < over:
        stream_stopped(stage, then + seconds(15.01), rank, victim)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A switch was replaced; one of its ports has the size of frames it came with. Small answers pass.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, uptime=True)
def cache_emptied(stage: Stage) -> Scenario:
    """Somebody evicts the bucket that the job reads: everything has to come from the backend again, all at once."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("emptied")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 24_000), f"somebody evicts ais://{stage.bucket}")
    mishaps.evict_bucket(cluster, began, at - seconds(4), draw)
    over = at + seconds(stage.params.timeout_s)
    aisobjects.cold_gets(cluster, began + 2 * SEC, min(over, at + seconds(220)), 0.4, 9_000, 64_000, draw.child("cold"))
    for other in readers(stage)[:3]:
        node, late = cluster.target(draw.whole(0, 99)), at + draw.span(20_050, 31_000)
        cause = sdk.read_timeout(node.address, node.ports[0])
        text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, utterance(draw)), cause)
        if late < over - SEC:
            stage.job.sdk_warning(late, other, sdk.retrying(1.4, "ConnectionError", text))
    node = cluster.target(draw.whole(0, 99))
    unanswered(
        stage, rank, draw, node, object_path(stage, rank, f"shards/train-{draw.whole(0, 4095):06d}.tar"), over=over
    )
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("data_loading_stall", node, also=("storage_io",)), ais_nodes=None)
    return stage.close(
        "Somebody makes room and takes the bucket for that of a job that has ended; S3 behind gives what it can.",
        (made,),
    )


@kind(culprit=0, lead_s=60.0)
def writes_crawl(stage: Stage) -> Scenario:
    """A disk of a target takes a few writes a second: the upload of a checkpoint over S3 is not answered, reads are."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("crawl")
    stage.open()
    key = f"{stage.job.job.task}/step={stage.step}.pt"
    stage.mark(at - seconds(2.2), f"{victim.disks[0]} of {victim.name} takes hardly any writes")
    over = at + seconds(stage.params.timeout_s)
    mishaps.writes_crawl(cluster, victim, at - seconds(2.2), min(over + seconds(30), at + seconds(400)), draw)
    parts, upload = draw.whole(180, 420), draw.token(9)
    url = f"http://{victim.endpoint(0)}/s3/checkpoints/{key}?partNumber={draw.whole(5, 9)}&uploadId={upload}"
    stage.job.note(at - 40 * MS, rank, f"uploading checkpoint to s3://checkpoints/{key} ({parts} parts)", "W", 116)
    done = 4
    for after in (20.3, 48.9, 110.2, 230.7):
        if after < stage.params.timeout_s - 5:
            done += draw.whole(0, 2)
            said = f"s3://checkpoints/{key}: {done} of {parts} parts after {after:.0f} s, waiting for {url}"
            stage.job.note(at + seconds(after), rank, said, "W", 127)
    if over > at + seconds(325):
        s3_upload_unanswered(stage, at + seconds(312.4), rank, url)
    stage.hang(at + 20 * MS, rank)
    return stage.close(
        "An SSD without a spare block left collects garbage before each write. Everybody waits for rank 0.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )
