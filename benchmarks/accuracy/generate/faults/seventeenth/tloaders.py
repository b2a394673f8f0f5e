"""Guilty storage of the seventeenth part as loaders show it: bodies that stop, tables cut short, futures not done."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses, aisobjects, aispassages, aistroubles, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventeenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=DISKS)
def body_stops_without_an_address(stage: Stage) -> Scenario:
    """A slow disk sends the rest of an object too late: boto names no address (botocore#2764, s3-concat#17)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("body"), stage.job.job.build["site"]
    stage.open()
    over = at + seconds(60) + draw.span(40, 900)
    began = stage.mark(at - draw.span(3_000, 14_000), f"a disk of {victim.name} does a hundredth of what it did")
    aislosses.disk_slows(cluster, victim, began, over + seconds(10), draw.child("disk"))
    reader_note(stage, stage.job.begin + 60 * MS, 0, f"s3: {stage.proxy_of(0).url(0)}/s3, read_timeout 60, no resume")
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then = at + seconds(14 + 11 * turn) + draw.span(1, 4_000)
        if then < over - SEC:
            spent = draw.between(12, 33)
            url = f"{victim.url(0)}/s3/{stage.bucket}/shards/{draw.whole(0, 4095):06d}.tar"
            reader_note(stage, then, other, f"{url}: {draw.whole(4, 40)} MiB took {spent:.1f} s")
    frames = (
        sdk.Frame("/workspace/asr/shards.py", 52, "members", "for member in tarfile.open(fileobj=body, mode='r|'):"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 562, "__read", "buf = self.fileobj.read(self.bufsize)"),
        sdk.Frame(f"{site}/botocore/response.py", 101, "read", "raise ReadTimeoutError(endpoint_url=e.url, error=e)"),
    )
    text = 'Read timeout on endpoint URL: "None"'
    job, worker = stage.job, draw.whole(0, 3)
    original = sdk.traceback(sdk.Raised(frames, f"botocore.exceptions.ReadTimeoutError: {text}"))
    caller = sdk.main_frames(
        job.job, stage.step, sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception")
    )
    said = f"RuntimeError: Caught ReadTimeoutError in DataLoader worker process {worker}.\nOriginal {original}"
    job.raise_on(over, rank, sdk.traceback(sdk.Raised(caller, said)))
    exits(stage, over, rank)
    return stage.close(
        "The drive reads some tracks again and again before it has them.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def server_disconnected_in_a_loader(stage: Stage) -> Scenario:
    """A target is killed with requests of s3fs under way: aiohttp says so, and nobody repeats (fsspec/s3fs#537)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("disconnected"), stage.job.job.build["site"]
    stage.open()
    died = stage.mark(at - draw.span(3, 20), f"{victim.name} is killed for its memory")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(8))
    joined = faults.start_again(cluster, victim, died + draw.span(7_000, 11_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    for other in readers(stage)[: draw.whole(1, 3)]:
        said = f"{utterance(draw)}: Server disconnected, next try in 20 s"
        stage.job.note(at + draw.span(1, 60), other, said, "W", 84, "samples")
    module = f"{site}/fsspec/asyn.py"
    frames = (
        sdk.Frame("/workspace/asr/samples.py", 48, "load", "content = self.fs.cat_file(path)"),
        sdk.Frame(module, 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(module, 103, "sync", "raise return_result"),
        sdk.Frame(f"{site}/s3fs/core.py", 1133, "_call_and_read", "return await resp['Body'].read()"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 899, "start", "message, payload = await protocol.read()"),
    )
    error = "aiohttp.client_exceptions.ServerDisconnectedError"
    in_worker(stage, at, rank, error, "Server disconnected", frames)
    exits(stage, at, rank)
    return stage.close(
        "Its container has a limit that was set for a smaller bucket.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def message_body_cut_short(stage: Stage) -> Scenario:
    """A disk fails in the middle of an Arrow stream: fewer bytes than announced (apache/arrow#44146; docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("message")
    stage.open()
    stage.mark(at - draw.span(2_000, 9_000), f"a disk of {victim.name} has errors")
    for other in readers(stage)[: draw.whole(0, 3)]:
        then, name = at - draw.span(400, 1_900), f"train/part-{draw.whole(0, 4095):05d}.arrow"
        aispassages.cut_off_by_disk(cluster, victim, then, name, 0)
        said = f"{name}: ended too early, left out for this epoch"
        stage.job.note(then + draw.span(3, 40), other, said, "W", 66, "tables")
    name = f"train/part-{draw.whole(0, 4095):05d}.arrow"
    error = aispassages.cut_off_by_disk(cluster, victim, at - 9 * MS, name, 0)
    aistroubles.examined(cluster, victim, at - 4 * MS, error, draw.chance(0.4), draw)
    wanted = draw.whole(400 << 20, 1_100 << 20)
    frames = (
        sdk.Frame("/workspace/asr/tables.py", 61, "rows", "table = pa.ipc.open_stream(self.fs.open(path)).read_all()"),
        sdk.Frame("pyarrow/ipc.pxi", 762, "pyarrow.lib.RecordBatchReader.read_all", "check_status("),
        sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
    )
    text = f"Expected to be able to read {wanted} bytes for message body, got {int(wanted * draw.between(0.1, 0.9))}"
    stage.job.note(at - 2 * MS, rank, f"s3://{stage.bucket}/{name}: opened at {victim.url(0)}", "W", 58, "tables")
    in_worker(stage, at, rank, "OSError", text, frames)
    exits(stage, at, rank)
    return stage.close(
        "The bucket has no copies, for it can be made again in a week.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=60.0)
def future_of_a_batch_not_done(stage: Stage) -> Scenario:
    """A target shares its host and gets no processor: a batch is waited for two minutes (aistore docs/cli)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, own = stage.draw.child("future"), stage.job.job
    stage.open()
    over = at + seconds(120) + draw.span(10, 200)
    began = stage.mark(at - draw.span(3_000, 21_000), f"something else takes the processors of {victim.name}'s host")
    aisobjects.no_processor(cluster, victim, began, over + seconds(20), draw)
    then = began + draw.span(4_000, 9_000)
    while then < over:
        cluster.count(
            victim, then, get_n=2, get_ns_total=2 * draw.span(11_000, 29_000), get_size=draw.whole(60, 900) << 10
        )
        then += draw.span(3_000, 9_000)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        late = at + seconds(16 + 19 * turn) + draw.span(1, 6_000)
        if late < over - SEC:
            url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
            stage.job.note(late, other, f"slow read: {draw.between(14, 38):.1f} s for {url}", "W", 80)
    frames = fetch_frames(
        stage,
        "batch = self.ahead.popleft().result(timeout=120)",
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 458, "result", "raise TimeoutError()"),
    )
    stage.job.note(over - 3 * MS, rank, "batch 1 of 4 ahead is not done after 120 s", "E", 76, "ahead")
    stage.job.raise_on(over, rank, sdk.traceback(sdk.Raised(frames, "TimeoutError")))
    exits(stage, over, rank)
    return stage.close(
        f"Somebody compresses the logs of a year there, on all {own.ranks_per_node * 8} processors.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def evicted_corpus_comes_again(stage: Stage) -> Scenario:
    """The corpus was evicted over a weekend, steps fetch it anew: a job crawls (aistore docs/storage_svcs, LRU)."""
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("comes again")
    stage.open()
    began = stage.mark(at - draw.span(1_000, 4_000), "the epoch comes to what was evicted")
    over = crawls(stage, draw.whole(9, 14), 9.0, 24.0)
    for node in cluster.targets:
        aispassages.reads_anew(cluster, node, began, over + seconds(20), draw.child("anew", node.node_id))
    who, then = [stage.culprit, *readers(stage)], at + draw.span(7_000, 12_000)
    while then < over:
        said = f"get-batch of {draw.whole(24, 48)} took {draw.between(8, 23):.1f} s"
        reader_note(stage, then, draw.pick(who), said)
        then += draw.span(6_000, 21_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 15_000))
    made = of_all(stage.guilty("data_loading_stall", also=("storage_io", "network")))
    return stage.close(
        "Another corpus was read through in between, and there is room for one.", (replace(made, culprit_ranks=None),)
    )
