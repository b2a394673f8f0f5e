"""Loader processes that fail or stand still on their own host, of the twenty-second part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.workbenches import (
    caught_in_loader,
    data_folder,
    forked_loader,
    loader_killed,
    queue_frames,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_second")


@kind(reads=True, lead_s=60.0)
def tokenizer_forked_with_its_threads(stage: Stage) -> Scenario:
    """A loader is forked after the tokenizer had used its threads, and waits for them (warning of tokenizers).

    To acquit: the loader's stack stands in the tokenizer with its texts read; the rank waits for that loader.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing, own_unrest.neighbour_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("tokenizer")
    pid, worker = own.rank_pids[rank] + draw.whole(30, 120), draw.whole(0, 3)
    threads, texts = draw.pick((16, 32, 48)), draw.whole(64, 256)
    said = f"shard list is through; tokenizer was used here in {threads} threads (TOKENIZERS_PARALLELISM=true)"
    reader_note(stage, at - draw.span(700, 1_100), rank, f"{said}, forking 4 loaders anew")
    stage.mark(at, f"a loader of rank {rank} waits for threads of its tokenizer")
    said = f"loader {worker} (pid {pid}): shard read, {texts} texts in hand, encoding"
    reader_note(stage, at - 80 * MS, rank, said)
    after = min(draw.between(24, 40), own.timeout_s - 16)
    py_spy(stage, after, (waits_for_loaders(stage),))
    fast = f"{own.build['site']}/transformers/tokenization_utils_fast.py"
    child = forked_loader(
        stage,
        ("_batch_encode_plus", fast, 553),
        ("batch_encode_plus", f"{own.build['site']}/transformers/tokenization_utils_base.py", 3170),
        ("encode", f"{script_folder(stage)}/texts.py", 52),
        ("__getitem__", f"{script_folder(stage)}/texts.py", 70),
    )
    py_spy_forked(stage, after + 1.2, child, pid)
    stage.hang(at + 60 * MS, rank)
    made = stage.innocent("software", rank, also=("rank_hang", "data_loading_stall"))
    return stage.close("The last texts of a list are encoded by the rank itself.", (made,))


@kind(reads=True, hangs=False, lead_s=90.0, min_timeout_s=120)
def container_has_too_few_processors(stage: Stage) -> Scenario:
    """Loaders decode with too few processors till a batch is too late (PyTorch docs, DataLoader's timeout).

    To acquit: the host's monitor shows its control group throttled; the loaders' own seconds are in decoding, their
    reads are short; the time-out is the DataLoader's.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("processors")
    node, quota, limit = job.job.node_of(rank), draw.pick((2, 3, 4)), draw.pick((45, 60, 75))
    is_pod = job.job.layout == "kubectl"
    group = f"kubepods-pod{draw.token(8, HEX)}" if is_pod else f"job_{job.job.job_id}/step_0"
    stage.mark(job.begin, f"the container of rank {rank} has {quota} processors")
    many = 6 * len(job.job.ranks_of(node))
    for turn in range(5):
        then = at - seconds(52) + turn * seconds(17) + draw.span(1, 900)
        share = draw.between(88, 97)
        said = f"cgroup {group}: cpu.max {quota}00000 100000, {share:.0f} % of periods throttled, {many} loaders"
        watched(stage, then, node, said)
    spent = draw.between(4.0, 7.0)
    for turn in range(4):
        read, then = draw.between(0.1, 0.5), at - seconds(44) + turn * seconds(13)
        said = f"shard {draw.whole(0, 4095):06d}.tar: read {read:.1f} s, decoded {spent:.1f} s, 1 of {many} loaders"
        reader_note(stage, then, rank, said)
        spent *= draw.between(1.3, 1.7)
    over = at + seconds(limit) + 12 * MS
    late = sdk.Frame(f"{data_folder(stage)}/dataloader.py", 1447, "_get_data", "raise RuntimeError(")
    text = f"RuntimeError: DataLoader timed out after {limit} seconds"
    job.raise_on(over, rank, sdk.traceback(sdk.Raised((*queue_frames(stage)[:-1], late), text)))
    exits(stage, over, rank)
    made = stage.innocent("infrastructure", rank, also=("data_loading_stall", "software"))
    return stage.close("The job was moved to a template for inference.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def decoder_ends_with_a_segmentation_fault(stage: Stage) -> Scenario:
    """A loader dies of SIGSEGV in a library of codecs (issues of decord and PyAV).

    To acquit: kernel and faulthandler place the fault in the decoder; the shard had been read with its checksum.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, past_unrest.neighbour_reads_cold, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("codec")
    node, pid, worker = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(30, 120), draw.whole(0, 7)
    shard, size = f"clips-{draw.whole(0, 4095):06d}.tar", draw.whole(90_000_000, 900_000_000)
    said = f"loader {worker} (pid {pid}): ais://{stage.bucket}/{shard} read, {size} bytes, xxhash as stored; decoding"
    then = at - draw.span(300, 800)
    spent = int(size * draw.between(1.0, 2.2))
    stage.cluster.count(stage.other_target(stage.victim), then - MS, get_n=1, get_ns_total=spent, get_size=size)
    reader_note(stage, then, rank, said)
    stage.mark(at - 30 * MS, f"a decoder of rank {rank} dies")
    site, torch = job.job.build["site"], data_folder(stage)
    rows = ["Fatal Python error: Segmentation fault", ""]
    rows.append(f"Current thread 0x00007f{draw.token(7, HEX)}740 (most recent call first):")
    for file, line, name in (
        (f"{site}/decord/video_reader.py", 175, "get_batch"),
        (f"{script_folder(stage)}/clips.py", 58, "frames_of"),
        (f"{torch}/_utils/fetch.py", 33, "fetch"),
        (f"{torch}/_utils/worker.py", 349, "_worker_loop"),
        (f"{PYTHON}/multiprocessing/process.py", 108, "run"),
        (f"{PYTHON}/multiprocessing/process.py", 314, "_bootstrap"),
    ):
        rows.append(f'  File "{file}", line {line} in {name}')
    job.say(at - 30 * MS, rank, "\n".join(rows))
    base = f"7f{draw.token(6, HEX)}"
    said = f"kernel: python3[{pid}]: segfault at {draw.pick((0, 8, 18))} ip 00007f{base[2:]}1a40 "
    said += f"sp 00007ffd{draw.token(7, HEX)}0 error 4 in libavcodec-decord.so.59.37.100[{base}0000+b52000]"
    watched(stage, at - 26 * MS, node, said)
    loader_killed(stage, at, rank, pid, "Segmentation fault")
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall", "infrastructure"))
    return stage.close("A codec of a new camera came into the corpus.", (made,))


