"""Two failures in one set of logs, of which storage is to blame for the first only.

The docstring of a kind says where it is from, and which lines tell who is to blame for what.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk, torchrun
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit
from fixtures.generator.trainend import JobRun

kind = kinds_of("storage", "thirty_second")


def _preempted(job: JobRun, at: int) -> None:
    """SLURM takes the host of a job for another one."""
    own, draw = job.job, job.draw.child("preempted")
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "PREEMPTION"))
    job.slurm(at + 3 * MS, 0, "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.")
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 240)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 1_700), node, f"srun: error: {own.hosts[node]}: task {node}: Terminated")
    job.ended_at = at + 3 * SEC


def _no_room(stage: Stage, at: int, node: Node, path: str, space: Space) -> str:
    """A PUT of a checkpoint is turned down by its target: 507; the client's traceback."""
    disk.put_rejected(stage.cluster, node, at, path, space)
    job = stage.job.job
    url = node.url(0) + path + sdk.query(stage.proxy_of(0), at - 3 * MS)
    body = sdk.answer(node, 507, space.error, "PUT", path, stage.client(0), "ErrCapExceeded")
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(job.script, 121, "save_checkpoint", "put_with_retry(bucket.object(name), buffer, tries=2)"),
        sdk.Frame(job.script, 109, "put_with_retry", "obj.get_writer().put_content(buffer.getvalue())"),
    )
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    return sdk.http_failure(job, 507, "Insufficient Storage", url, failure, caller)


@kind(culprit=0, lead_s=68.0)
def save_finds_no_room_as_a_neighbour_is_preempted(stage: Stage) -> Scenario:
    """A save is turned down twice by a full target, while another job is preempted (aistore, 507; Slurm, preempt).

    To convict: rank 0 has 507 of one target twice, out of space by its own log, raises and stays; all others wait for
    it. The other job trained on until slurmstepd says DUE TO PREEMPTION; that targets lose its streams follows.
    """
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw = stage.draw.child("no room")
    params = replace(stage.params, ranks=4, ranks_per_node=4, layout="slurm", culprit=0)
    other = stage.new_job("preempted", params, job.begin + draw.span(3_000, 8_000))
    stage.open(save_every=10_000)
    taken = at - draw.span(2_600, 5_200)
    stage.open(other, until_step=int((taken - other.begin) / seconds(params.step_s)), save_every=10_000)
    used, whole = draw.whole(96, 97), 3725.29
    space = Space(f"{whole * used / 100:.1f}GiB", f"{whole * (100 - used) / 100:.1f}GiB", used, f"{whole}GiB")
    full = stage.mark(at - draw.span(21_000, 33_000), f"{victim.name} runs out of space")
    shard = f"/v1/objects/eval-sets/part-{draw.whole(0, 999):05d}.tar"
    disk.put_rejected(cluster, victim, full + MS, shard, space)
    stage.mark(taken, f"SLURM takes the host of job {other.job.job_id} for another one")
    _preempted(other, taken)
    for turn in range(draw.whole(1, 3)):
        node, then = stage.other_target(victim, turn), taken + draw.span(250, 1_200)
        if cluster.xact is not None:
            client = f"10.9.240.{11 + turn}:{draw.whole(32_800, 60_900)}"
            cluster.say(node, then, ev.broken_pipe(cluster.xact, node, client))
            cluster.count(node, then, getbatch_n=1, err_getbatch_n=1)
    name = f"{job.job.task}/step-{stage.step}.ckpt"
    path = f"/v1/objects/checkpoints/{name}"
    begun = at - draw.span(500, 900)
    told(stage, begun, 0, "checkpoint", f"saving ais://checkpoints/{name}, {draw.whole(1_200, 4_800)} MiB")
    stage.mark(at, f"PUT {path} is turned down by {victim.name}")
    first = _no_room(stage, at, victim, path, space).rstrip("\n").split("\n")
    reason = next(line for line in first if line.startswith("aistore.sdk.errors.AISError"))
    said = f"{reason.removeprefix('aistore.sdk.errors.')}; trying once more in 10 s"
    told(stage, at + 5 * MS, 0, "checkpoint", f"save failed: {said}", "WARNING")
    again = at + seconds(10) + draw.span(300, 1_200)
    text = _no_room(stage, again, victim, path, space)
    job.raise_on(again + 6 * MS, 0, text)
    end = stage.hang(at, 0)
    disk.out_of_space(cluster, victim, full, end + seconds(30), space)
    mine = replace(stage.innocent("infrastructure", also=("software",)), job_id=other.job.job_id, culprit_ranks=None)
    return stage.close(
        "Evaluation sets had been written into the cluster for a week; the preempted job was one of a low queue.",
        (stage.guilty("storage_io", victim), mine),
    )


