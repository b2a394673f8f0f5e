"""Data sets whose own code stands still, or gives up, where a read seems to fail; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words import householders as household
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import forked_loader, script_folder, waits_for_loaders
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirtieth")


@kind(hangs=False, lead_s=60.0)
def another_sample_is_drawn_till_the_stack_is_full(stage: Stage) -> Scenario:
    """Whatever fails in a data set, it takes another sample from within itself (pytorch-semseg#248, pytorch#16992).

    To acquit: each sample that is left out has come whole, and it is the transform of a new phase that raises, the same
    TypeError for all; the stack is full of __getitem__, and all ranks fail alike; a target has had too few processors
    since before, and reads of it take milliseconds.
    """
    stage.open()
    beside(stage, household.processors_are_used)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.reads_recover, eighth_unrest.tenant_lists_long))
    at, draw = stage.at, stage.draw.child("another")
    wanted, release = draw.pick((("snr", "add_noise"), ("rolloff", "resample"), ("p", "mask_along_axis"))), stage.step
    why = f"TypeError: {wanted[1]}() got an unexpected keyword argument '{wanted[0]}'"
    began = stage.mark(at, "augmentation begins, and its transform raises for all samples")
    told(stage, began - 60 * MS, 0, "train", f"step {release}: phase 2, augment=True from here on, loaders begin anew")
    last = at
    for rank in speakers(stage):
        deep, then = draw.whole(968, 981), began + draw.span(300, 1_400)
        for many in (1, 2, 3, 250, 500, 750):
            name, size = utterance(draw), draw.whole(90_000, 900_000)
            household.served(stage, then, size, 0.004)
            for node in stage.cluster.up(then) if many > 3 else ():
                share = 250 // len(stage.cluster.targets)
                stage.cluster.count(node, then, get_n=share, get_size=share * size, get_ns_total=share * 4 * MS)
            said = f"{name} ({size} of {size} bytes) is left out: {why}, another one is taken ({many} in a row)"
            told(stage, then, rank, "dataset", said, "WARNING")
            then += draw.span(90, 220) if many < 3 else draw.span(500, 900)
        last = max(last, then)
        household.drawn_too_often(stage, then, rank, deep)
    all_exit(stage, last)
    made = stage.innocent("software", also=("data",))
    return stage.close("The library of transforms was updated with the image.", (of_all(made),))


@kind(reads=True)
def ffmpeg_waits_for_a_reader_of_its_errors(stage: Stage) -> Scenario:
    """ffmpeg has filled the pipe of its errors, which nobody reads, and its parent writes on (Python docs, Popen).

    To acquit: the clip has come whole, the loader stands in a write to its own child, and that in a write to a pipe
    of 64 KiB that is full; a target goes down long after all ranks wait.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (household.routines_are_many, loud.neighbour_reads_slowly))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("ffmpeg")
    pid, node = own.rank_pids[rank] + draw.whole(600, 4_000), own.node_of(rank)
    child, name, size = pid + draw.whole(40, 900), f"clips/{draw.token(11, LOWER)}.mkv", draw.whole(40, 190) << 20
    told(stage, job.begin - 350 * MS, 0, "video", "decoding by ffmpeg -i pipe:0 -f rawvideo pipe:1, stderr=PIPE")
    for one in readers(stage)[:4]:
        other, whole = f"clips/{draw.token(11, LOWER)}.mkv", draw.whole(20, 90) << 20
        household.shards_read(stage, at - draw.span(1_000, 9_000), one, "video", other, whole, draw.between(0.2, 0.9))
    household.shards_read(stage, at - 600 * MS, rank, "video", name, size, draw.between(0.3, 1.2))
    told(stage, at - 590 * MS, rank, "video", f"{name!r}: decoding by ffmpeg, pid {child}")
    stage.mark(at - 200 * MS, f"ffmpeg below rank {rank} waits for somebody to read its errors")
    inner = (
        ("decode", f"{script_folder(stage)}/video.py", 66),
        ("__getitem__", f"{script_folder(stage)}/video.py", 41),
    )
    after = min(draw.between(20, 38), own.timeout_s - 12)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, forked_loader(stage, *inner), pid)
    said = (
        f"hang-watcher: /proc/{pid}/wchan pipe_write (fd 19, stdin of {child}); /proc/{child}/wchan pipe_write (fd 2)"
    )
    job.agent(at + seconds(after + 1.2), node, said)
    said = f'hang-watcher: strace -p {child}: write(2, "[h264 @ 0x55{draw.token(8, HEX)}0] error while decoding MB '
    said += f'{draw.whole(1, 90)} {draw.whole(1, 60)}, bytestream -{draw.whole(5, 90)}\\n", {draw.whole(60, 72)}'
    job.agent(at + seconds(after + 1.6), node, said)
    stage.hang(at + 20 * MS, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang", "data"))
    return stage.close("The option -loglevel quiet was taken away to see why some clips are dark.", (made,))


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def answers_left_open_fill_the_pool_of_a_client(stage: Stage) -> Scenario:
    """Streams that are not read to their end keep httpx' connections till none is left (httpx docs, PoolTimeout).

    To acquit: the exception is of the client's own pool, all of whose connections are active, as it prints them; every
    request was answered with 200 until then; routines of a target are those that write to somebody who reads no more.
    """
    stage.open()
    beside(stage, household.routines_are_many)
    unrest.unsettled(
        stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off, tunrest.withdrawn_left_out)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("pool")
    limit, wait = draw.pick((20, 50, 100)), draw.pick((10, 20, 30))
    said = f"httpx.Client(limits=Limits(max_connections={limit}), timeout=Timeout(20, pool={wait})), stream=True"
    told(stage, job.begin - 300 * MS, 0, "clips", said)
    stage.mark(at - wait * SEC, f"a loader of rank {rank} has no connection of its pool left")
    for one in readers(stage)[:4]:
        taken, then = int(limit * draw.between(0.35, 0.85)), at - wait * SEC - draw.span(200, 6_000)
        said = f"Requests: {taken} active, 0 queued | Connections: {taken} active, 0 idle"
        name = f"clips/{draw.token(11, LOWER)}.mp4"
        told(stage, then, one, "clips", f"moov of {name} found in the first MiB; <ConnectionPool [{said}]>")
    for turn, share in enumerate((0.31, 0.52, 0.74, 0.93, 1.0)):
        then, taken = at - wait * SEC - (4 - turn) * 7 * SEC - draw.span(50, 4_000), int(limit * share)
        if then < job.begin + SEC:
            continue
        name, node = f"clips/{draw.token(11, LOWER)}.mp4", draw.pick(stage.cluster.up(then))
        stage.cluster.count(
            node, then - 9 * MS, get_n=1, get_size=draw.whole(1, 60) << 20, get_ns_total=draw.span(3, 40)
        )
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}"
        told(stage, then - 5 * MS, rank, "httpx", f'HTTP Request: GET {url} "HTTP/1.1 200 OK"')
        said = f"Requests: {taken} active, 0 queued | Connections: {taken} active, 0 idle"
        told(stage, then, rank, "clips", f"moov of {name} found in the first MiB; <ConnectionPool [{said}]>")
    said = f"Requests: {limit} active, 1 queued | Connections: {limit} active, 0 idle"
    told(stage, at - 4 * MS, rank, "clips", f"no connection within {wait} s; <ConnectionPool [{said}]>", "ERROR")
    household.pool_timed_out(stage, at, rank)
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data_loading_stall",))
    return stage.close("The reader of headers returns before it leaves its stream.", (made,))