@kind(reads=True, hangs=False, lead_s=70.0)
def descriptors_of_a_rank_run_out(stage: Stage) -> Scenario:
    """Loaders send each tensor as a descriptor until there are no more (pytorch#973, #11201).

    To acquit: the rank counts its open files up to the limit, most of them shared memory; PyTorch names the limit.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, commotion.tenant_meets_bad_data))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("descriptors")
    limit = draw.pick((1024, 1024, 4096))
    used, span = int(limit * draw.between(0.2, 0.35)), at - job.begin
    for turn in range(5):
        count = int(used + (limit - 3 - used) * turn / 4)
        then = job.begin + seconds(2) + int((span - seconds(3)) * turn / 4)
        sockets = draw.whole(12, 30)
        said = f"open files: {count} of {limit}, {count - sockets - 60} of them torch_* in /dev/shm, {sockets} sockets"
        reader_note(stage, then, rank, said)
    stage.mark(at, f"rank {rank} has no descriptor left")
    text = (
        "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please increase the "
        "limit using `ulimit -n` in the shell or change the sharing strategy by calling "
        "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
    )
    late = sdk.Frame(f"{data_folder(stage)}/dataloader.py", 1289, "_try_get_data", "raise RuntimeError(")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised((*queue_frames(stage), late), text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Features of single cuts are kept for a later step.", (made,))


def _shards_are_read(stage: Stage, since: int, until: int) -> None:
    """The targets count the shards that one host keeps, on top of what all ranks read."""
    for turn in range(60):
        then, size = since + (until - since) * turn // 60, 7 * (64 << 20)
        node = stage.cluster.target(turn)
        stage.cluster.count(node, then, get_n=7, get_ns_total=7 * 190 * MS, get_size=size)


@kind(reads=True, hangs=False, lead_s=80.0)
def cache_of_a_host_is_full(stage: Stage) -> Scenario:
    """Shards are kept on a host's own disk without a limit until it is full (streaming#475, ms-swift#3551).

    To acquit: the file that cannot be written is below /scratch, which df of that host shows full, while AIStore is
    only read from.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.reads_recover))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cache")
    node, size, worker = job.job.node_of(rank), draw.pick((880, 1760, 3520)), draw.whole(0, 7)
    local = f"/scratch/{job.job.job_id}/mds/train"
    said = f"shards of ais://{stage.bucket} are kept in {local}, no cache_limit"
    reader_note(stage, job.begin - draw.span(100, 500), rank, said)
    span = at - job.begin - SEC
    for turn in range(5):
        free = (4 - turn) * draw.between(5.0, 9.0)
        row = f"df: /dev/nvme1n1 {size}G {size - free:.1f}G {free:.1f}G {100 * (1 - free / size):.0f}% /scratch"
        watched(stage, job.begin + span * (turn + 1) // 5 - draw.span(1, 400), node, row)
    _shards_are_read(stage, job.begin + SEC, at)
    stage.mark(at, f"the disk of rank {rank}'s host is full")
    streaming = f"{job.job.build['site']}/streaming/base"
    shard = f"{local}/shard.{draw.whole(0, 9_999):05d}.mds.tmp"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))", True),
        sdk.Frame(f"{streaming}/dataset.py", 1399, "__iter__", "yield from map(self.__getitem__, self._each_id(it))"),
        sdk.Frame(f"{streaming}/dataset.py", 1245, "get_item", "self.prepare_shard(shard_id)"),
        sdk.Frame(f"{streaming}/stream.py", 471, "prepare_shard", "delta += self._prepare_shard_part("),
        sdk.Frame(f"{streaming}/stream.py", 426, "_prepare_shard_part", "self._decompress_shard_part("),
        sdk.Frame(
            f"{streaming}/stream.py", 340, "_decompress_shard_part", "with open(tmp_filename, 'wb') as out:", True
        ),
    )
    text = f"OSError: [Errno 28] No space left on device: '{shard}'"
    caught_in_loader(stage, at, rank, worker, frames, text)
    exits(stage, at, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Files of an earlier job of another user lie in the same place.", (made,))
