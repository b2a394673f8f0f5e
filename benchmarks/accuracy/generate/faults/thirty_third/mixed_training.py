"""Innocent storage in awkward everyday set-ups: faults too early, too late or of a neighbour, and links that fail.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.words.mixtures import (
    aside,
    earlier_step,
    goes_on_after,
    out_for_seconds,
    refused_by,
    refused_in_the_background,
    tries_until_back,
)
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object
from benchmarks.accuracy.generate.faults.words.script import loss_frames, raise_and_exit
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.tries import client_told, removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.workerlog import Line

kind = kinds_of("training", "thirty_third")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, hangs=False, ais_order=390, lead_s=112.0, without=NOISE)
def storage_had_healed_a_minute_before_the_exception(stage: Stage) -> Scenario:
    """A rank asks for a batch again until a target is back, and a minute later raises in its model (recorded 07).

    To acquit: the tries ended with a batch, the job made steps for most of a minute after that, the target has joined
    again and serves; the exception is one of shapes in the model's own code, and no line of storage is near it.
    """
    rank, job = stage.culprit, stage.job
    draw = stage.draw.child("healed")
    client_told(stage, "get-batch: 48 entries, streaming, tries 6")
    step = earlier_step(stage, draw.between(56, 74))
    stage.open(until_step=step)
    first = job.step_at(step) + 40 * MS
    with aside(stage):
        died = stage.mark(first - draw.span(12, 40), f"kill -9 {stage.victim.name}, a minute too early to be the cause")
        over = tries_until_back(stage, job, first, rank, out_for_seconds(stage, died, draw), draw)
    told(stage, over, rank, "reader", f"step {step}: 48 of 48 entries after {(over - first) / SEC:.1f} s")
    goes_on_after(stage, step, over + draw.span(40, 90))
    at = stage.at
    told(
        stage, at - 10 * MS, rank, "reader", f"step {stage.step}: 48 of 48 entries after {draw.between(0.1, 0.3):.1f} s"
    )
    stage.mark(at, f"rank {rank} has a transcript that is longer than its mask")
    wide = draw.whole(380, 760)
    sizes = f"The size of tensor a ({wide}) must match the size of tensor b ({wide + 1})"
    text = f"RuntimeError: {sizes} at non-singleton dimension 1"
    raise_and_exit(stage, at + seconds(0.3 * stage.params.step_s), rank, text, "loss = criterion(model(batch), batch)")
    expect = stage.innocent("software", rank, also=("data",))
    return stage.close("A transcript ended with a mark that the mask did not count.", (expect,))


@kind(lead_s=64.0, without=("kill_after", "rotation"))
def target_dies_while_all_wait_for_a_lock_already(stage: Stage) -> Scenario:
    """A rank waits for the lock of a cache on NFS; some time later a target dies under threads that read ahead.

    To acquit: the watchdogs say since when they waited, and by that nothing of storage was wrong before; refusals come
    later, at other ranks, which had launched their collective. The one behind says which lock it waits for, and its
    stack stands in filelock.
    """
    rank, at, own = stage.culprit, stage.at, stage.job.job
    draw = stage.draw.child("too late")
    stage.open(save_every=10_000)
    lock = f"/nfs/cache/tokenizer-{own.task.split('_')[0]}.lock"
    said = f"step {stage.step}: words that are not in the cache, waiting for {lock}"
    stage.mark(at - 30 * MS, f"rank {rank} waits for a lock that nobody gives back")
    told(stage, at - 20 * MS, rank, "tokenizer", said, "WARNING")
    stage.hang(at, rank)
    died = stage.mark(at + seconds(draw.between(15, 23)), f"kill -9 {stage.victim.name}, while the job hangs")
    faults.kill(stage.cluster, stage.victim, died)
    for one in readers(stage)[: draw.whole(2, 5)]:
        text = refused_by(stage, stage.victim, object_path(stage, one, shard_of(draw)), draw)
        refused_in_the_background(stage, died + draw.span(20, 1_900), one, text, over_at(stage) - SEC, draw)
    removed_and_back(stage, died)
    site = own.build["site"]
    inner = (("acquire", f"{site}/filelock/_api.py", 344), ("__enter__", f"{site}/filelock/_api.py", 376))
    main = standing_in(stage, 152, *inner, ("refresh", f"{script_folder(stage)}/tokenizer.py", 58))
    py_spy(stage, min(draw.between(33, 44), own.timeout_s - 9), (main,))
    expect = stage.innocent("rank_hang", rank, also=("software", "infrastructure"))
    story = "A job of the day before had been killed with the lock in its hands; the target died of something else."
    return stage.close(story, (expect,), until=died + seconds(100))


@kind(hangs=False, ais_order=390, lead_s=60.0, without=(*NOISE, "second_job"))
def neighbour_is_struck_as_this_job_fails_by_itself(stage: Stage) -> Scenario:
    """Two jobs read from one cluster; a target dies within the step in which one of them fails (a shared cluster).

    To acquit: of the job that fails only one rank says anything, an index error of its own model, after its batch was
    whole; who is refused or short of entries is the other job alone, and that tries until it is served and ends well.
    """
    rank, job = stage.culprit, stage.job
    draw = stage.draw.child("neighbour")
    params = replace(stage.params, ranks=4, ranks_per_node=4, layout="slurm", style="nemo", timeout_s=600)
    other = stage.new_job("neighbour", params, job.begin + seconds(5))
    stage.open()
    stage.mark(other.begin, f"job {other.job.job_id} starts training")
    whole = seconds(stage.params.step_s)
    began = job.step_at(stage.step)
    for one in sorted({*speakers(stage), rank}):
        said = f"step {stage.step}: 48 of 48 entries in {draw.between(0.03, 0.09):.2f} s"
        told(stage, began + draw.span(90, 130), one, "reader", said)
    late = int((began + int(0.5 * whole) - other.begin) // whole) + 1
    first = other.step_at(late) + 30 * MS
    with aside(stage):
        died = stage.mark(first - draw.span(35, 55), f"kill -9 {stage.victim.name}; the job has its batch")
        joined = out_for_seconds(stage, died, draw)
        over = tries_until_back(stage, other, first, draw.whole(1, 3), joined, draw)
    at = stage.mark(
        max(began + int(0.6 * whole), died + draw.span(60, 420)), f"rank {rank} has an index that is too large"
    )
    other.delay(late, over - first)
    last = late + draw.whole(60, 110)
    other.start()
    other.train(0, last, save_every=10_000)
    stage.load(other, other.begin + 60 * MS, died)
    stage.load(other, joined + seconds(4), other.step_at(last))
    other.finish(last)
    stage.mark(other.ended_at, f"job {other.job.job_id} ends normally")
    size = draw.pick((1024, 4096, 5000))
    text = f"IndexError: index {size} is out of bounds for dimension 0 with size {size}"
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    expect = stage.innocent("software", rank, also=("data",))
    return stage.close("The vocabulary had one entry less than the tokenizer.", (expect,))


@kind(reads=True, lead_s=60.0)
def one_recording_of_hours_is_resampled_on_a_rank(stage: Stage) -> Scenario:
    """A sample is a hundred times longer than all others and keeps its rank busy (reports of long audio in a corpus).

    To acquit: the rank says that its batch was read whole within some seconds, and how long one recording in it
    is; its main thread is active in the resampler. All others have launched the collective that it does not come to.
    """
    rank, at, own = stage.culprit, stage.at, stage.job.job
    draw = stage.draw.child("long")
    stage.open()
    name, hours, spent = utterance(draw), draw.between(7.0, 13.5), draw.between(1.8, 4.2)
    for one in sorted({*speakers(stage)} & {*readers(stage)} | {rank}):
        said = f"step {stage.step}: 48 of 48 recordings in {draw.between(0.04, 0.4):.2f} s"
        if one != rank:
            told(stage, at + draw.span(20, 50), one, "data", said)
    late = at + seconds(spent)
    told(stage, late, rank, "data", f"step {stage.step}: 48 of 48 recordings in {spent:.2f} s")
    size = hours * 3600 * 44_100 * 2 / 2**30
    said = (
        f"{name}: {hours:.1f} h in one recording, {size:.1f} GiB decoded, resampling 44100 -> 16000, others below 42 s"
    )
    told(stage, late + 900 * MS, rank, "data", said, "WARNING")
    stage.mark(at, f"rank {rank} resamples a recording of {hours:.1f} hours")
    folder, site = script_folder(stage), own.build["site"]
    main = standing_in(
        stage,
        149,
        ("resample", f"{site}/soxr/__init__.py", 171),
        ("to_rate", f"{folder}/audio.py", 63),
        ("prepare", f"{folder}/audio.py", 94),
        state="active+gil" if draw.chance(0.3) else "active",
    )
    py_spy(stage, min(draw.between(21, 43), own.timeout_s - 12), (main,))
    stage.hang(at, rank)
    expect = stage.innocent("rank_hang", rank, also=("data", "data_loading_stall", "software"))
    return stage.close("A radio's recording of a whole night had been put into the corpus as one utterance.", (expect,))


def _first_root_cause(stage: Stage) -> tuple[int, int]:
    """The rank that the first of torchrun's tables calls the root cause, and when it was printed."""
    tables: list[Line] = [one for one in stage.job.lines if "Root Cause (first" in one.text]
    first = min(tables, key=lambda one: one.at)
    found = re.search(r"Root Cause.+?rank +: (\d+)", first.text, re.DOTALL)
    return int(found[1]) if found else 0, first.at


@kind(lead_s=58.0)
def launcher_blames_the_first_that_aborted(stage: Stage) -> Scenario:
    """A rank raises and does not exit, so the launcher's root cause is one that its watchdog ended (facts, torchrun).

    To acquit: one rank alone has a traceback, a minute before all watchdogs, from a table of its own code, and is
    behind in its collectives; whom torchrun and the script name had waited for it. What storage refuses, if it does,
    is served at the next try.
    """
    rank, at, job = stage.culprit, stage.at, stage.job
    draw = stage.draw.child("blamed")
    stage.open()
    speaker = f"spk-{draw.whole(2_000, 9_999)}"
    stage.mark(at, f"rank {rank} meets a speaker that its table does not have")
    frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
    place = sdk.Frame(job.job.script, 133, "criterion", 'targets = [self.speakers[tag] for tag in batch["speaker"]]')
    job.raise_on(at + 60 * MS, rank, sdk.traceback(sdk.Raised((*frames, place), f"KeyError: '{speaker}'")))
    end = stage.hang(at + 300 * MS, rank)
    blamed, _ = _first_root_cause(stage)
    host = job.job.hosts[job.job.node_of(blamed)]
    said = (
        f"train.sbatch: torchrun's root cause is rank {blamed} on {host} (SIGABRT), next attempt with --exclude={host}"
    )
    job.agent(end - 80 * MS, 0, said)
    expect = stage.innocent("software", rank, also=("data",))
    return stage.close("The list of speakers was made before the last part of the corpus.", (expect,), ALIVE)


