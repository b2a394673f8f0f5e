"""Faults of keys, manifests and shards of the fifteenth part that their makers have put there; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fifteenth")


@kind(hangs=False, trains=False, culprit=0)
def tracker_has_no_key(stage: Stage) -> Scenario:
    """Rank 0 is to log in to its tracker without a terminal or a key (EasyR1#69, LlamaFactory#1372, unsloth#1914)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("key")
    job.start()
    at, module = job.begin + draw.span(900, 3_900), f"{own.build['site']}/wandb/sdk"
    stage.mark(at, "the tracker of rank 0 has no key")
    advice = "api_key not configured (no-tty). call wandb.login(key=[your_api_key])"
    if draw.chance(0.6):
        job.say(at - 30 * MS, 0, f"wandb: ERROR {advice}")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 165, "main", "run = wandb.init(project=args.project, config=vars(args))", True),
        sdk.Frame(f"{module}/wandb_init.py", 1482, "init", "wandb._sentry.reraise(e)"),
        sdk.Frame(
            f"{module}/wandb_login.py", 281, "prompt_api_key", 'raise UsageError("api_key not configured (no-tty)."'
        ),
    )
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"wandb.errors.errors.UsageError: {advice}")))
    over = job.agents_end([Exit(0, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "The key is in the home folder of somebody else.",
        (stage.innocent("software", 0, also=("infrastructure",)),),
        until=over,
    )


@kind(hangs=False, trains=False)
def manifest_line_is_cut(stage: Stage) -> Scenario:
    """A line of a manifest is no JSON, and all ranks parse it (NVIDIA-NeMo/Speech#2234, #4156, PR 8661)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("line")
    job.start()
    at, size = job.begin + draw.span(1_900, 6_900), draw.whole(9 << 20, 90 << 20)
    stage.mark(at, "a line of the manifest is no JSON")
    name, line, column = f"manifests/train-v{draw.whole(2, 9)}.jsonl", draw.whole(90, 400_000), draw.whole(60, 260)
    node = stage.cluster.target(draw.whole(0, 99))
    for _ in own.hosts:
        spent = draw.span(40, 300)
        stage.cluster.count(node, at - draw.span(300, 900), get_n=1, get_ns_total=spent, get_size=size)
    job.note(at - 200 * MS, 0, f"ais://{stage.bucket}/{name}: {size} bytes, md5 as in its index", line=48)
    what = draw.pick(("Unterminated string starting at", "Expecting ',' delimiter", "Extra data"))
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 172, "main", "dataset = read_manifest(args.manifest)", True),
        sdk.Frame("/workspace/asr/manifests.py", 37, "read_manifest", "rows.append(json.loads(line))", True),
        sdk.Frame(f"{PYTHON}/json/decoder.py", 353, "raw_decode", "obj, end = self.scan_once(s, idx)"),
    )
    if draw.chance(0.4):
        job.note(at - 60 * MS, 0, f"{name}: cannot parse line {line}", "E", 39, "manifests")
    text = f"json.decoder.JSONDecodeError: {what}: line 1 column {column} (char {column - 1})"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("data", also=("software",)))
    return stage.close("Two processes have written to one file, and one of them was ended.", (made,), until=over)


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def shard_was_packed_in_part(stage: Stage) -> Scenario:
    """A shard was uploaded before it was whole; a target restarts, unhurt (webdataset#32, #142; wenet#981)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.tenant_backend_fails))
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, shard = stage.draw.child("packed"), f"shards/train-{stage.draw.child('shard').whole(0, 4095):06d}.tar"
    stage.mark(at, f"rank {rank} reads {shard}, whose end was never written")
    size = draw.whole(90_000, 900_000) * 512
    spent = draw.span(90, 400)
    stage.cluster.count(stage.victim, at - 20 * MS, get_n=1, get_ns_total=spent, get_size=size)
    if draw.chance(0.7):
        said = f"ais://{stage.bucket}/{shard}: {size} bytes read, {size} as listed, others have {draw.whole(3, 6)} GB"
        stage.job.note(at - 4 * MS, rank, said, "W", 44, "shards")
    url = f"pipe:curl -sSL {stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    pipe = f"<webdataset.gopen.Pipe object at 0x7f{draw.token(10, HEX)}>"
    frames = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{site}/webdataset/tariterators.py", 152, "tar_file_iterator", "data = stream.extractfile(tarinfo)"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 686, "read", 'raise ReadError("unexpected end of data")'),
    )
    text = f"('unexpected end of data @ {pipe}', {pipe}, '{url}')"
    in_worker(stage, at, rank, "tarfile.ReadError", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Whoever packs forgets to close what is written.",
        (stage.innocent("data", rank, also=("software",)),),
    )
