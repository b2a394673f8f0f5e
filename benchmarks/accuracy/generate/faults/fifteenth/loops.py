"""Storage faults of the fifteenth part as loaders and readers show them: threads that give up, answers cut short."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, retries
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses, aisquiet, sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "fifteenth")


def _callback_failed(stage: Stage, at: int, rank: int, shard: str, limit: int, draw: Draw) -> None:
    """A thread of Streaming has not got its shard; concurrent.futures prints what the callback of it raises."""
    site, url = stage.job.job.build["site"], f"{stage.victim.url(0)}/s3/{stage.bucket}/{shard}"
    module, one = f"{site}/streaming/base", f"ReadTimeoutError('Read timeout on endpoint URL: \"{url}\"')"
    first = sdk.Raised(
        (
            sdk.Frame(
                f"{module}/storage/download.py", 381, "download_or_wait", "download_file(remote, local, timeout)"
            ),
            sdk.Frame(
                f"{site}/botocore/httpsession.py", 516, "send", "raise ReadTimeoutError(endpoint_url=request.url,"
            ),
        ),
        f'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "{url}"',
        sdk.DIRECT,
    )
    frames = (
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 340, "_invoke_callbacks", "callback(self)"),
        sdk.Frame(f"{module}/dataset.py", 1230, "on_exception", "raise exception"),
        sdk.Frame(f"{PYTHON}/concurrent/futures/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
        sdk.Frame(f"{module}/dataset.py", 1268, "_prepare_thread", "self.prepare_shard(shard_id, False)"),
        sdk.Frame(f"{module}/storage/download.py", 389, "download_or_wait", "raise RuntimeError("),
    )
    where = f"s3://{stage.bucket}/{shard} -> /local/{stage.job.job.task}/{shard}"
    text = f"RuntimeError: Failed to download {where}. Got errors:\n[{', '.join([one] * 3)}]"
    future = f"<Future at 0x7f{draw.token(10, HEX)} state=finished raised RuntimeError>"
    said = sdk.traceback(first, sdk.Raised(frames, text))
    stage.job.say(at, rank, f"exception calling callback {future}\n{said}")


@kind(reads=True, hangs=False, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def background_download_fails(stage: Stage) -> Scenario:
    """A thread that downloads ahead gives up on a target that hangs (mosaicml/streaming, download_retry; PR 241)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("background"), stage.draw.child("limit").pick((10, 12))
    stage.open()
    hung = stage.mark(at - draw.span(20, 400), f"the kernel of {victim.name}'s host hangs")
    over = at + seconds(3 * limit) + draw.span(60, 190)
    faults.stop(cluster, victim, hung, over + seconds(3_600))
    faults.leave_smap(cluster, victim, hung, hung=True)
    said = f"streaming: remote s3://{stage.bucket}, download_retry 2, download_timeout {limit}, AWS_MAX_ATTEMPTS 1"
    stage.job.note(stage.job.begin + 40 * MS, 0, said, line=142)
    for other in readers(stage)[: draw.whole(0, 2)]:
        _callback_failed(stage, over - draw.span(10, 900), other, f"shard.{draw.whole(0, 4095):05d}.mds", limit, draw)
    _callback_failed(stage, over, rank, f"shard.{draw.whole(0, 4095):05d}.mds", limit, draw)
    module = f"{stage.job.job.build['site']}/streaming/base/dataset.py"
    frames = (
        sdk.Frame(module, 1451, "__iter__", "yield from map(self.__getitem__, self._each_sample_id(it))"),
        sdk.Frame(module, 1186, "get_item", "raise RuntimeError('Background thread failed. Check other traceback.')"),
    )
    then = over + draw.span(30, 600)
    in_worker(stage, then, rank, "RuntimeError", "Background thread failed. Check other traceback.", frames)
    exits(stage, then, rank)
    return stage.close(
        "The host has to be reset by hand.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def payload_not_completed(stage: Stage) -> Scenario:
    """A container of storage is killed while aiohttp reads from it, and nobody repeats (ScrollPrize/villa PR 1244)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("payload"), stage.job.job.build["site"]
    stage.open()
    died = stage.mark(at - draw.span(10, 60), f"the container of {victim.name} is killed at its memory limit")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(6), 2)
    back = stage.mark(died + draw.span(6_100, 8_300), f"the container of {victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    wanted = draw.whole(3, 90) << 20
    counts = f" (received {wanted - draw.whole(1, wanted)} of {wanted} bytes)" if draw.chance(0.5) else ""
    why = f"<ContentLengthError: 400, message='Not enough data to satisfy content length header.{counts}'>"
    tail = draw.pick(("", ". ConnectionResetError(104, 'Connection reset by peer')"))
    for other in readers(stage)[: draw.whole(1, 3)]:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        said = f"{url}: ClientPayloadError, reading it once more"
        stage.job.note(at + draw.span(1, 500), other, said, "W", 58, "remote")
    frames = (
        sdk.Frame("/workspace/asr/remote.py", 52, "read", "content = self.fs.cat_file(url)", True),
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(f"{site}/fsspec/implementations/http.py", 243, "_cat_file", "out = await r.read()"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 1161, "read", "self._body = await self.content.read()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 386, "read", "block = await self.readany()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 347, "_wait", "await waiter"),
    )
    text = f"Response payload is not completed: {why}{tail}"
    in_worker(stage, at, rank, "aiohttp.client_exceptions.ClientPayloadError", text, frames)
    exits(stage, at, rank)
    return stage.close(
        "Somebody reads with four hundred threads through an ETL beside it; the limit is for the whole pod.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, lead_s=60.0, without=RESTARTS)
def prefetch_thread_dies(stage: Stage) -> Scenario:
    """A thread that fills a queue dies of a lost target, who reads the queue waits on (RhinoSecurityLabs/dsnap#27)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("prefetch"), stage.job.job.build["site"]
    stage.open()
    died = stage.mark(at - draw.span(30, 300), f"{victim.name} is killed by its host for want of memory")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(20), 2)
    back = stage.mark(died + draw.span(21_000, 25_000), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    cause = sdk.refused(draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    over = retries(stage, at, rank, draw, 0.004, text, at + seconds(draw.between(8, 14)))
    stage.job.sdk_warning(over, rank, "All retries exhausted; request failed", "ERROR")
    frames = (
        sdk.Frame(f"{PYTHON}/threading.py", 1045, "_bootstrap_inner", "self.run()"),
        sdk.Frame(f"{PYTHON}/threading.py", 982, "run", "self._target(*self._args, **self._kwargs)"),
        sdk.Frame("/workspace/asr/prefetch.py", 38, "_fill", "self.queue.put(self.fetch(name))"),
        sdk.Frame("/workspace/asr/prefetch.py", 51, "fetch", "return self.bucket.object(name).get_reader().read_all()"),
        sdk.Frame(f"{site}/requests/adapters.py", 700, "send", "raise ConnectionError(e, request=request)"),
    )
    said = sdk.traceback(sdk.Raised(frames, f"requests.exceptions.ConnectionError: {text}"))
    stage.job.say(over + 2 * MS, rank, f"Exception in thread Thread-{draw.whole(3, 11)} (_fill):\n{said}")
    for other in readers(stage)[: draw.whole(1, 3)]:
        path = object_path(stage, other, utterance(draw))
        told = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        retries(stage, at + draw.span(100, 5_000), other, draw, 0.004, told, back + SEC)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The target is back half a minute later; there is nobody left who would ask it for a sample of this rank.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "rank_hang", "network")),),
    )


def _fetched(stage: Stage, died: int, node: int, name: str, draw: Draw) -> None:
    """Hosts fetch weights with curl before their ranks start; one of them is at it when the target is killed."""
    job, victim, size = stage.job, stage.victim, draw.whole(2_100, 5_900) << 20
    for host in range(len(job.job.hosts)):
        began, spent = died - draw.span(8_100, 8_600), draw.span(4_900, 7_900)
        job.agent(began, host, f"fetching ais://{stage.bucket}/{name}")
        if host != node:
            job.agent(began + spent, host, f"fetched {size >> 20} MiB in {spent / SEC:.1f} s")
            stage.cluster.count(victim, began + spent, get_n=1, get_ns_total=spent, get_size=size)
    left = draw.whole(90 << 20, size // 2)
    ended = draw.pick(
        (f"transfer closed with {left} bytes remaining to read", f"end of response with {left} bytes missing")
    )
    job.agent(died + draw.span(5, 40), node, f"curl: (18) {ended}")


@kind(hangs=False, trains=False, uptime=True, without=RESTARTS)
def weights_fetched_in_part(stage: Stage) -> Scenario:
    """A script fetches weights with curl, a target is killed, and torch gets a part of them (mmdetection#4835)."""
    cluster, victim, job, own = stage.cluster, stage.victim, stage.job, stage.job.job
    draw, node = stage.draw.child("weights"), stage.job.job.node_of(stage.culprit)
    opened = max(cluster.last_process(one).opened_at for one in cluster.nodes)
    died = max(opened + 30 * SEC, job.begin - draw.span(15_000, 19_000))
    stage.mark(died, f"the container of {victim.name} is killed at its memory limit")
    _fetched(stage, died, node, f"pretrained/{own.task}.pt", draw)
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(5), 2)
    faults.start_again(cluster, victim, died + draw.span(5_200, 8_000))
    job.start()
    at, ranks, site = job.begin + draw.span(300, 900), own.ranks_of(node), own.build["site"]
    module = f"{site}/torch/serialization.py"
    frames = (
        *loss_frames(stage, 'model.load_state_dict(torch.load(args.pretrained, map_location="cpu"))'),
        sdk.Frame(module, 1432, "load", "with _open_zipfile_reader(opened_file) as opened_zipfile:"),
        sdk.Frame(module, 763, "__init__", "super().__init__(torch._C.PyTorchFileReader(name_or_buffer))"),
    )
    text = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
    for rank in ranks:
        job.raise_on(at + draw.span(1, 300), rank, sdk.traceback(sdk.Raised(frames, text)))
    over = job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + SEC)
    made = stage.guilty("storage_io", victim, also=("data", "software"))
    return stage.close(
        "The script does not look at what curl returns.", (replace(made, culprit_ranks=tuple(ranks)),), until=over
    )


@kind(reads=True, lead_s=60.0, without=DISKS)
def shuffle_buffer_never_fills(stage: Stage) -> Scenario:
    """A new epoch begins with an empty buffer, and one disk feeds it by drops (webdataset#267; lhotse, shuffling)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, whole = stage.draw.child("buffer"), stage.draw.child("whole").pick((5_000, 10_000, 20_000))
    over = at + seconds(stage.params.timeout_s)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 90_000), f"a disk of {victim.name} becomes slow")
    began = max(began, stage.job.begin + seconds(5))
    aislosses.disk_slows(cluster, victim, began, over + seconds(20), draw.child("disk"))
    for peer in [node for node in cluster.targets if node is not victim][:4]:
        aisquiet.serves_shards(cluster, peer, at, over, (90, 400), (2, 7), (30, 90), draw.child("peer", peer.node_id))
    reader_note(stage, at - 30 * MS, rank, f"epoch 1 begins, filling the shuffle buffer with {whole} samples")
    then, held = at + seconds(draw.between(9, 12)), draw.whole(40, 180)
    while then < over - SEC:
        reader_note(stage, then, rank, f"shuffle buffer: {held} of {whole} samples after {(then - at) / SEC:.0f} s")
        then, held = then + seconds(draw.between(14, 21)), held + draw.whole(9, 70)
    for other in readers(stage)[:3]:
        spent = draw.between(3.2, 7.9)
        reader_note(stage, at - 30 * MS, other, f"epoch 1 begins, filling the shuffle buffer with {whole} samples")
        reader_note(stage, at + seconds(spent), other, f"shuffle buffer: {whole} samples in {spent:.1f} s")
    stage.hang(at + seconds(8.2), rank)
    return stage.close(
        "All shards that this rank begins with lie on one disk, which repeats its reads.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang")),),
    )