@kind(reads=True, hosts=2, min_timeout_s=90, hangs=False, lead_s=60.0, without=NOISE)
def storage_port_of_one_worker_host_goes_down(stage: Stage) -> Scenario:
    """The port by which a worker host reaches storage loses its link; NCCL has ports of its own (mlx5, "Link down").

    To acquit: the kernel of one host says that its port is down, and from then on each of its readers reaches neither
    the target it was sent to nor its proxy. No node of AIStore misses another, and readers of other hosts read ahead as
    before, some by the same proxy where hosts are more than proxies.
    """
    rank, at, job = stage.culprit, stage.at, stage.job
    draw, own = stage.draw.child("link"), stage.job.job
    node = own.node_of(rank)
    stage.open()
    down = stage.mark(at - draw.span(30, 200), f"the storage port of host {own.hosts[node]} goes down")
    clock = f"{local(down, own.zone):%a %b %e %H:%M:%S %Y}"
    port = f"mlx5_core 0000:{draw.whole(16, 220):02x}:00.0 {draw.pick(('ens3f0np0', 'storage0', 'enp65s0f0np0'))}"
    job.agent(down + 40 * MS, node, f"node-monitor: [{clock}] {port}: Link down")
    here = [one for one in readers(stage) if own.node_of(one) == node][: draw.whole(1, 3)]
    for one in (rank, *here):
        _nobody_reached(stage, one, at + (30 * MS if one == rank else draw.span(900, 9_000)), one == rank)
    elsewhere = [one for one in readers(stage) if own.node_of(one) != node]
    same = [one for one in elsewhere if stage.proxy_of(one) is stage.proxy_of(rank)]
    for one in sorted({*same[:2], *elsewhere[: draw.whole(2, 4)]}):
        said = f"read ahead: {shard_of(draw)} in {draw.between(0.2, 0.9):.2f} s, by {stage.proxy_of(one).url(0)}"
        told(stage, at + draw.span(2_000, 19_000), one, "reader", said)
    stage.hang(at + 340 * MS, rank)
    expect = stage.innocent("network", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("Somebody had pulled the wrong cable in the next rack.", (expect,), ALIVE)


def _nobody_reached(stage: Stage, rank: int, at: int, raises: bool) -> None:
    """A request had just been sent to a target; it and all tries after it, at the proxy, find no way."""
    draw, shard = stage.draw.child("nobody", rank), shard_of(stage.draw.child("shard", rank))
    node, path = stage.cluster.target(draw.whole(0, 99)), object_path(stage, rank, shard)
    then, over, text, error = at, over_at(stage) - SEC, "", ""
    for turn in range(6):
        handle, is_late = draw.whole(*HANDLES), draw.chance(0.6)
        then += seconds(3.0) + draw.span(3, 90)
        cause = sdk.connect_timeout(node.address, handle) if is_late else sdk.no_route(handle)
        error = "ConnectTimeout" if is_late else "ConnectionError"
        text = sdk.pool_error(node.address, node.ports[0], path, cause)
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        if then >= over:
            return
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, error, text))
        then += seconds(wait)
        node, path = stage.proxy_of(rank), f"/v1/objects/{stage.bucket}/{shard}?provider=ais"
    if raises and then + seconds(3.1) < over:
        exhausted(stage, then + seconds(3.0), rank, text, error, one_object(stage))
