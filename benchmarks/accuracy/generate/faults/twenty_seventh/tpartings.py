"""Ranks that part from the others in their collectives, of the twenty-seventh part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in, watched
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_seventh")


@kind(culprit=0, hangs=False, torch_before=215, lead_s=60.0)
def metric_reduced_by_rank_zero_only(stage: Stage) -> Scenario:
    """`if rank == 0:` stands around a log that reduces over all ranks (Lightning docs, sync_dist and rank_zero_only).

    To acquit: rank 0 waits in an all-reduce of one number, all others in that of gradients with the same number; it
    had said that it reduces a metric. The target that is killed is killed while all wait.
    """
    stage.open()
    unrest.unsettled(stage, (eighth_unrest.slow_then_fine, upload_unrest.tenant_uploads_break_off))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("metric")
    site, stuck = own.build["site"], stage.everyone_else()
    name = draw.pick(("train/wer_batch", "val_cer", "tokens_per_second", "grad_norm_ema"))
    frames = (
        f"#0 all_reduce from {site}/torch/distributed/distributed_c10d.py:3252",
        f"#1 reduce_metric from {own.script.rsplit('/', 1)[0]}/metrics.py:58",
        f"#2 log_metrics from {own.script.rsplit('/', 1)[0]}/metrics.py:33",
        f"#3 main from {own.script}:201",
    )
    stuck[0] = replace(stuck[0], numel_in=1, numel_out=1, enqueued=stuck[0].seq, frames=frames)
    said = f"step {stage.step}: {name} is logged every {draw.pick((50, 100, 200))} steps, mean over ranks"
    told(stage, at - 25 * MS, 0, "metrics", said)
    stage.mark(at, "rank 0 alone reduces a metric")
    end = job.hang(at, stuck)
    stage.mark(end, f"job {own.job_id} has ended")
    loud.killed_in_the_hang(stage)
    made = stage.innocent("collective_mismatch", 0, also=("software", "rank_hang"))
    return stage.close("A condition was put around a line to make the log shorter.", (made,))


@kind(reads=True, hangs=False, torch_before=215, lead_s=60.0)
def epoch_ends_sooner_on_a_rank(stage: Stage) -> Scenario:
    """A rank has fewer batches than the others and ends its epoch (WebDataset FAQ, uneven shards; torch Join).

    To acquit: that rank says that its epoch is over with one shard less, and gathers; all others wait with gradients at
    the same number; reads that were slow for a while came in the end.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("uneven")
    many, shards = stage.step, draw.whole(3, 9)
    clips = draw.whole(900, 1_300) * 8
    for one in [rank, *readers(stage)[:3]]:
        mine, share = (shards, clips) if one == rank else (shards + 1, clips + draw.whole(600, 1_300))
        told(stage, job.begin - 240 * MS, one, "data", f"epoch 0: {mine} shards, about {share} clips for this rank")
    said = f"epoch 0: no shard left at step {many}, {shards} of {shards} shards read whole"
    told(stage, at - 30 * MS, rank, "data", said)
    told(stage, at - 12 * MS, rank, "train", "epoch 0 is over, gathering its metrics")
    stage.mark(at, f"the epoch of rank {rank} is over")
    stuck, site = stage.everyone_else(), own.build["site"]
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3962",
        f"#1 gather_metrics from {own.script}:139",
        f"#2 end_epoch from {own.script}:152",
        f"#3 main from {own.script}:208",
    )
    stuck[rank] = replace(
        stuck[rank],
        op="_ALLGATHER_BASE",
        numel_in=4,
        numel_out=4 * own.world,
        enqueued=stuck[rank].seq,
        frames=frames,
    )
    end = job.hang(at, stuck)
    stage.mark(end, f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data", "rank_hang", "data_loading_stall"))
    return stage.close("The number of shards is no multiple of the number of readers.", (made,))


@kind(culprit=0, lead_s=60.0)
def save_waits_for_home_filer(stage: Stage) -> Scenario:
    """Rank 0 saves to a filer over NFS that does not answer (kernel, "nfs: server not responding, still trying").

    To acquit: the path is below /home, the kernel of the host names the filer, and rank 0 is in torch.save; no write
    goes to AIStore, where a target is restarted while all wait.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, eighth_unrest.tenant_panics))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("filer")
    site, filer = own.build["site"], draw.pick(("filer-3", "nas01.lan", "isilon-home"))
    target = f"/home/{draw.pick(('mkeller', 'speech', 'p.duarte'))}/runs/{own.task}/step_{stage.step:06d}.ckpt"
    told(stage, job.begin - 520 * MS, 0, "config", f"checkpoints to {target.rsplit('/', 1)[0]}, {filer}:/home (nfs4)")
    told(stage, at - 80 * MS, 0, "checkpoint", f"saving {target}")
    stage.mark(at - 40 * MS, f"{filer} does not answer")
    watched(stage, at + seconds(draw.between(8, 14)), 0, f"kernel: nfs: server {filer} not responding, still trying")
    after = min(draw.between(24, 40), own.timeout_s - 14)
    main = standing_in(
        stage,
        203,
        ("__exit__", f"{site}/torch/serialization.py", 784),
        ("save", f"{site}/torch/serialization.py", 943),
        ("save_checkpoint", own.script, 121),
    )
    py_spy(stage, after, (main,))
    said = f"hang-watcher: pid {own.rank_pids[0]} state D (disk sleep), wchan rpc_wait_bit_killable"
    job.agent(at + seconds(after + 0.9), 0, said)
    stage.hang(at, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("infrastructure", "network", "storage_io"))
    return stage.close("The filer was moved to its other head.", (made,))
