"""Storage faults of the sixteenth part that disks have: slow without an error, failing, lost, or changing what lies."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.aftermaths import left_out
from benchmarks.accuracy.generate.faults.words.clients import pipe_failed
from benchmarks.accuracy.generate.faults.words.comers import url_refused
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import object_path, one_object
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aischores as chores
from fixtures.generator import aisdisk as disk
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisquiet as quiet
from fixtures.generator import aistroubles as troubles
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "sixteenth")
SLOW = "Operation too slow. Less than 1000 bytes/sec transferred the last 30 seconds"


@kind(culprit=0, lead_s=60.0, without=DISKS)
def validation_waits_for_one_disk(stage: Stage) -> Scenario:
    """Rank 0 validates, its samples lie on a slow disk, others wait (Lightning docs, validation; docs/performance)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw, batches = stage.draw.child("validation"), stage.draw.child("batches").whole(90, 400)
    stage.open()
    began = stage.mark(at - draw.span(4_000, 33_000), f"a disk of {victim.name} becomes slow")
    losses.disk_slows(cluster, victim, began, over + seconds(25), draw)
    stage.job.note(at - 60 * MS, 0, f"validation at step {stage.step}: {batches} batches of ais://{stage.bucket}/dev")
    then, done = at + draw.span(9_000, 19_000), 0
    while then < over - SEC:
        done += draw.whole(0, 3)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw, 'dev')}"
        said = f"validation: {done} of {batches} batches after {(then - at) / SEC:.0f} s"
        stage.job.note(then, 0, f"{said}, {draw.between(11, 38):.1f} s for {url}", "W", 152)
        then += draw.span(13_000, 29_000)
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "The bucket of the validation is small, and was uploaded when one target had just two disks.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def picture_lost_with_its_mountpath(stage: Stage) -> Scenario:
    """A mountpath without copies is given up: 404 for what was on it, urllib says so (mmcv docs; aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, number = stage.draw.child("lost"), stage.draw.child("number").whole(0, len(stage.victim.disks) - 1)
    stage.open()
    disabled = stage.mark(at - draw.span(900, 9_000), f"a mountpath of {victim.name} is given up")
    path, device = victim.mountpaths[number], victim.disks[number]
    disk.lose_mountpath(cluster, victim, disabled, path, device, draw.between(19, 44))

    def fails(then: int, name: str) -> str:
        aisobjects.not_there(cluster, victim, then, name)
        return "HTTP Error 404: Not Found"

    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then, name = max(disabled + 60 * MS, at - (turn + 1) * 600 * MS), f"train/{draw.whole(0, 999_999):012d}.jpg"
        stage.job.note(then + 5 * MS, other, f"{name} skipped: {fails(then, name)}", "W", 86)
    fails(at - 4 * MS, f"train/{draw.whole(0, 999_999):012d}.jpg")
    url_refused(stage, at, rank, (404, "Not Found"))
    exits(stage, at, rank)
    return stage.close(
        "There is one copy of everything, for the original lies in a tape library.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=90.0, without=DISKS)
def too_many_samples_left_out(stage: Stage) -> Scenario:
    """A disk has errors, and a loader gives up after some samples in a row (Megatron-Energon docs, tolerance)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("tolerance"), stage.draw.child("limit").pick((10, 12, 16))
    stage.open()
    began = stage.mark(at - draw.span(17_000, 41_000), f"a disk of {victim.name} has errors")
    turns = sorted(began + int((at - 2 * SEC - began) * draw.between(0.02, 1)) for _ in range(draw.whole(4, 11)))
    lost = [(then, draw.pick([rank, *readers(stage)[:7]])) for then in turns]
    lost += [(at - 90 * MS * (limit - turn), rank) for turn in range(limit)]
    for turn, (then, who) in enumerate(lost):
        name = utterance(draw)
        text = troubles.not_readable(cluster, victim, then, name, False)
        left_out(stage, then + 5 * MS, who, victim, name)
        if not turn:
            troubles.examined(cluster, victim, then + MS, text, True, draw)
    frames = (
        sdk.Frame("/workspace/asr/tolerant.py", 71, "__iter__", "self.left_out(name, error)", True),
        sdk.Frame("/workspace/asr/tolerant.py", 49, "left_out", "raise RuntimeError("),
    )
    text = f"{limit} samples in a row could not be read, which is the limit"
    in_worker(stage, at, rank, "RuntimeError", text, frames)
    exits(stage, at, rank)
    return stage.close(
        "A shard of the manifest is one speaker, and a speaker is often one folder on one disk.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def header_and_content_disagree(stage: Stage) -> Scenario:
    """Warm reads are not validated, and a disk gives other bytes than it got (aistore docs/checksum, http_headers)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("disagree")
    stage.open()
    first = stage.mark(at - draw.span(9_000, 30_000), f"a disk of {victim.name} returns errors, then wrong bytes")
    error = troubles.not_readable(cluster, victim, first, utterance(draw), False)
    troubles.examined(cluster, victim, first + MS, error, True, draw)

    def differs(name: str) -> str:
        found, told = draw.token(16, HEX), draw.token(16, HEX)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}"
        return f"xxhash2 of {url} is {found}, its header ais-checksum-value says {told}"

    for other in readers(stage)[: draw.whole(1, 3)]:
        then = first + int((at - first) * draw.between(0.3, 0.95))
        cluster.count(victim, then, get_n=1, get_ns_total=draw.span(2, 9), get_size=draw.whole(90, 900) << 10)
        sample = utterance(draw)
        stage.job.note(then + 6 * MS, other, f"{differs(sample)}: read once more", "W", 67, "reader")
        again = f"{sample}: the same again, left out"
        stage.job.note(then + 20 * MS, other, again, "W", 69, "reader")
    name = utterance(draw)
    for turn in range(3):
        spent = draw.span(2, 9)
        cluster.count(
            victim, at - (3 - turn) * 30 * MS, get_n=1, get_ns_total=spent, get_size=draw.whole(90, 900) << 10
        )
    frames = (sdk.Frame("/workspace/asr/reader.py", 74, "read", "raise ValueError(f'{told}, three times')"),)
    in_worker(stage, at, rank, "ValueError", f"{differs(name)}, three times", frames)
    exits(stage, at, rank)
    return stage.close(
        "The controller of the disk has a bug that its maker knows; validate_warm_get is off, as by default.",
        (stage.guilty("storage_io", victim, also=("data",)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0, without=DISKS)
def curl_finds_it_too_slow(stage: Stage) -> Scenario:
    """A RAID is checked, and shards come more slowly than curl is to bear (webdataset#308; curl docs)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("too slow"), stage.at + seconds(30.02)
    stage.open()
    began = stage.mark(at - draw.span(11_000, 40_000), f"the host of {victim.name} checks its arrays")
    chores.arrays_checked(cluster, victim, began, over + seconds(30), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        late, spent = at - seconds(4) + seconds(7 * turn) + draw.span(1, 4_000), draw.between(21, 58)
        shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
        said = f"{spent:.1f} s to the first sample of {victim.url(0)}/v1/objects/{stage.bucket}/{shard}"
        stage.job.note(late, other, said, "W", 88)
    shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    url = f"--speed-limit 1000 --speed-time 30 {stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    then = over + draw.span(1, 900)
    pipe_failed(stage, then, rank, url, (28, SLOW))
    exits(stage, then + 4 * MS, rank)
    return stage.close(
        "The timer of the distribution starts it on the first Sunday of each month.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, ais_order=410, lead_s=60.0, without=DISKS)
def entries_of_a_worn_disk(stage: Stage) -> Scenario:
    """A disk sends its entries late, batches wait, one of them too long (aistore docs/monitoring-get-batch)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("worn")
    stage.open()
    began = stage.mark(at - draw.span(22_000, 50_000), f"a disk of {victim.name} is worn and slow")
    quiet.sends_late(cluster, victim, began, over + seconds(20), draw)
    for turn, other in enumerate(readers(stage)[:5]):
        then, node = at - seconds(6) + seconds(8 * turn) + draw.span(1, 3_000), stage.other_target(victim, turn)
        said = f"get-batch of 36 entries took {draw.between(8, 19):.1f} s ({node.url(0)})"
        stage.job.note(then, other, said, "W", 80)
    site = stage.job.job.build["site"]
    waits = (
        ("recv_into", "/opt/conda/lib/python3.11/socket.py", 718),
        ("read", f"{site}/urllib3/response.py", 1056),
        ("extract", f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66),
        ("fetch", stage.job.job.script, 61),
        ("next_batch", stage.job.job.script, 94),
    )
    after = draw.between(31, 52)
    py_spy(stage, after, (main_thread(stage, *waits), Thread("Thread-1 (_monitor)", waits[:1])))
    stage.hang(at + 340 * MS, stage.culprit)
    return stage.close(
        "Entries of a batch come one after the other, and each of that disk takes seconds.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=DISKS)
def writes_starve_reads(stage: Stage) -> Scenario:
    """A disk that writes next to nothing holds up reads, and time-outs end a rank (aistore docs/performance)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("starve")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 29_000), f"a disk of {victim.name} hardly writes any more")
    over = at + seconds(60.3)
    mishaps.writes_crawl(cluster, victim, began, over + seconds(40), draw)
    then = began + draw.span(3_000, 9_000)
    while then < over:
        reads = draw.whole(2, 6)
        cluster.count(victim, then, get_n=reads, get_ns_total=reads * draw.span(9_000, 26_000), get_size=reads << 17)
        then += draw.span(7_000, 11_000)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        late = at - seconds(5) + seconds(9 * turn) + draw.span(1, 900)
        stage.job.note(late, other, f"slow read: {draw.between(9, 19):.1f} s for {url}", "W", 80)
    cause = sdk.read_timeout(victim.address, victim.ports[0], 15)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    then = at + seconds(15.02)
    for wait in (1.2, 2.1, 3.9):
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + seconds(15.02)
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    caller = sdk.main_frames(stage.job.job, stage.step, *one_object(stage))
    stage.job.raise_on(then + 2 * MS, rank, sdk.exhausted(stage.job.job, caller, "ConnectionError", text))
    exits(stage, then + 2 * MS, rank)
    return stage.close(
        "Another team uploads at the same time; the disk is full of blocks that it has to erase first.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, hangs=False, ais_order=410, lead_s=90.0, without=DISKS)
def batches_shrink_until_too_small(stage: Stage) -> Scenario:
    """A mountpath is lost, batches go on without its objects until a script refuses one (aistore docs/get_batch)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, wanted = stage.draw.child("shrink"), 48
    stage.open()
    disabled = stage.mark(at - draw.span(14_000, 30_000), f"a mountpath of {victim.name} is given up")
    disk.lose_mountpath(cluster, victim, disabled, victim.mountpaths[0], victim.disks[0], draw.between(9, 14))
    turns = sorted(disabled + int((at - 900 * MS - disabled) * draw.between(0.01, 1)) for _ in range(draw.whole(7, 15)))
    for then in turns:
        who, lost = draw.pick([rank, *readers(stage)[:7]]), draw.whole(3, 20)
        node, size = draw.pick(cluster.targets), (wanted - lost) * 16_000
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=wanted - lost, getbatch_obj_size=size)
        cluster.count(node, then, err_soft_getbatch_n=lost)
        said = f"get-batch: {lost} of {wanted} objects are missing, the batch goes on without them"
        stage.job.note(then + draw.span(4, 40), who, said, "W", 102)
    lost = draw.whole(25, 33)
    node = stage.other_target(victim, draw.whole(0, 99))
    cluster.count(node, at - 9 * MS, getbatch_n=1, getbatch_obj_n=wanted - lost, err_soft_getbatch_n=lost)
    missing = f"the first of {lost} is {victim.name}: ais://{stage.bucket}/{utterance(draw)} does not exist"
    frame = sdk.Frame(stage.job.job.script, 71, "fetch", "raise RuntimeError(")
    text = f"RuntimeError: {wanted - lost} of {wanted} samples are left, at least {wanted // 2} are wanted; {missing}"
    raised = sdk.Raised(sdk.main_frames(stage.job.job, stage.step, frame), text)
    stage.job.raise_on(at, rank, sdk.traceback(raised))
    exits(stage, at, rank)
    return stage.close(
        "A batch is of one speaker, and most of one were on that disk.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )
