"""Lists, indices and tokenizers that their own writers have made wrongly; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.words import commotion, launchers
from benchmarks.accuracy.generate.faults.words import householders as household
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import firsts, node_fails, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there, others_go_with
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirtieth")


@kind(reads=True, hangs=False, lead_s=60.0)
def lines_of_a_list_end_as_in_windows(stage: Stage) -> Scenario:
    """Shards were added to a list on a desktop, whose lines end in CR LF: 404 (curl and S3 forums, %0D in a URL).

    To acquit: the name that is asked for ends in a carriage return, as its repr and the %0D of the address show, and
    the target says rightly that it has none of that name; others read shards of the same corpus without it; what a
    tenant has the cluster download fails at another site.
    """
    stage.open()
    beside(stage, household.tenant_links_fail)
    unrest.unsettled(stage, (commotion.restart_survived, near_unrest.tenant_asks_for_removed_names))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("windows")
    corpus, old, new = draw.pick(("mls", "fleurs", "parl")), draw.whole(400, 3_900), draw.whole(16, 90)
    listed = f"lists/{corpus}-{draw.pick(('v3', 'v4', '2026a'))}.txt"
    size = (old + new) * len(f"{corpus}/train-000000.tar\n") + new
    household.served(stage, stage.job.begin - 700 * MS, size, 0.02)
    said = f"ais://{stage.bucket}/{listed}: {size} bytes, {old + new} names by split('\\n')"
    told(stage, stage.job.begin - 690 * MS, 0, "shards", said)
    for one in (*readers(stage)[:6], rank):
        name = f"{corpus}/train-{draw.whole(0, old - 1):06d}.tar"
        then = at - draw.span(3_000, 25_000)
        household.shards_read(stage, then, one, "shards", name, draw.whole(180, 420) << 20, draw.between(0.3, 1.4))
    name = f"{corpus}/extra-{draw.whole(0, new - 1):06d}.tar\r"
    told(stage, at - 30 * MS, rank, "shards", f"next: {name!r}")
    node = draw.pick(stage.cluster.up(at))
    stage.mark(at - 6 * MS, f"rank {rank} asks for a name that ends in a carriage return")
    text = aisobjects.not_there(stage.cluster, node, at - 5 * MS, name)
    household.name_not_found(stage, at, rank, node, name, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("The new lines were pasted from a spreadsheet.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def bin_is_shorter_than_its_index(stage: Stage) -> Scenario:
    """A .bin file lacks what its writer had not flushed when it was copied (Megatron-LM, lm-engine#53, RWKV-LoRA#46).

    To acquit: the object is as long as what was put, each answer has all that is left of it, and the index, which
    counts more, was put half an hour later; a busy target sends its answers in milliseconds.
    """
    stage.open()
    beside(stage, household.processors_are_used)
    unrest.unsettled(stage, (tunrest.readers_resume, ninth_unrest.keepalives_late, commotion.tenant_meets_bad_data))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("short bin")
    tokens = draw.whole(3_000_000_000, 40_000_000_000)
    length, missing = tokens * 2 - draw.whole(1, 40) * 8_192, draw.whole(900, 8_000)
    prefix, block = f"s3://{stage.bucket}/tok/{draw.pick(('web-en', 'books', 'code'))}_text_document", 64 << 20
    begin = stage.job.begin
    told(stage, begin - 520 * MS, 0, "indexed_dataset", f"Load the _IndexReader from /tmp/idx/{prefix[5:]}.idx")
    told(stage, begin - 480 * MS, 0, "indexed_dataset", f"> total number of sequences: {tokens // 611}")
    said = f"{prefix}.idx: uint16, {tokens} tokens ({tokens * 2} bytes); head_object of .bin: {length} bytes"
    told(stage, begin - 440 * MS, 0, "corpus", said)
    said = f"custom metadata: .bin put by cron at 03:10, {length} bytes; .idx put by tokenise-corpus at 03:41"
    told(stage, begin - 410 * MS, 0, "corpus", said)
    for one in (*readers(stage)[:4], rank):
        then, first = at - draw.span(2_000, 22_000), draw.whole(0, length // block - 2) * block
        household.served(stage, then, block, 0.2)
        said = f"get_object {prefix[5:]}.bin bytes={first}-{first + block - 1}: 206, {block} bytes"
        told(stage, then, one, "corpus", said)
    first = length // block * block
    household.served(stage, at - 40 * MS, length - first, 0.1)
    said = f"get_object {prefix[5:]}.bin bytes={first}-{first + block - 1}: 206, {length - first} bytes"
    told(stage, at - 39 * MS, rank, "corpus", said)
    stage.mark(at - 20 * MS, f"rank {rank} reads the end of a file that its writer had not written")
    number = tokens // 611 - (tokens * 2 - length) // 1_222 - 1
    said = f"sequence {number}: bytes {length - 700} to {length + missing} of the .bin"
    told(stage, at - 10 * MS, rank, "corpus", said, "WARNING")
    household.range_too_short(stage, at, rank)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("The upload was started by a cron job, and the merge was late that night.", (made,))


@kind(hangs=False, trains=False)
def tokenizer_is_written_by_all_ranks_of_a_host(stage: Stage) -> Scenario:
    """A rank loads a file that another rank of its host still writes (sentencepiece and llama issues, ParseFromArray).

    To acquit: the rank that fails has asked nobody, as it found the file there with a part of its bytes; the one that
    has read the object has all of it and writes; the same object is loaded on each other host.
    """
    beside(stage, household.processors_are_used_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("tokenizer")
    at, node, size = job.begin - SEC, own.node_of(stage.culprit), draw.whole(420_000, 4_900_000)
    are_there(stage, at)
    path, digest = f"/tmp/{draw.pick(('spm', 'tok', 'tokenizer'))}-{draw.token(4, LOWER)}.model", draw.token(16, HEX)
    for one in firsts(stage):
        writer = next(other for other in own.ranks_of(own.node_of(one)) if other != rank)
        is_here = own.node_of(one) == node
        then = at - (35 * MS if is_here else draw.span(90, 400))
        household.served(stage, then, size, 0.05)
        said = f"no {path}: read_all of ais://{stage.bucket}/tok/spm.model: {size} bytes, xxhash2 {digest} as stored"
        told(stage, then, writer, "tokenizer", said)
        over = then + (60 if is_here else 40) * MS
        told(stage, over, writer, "tokenizer", f"{path}: {size} bytes written, 32000 pieces loaded")
    part = size // draw.whole(2, 6) // 4_096 * 4_096
    told(stage, at - 9 * MS, rank, "tokenizer", f"{path} is here, {part} bytes, loading it")
    stage.mark(at - 9 * MS, f"rank {rank} loads a file that is still being written")
    place = f"{own.build['site']}/sentencepiece/__init__.py"
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "tokenizer = make_tokenizer(args)"),
        sdk.Frame(f"{script_folder(stage)}/tokenizer.py", 29, "make_tokenizer", "return SentencePieceProcessor(path)"),
        sdk.Frame(place, 468, "Init", "self.Load(model_file=model_file, model_proto=model_proto)"),
        sdk.Frame(place, 961, "Load", "return self.LoadFromFile(model_file)"),
        sdk.Frame(place, 316, "LoadFromFile", "return _sentencepiece.SentencePieceProcessor_LoadFromFile(self, arg)"),
    )
    text = f"RuntimeError: Internal: could not parse ModelProto from {path}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(without_carets(frames), text)))
    node_fails(stage, at + 500 * MS, node, rank)
    others_go_with(stage, at + 2 * SEC, node)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("The file was copied by the prolog until the images were changed.", (made,))
