"""Faults of launchers, schedulers and what they bind, of the sixteenth part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aischores, aislosses, sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "sixteenth")
stored = kinds_of("storage", "sixteenth")


def _aborted(stage: Stage, at: int) -> int:
    """srun gives a step up; when it is over."""
    job = stage.job
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 40 * MS, 0, torchrun.step_cancelled(job.job, at + 40 * MS))
    job.ended_at = at + seconds(2)
    return job.ended_at


@kind(hangs=False, trains=False, slurm=True)
def processors_outside_of_the_step(stage: Stage) -> Scenario:
    """A step inherits a binding of another allocation: srun cannot satisfy it (datatrove#248, dagster-slurm#64)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("binding")
    at = stage.mark(job.begin - draw.span(900, 4_000), "a step is to be bound to processors that it has not")
    mask = f"0x{draw.token(4, HEX)}{'0' * 12}{draw.token(4, HEX)}{'0' * 12}"
    hosts = range(min(len(own.hosts), draw.whole(1, 4)))
    for host in hosts:
        told = f"srun: error: CPU binding outside of job step allocation, allocated CPUs are: {mask}."
        job.slurm(at + host * 3 * MS, 0, told)
    why = "Unable to satisfy cpu bind request"
    for host in hosts:
        told = f"srun: error: Task launch for StepId={own.job_id}.0 failed on node {own.hosts[host]}: {why}"
        job.slurm(at + (20 + host) * MS, 0, told)
    job.slurm(at + 40 * MS, 0, f"srun: error: Application launch failed: {why}")
    over = _aborted(stage, at + 60 * MS)
    made = replace(stage.innocent("infrastructure", also=("software",)), culprit_ranks=None)
    return stage.close("The job was submitted out of a shell of another job.", (made,), until=over)


PMI = """--------------------------------------------------------------------------
The application appears to have been direct launched using "srun",
but OMPI was not built with SLURM's PMI support and therefore cannot
execute. There are several options for building PMI support under
SLURM, depending upon the SLURM version you are using:

  version 16.05 or later: you can use SLURM's PMIx support. This
  requires that you configure and build SLURM --with-pmix.

  Versions earlier than 16.05: you must use either SLURM's PMI-1 or
  PMI-2 support. SLURM builds PMI-1 by default, or you can manually
  install PMI-2. You must then build Open MPI using --with-pmi pointing
  to the SLURM PMI library location.

Please configure as appropriate and try again.
--------------------------------------------------------------------------
*** An error occurred in MPI_Init
*** on a NULL communicator
*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
***    and potentially your MPI job)"""


@kind(hangs=False, trains=False, slurm=True)
def launched_without_pmi(stage: Stage) -> Scenario:
    """A program that asks MPI for its ranks is started by srun without PMI (NVIDIA-NeMo/Speech#10997, ompi PR 3778)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("pmi")
    at = stage.mark(job.begin - draw.span(900, 3_000), "MPI of the image and the scheduler do not know each other")
    for host in range(min(len(own.hosts), 8)):
        rank, then = own.ranks_of(host)[0], at + draw.span(1, 120)
        ended = (
            f"[{own.hosts[host]}:{own.rank_pids[rank]}] Local abort before MPI_INIT completed completed successfully, "
        )
        ended += "but am not able to aggregate error messages, and not able to guarantee that all other processes were "
        job.say(then, rank, f"{PMI}\n{ended}killed!")
        job.slurm(then + 300 * MS, host, torchrun.srun_exit(own, host))
    over = _aborted(stage, at + 700 * MS)
    made = replace(stage.innocent("software", also=("infrastructure",)), culprit_ranks=None)
    return stage.close("The option that names the flavour of MPI was lost in the new script.", (made,), until=over)


@kind(hangs=False, trains=False, hosts=2)
def host_not_reached_by_ssh(stage: Stage) -> Scenario:
    """A launcher wants to reach every host by ssh, and one asks for a password (DeepSpeed#4907, #579)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("ssh")
    at, site = job.begin - draw.span(900, 3_000), stage.job.job.build["site"]
    host = own.hosts[0]
    stage.mark(at, f"{host} cannot be reached by ssh without a password")
    said = f"[{comma_stamp(at - 900 * MS, own.zone)}] [INFO] [real_accelerator.py:161:get_accelerator] "
    job.agent(at - 900 * MS, 0, f"{said}Setting ds_accelerator to cuda (auto detect)")
    command, runner = f"ssh -o PasswordAuthentication=no {host} hostname", f"{site}/deepspeed/launcher/runner.py"
    first = sdk.Raised(
        (
            sdk.Frame(runner, 437, "main", "subprocess.check_call(safe_ssh_cmd, stderr=subprocess.DEVNULL,"),
            sdk.Frame(f"{PYTHON}/subprocess.py", 413, "check_call", "raise CalledProcessError(retcode, cmd)"),
        ),
        f"subprocess.CalledProcessError: Command '{command}' returned non-zero exit status 255.",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(f"{own.build['bin']}/deepspeed", 6, "<module>", "main()"),
        sdk.Frame(runner, 440, "main", "raise RuntimeError("),
    )
    text = (
        f"RuntimeError: Using hostfile at /job/hostfile but host={host} was not reachable via ssh. If you are running "
    )
    text += "with a single node please remove /job/hostfile or setup passwordless ssh."
    job.agent(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))
    job.ended_at = at + seconds(1.5)
    made = replace(stage.innocent("infrastructure", also=("network", "software")), culprit_ranks=None)
    return stage.close("Keys were made anew with the image of the hosts.", (made,), until=job.ended_at)


def _low_on_memory(stage: Stage, rank: int) -> str:
    """What Ray tells the driver of a worker that it has killed, and of those who have most of the memory."""
    own, draw = stage.job.job, stage.draw.child("low on memory")
    node, worker = draw.token(56, HEX), draw.token(56, HEX)
    address, whole = f"10.9.{own.node_of(rank) % 250}.{draw.whole(2, 250)}", draw.pick((503.5, 755.3, 1007.6))
    share = draw.between(0.9501, 0.9568)
    held = f"{whole * share:.2f}GB / {whole:.2f}GB ({share:.6f})"
    told = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    told += f"Memory on the node (IP: {address}, ID: {node}) where the task (actor ID: {draw.token(24, HEX)}01000000, "
    told += f"name=RayTrainWorker.__init__, pid={own.rank_pids[rank]}, memory used={draw.between(30, 120):.2f}GB) was "
    told += (
        f"running was {held}, which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: {worker}) "
    )
    told += "because it was the most recently scheduled task; to see more information about memory usage on this node, "
    told += (
        f"use `ray logs raylet.out -ip {address}`. To see the logs of the worker, use `ray logs worker-{worker}*out "
    )
    told += f"-ip {address}. Top 10 memory users:\nPID\tMEM(GB)\tCOMMAND"
    for one in own.ranks_of(own.node_of(rank)):
        each = whole * share / own.ranks_per_node - draw.between(0.4, 9)
        told += f"\n{own.rank_pids[one]}\t{each:.2f}\tray::RayTrainWorker._RayTrainWorker__execute"
    told += "\nRefer to the documentation on how to address the out of memory issue: "
    return told + "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html."


@kind(hangs=False, lead_s=70.0)
def ray_ends_a_worker_for_memory(stage: Stage) -> Scenario:
    """Ray watches the memory of a host and kills a worker of the job (OpenRLHF#911, #936; Ray docs, OOM prevention)."""
    stage.open()
    beside(stage, commotion.tenant_backend_fails)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.throttled_in_window))
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, site = stage.draw.child("ray"), stage.job.job.build["site"]
    stage.mark(at, f"Ray kills the worker of rank {rank} for the memory of its host")
    frames = (
        sdk.Frame(f"{site}/ray/train/_internal/worker_group.py", 264, "execute", "return ray.get(self.execute_async("),
        sdk.Frame(f"{site}/ray/_private/worker.py", 2667, "get", "values, debugger_breakpoint = worker.get_objects("),
        sdk.Frame(f"{site}/ray/_private/worker.py", 866, "get_objects", "raise value"),
    )
    over = at + draw.span(300, 1_900)
    job.agent(over, 0, sdk.traceback(sdk.Raised(frames, _low_on_memory(stage, rank))))
    job.agents_end([Exit(rank, at + 20 * MS, -9)], at + 20 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("Each rank keeps a copy of all it has asked for.", (made,))


def _store_gave_up(stage: Stage, over: int, waited: int) -> None:
    """Agents that wait for the last host give up; those that asked the first one are hung up on."""
    job, own = stage.job, stage.job.job
    hosts, module = len(own.hosts), f"{own.build['site']}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py"
    frames = (
        sdk.Frame(f"{own.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(module, 67, "next_rendezvous", "self._store = TCPStore("),
    )
    late = f"Timed out after {waited} seconds waiting for clients. {hosts - 1}/{hosts} clients joined."
    job.agent(over, 0, sdk.traceback(sdk.Raised(frames, f"torch.distributed.DistStoreError: {late}")))
    gone = "RuntimeError: Connection reset by peer"
    if own.torch.order >= 205:
        gone = "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the "
        gone += "remote server shutdown or crash?"
    for node in range(1, hosts - 1):
        job.agent(over + 40 * MS, node, sdk.traceback(sdk.Raised(frames, gone)))
    job.slurm(over + seconds(1), 0, torchrun.srun_exit(own, 0))
    job.slurm(over + seconds(1.1), 0, torchrun.step_cancelled(own, over + seconds(1.1)))
    job.ended_at = over + seconds(2)


@stored(hangs=False, trains=False, hosts=2, uptime=True, without=DISKS)
def host_stages_for_too_long(stage: Stage) -> Scenario:
    """A host fetches its part of a corpus before it starts, from a slow disk: it never joins (OpenRLHF#1040)."""
    cluster, victim, job, own = stage.cluster, stage.victim, stage.job, stage.job.job
    draw, waited, last = (
        stage.draw.child("stages"),
        stage.draw.child("waited").pick((301, 601, 901)),
        len(own.hosts) - 1,
    )
    began = job.begin
    over = began + seconds(waited) + draw.span(100, 700)
    slow = stage.mark(began - draw.span(900, 9_000), f"a disk of {victim.name} does a hundredth of what it did")
    aislosses.disk_slows(cluster, victim, slow, over + seconds(30), draw.child("disk"))
    for node in range(len(own.hosts)):
        then, many = began - draw.span(9_000, 14_000), draw.whole(24, 60)
        where = f"ais://{stage.bucket}/parts/{node:04d}"
        job.agent(then, node, f"prepare: {where}: {many} files to /local/{own.task}")
        if node != last:
            spent, size = draw.span(4_000, 8_000), many * draw.whole(200, 500) << 20
            holder = stage.other_target(victim, node)
            cluster.count(holder, then + spent, get_n=many, get_ns_total=spent * 4, get_size=size)
            job.agent(then + spent, node, f"prepare: {many} of {many} files, {spent / SEC:.1f} s")
            for text in torchrun.omp_banner(own, node, then + spent + 900 * MS):
                job.agent(then + spent + 900 * MS, node, text)
            continue
        done = 0
        while then < over - seconds(40):
            then, done = then + draw.span(28_000, 61_000), min(many - 1, done + draw.whole(0, 1))
            job.agent(then, node, f"prepare: {done} of {many} files, {(then - began) / SEC + 11.4:.0f} s")
    _store_gave_up(stage, over, waited)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "rank_hang", "network"))
    return stage.close(
        "The part of that host lies on one target, for its files were written in one go.",
        (replace(made, culprit_ranks=None),),
        until=job.ended_at,
    )


@stored(culprit=0, hangs=False, trains=False, min_timeout_s=90, uptime=True)
def first_rank_fetches_a_cold_corpus(stage: Stage) -> Scenario:
    """Rank 0 fetches what others wait for, each file comes from the cloud first (NVIDIA/nccl#708; gpt-neox PR 39)."""
    cluster, job, own = stage.cluster, stage.job, stage.job.job
    draw, site = stage.draw.child("cold corpus"), own.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(1_500, 3_900), "rank 0 fetches files that are in the cloud only")
    over, many = over_at(stage) + at - stage.at, draw.whole(40, 96)
    job.note(at - 100 * MS, 0, f"s3://{stage.bucket}/tables: {many} files, preparing on rank 0", line=91)
    then, done = at, 0
    while then < over + SEC:
        node, spent, size = cluster.target(draw.whole(0, 99)), draw.span(17_000, 41_000), draw.whole(120, 480) << 20
        aischores.restored_whole(cluster, node, then, spent, size)
        then, done = then + spent, done + 1
        if then < over - SEC:
            percent = 100 * done // many
            whole = (then - at) / SEC
            clock = f"{int(whole) // 60:02d}:{int(whole) % 60:02d}"
            bar = f"{percent:3d}%|{'#' * (percent // 10):<10}| {done}/{many} [{clock}, {whole / done:.2f}s/files]"
            job.say(then, 0, f"\rDownloading data: {bar}", newline=False)
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4622",
        f"#1 main_process_first from {own.script}:74",
        f"#2 main from {own.script}:171",
        f"#3 <module> from {own.script}:212",
    )
    stuck = {rank: Work(2, "ALLREDUCE", 1, 1, 2, 1, frames) for rank in range(1, own.world)}
    stage.mark(job.hang(at, stuck, (0,), {0: 1}), f"job {own.job_id} has ended")
    made = stage.guilty("data_loading_stall", also=("storage_io", "rank_hang", "software"))
    return stage.close(
        "The bucket was attached this morning, and nobody has prefetched it.", (replace(made, ais_nodes=None),)
    )
