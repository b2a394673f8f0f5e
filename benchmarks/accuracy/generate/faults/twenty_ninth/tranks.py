"""One rank that does other things than the rest; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_ninth")

#: What a mismatch of collectives may be called besides.
ALSO = ("software", "rank_hang")


def _gathers(stage: Stage, rank: int, many: int, *where: tuple[str, str, int]) -> None:
    """A rank gathers while all others reduce gradients; all wait until the watchdog ends the job."""
    job, own = stage.job, stage.job.job
    stuck, site = stage.everyone_else(), own.build["site"]
    frames = [f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3962"]
    frames += [f"#{turn} {name} from {file}:{line}" for turn, (name, file, line) in enumerate(where, 1)]
    mine = stuck[next(iter(stuck))]
    stuck[rank] = replace(
        mine, op="_ALLGATHER_BASE", numel_in=many, numel_out=many * own.world, enqueued=mine.seq, frames=tuple(frames)
    )
    stage.mark(job.hang(stage.at, stuck), f"job {own.job_id} has ended")


def _mismatch(stage: Stage, rank: int, *also: str) -> Expect:
    return stage.innocent("collective_mismatch", rank, also=(*ALSO, *also))


@kind(reads=True, hangs=False, torch_before=215, lead_s=60.0)
def listings_of_a_growing_bucket_differ(stage: Stage) -> Scenario:
    """Each rank lists the bucket for itself while shards are still uploaded: one has fewer (WebDataset FAQ, Join).

    To acquit: each rank tells when it has listed and which shard was the newest, the lists grow with the time, and the
    one that listed first is through with its epoch first; nobody misses a shard that it has listed.
    """
    stage.open()
    beside(stage, upload_unrest.tenant_uploads_break_off)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window, tunrest.cold_reads_polled))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("listings")
    share = draw.whole(3, 12)
    many, lost, began = own.world * share, draw.whole(2, min(7, own.world - 1)), job.begin - 2_400 * MS
    for turn in range(lost + 1):
        then, node = began - 900 * MS + turn * 110 * MS, draw.pick(stage.cluster.up(began))
        stage.cluster.count(
            node, then, put_n=1, put_size=draw.whole(400, 900) << 20, put_ns_total=draw.span(900, 3_000)
        )
    told(stage, began - 700 * MS, rank, "data", f"{many - lost} shards listed, newest shards/{many - lost - 1:06d}.tar")
    for one in readers(stage)[:12]:
        then = began + draw.span(200, 900)
        told(stage, then, one, "data", f"{many} shards listed, newest shards/{many - 1:06d}.tar")
    told(stage, job.begin - 200 * MS, 0, "data", f"each rank takes len // {own.world} shards of its own list")
    stage.mark(at, f"the epoch of rank {rank} is over sooner, for it has listed the bucket first")
    said = (
        f"end of epoch 0 after {stage.step} batches, {share - 1} of {share - 1} shards of this rank read to their ends"
    )
    told(stage, at - 20 * MS, rank, "train", f"{said}, gathering metrics")
    for one in readers(stage)[:4]:
        done = f"{share - 1} of {share} shards of this rank read to their ends"
        told(stage, at - draw.span(300, 2_000), one, "train", f"batch {stage.step - 1} of epoch 0, {done}")
    script = own.script
    _gathers(stage, rank, 6, ("gather_metrics", script, 139), ("end_epoch", script, 152), ("main", script, 208))
    return stage.close("The upload was thought to be over.", (_mismatch(stage, rank, "data", "data_loading_stall"),))


@kind(hangs=False, torch_before=215, lead_s=60.0, without=RESTARTS)
def checkpoint_is_asked_of_one_rank_only(stage: Stage) -> Scenario:
    """Somebody sends SIGUSR1 to one process, and only that one begins to save (submitit and Lightning, signals).

    To acquit: this rank says that the signal has come, no other does, and its stack gathers the state for a checkpoint
    that nobody else saves; nothing was sent to AIStore yet; a target that was killed before is back.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("signal")
    node, pid = own.node_of(rank), own.rank_pids[rank]
    told(stage, stage.job.begin - 400 * MS, 0, "train", "on SIGUSR1 a checkpoint is saved at the end of the step")
    sent = at - draw.span(120, 400)
    watched(
        stage,
        sent - draw.span(4_000, 9_000),
        node,
        f"sshd: session opened for user ml-oper from 10.3.1.{draw.whole(2, 90)}",
    )
    watched(stage, sent, node, f"audit: ml-oper: kill -USR1 {pid}")
    stage.mark(sent, f"rank {rank} alone is asked for a checkpoint")
    told(stage, sent + 2 * MS, rank, "train", f"SIGUSR1 received, saving at the end of step {stage.step}")
    told(stage, at - 5 * MS, rank, "checkpoint", f"step {stage.step}: gathering full state dict of {own.world} ranks")
    fsdp = f"{own.build['site']}/torch/distributed/fsdp/_unshard_param_utils.py"
    _gathers(
        stage,
        rank,
        draw.pick((1_048_576, 2_097_152, 3_211_264)),
        ("_unshard_params", fsdp, 171),
        ("full_state", own.script, 116),
        ("save_checkpoint", own.script, 121),
        ("main", own.script, 203),
    )
    return stage.close("The night was to be bridged by an early checkpoint.", (_mismatch(stage, rank),))


