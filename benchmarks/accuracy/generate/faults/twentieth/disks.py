"""Storage faults of the twentieth part of disks: sectors, blocks and pages that are not read, or not in time."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.carters import squashed_not_read
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of
from benchmarks.accuracy.generate.faults.words.mounts import opened, read_failed, request_failed
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.passers import (
    database_not_read,
    dataset_not_read,
    download_given_up,
    tokens_timed_out,
)
from benchmarks.accuracy.generate.faults.words.patrons import rclone_retries
from benchmarks.accuracy.generate.faults.words.travellers import late, s3_of
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aislapses as lapses
from fixtures.generator import aislosses as losses
from fixtures.generator import aisnights as nights
from fixtures.generator import aispassages as passages
from fixtures.generator import aistroubles as troubles
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twentieth")


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def slices_meet_a_bad_sector(stage: Stage) -> Scenario:
    """h5py reads below Mountpoint for S3 what lies on a worn disk of a target (h5py; Mountpoint docs, troubleshooting).

    To convict: the mount of the failed rank's host was told 500 of the file in h5py's error, at moments at which one
    target says of that very file that it cannot be read from a mountpath, which it examines since.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("sector")

    def volume() -> str:
        return f"knee/file1{draw.whole(0, 999_999):06d}.h5"

    stage.open()
    began = stage.mark(at - draw.span(3_000, 9_000), f"sectors of a disk of {victim.name} are not read any more")
    error = troubles.not_readable(cluster, victim, began, volume(), True)
    troubles.examined(cluster, victim, began + 3 * MS, error, True, draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, file = began + int((at - began) * draw.between(0.1, 0.9)), opened(stage, other, volume(), draw)
        troubles.not_readable(cluster, victim, then, file.name, True)
        request_failed(stage, then + 4 * MS, file, draw.whole(0, 60) << 20, draw.between(2, 30))
    mine, offset = opened(stage, rank, volume(), draw), draw.whole(0, 60) << 20
    for after in (0.94, 0.55, 0.03):
        troubles.not_readable(cluster, victim, at - seconds(after), mine.name, True)
        request_failed(stage, at - seconds(after) + 4 * MS, mine, offset, draw.between(2, 30))
    read_failed(stage, at - 12 * MS, mine, offset)
    dataset_not_read(stage, at, rank, mine.name, draw)
    leaves(stage, at, rank)
    return stage.close(
        "It had been written to its end twice, and was to be replaced with the next delivery.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def squashed_corpus_is_not_read(stage: Stage) -> Scenario:
    """A corpus is one image of squashfs below rclone, a disk under it fails (kernel docs, squashfs; rclone, mount).

    To convict: the kernel of the failed rank's host cannot read a block of a loop device, which the rank says is an
    image; rclone was told 500 of that image at that moment, by a target that cannot read it from a mountpath.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, image = stage.draw.child("squashed"), f"images/corpus-{stage.draw.child('image').whole(0, 63):02d}.sqfs"
    stage.open()
    began = stage.mark(at - draw.span(1_300, 6_000), f"a file system of {victim.name} fails")
    for other in readers(stage)[: draw.whole(1, 3)]:
        then, own = began + int((at - began) * draw.between(0, 0.7)), f"images/corpus-{draw.whole(0, 63):02d}.sqfs"
        text = troubles.not_readable(cluster, victim, then, own, True)
        rclone_retries(stage, then + 5 * MS, other, own, text, 1)
    for attempt in range(6, 11):
        then = at - (11 - attempt) * 140 * MS
        text = troubles.not_readable(cluster, victim, then, image, True)
        rclone_retries(stage, then + 5 * MS, rank, image, text, attempt)
    troubles.examined(cluster, victim, at - 130 * MS, text, False, draw)
    squashed_not_read(stage, at, rank, image, draw)
    path = f"/corpus/{draw.token(2)}/{draw.whole(0, 99_999):05d}.flac"
    _not_read(stage, at, rank, path)
    leaves(stage, at, rank)
    return stage.close(
        "Its controller had lost the battery of its cache, and said so to nobody who listened.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


def _not_read(stage: Stage, at: int, rank: int, path: str) -> None:
    """A loader process reads a file, and gets an error of input and output."""
    frames = (sdk.Frame("/workspace/train/folders.py", 61, "__getitem__", 'content = open(path, "rb").read()', True),)
    stage.job.note(at - 2 * MS, rank, f"{path} is not read", "E", 60, "folders")
    in_worker(stage, at, rank, "OSError", "[Errno 5] Input/output error", frames)


@kind(reads=True, hangs=False, lead_s=75.0, min_timeout_s=90, without=DISKS)
def tokens_time_out_at_no_address(stage: Stage) -> Scenario:
    """Megatron reads ranges of tokens over S3, a controller stops again and again (botocore#2764; nvme, resets).

    To convict: the error names no address, the rank said which target it reads this file from, others wait there too; a
    disk of that target does nothing at 100 % since before, and its reads take half a minute each.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("tokens"), stage.at + seconds(60.1)

    def tokens() -> str:
        return f"tokens/web-{draw.whole(0, 255):03d}_text_document.bin"

    stage.open()
    reader_note(stage, stage.job.begin + 70 * MS, 0, "bin_reader: boto3, read_timeout=60, retries of a body: none")
    began = stage.mark(at - draw.span(19_000, 31_000), f"a controller of {victim.name} is reset again and again")
    passages.controller_resets(cluster, victim, began, over + seconds(20), draw.whole(0, len(victim.disks) - 1), draw)
    key = tokens()
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then, own = at + seconds(5.0 + 9.7 * turn) + draw.span(1, 4_000), tokens()
        said = f"range after {late(draw, (21, 33), began, then)} from {s3_of(stage, victim, own)}"
        stage.job.note(then, other, said, "W", 533, "indexed_dataset")
    stage.job.note(at + 20 * SEC, rank, f"still no range from {s3_of(stage, victim, key)}", "W", 533, "indexed_dataset")
    tokens_timed_out(stage, over, rank, key)
    leaves(stage, over, rank)
    return stage.close(
        "It is one of three with a firmware that the maker has called back.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def database_of_tiles_is_not_read(stage: Stage) -> Scenario:
    """Tiles lie in a file of SQLite below rclone, a target cannot open it any more (sqlite.org, result codes).

    To convict: rclone on the failed rank's host was told 500 of a database, right before SQLite's error, by a target
    that has an error of input and output when it opens it; and so of others on the same mountpath.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, disk = stage.draw.child("tiles"), stage.draw.child("tiles disk").whole(0, 1)

    def archive() -> str:
        return f"tiles/z{draw.whole(9, 15)}-{draw.whole(0, 255):03d}.mbtiles"

    stage.open()
    began = stage.mark(at - draw.span(2_000, 8_000), f"files of a mountpath of {victim.name} cannot be opened")

    def told(then: int, who: int, name: str, attempt: int) -> None:
        text = lapses.not_opened(cluster, victim, then, name, "input/output error", disk, by_s3=True)
        rclone_retries(stage, then + 5 * MS, who, name, text, attempt)

    for other in readers(stage)[: draw.whole(2, 4)]:
        told(began + int((at - began) * draw.between(0, 0.9)), other, archive(), 1)
    name = archive()
    for attempt in (7, 8, 9, 10):
        told(at - (11 - attempt) * 120 * MS, rank, name, attempt)
    stage.job.note(at - 40 * MS, rank, f"/mnt/{stage.bucket}/{name}: no tile of the last query", "E", 70, "archive")
    database_not_read(stage, at, rank)
    leaves(stage, at, rank)
    return stage.close(
        "A folder of its file system is damaged since the last loss of power.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def loader_with_state_waits_for_a_still_disk(stage: Stage) -> Scenario:
    """A disk stands still, a loader of torchdata waits for its process (torchdata, StatefulDataLoader; kernel: nvme).

    To convict: stacks show the silent rank in its loader and a process of that in a read of a socket, whose address was
    printed before; a disk of that target does nothing at 100 % since then, and its routines gather.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, own, over = stage.draw.child("still"), stage.job.job, over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(200, 2_000), f"a disk of {victim.name} stands still")
    nights.stands_still(cluster, victim, began, over + seconds(20), draw)
    place, after = f"{own.build['site']}/torchdata/stateful_dataloader", min(draw.between(24, 40), own.timeout_s - 14)
    main = main_thread(
        stage,
        ("wait", f"{PYTHON}/threading.py", 331),
        ("get", f"{PYTHON}/queue.py", 180),
        ("_try_get_data", f"{place}/stateful_dataloader.py", 1133),
        ("_next_data", f"{place}/stateful_dataloader.py", 1326),
        ("__next__", f"{place}/stateful_dataloader.py", 477),
    )
    reading = Thread(
        "MainThread",
        (
            ("readinto", f"{PYTHON}/socket.py", 718),
            ("_read_status", f"{PYTHON}/http/client.py", 286),
            ("send", f"{own.build['site']}/requests/adapters.py", 644),
            ("read_all", f"{own.build['site']}/aistore/sdk/obj/object_reader.py", 121),
            ("_worker_loop", f"{place}/worker.py", 242),
        ),
    )
    reader_note(stage, at - 20 * MS, rank, f"GET {asked_of(stage, victim, utterance(draw))}, timeout=None")
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = at + draw.span(9_000, 21_000)
        stage.job.note(then, other, f"still reading {asked_of(stage, victim, utterance(draw))}", "W", 44, "waves")
    py_spy(stage, after, (main,))
    py_spy(stage, after + 0.7, (reading,), own.rank_pids[rank] + draw.whole(140, 900))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "It answers no command since a reset, and its slot has to be switched off by hand.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=75.0, without=DISKS)
def download_begins_each_part_five_times(stage: Stage) -> Scenario:
    """One disk of a target does a hundredth, boto3's transfers begin parts anew (boto3, S3 transfers; s3transfer).

    To convict: the silent rank, or its error after five times a minute, names the target it downloads from; one disk of
    that has no time left since before and reads next to nothing, and other ranks wait for it as well.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("parts"), min(over_at(stage), stage.at + seconds(302))
    url = s3_of(stage, victim, f"tables/part-{draw.whole(0, 2047):05d}.parquet")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 24_000), f"a disk of {victim.name} does a hundredth")
    losses.disk_slows(cluster, victim, began, limit + seconds(20), draw)
    reader_note(stage, at - 30 * MS, rank, f"download_file {url}, {draw.whole(1, 6)} GiB in parts of 64 MiB")
    then, tries = at + seconds(60.05), 1
    while then < limit - SEC and tries < 5:
        said = f"urllib3: Read timed out. in part {draw.whole(0, 15)} of {url}, attempt {tries}"
        stage.job.note(then, rank, said, "W", 612, "transfers")
        then, tries = then + seconds(60.05), tries + 1
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        later = at + seconds(7.0 + 6.1 * turn) + draw.span(1, 4_000)
        own = s3_of(stage, victim, f"tables/part-{draw.whole(0, 2047):05d}.parquet")
        stage.job.note(later, other, f"download of {own}: {draw.between(0.2, 1.9):.1f} MB/s", "W", 74, "transfers")
    if limit < over_at(stage):
        download_given_up(stage, limit, rank, url)
        leaves(stage, limit, rank)
    else:
        stage.hang(at + 340 * MS, rank)
    return stage.close(
        "It has moved a third of its sectors already, and its own report calls it healthy.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )
