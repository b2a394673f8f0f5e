"""Storage faults of the sixteenth part of nodes that end, are cut off or have no time, as their clients tell of it."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import pipe_failed
from benchmarks.accuracy.generate.faults.words.comers import (
    chunk_cut,
    closed_unanswered,
    hdf5_cannot_ask,
    mount_refused,
    sound_without_reason,
    url_not_opened,
)
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.pipelines import fsspec_timed_out
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, aisoncall, sdk
from fixtures.generator import aisquiet as quiet
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "sixteenth")
STILL = (*RESTARTS, "kalive_hiccup")


def _killed(stage: Stage, died: int, back_ms: tuple[int, int], peers: int = 2) -> int:
    """The victim is killed and its container starts it again; when it has joined."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("killed")
    faults.kill(cluster, victim, died)
    back = died + draw.span(*back_ms)
    faults.reconnects(cluster, victim, died, back - SEC, peers)
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    return joined


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def connection_closed_by_a_dying_target(stage: Stage) -> Scenario:
    """A target short of memory is killed before it answers boto3 (aws-cli#3842, amazon-sagemaker-examples#519)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("closed")
    stage.open()
    died = stage.mark(at - draw.span(2, 12), f"{victim.name} is killed for its memory")
    disk.memory_pressure(cluster, victim, died - draw.span(24_000, 38_000), died, "high", draw)
    reader_note(stage, stage.job.begin + 60 * MS, 0, "s3: signature_version s3v4, max_attempts 1, read_timeout 60")
    joined = _killed(stage, died, (6_000, 9_500))
    for other in readers(stage)[: draw.whole(1, 3)]:
        where = f"{victim.url(0)}/s3/{stage.bucket}/{utterance(draw)}"
        why = f'Connection was closed before we received a valid response from endpoint URL: "{where}".'
        stage.job.note(at + draw.span(1, 40), other, f"{why} Read again in 15 s", "W", 81)
    closed_unanswered(stage, at, rank, f"{victim.url(0)}/s3/{stage.bucket}/{utterance(draw)}")
    exits(stage, at, rank)
    return stage.close(
        "A listing of forty million names was made on that host in the minutes before.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def chunks_end_with_their_target(stage: Stage) -> Scenario:
    """A target is stopped while it streams batches: a chunk without a length (requests#5960, cleinc/bts#71)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("chunks")
    stage.open()
    joined = comes_back(stage, at - draw.span(20, 190), "for another limit of its memory")
    for other in readers(stage)[: draw.whole(1, 4)]:
        said = f"batch ended after {draw.whole(2, 30)} of 48 entries (ChunkedEncodingError), asked once more in 20 s"
        stage.job.note(at + draw.span(1, 150), other, said, "W", 97)
    cluster.count(victim, at - 19 * MS, getbatch_n=1, getbatch_obj_n=draw.whole(2, 30), err_getbatch_n=1)
    chunk_cut(stage, at, rank)
    exits(stage, at, rank)
    return stage.close(
        "A change of one line in the resource of the cluster restarts its pods, one by one.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def curl_reset_by_a_killed_target(stage: Stage) -> Scenario:
    """The kernel kills a target while curl reads a shard of it: reset by peer (webdataset#112; lsun#15)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("reset")
    stage.open()
    died = stage.mark(at - draw.span(1, 9), f"the kernel kills {victim.name}")
    quiet.too_much_memory(cluster, victim, died - draw.span(24_000, 38_000), draw)
    joined = _killed(stage, died, (11_000, 16_000))
    reset = (56, "Recv failure: Connection reset by peer")
    for other in readers(stage)[: draw.whole(0, 2)]:
        stage.job.say(at + draw.span(1, 6), other, f"curl: ({reset[0]}) {reset[1]}")
        said = "shard broken off, its samples so far are kept, next shard"
        stage.job.note(at + draw.span(9, 40), other, said, "W", 88)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
    pipe_failed(stage, at, rank, url, reset)
    exits(stage, at + 4 * MS, rank)
    return stage.close(
        "Page cache and a limit that counts it: whoever reads many shards at once is what fills it.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "data")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=STILL)
def busy_host_outlasts_fsspec(stage: Stage) -> Scenario:
    """A host of storage computes for others, fsspec's patience ends (huggingface/datasets#7164; aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("busy"), stage.at + seconds(60.01)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 34_000), f"others take the processors of {victim.name}'s host")
    aisobjects.no_processor(cluster, victim, began, over + seconds(40), draw)
    then = began + draw.span(4_000, 9_000)
    while then < over:
        reads = draw.whole(1, 5)
        cluster.count(victim, then, get_n=reads, get_ns_total=reads * draw.span(12_000, 47_000), get_size=reads << 20)
        then += draw.span(6_000, 12_000)
    reader_note(stage, stage.job.begin + 60 * MS, 0, "fsspec http: ClientTimeout(total=60), no retries")
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        late = at - seconds(4) + seconds(12 * turn) + draw.span(1, 5_000)
        stage.job.note(late, other, f"slow read: {draw.between(17, 51):.1f} s for {url}", "W", 80)
    fsspec_timed_out(stage, over, rank)
    exits(stage, over, rank)
    return stage.close(
        "A batch job of another team was placed on nodes that its taint should have kept free.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, targets=5, lead_s=60.0, without=STILL)
def switch_of_a_rack_restarts(stage: Stage) -> Scenario:
    """A switch is updated: nobody reaches the targets of a rack for a minute (aistore docs/networking, docs/ha)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, begin = stage.draw.child("switch"), stage.cluster.targets.index(stage.victim)
    rack = [cluster.targets[(begin + turn) % len(cluster.targets)] for turn in range(draw.whole(2, 3))]
    stage.open()
    began = stage.mark(at - draw.span(40, 900), "the switch of a rack of storage restarts")
    back = began + draw.span(62_000, 83_000)
    aisoncall.cut_off(cluster, rack, began, back, draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        node = draw.pick(rack)
        cause = sdk.connect_timeout(node.address, draw.whole(*HANDLES) // 16 * 16)
        text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, utterance(draw)), cause)
        retries(stage, at + turn * 700 * MS, other, draw, 3.01, text, began + seconds(23), "ConnectTimeout")
    cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES) // 16 * 16)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    over = retries(stage, at, rank, draw, 3.01, text, began + seconds(draw.between(24, 33)), "ConnectTimeout")
    stage.job.sdk_warning(over, rank, "All retries exhausted; request failed", "ERROR")
    in_worker(stage, over + 2 * MS, rank, "requests.exceptions.ConnectTimeout", text, dataset_frames(stage))
    exits(stage, over + 2 * MS, rank)
    return stage.close(
        "The change was announced for the night, and begun when the one who does it was there.",
        (stage.guilty("storage_io", *rack, also=("network", "data_loading_stall", "infrastructure")),),
        until=back + seconds(13),
    )


@kind(reads=True, hangs=False, proxies=2, lead_s=60.0, without=STILL)
def every_gateway_is_gone(stage: Stage) -> Scenario:
    """All proxies are ended at once, targets live and nobody sends on to them (ais-k8s docs; aistore docs/ha)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("gateways")
    stage.open()
    died = stage.mark(at - draw.span(900, 3_000), "all proxies are ended")
    aisoncall.proxies_lost(cluster, died, at + seconds(110), draw)

    def text(who: int) -> str:
        proxy, cause = stage.proxy_of(who), sdk.refused(draw.whole(*HANDLES) // 16 * 16)
        path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, cause)

    over, said = at + seconds(draw.between(28, 50)), text(rank)
    then = min(retries(stage, at, rank, draw, 0.004, said, over), over)
    for other in readers(stage)[:11]:
        retries(stage, at + draw.span(10, 2_900), other, draw, 0.004, text(other), then)
    exhausted(stage, then, rank, said, "ConnectionError", one_object(stage))
    exits(stage, then + 2 * MS, rank)
    made = stage.guilty("storage_io", *cluster.proxies, also=("network", "infrastructure", "data_loading_stall"))
    return stage.close(
        "Proxies have no priority of their own, and a job of higher priority wanted their nodes.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def sound_below_a_lost_target(stage: Stage) -> Scenario:
    """A target crashes below a mount, libsndfile cannot tell why a loader ends (python-soundfile#306, svoice#90)."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("sound")
    stage.open()
    died = stage.mark(at - draw.span(3_000, 5_200), f"{victim.name} crashes")
    joined = _killed(stage, died, (9_000, 15_000))
    for other, many in ((rank, 10), *((one, draw.whole(2, 7)) for one in readers(stage)[: draw.whole(1, 3)])):
        name, then = utterance(draw), died + draw.span(40, 600)
        step = int((at - 30 * MS - then) / 10)
        for attempt in range(1, many + 1):
            then += step
            mount_refused(stage, then, other, victim, name, attempt)
    sound_without_reason(stage, at, rank)
    exits(stage, at, rank)
    return stage.close(
        "It ends itself with a nil pointer in a code path that the next release does not have.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "data", "software")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def url_of_a_dead_host(stage: Stage) -> Scenario:
    """A host of storage dies: no route for urllib, a loader process ends (mmdetection#5653; mmcv docs, backends)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("dead host")
    stage.open()
    died = stage.mark(at - draw.span(21_500, 30_000), f"the host of {victim.name} loses its mainboard")
    aisobjects.lose_host(cluster, victim, died, at + seconds(30), cluster.targets[:3])
    faults.leave_smap(cluster, victim, died, hung=True)
    why = "[Errno 113] No route to host"
    for other in readers(stage)[: draw.whole(1, 4)]:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/train/{draw.whole(0, 999_999):012d}.jpg"
        said = f"{url}: <urlopen error {why}>, another picture is taken"
        stage.job.note(at - draw.span(10, 1_900), other, said, "W", 62, "loading")
    url_not_opened(stage, at, rank, why)
    exits(stage, at, rank)
    return stage.close(
        "The address is answered by nobody on its network, and a router says so after some seconds.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def hdf5_driver_without_an_answer(stage: Stage) -> Scenario:
    """A target is not there for a while, HDF5's driver for S3 does not say why (HDF5 and h5py docs, ros3)."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("hdf5")
    stage.open()
    died = stage.mark(at - draw.span(30, 700), f"the container of {victim.name} is killed")
    joined = _killed(stage, died, (5_000, 9_000), 3)
    for other in readers(stage)[: draw.whole(0, 3)]:
        path = object_path(stage, other, f"tiles/part-{draw.whole(0, 999):03d}.h5")
        text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES) // 16 * 16))
        retries(stage, died + draw.span(5, 30), other, draw, 0.004, text, at + 500 * MS)
    hdf5_cannot_ask(stage, at, rank)
    exits(stage, at, rank)
    return stage.close(
        "Whoever builds the images of storage restarts them with a signal that cannot be caught.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "data", "software")),),
        until=joined + seconds(4),
    )
