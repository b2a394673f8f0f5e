"""Programs and hosts of a job that part from the others or end, of the twenty-fifth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fifth")


@kind(reads=True, lead_s=60.0)
def rank_runs_out_of_shards(stage: Stage) -> Scenario:
    """Shards do not divide by ranks: one is done with its epoch before the others (WebDataset FAQ).

    To acquit: the numbers of shards stand in the log, the rank says that its epoch is over and waits for the store, not
    for a batch; a target is killed when the job hangs already.
    """
    stage.open()
    beside(stage, own_unrest.tenant_uploads_break_off)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.neighbour_reads_cold))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("shards")
    each, others = draw.whole(3, 9), readers(stage)[:4]
    told(stage, job.begin - 150 * MS, 0, "data", f"{each * own.world - 1} shards, given out to {own.world} ranks")
    for one in (rank, *others):
        count = each - (one == rank)
        told(stage, job.begin - draw.span(20, 120), one, "data", f"{count} shards for rank {one} of {own.world}")
    for one in others:
        said = f"shard {each} of {each} opened, {stage.step} batches so far"
        told(stage, at - draw.span(700, 6_000), one, "data", said)
    done = f"epoch 0 done: {stage.step} batches of {each - 1} shards, waiting for the others in the TCPStore"
    stage.mark(at - 20 * MS, f"rank {rank} has read all of its shards")
    told(stage, at - 20 * MS, rank, "train", done)
    stack = standing_in(stage, 206, ("wait_for_all", f"{own.script.rsplit('/', 1)[0]}/sync.py", 27))
    py_spy(stage, min(draw.between(24, 41), own.timeout_s - 11), (stack,))
    stage.hang(at + 30 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("data", "rank_hang", "collective_mismatch"))
    return stage.close("Some shards were merged by an owner of the corpus.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def gathers_on_rank_zero_only(stage: Stage) -> Scenario:
    """Only rank 0 asks FSDP for the state of its model, which all have to give (pytorch FSDP, `if rank == 0: save`).

    To acquit: rank 0 stands in an all-gather that a checkpoint begins, all others in a gradient's all-reduce of the
    same number; nothing was sent to AIStore yet.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (near_unrest.tenant_asks_for_removed_names, own_unrest.neighbour_loses_its_bucket))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("gathers")
    site = own.build["site"]
    stage.mark(at - 30 * MS, "rank 0 alone gathers the state of the model")
    name = f"ais://checkpoints/{own.task}/step-{stage.step}.pt"
    told(stage, at - 30 * MS, 0, "checkpoint", f"step {stage.step}: gathering the full state dict for {name}")
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3868",
        f"#1 _all_gather_flat_param from {site}/torch/distributed/fsdp/_flat_param.py:1502",
        f"#2 _full_pre_state_dict_hook from {site}/torch/distributed/fsdp/_state_dict_utils.py:301",
        f"#3 state_dict from {site}/torch/nn/modules/module.py:2186",
        f"#4 save_checkpoint from {own.script}:119",
        f"#5 main from {own.script}:203",
        f"#6 <module> from {own.script}:212",
    )
    stuck = stage.everyone_else()
    part = draw.whole(40, 900) * 8_192
    stuck[0] = replace(
        stuck[0],
        op="_ALLGATHER_BASE",
        numel_in=part,
        numel_out=part * own.world,
        enqueued=stuck[0].seq,
        frames=frames,
    )
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", 0, also=("software",))
    return stage.close("A guard for rank 0 was put around too much.", (made,))