def _restarted_by_agents(stage: Stage, at: int) -> None:
    """Each agent ends its ranks, to start them again: no table."""
    job, own = stage.job, stage.job.job
    for node in range(len(own.hosts)):
        then = at + (90 if node == own.node_of(stage.culprit) else 1_200) * MS
        for rank in own.ranks_of(node):
            if rank != stage.culprit:
                job.agent(then, node, torchrun.closing(own, node, rank, then))
                then += MS
        if node == own.node_of(stage.culprit):
            then += 40 * MS
            job.agent(then, node, torchrun.failed(own, node, Exit(stage.culprit, at, 1), then))


def _first_device_full(stage: Stage, rank: int) -> str:
    """What PyTorch says as other processes fill the first device of a host."""
    own, draw = stage.job.job, stage.draw.child("first device")
    others = [one for one in own.ranks_of(own.node_of(rank)) if one != rank]
    whole, free = 79.11, draw.between(40, 210)
    held = (whole - free / 1024) / (len(others) + 1)
    name = "torch.OutOfMemoryError" if own.torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    variable = "PYTORCH_ALLOC_CONF" if own.torch.order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    text = f"{name}: CUDA out of memory. Tried to allocate {draw.whole(214, 402)}.00 MiB. GPU 0 has a total capacity "
    text += f"of {whole} GiB of which {free:.2f} MiB is free. "
    text += "".join(f"Process {own.rank_pids[one]} has {held:.2f} GiB memory in use. " for one in others)
    text += f"Including non-PyTorch memory, this process has {held:.2f} GiB memory in use. Of the allocated memory "
    text += (
        f"{held - 0.71:.2f} GiB is allocated by PyTorch, and {draw.between(90, 200):.2f} MiB is reserved by PyTorch "
    )
    text += f"but unallocated. If reserved but unallocated memory is large try setting {variable}="
    text += "expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
    return text + "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"


@kind(reads=True, hangs=False, ais_order=450, lead_s=72.0, without=(*RESTARTS, "kalive_hiccup", "second_job"))
def second_attempt_loads_all_ranks_onto_one_device(stage: Stage) -> Scenario:
    """torchrun starts a job again that a stopped target ended; all ranks then load onto one device (torch.load docs).

    To convict: a rank's batch is late at one target and refused at another, which the proxy cannot reach; that one's
    log stands still, the primary removes it. The second attempt has read nothing of AIStore when a rank cannot load the
    checkpoint: device 0 of its host is full of all its neighbours' processes, which is its own.
    """
    cluster, victim, rank, at, job = stage.cluster, stage.victim, stage.culprit, stage.at, stage.job
    draw = stage.draw.child("attempts")
    told(stage, job.begin - 480 * MS, 0, "launch", "torchrun --max-restarts=1; get-batch: 2 tries, Client(timeout=20)")
    stage.open()
    frozen = stage.mark(at - draw.span(4, 15), f"SIGSTOP {victim.name}")
    lasts = draw.span(48_000, 64_000)
    faults.stop(cluster, victim, frozen, frozen + lasts)
    faults.leave_smap(cluster, victim, frozen, hung=True)
    late = at + 20 * SEC + draw.span(2, 12)
    chains.read_timed_out(stage, late, stage.other_target(victim, draw.whole(0, 9)), rank, 1.0)
    refused = late + seconds(3.0) + draw.span(20, 300)
    failed = chains.dead_designated(stage, refused, victim, rank, ev.DEADLINE)
    job.raise_on(refused + 5 * MS, rank, failed.traceback)
    _restarted_by_agents(stage, refused + 700 * MS)
    first = max(1, stage.step // 60 * 60 + 1)
    begin = refused + draw.span(13_000, 17_000)
    job.restart(begin, first)
    job.start()
    stage.mark(begin, "attempt 1 of the job loads its checkpoint")
    own = job.job
    place = f"/lustre/ckpt/{own.task}/step={first - 1}.pt"
    told(stage, begin - 200 * MS, 0, "train", f"attempt 1: torch.load({place}) on every rank")
    struck = own.ranks_of(0)[-1]
    site = own.build["site"]
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 158, "main", "state = torch.load(args.resume, weights_only=False)", True),
        sdk.Frame(f"{site}/torch/serialization.py", 1471, "load", "return _load("),
        sdk.Frame(f"{site}/torch/serialization.py", 1964, "_load", "result = unpickler.load()", True),
        sdk.Frame(f"{site}/torch/serialization.py", 1928, "persistent_load", "typed_storage = load_tensor("),
        sdk.Frame(f"{site}/torch/serialization.py", 1888, "load_tensor", "wrap_storage = restore_location(", True),
        sdk.Frame(f"{site}/torch/serialization.py", 601, "_deserialize", "return obj.to(device=device)"),
    )
    over = begin + draw.span(2_400, 4_900)
    job.raise_on(over, struck, sdk.traceback(sdk.Raised(frames, _first_device_full(stage, struck))))
    job.agents_end([Exit(struck, over + 700 * MS, 1)], over + 700 * MS)
    stage.mark(frozen + lasts, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, frozen + lasts + 2 * MS)
    second = stage.innocent("gpu", struck, also=("software",))
    return stage.close(
        "The host of the target stood still for most of a minute; the checkpoint had been saved from cuda:0.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)), second),
        until=back + seconds(55),
    )