@kind(hangs=False, torch_before=215, lead_s=60.0)
def micro_batches_differ_between_ranks(stage: Stage) -> Scenario:
    """Batches are split by tokens, and one rank has a part more than the others (verl#6176, #6178, PR 5591).

    To acquit: each rank tells how many parts its batch has and that all recordings of it are here; the one with a part
    more gathers parameters for it while the others sum up the norm; a target that was busy has answered all.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, tunrest.batches_fall_back, loud.neighbour_reads_slowly))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("parts")
    limit, parts = draw.pick((16_384, 24_000, 32_768)), draw.whole(2, 5)
    told(stage, stage.job.begin - 380 * MS, 0, "data", f"dynamic micro-batches of at most {limit} tokens, FULL_SHARD")
    for one in (rank, *readers(stage)[:9]):
        mine = parts + (one == rank)
        tokens = int(limit * (mine - draw.between(0.1, 0.7)))
        said = f"step {stage.step}: 48 of 48 recordings here, {tokens} tokens, {mine} micro-batches"
        told(stage, at - draw.span(150, 420), one, "data", said)
    stage.mark(at - 30 * MS, f"rank {rank} has a micro-batch more than the others")
    fsdp = f"{own.build['site']}/torch/distributed/fsdp"
    _gathers(
        stage,
        rank,
        draw.pick((786_432, 1_179_648, 2_359_296)),
        ("_all_gather_flat_param", f"{fsdp}/_flat_param.py", 1446),
        ("_pre_forward_unshard", f"{fsdp}/_runtime_utils.py", 420),
        ("train_parts", own.script, 151),
        ("main", own.script, 193),
    )
    return stage.close("The number of parts is not agreed upon between ranks.", (_mismatch(stage, rank, "data"),))


@kind(culprit=0, lead_s=60.0)
def model_is_pushed_to_the_hub_by_rank_zero(stage: Stage) -> Scenario:
    """Rank 0 has put its checkpoint and pushes the model to the Hugging Face Hub as well (transformers, push_to_hub).

    To acquit: the put was answered in seconds and a target has counted it, the stack of rank 0 stands in the upload to
    the Hub, and its socket leads to an address that is none of AIStore's; a target is restarted while all wait.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, tunrest.readers_resume))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("push")
    name, size, took = (
        f"{own.task}/step_{stage.step:06d}.safetensors",
        draw.whole(700, 2_800) << 20,
        draw.between(1, 2.4),
    )
    told(stage, at - seconds(took + 0.5), 0, "checkpoint", f"put_file to ais://checkpoints/{name}, {size} bytes")
    node = draw.pick(stage.cluster.up(at - 400 * MS))
    stage.cluster.count(stage.proxy_of(0), at - seconds(took + 0.5), put_n=1)
    stage.cluster.count(node, at - 402 * MS, put_n=1, put_ns_total=seconds(took), put_size=size)
    told(stage, at - 400 * MS, 0, "checkpoint", f"ais://checkpoints/{name} is there, size {size}, {took:.1f} s")
    repo = f"{draw.pick(('speech-lab', 'asr-team', 'voice-ml'))}/{own.task.replace('_', '-')}"
    told(stage, at - 90 * MS, 0, "checkpoint", f"upload_folder to huggingface.co/{repo}, revision step-{stage.step}")
    stage.mark(at - 90 * MS, "rank 0 pushes the model to the Hub")
    then, rate = at + draw.span(6_000, 10_000), draw.between(0.4, 2.1)
    while then < at + (own.timeout_s - 2) * SEC:
        sent = (then - at) / SEC * rate
        said = f"Processing Files (0 / 1): {sent:.1f}MB / {size / 1e6:.0f}MB, {rate:.2f}MB/s"
        told(stage, then, 0, "huggingface_hub", said)
        then += draw.span(11_000, 17_000)
    site = own.build["site"]
    main = standing_in(
        stage,
        203,
        ("write", f"{PYTHON}/ssl.py", 1180),
        ("send", f"{site}/urllib3/connection.py", 395),
        ("_upload_single_part", f"{site}/huggingface_hub/lfs.py", 316),
        ("_upload_lfs_files", f"{site}/huggingface_hub/_commit_api.py", 429),
        ("upload_folder", f"{site}/huggingface_hub/hf_api.py", 4959),
        ("push_to_hub", own.script, 127),
        ("save_checkpoint", own.script, 122),
    )
    after = min(draw.between(22, 40), own.timeout_s - 14)
    py_spy(stage, after, (main,))
    queue, port = draw.whole(900_000, 4_000_000), draw.whole(33_000, 60_000)
    said = f"hang-watcher: ss -tnpo: ESTAB 0 {queue} 10.9.0.17:{port} 198.51.100.{draw.whole(2, 250)}:443"
    job.agent(
        at + seconds(after + 0.8), 0, f'{said} users:(("python3",pid={own.rank_pids[0]},fd={draw.whole(40, 90)}))'
    )
    stage.hang(at + SEC // 50, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software", "network", "infrastructure"))
    return stage.close("The way out of the site is shared by all of its users.", (made,))