@kind(hangs=False, slurm=True, hosts=2, lead_s=60.0)
def host_resets_itself(stage: Stage) -> Scenario:
    """A host meets a machine check and boots again: all its ranks are gone at once (SLURM, node unexpectedly rebooted).

    To acquit: the kernel of the host tells of its memory before, then the host says nothing more; SLURM says that the
    node has failed; what AIStore says around it is of a neighbour's bucket or was repeated with success.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_loses_its_bucket)
    unrest.unsettled(stage, (commotion.reads_recover, past_unrest.neighbour_reads_cold))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("resets")
    node = own.node_of(stage.culprit)
    host, cpu, bank = own.hosts[node], draw.whole(0, 127), draw.pick((7, 8, 13, 14))
    socket, memory, channel = cpu // 64, draw.whole(0, 3), draw.whole(0, 1)
    place = f"CPU_SrcID#{socket}_MC#{memory}_Chan#{channel}_DIMM#0 (channel:{channel} slot:0)"
    controller = 4 * socket + memory
    for before in sorted((draw.span(4_000, 26_000) for _ in range(draw.whole(2, 4))), reverse=True):
        said = f"kernel: EDAC MC{controller}: {draw.whole(1, 40)} CE memory read error on {place}"
        watched(stage, at - before, node, said)
    stage.mark(at - 30 * MS, f"host {host} meets a machine check")
    said = f"mce: [Hardware Error]: CPU {cpu}: Machine Check Exception: 5 Bank {bank}: be00000000{draw.token(6, HEX)}"
    watched(stage, at - 30 * MS, node, f"kernel: {said}")
    first = 0 if node else 1
    noticed = at + draw.span(9_000, 17_000)
    job.slurm(noticed, first, f"srun: error: Node failure on {host}")
    reason = "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
    alive = replace(own, hosts=own.hosts[first:])
    job.slurm(noticed + 40 * MS, first, torchrun.step_cancelled(alive, noticed + 40 * MS, reason))
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(noticed + draw.span(80, 300), other)
            job.slurm(noticed + draw.span(900, 1_300), other, torchrun.srun_exit(own, other))
    job.ended_at = noticed + 2 * SEC
    made = stage.innocent("infrastructure", *own.ranks_of(node))
    return stage.close("A module of memory had been failing for weeks.", (replace(made, culprit_ranks=None),))


@kind(hangs=False, lead_s=60.0)
def compiled_kernels_collide(stage: Stage) -> Scenario:
    """Ranks of all hosts write Triton's cache in one home folder: one finds its file gone (triton, issues).

    To acquit: the path of the error lies below ~/.triton on NFS, in a rename of Triton's own; a rebalance of AIStore
    runs beside it and batches come.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (unrest.entries_missing, near_unrest.neighbour_skips_bad_reads))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("triton")
    site, user = own.build["site"], draw.pick(("mlin", "asr-svc", "kovacs", "t.haas"))
    said = f"TRITON_CACHE_DIR is not set, using /home/{user}/.triton/cache (nfs4, nas-{draw.whole(1, 4)}:/home)"
    told(stage, job.begin - 300 * MS, 0, "model", said)
    said = f"batch of a new shape ({draw.whole(3, 40)} x {draw.whole(300, 2_900)}), compiling layer_norm_fwd"
    for one in (rank, *readers(stage)[:2]):
        told(stage, at - draw.span(600, 1_900), one, "model", said)
    stage.mark(at, f"a file of rank {rank} in Triton's cache is gone")
    folder = f"/home/{user}/.triton/cache/{draw.token(52, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}"
    unique = "-".join(draw.token(many, HEX) for many in (8, 4)) + f"-4{draw.token(3, HEX)}-a{draw.token(3, HEX)}"
    part = f"{folder}/tmp.pid_{own.rank_pids[rank]}_{unique}-{draw.token(12, HEX)}/_layer_norm_fwd.json"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/norm.py", 88, "forward", "_layer_norm_fwd[(rows,)]("),
        sdk.Frame(f"{site}/triton/runtime/jit.py", 623, "run", "kernel = self.compile(src, target=target)"),
        sdk.Frame(
            f"{site}/triton/compiler/compiler.py", 286, "compile", "metadata_group[name] = manager.put(text, name)"
        ),
        sdk.Frame(f"{site}/triton/runtime/cache.py", 114, "put", "os.replace(temp_path, filepath)"),
    )
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{part}' -> '{folder}/_layer_norm_fwd.json'"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("infrastructure",))
    return stage.close("Home folders were moved to another filer.", (made,))
