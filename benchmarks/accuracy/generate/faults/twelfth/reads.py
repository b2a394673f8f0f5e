"""Storage faults of the twelfth part that reads meet: gateways, disks in mid transfer, short objects, prefetch, ETL."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import pipe_failed, transformed
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused, stream_warning
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import answer_broken
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aispassages as passages
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "twelfth")
PART = 16 << 20


def _five_times(stage: Stage, at: int, rank: int, path: str, draw: Draw) -> int:
    """boto3 asks five times for what a proxy cannot get from the victim: when it has the last answer."""
    for attempt in range(5):
        passages.not_passed_on(stage.cluster, stage.proxy_of(rank), stage.victim, at, path)
        at += draw.span(60, 950 << attempt) if attempt < 4 else 4 * MS
    return at


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def gateway_passes_reads(stage: Stage) -> Scenario:
    """Proxies pass reads of boto3 on, a target is gone: 502, of nobody (aistore docs/s3compat, S3-Reverse-Proxy)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("gateway")
    stage.open()
    died = stage.mark(at - draw.span(200, 2_900), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(24))
    for other, after in zip(readers(stage), (0.1, 0.9, 2.2, 4.9), strict=False):
        path, then = f"/s3/{stage.bucket}/{utterance(draw)}", at + seconds(after) + draw.span(1, 900)
        then = _five_times(stage, then, other, path, draw)
        stage.job.note(then, other, f"s3:/{path[3:]} skipped: 502, Bad Gateway (reached max retries: 4)", "W", 86)
    then = _five_times(stage, at, rank, f"/s3/{stage.bucket}/{utterance(draw)}", draw)
    if draw.chance(0.5):
        text = "An error occurred (502) when calling the GetObject operation (reached max retries: 4): Bad Gateway"
        api = f"{stage.job.job.build['site']}/botocore/client.py"
        frames = (
            sdk.Frame(stage.job.job.script, 71, "__iter__", "body = s3.get_object(Bucket=bucket, Key=name)['Body']"),
            sdk.Frame(api, 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"),
        )
        in_worker(stage, then, rank, "botocore.exceptions.ClientError", text, frames)
    else:
        s3_refused(stage, then, rank, "502", "GetObject", "Bad Gateway", 4)
    faults.leave_smap(cluster, victim, died)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Clients that follow no redirect are served through the proxies; what is behind them they cannot see.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=("mountpath_before", "disk_busy", "loader_fallbacks"))
def disk_fails_in_mid_shard(stage: Stage) -> Scenario:
    """A disk gives errors while shards are sent: curl has too few bytes (webdataset#112, aistore docs/fshc)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, number = stage.draw.child("mid shard"), stage.draw.child("disk").whole(0, len(stage.victim.disks) - 1)
    stage.open()
    stage.mark(at - draw.span(700, 2_400), f"a disk of {victim.name} begins to fail")
    ranks = sorted({stage.culprit, *readers(stage)[: draw.whole(2, 4)]})
    firsts: dict[int, Exit] = {}
    for turn, rank in enumerate(draw.shuffled(ranks)):
        then, shard = at + turn * draw.span(20, 260), f"shards/train-{draw.whole(0, 4095):06d}.tar"
        url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
        passages.cut_off_by_disk(cluster, victim, then - 2 * MS, shard, number)
        left = draw.whole(40 << 20, 3 << 30)
        pipe_failed(stage, then, rank, url, (18, f"transfer closed with {left} bytes remaining to read"))
        firsts.setdefault(job.job.node_of(rank), Exit(rank, then + 700 * MS, 1))
    path, device = victim.mountpaths[number], victim.disks[number]
    disk.lose_mountpath(cluster, victim, at + draw.span(6_400, 7_900), path, device, draw.between(40, 140))
    last = max(one.at for one in firsts.values())
    ended = job.agents_end(list(firsts.values()), last)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "network"))
    return stage.close(
        "A drive fails as drives do; an answer that has begun cannot be taken back.",
        (replace(made, culprit_ranks=tuple(ranks)),),
        until=max(ended, at + seconds(12)),
    )


@kind(reads=True, ais_order=470)
def bytes_missing_after_upload(stage: Stage) -> Scenario:
    """Objects uploaded in parts lack some of them, and their size says otherwise (mlcommons/storage issue 593)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("short")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 21_000), "an epoch comes to objects that are stored short")

    def one() -> tuple[str, int, int]:
        size = draw.whole(7, 14) * PART + draw.whole(1, PART - 1)
        return f"train/case_{draw.whole(0, 99_999):05d}.npz", size, draw.pick((PART, PART, PART, 2 * PART))

    for other in readers(stage)[: draw.whole(1, 3)]:
        (name, size, lost), node = one(), draw.pick(cluster.targets)
        then = began + draw.span(300, 7_000)
        passages.shorter_than_known(cluster, node, then)
        said = f"s3://{stage.bucket}/{name}: IncompleteRead({size - lost} bytes read, {lost} more expected), left out"
        stream_warning(stage, then + 6 * MS, other, said)
    (name, size, lost), then = one(), at
    for attempt in range(3):
        passages.shorter_than_known(cluster, victim, then)
        said = f"IncompleteRead({size - lost} bytes read, {lost} more expected), attempt {attempt + 1} of 3"
        stream_warning(stage, then + 6 * MS, rank, f"s3://{stage.bucket}/{name}: {said}")
        then += seconds(0.5 + attempt) + draw.span(90, 700)
    passages.shorter_than_known(cluster, victim, then)
    answer_broken(stage, then + 6 * MS, rank, size - lost, lost)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "network")))
    return stage.close("Every upload was answered with 200; nobody has looked since.", (made,))


@kind(reads=True, lead_s=60.0)
def prefetch_takes_the_pipe(stage: Stage) -> Scenario:
    """A prefetch of another bucket takes all that the source can send: cold reads wait (NVIDIA/aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("pipe"), over_at(stage)
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - 30 * SEC, 1.2, 60, 340, draw.child("before"))
    began = stage.mark(at - draw.span(15_000, 31_000), "somebody has another bucket prefetched as a whole")
    passages.reads_ahead(cluster, began, over + seconds(30), draw)
    aisobjects.cold_gets(cluster, began, over + seconds(20), 2.4, 9_000, 46_000, draw.child("after"))
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "network")))
    return stage.close("A prefetch asks for two hundred objects at a time; there is one line to the cloud.", (made,))


@kind(reads=True, lead_s=60.0)
def transform_exceeds_its_time(stage: Stage) -> Scenario:
    """The pods that transform on one host get too little of its processors (NVIDIA/aistore docs/etl, obj_timeout)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("transform")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 33_000), f"the transformer beside {victim.name} is starved")
    aisobjects.no_processor(cluster, victim, began, at + seconds(min(stage.params.timeout_s, 120)), draw)
    job, pod = f"etl-inline[{draw.token(9)}]", f"10.244.{draw.whole(3, 60)}.{draw.whole(2, 250)}:8000"
    for node in cluster.up(stage.job.begin):
        cluster.last_process(node).jobs.append((stage.job.begin + 90 * MS, passages.FOREVER, job))
    for turn, other in enumerate(readers(stage)[:4]):
        late, name = at - seconds(9) + seconds(4.3 * turn) + draw.span(1, 900), utterance(draw)
        if turn == 2:
            text = passages.transformed_too_late(cluster, victim, late, name, pod)
            stage.job.note(late + 4 * MS, other, f"{name} without resampling: {text}", "W", 86)
        else:
            url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}"
            stage.job.note(late, other, f"slow transform: {draw.between(5, 9.8):.1f} s for {url}", "W", 80)
    name, over = utterance(draw), at + seconds(10.01)
    text = passages.transformed_too_late(cluster, victim, over, name, pod)
    told = transformed(stage, over + 4 * MS, rank, victim, name, (400, "Bad Request"), text)
    stage.job.raise_on(over + 5 * MS, rank, told)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A transformer has no limit of its own and shares its host with whatever is put there.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )
