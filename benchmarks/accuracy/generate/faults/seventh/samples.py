"""Faults of samples, their lists and the code that reads them, of the seventh part; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.gateways import batch_refused
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventh")


def _exits(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


@kind(hangs=False, reads=True)
def manifest_too_long(stage: Stage) -> Scenario:
    """A manifest knows recordings as they were before silence was cut off: lhotse names the object in its words."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("longer")
    stage.mark(at, f"rank {rank} reads a recording that is shorter than its manifest says")
    for other in readers(stage)[: draw.whole(2, 3)]:
        have = draw.between(4, 15)
        said = f"{utterance(draw)}: manifest cuts-v6 has {have + draw.between(0.3, 1.9):.2f} s, audio {have:.2f} s"
        stage.job.note(at - draw.span(4_000, 33_000), other, f"{said}, cut trimmed", "W", 109)
    name, have = utterance(draw), round(draw.between(3, 14), 4)
    wanted = round(have + draw.between(2, 6), 2)
    source = f"AudioSource(type='url', channels=[0], source='ais://{stage.bucket}/{name}')"
    shape = f"sampling_rate=16000, num_samples={round(wanted * 16_000)}, duration={wanted}, channel_ids=[0]"
    who = (
        f"Recording(id='{name.rsplit('/', 1)[-1].removesuffix('.flac')}', sources=[{source}], {shape}, transforms=None)"
    )
    text = f"Requested more audio ({wanted}s) than available ({have}s)\n[extra info] When calling: "
    text += f"Recording.load_audio(args=({who},) kwargs={{'channels': 0, 'offset': 0.0, 'duration': {wanted}}})"
    frames = (
        sdk.Frame(f"{site}/lhotse/audio/recording.py", 464, "load_audio", "samples = source.load_audio("),
        sdk.Frame(f"{site}/lhotse/audio/source.py", 152, "load_audio", "raise DurationMismatchError("),
    )
    in_worker(stage, at, rank, "lhotse.audio.utils.DurationMismatchError", text, frames)
    _exits(stage, at, rank)
    return stage.close(
        "Recordings were trimmed and written again months ago, one list of cuts was forgotten.",
        (stage.innocent("data", rank, also=("software",)),),
    )


def _range_refused(stage: Stage, name: str, wanted: str, text: str) -> str:
    """The traceback of a GET of some bytes of a shard that a target answers with 416."""
    job, node, path = stage.job.job, stage.victim, f"/v1/objects/{stage.bucket}/{name}"
    url = node.url(0) + path + sdk.query(stage.proxy_of(stage.culprit), stage.at)
    body = sdk.answer(node, 416, text, "GET", path, stage.client(stage.culprit))
    inner = sdk.Frame(f"{job.build['site']}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()")
    caller = fetch_frames(stage, "content = shard.get_reader(byte_range=span).read_all()", inner)
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(416, body, url)
    return sdk.http_failure(job, 416, "Requested Range Not Satisfiable", url, failure, caller)


@kind(hangs=False, reads=True)
def index_of_older_shards(stage: Stage) -> Scenario:
    """Shards were packed anew, the index of offsets was not: targets answer 416, or what they send is no sample."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("index")
    stage.open()
    stage.mark(at - seconds(21), "ranks come to shards that are newer than their index")
    day = draw.whole(2, 9)
    for other in readers(stage)[: draw.whole(1, 3)]:
        said = f"shards/train-{draw.whole(0, 4095):06d}.tar was modified {day} days after shards.idx was written"
        stage.job.note(at - draw.span(2_000, 20_000), other, said, "W", 66)
    name, size = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.whole(300, 900) << 20
    stage.job.note(at - 30 * MS, rank, f"{name} was modified {day} days after shards.idx was written", "W", 66)
    if draw.chance(0.65):
        first = size + draw.whole(1, 40_000) * 512
        wanted = f"bytes={first}-{first + draw.whole(9_000, 31_000)}"
        text = f'range "{wanted}" does not overlap with the content [0, {size})'
        aisobjects.get_failed(cluster, stage.victim, at, name, text)
        stage.job.raise_on(at + 4 * MS, rank, _range_refused(stage, name, wanted, text))
    else:
        where = f"ais://{stage.bucket}/{name}[{draw.whole(1, 500_000) * 512}:+{draw.whole(9_000, 31_000)}]"
        magic = " ".join(draw.token(2, HEX) for _ in range(4))
        frame = sdk.Frame(stage.job.job.script, 84, "member", "raise ShardReadError(")
        caller = fetch_frames(stage, "content = self.member(name, offset, length)", frame)
        raised = sdk.Raised(caller, f"ShardReadError: {where}: expected b'fLaC', found {magic}")
        stage.job.raise_on(at + 4 * MS, rank, sdk.traceback(raised))
    _exits(stage, at, rank)
    return stage.close(
        "Somebody has removed withdrawn recordings from the shards; the index is a file of another repository.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, reads=True)
def empty_batch_asked(stage: Stage) -> Scenario:
    """A sampler makes a batch of nothing and the client sends it: the cluster answers 400, for it was asked nothing."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("nothing"), stage.proxy_of(stage.culprit)
    stage.open()
    stage.mark(at, f"rank {rank} asks for a batch of no objects")
    said = f"bucket {draw.whole(3, 29)} of 30 is used up on this rank, drawing a batch of 0 cuts"
    stage.job.note(at - 21 * MS, rank, said, "W", 176, "sampler")
    text, wid = "moss: empty input", cluster.wid(proxy, draw)
    nat = len(cluster.membership(at).targets)
    own, forwarded = ev.phase_one_failed(proxy, stage.victim, stage.bucket, wid, nat, text)
    cluster.say(stage.victim, at, own)
    cluster.say(proxy, at + MS, forwarded)
    stage.job.raise_on(at + 6 * MS, rank, batch_refused(stage, rank, (400, "Bad Request"), text))
    _exits(stage, at, rank)
    return stage.close(
        "An option to drop the last batch was taken away.", (stage.innocent("software", rank, also=("data",)),)
    )


@kind(reads=True)
def session_closed(stage: Stage) -> Scenario:
    """A validation has closed the HTTP session that the training reads with: its next read fails in the client."""
    stage.open()
    beside(stage, commotion.reads_recover)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("session")
    stage.mark(at, f"rank {rank} reads with a session that was closed")
    handle = f"{draw.whole(*HANDLES):#x}"
    job.say(at - 90 * MS, rank, f"Unclosed connector\nconnector: <aiohttp.connector.TCPConnector object at {handle}>")
    text, file, line, function = draw.pick(
        (
            ("Session is closed", f"{site}/aiohttp/client.py", 507, "_request"),
            ("Event loop is closed", f"{PYTHON}/asyncio/base_events.py", 520, "_check_closed"),
            ("Timeout context manager should be used inside a task", f"{site}/aiohttp/helpers.py", 718, "__enter__"),
        )
    )
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
    script = job.job.script
    inner = (
        sdk.Frame(script, 81, "read", "async with self.session.get(url) as response:"),
        sdk.Frame(file, line, function, f'raise RuntimeError("{text}")'),
    )
    first = sdk.Raised(inner, f"RuntimeError: {text}", sdk.DIRECT)
    caller = fetch_frames(
        stage, "content = self.read(url)", sdk.Frame(script, 85, "read", "raise ReadError(url) from error")
    )
    job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(caller, f"ReadError: cannot read {url}")))
    stage.hang(at + 330 * MS, rank)
    also = ("data_loading_stall",)
    return stage.close(
        "Two loaders share a session; the one that ends first closes it. No request leaves the host.",
        (stage.innocent("software", rank, also=also),),
    )
