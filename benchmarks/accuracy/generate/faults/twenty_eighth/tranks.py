"""One rank that does other things than the rest, of the twenty-eighth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_eighth")

#: As many entries as a small batch has: no more than any release of AIStore lets be missing from one.
SMALL = 6


def _skips(stage: Stage, rank: int, many: int) -> None:
    """A rank meets so many batches none of whose entries is there any more, and trains no step with them."""
    draw, job = stage.draw.child("skips"), stage.job
    begin, end = job.begin + seconds(4), stage.at - seconds(2)
    for turn in range(many):
        then, node = begin + (end - begin) * turn // many + draw.span(1, 900), stage.cluster.target(draw.whole(0, 99))
        stage.cluster.count(node, then, getbatch_n=1, err_soft_getbatch_n=SMALL)
        for entry in range(SMALL):
            name = f"withdrawn/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
            said = f"Skipping {name}: Batch entry failed on the server"
            told(stage, then + entry * MS, rank, "aistore.pytorch.batch_iter_dataset", said, "WARNING")
        said = f"all {SMALL} entries of a batch were skipped, no step is done with it ({turn + 1} so far)"
        told(stage, then + (SMALL + 2) * MS, rank, "train", said, "WARNING")


@kind(reads=True, hangs=False, torch_before=215, lead_s=60.0)
def epoch_is_shorter_by_skipped_batches(stage: Stage) -> Scenario:
    """`if not batch: continue` on one rank: its epoch has fewer steps (SDK, cont_on_err; PyTorch Join, uneven inputs).

    To acquit: rank 0 has said that withdrawn recordings are not in the bucket any more, all that is skipped is of them,
    and this rank gathers at the end of its epoch while the others are at a gradient of the same number.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (upload_unrest.neighbour_loses_its_bucket, tunrest.readers_resume))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("shorter")
    many, lost = draw.whole(2, 4), draw.whole(300, 1_900)
    told(stage, job.begin - 420 * MS, 0, "data", f"cont_on_err=True: {lost} recordings below withdrawn/ were removed")
    for one in (rank, *readers(stage)[:3]):
        said = f"epoch 0: {stage.step + many} batches of {SMALL} recordings for this rank"
        told(stage, job.begin - 300 * MS, one, "data", said)
    _skips(stage, rank, many)
    said = f"epoch 0 is over: {stage.step + many} batches read, {many} of them skipped, {stage.step} steps"
    told(stage, at - 20 * MS, rank, "train", f"{said}, gathering metrics")
    stage.mark(at, f"the epoch of rank {rank} is over sooner")
    stuck, site = stage.everyone_else(), own.build["site"]
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3962",
        f"#1 gather_metrics from {own.script}:139",
        f"#2 end_epoch from {own.script}:152",
        f"#3 main from {own.script}:208",
    )
    mine = stuck[next(iter(stuck))]
    size = 6 * own.world
    stuck[rank] = replace(mine, op="_ALLGATHER_BASE", numel_in=6, numel_out=size, enqueued=mine.seq, frames=frames)
    end = job.hang(at, stuck)
    stage.mark(end, f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data", "rank_hang", "data_loading_stall"))
    return stage.close("Nobody counts batches that are skipped.", (made,))


def _put(stage: Stage, at: int, name: str, size: int, took_s: float) -> None:
    """Some target has a checkpoint of rank 0, and the SDK has been told so."""
    node = stage.draw.child("put").pick(stage.cluster.up(at))
    stage.cluster.count(stage.proxy_of(0), at - seconds(took_s), put_n=1)
    stage.cluster.count(node, at, put_n=1, put_ns_total=seconds(took_s), put_size=size)
    told(stage, at + 2 * MS, 0, "checkpoint", f"ais://checkpoints/{name} is there, size {size}, {took_s:.1f} s")


@kind(culprit=0, lead_s=60.0)
def copy_to_a_partner_site_stands_still(stage: Stage) -> Scenario:
    """Rank 0 has put its checkpoint and copies it to a partner by rsync over ssh, which stalls (rsync, Send-Q stays).

    To acquit: the put was answered in seconds and a target has counted it, the stack of rank 0 stands in the wait for
    rsync, whose socket leads out of the site; a target is restarted while all wait.
    """
    stage.open()
    beside(stage, tunrest.withdrawn_left_out)
    unrest.unsettled(stage, (unrest.entries_missing, tunrest.batches_fall_back))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("partner")
    name, size, took = f"{own.task}/step_{stage.step:06d}.pt", draw.whole(300, 1_400) << 20, draw.between(0.9, 1.9)
    told(stage, at - seconds(took + 0.4), 0, "checkpoint", f"put_file to ais://checkpoints/{name}, {size} bytes")
    _put(stage, at - 300 * MS, name, size, took)
    partner, pid = draw.pick(("dtn2.partner.example", "xfer.lab-b.example")), own.rank_pids[0] + draw.whole(300, 2_000)
    command = f"rsync -e ssh --partial /dev/shm/{name.rsplit('/', 1)[-1]} {partner}:/incoming/{own.task}/"
    told(stage, at - 60 * MS, 0, "checkpoint", f"copy for the partner: {command} (pid {pid})")
    stage.mark(at - 60 * MS, f"the copy to {partner} stands still")
    main = standing_in(
        stage,
        203,
        ("_try_wait", f"{PYTHON}/subprocess.py", 2011),
        ("_wait", f"{PYTHON}/subprocess.py", 2053),
        ("wait", f"{PYTHON}/subprocess.py", 1264),
        ("communicate", f"{PYTHON}/subprocess.py", 1201),
        ("run", f"{PYTHON}/subprocess.py", 550),
        ("copy_to_partner", own.script, 128),
        ("save_checkpoint", own.script, 121),
    )
    after = min(draw.between(22, 40), own.timeout_s - 14)
    py_spy(stage, after, (main,))
    queue, port = draw.whole(90_000, 4_000_000), draw.whole(33_000, 60_000)
    said = f"hang-watcher: ss -tnpo: ESTAB 0 {queue} 10.9.0.17:{port} 203.0.113.{draw.whole(2, 250)}:22"
    job.agent(
        at + seconds(after + 0.8), 0, f'{said} users:(("ssh",pid={pid + 1},fd=3)) timer:(on,{draw.whole(9, 40)}sec,6)'
    )
    stage.hang(at + SEC // 50, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software", "network", "infrastructure"))
    return stage.close("A firewall of the partner had forgotten the connection.", (made,))
