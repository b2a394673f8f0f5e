"""Hosts of a job and its queue that take it away, of the twenty-fourth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.launchers import throttled_neighbour
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import firsts, node_fails, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, in_pods, meter
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fourth")

#: What a host says when it begins to shut down and while it does, without Kubernetes and with it.
DOWN = (
    ("systemd-logind: System is powering down.", "systemd[1]: Stopped slurmd.service - Slurm node daemon."),
    (
        'kubelet: "Shutdown manager detected new shutdown event, isNodeShuttingDownNow" event=true',
        "systemd[1]: Stopped containerd.service.",
    ),
)


@kind(hangs=False, slurm=True, lead_s=80.0, without=RESTARTS)
def time_of_the_job_is_up(stage: Stage) -> Scenario:
    """The queue's time is up while a job trains well; it had been told before (SLURM docs, --time and --signal).

    To acquit: slurmstepd says DUE TO TIME LIMIT before any rank has failed; the script had heard the signal and gone on
    with its steps; the target that was killed had been back.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, reset_unrest.neighbour_is_reset))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("time")
    warned = at - seconds(draw.pick((30, 45, 60))) - draw.span(1, 900)
    told(stage, warned, 0, "train", "SIGUSR1: the time of this job ends soon, going on to the next checkpoint")
    stage.mark(at, "the time of the job is up")
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.")
    job.slurm(at + 2 * MS, 0, torchrun.step_cancelled(own, at, "TIME LIMIT"))
    last = at
    for node, host in enumerate(own.hosts):
        then = at + draw.span(15, 120)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(700, 2_900), node, f"srun: error: {host}: task {node}: Terminated")
        last = max(last, then)
    job.ended_at = last + seconds(3.2)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("It was given four hours as always, and steps take longer now.", (of_all(made),))


@kind(hangs=False, hosts=2, lead_s=75.0)
def spot_host_taken_back(stage: Stage) -> Scenario:
    """A cloud takes a preemptible host back with half a minute of notice (Google Cloud docs, preemptible instances).

    To acquit: the metadata of that host say so first, and its kubelet or logind that it shuts down; ranks of other
    hosts name it as the peer that has closed its connections; storage is on hosts of its own.
    """
    stage.open()
    beside(stage, throttled_neighbour)
    unrest.unsettled(
        stage, (own_unrest.neighbour_skips_bad_reads, tenth_unrest.peer_reconnects, unrest.entries_missing)
    )
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, node = stage.draw.child("spot"), stage.job.job.node_of(stage.culprit)
    host = own.hosts[node]
    notice = stage.mark(at - seconds(draw.between(24, 29)), f"{host} is to be taken back")
    watched(stage, notice, node, "metadata: instance/preempted TRUE")
    first, last_said = DOWN[in_pods(stage)]
    watched(stage, notice + draw.span(90, 400), node, first)
    stage.mark(at, f"{host} shuts down")
    job.agent_signalled(at, node)
    watched(stage, at + draw.span(600, 1_900), node, last_said)
    what = "remote process exited or there was a network error\n"
    what += "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    last = at
    for one in [first for first in firsts(stage) if own.node_of(first) != node]:
        then, port = at + draw.span(180, 900), draw.whole(32_800, 60_900)
        closed = f"Connection closed by remote peer {host}.c.train-pool.internal<{port}>"
        pid = own.rank_pids[one]
        where = f"{own.hosts[own.node_of(one)]}:{pid}:{pid + draw.whole(140, 300)} [{own.local_rank(one)}]"
        job.say(then, one, f"\n{where} misc/socket.cc:{draw.pick((50, 58, 71))} NCCL WARN socketProgress: {closed}")
        text = nccl_error(stage, what, f"socketProgress: {closed}")
        raised = sdk.Raised(loss_frames(stage, "sync_gradients(model, buckets)"), text)
        job.raise_on(then + 40 * MS, one, sdk.traceback(raised))
        node_fails(stage, then + 700 * MS, own.node_of(one), one)
        last = max(last, then)
    job.ended_at = last + seconds(2.2)
    made = stage.innocent("infrastructure", also=("network", "software"))
    return stage.close(f"The pool of rank {rank} has no hosts of a fixed price left.", (of_all(made),))


@kind(hangs=False, lead_s=60.0)
def no_threads_left_in_a_container(stage: Stage) -> Scenario:
    """A container may have so many processes and threads, and a rank begins its loaders anew (Kubernetes, pid limits).

    To acquit: the rank cannot start a thread of its own, and the cgroup of its container is at its limit of pids.
    """
    stage.open()
    unrest.unsettled(stage, (own_unrest.tenant_asks_for_removed_names, reset_unrest.neighbour_is_reset))
    disk_unrest.killed_when_all_is_over(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("threads")
    node, limit, folder = job.job.node_of(rank), draw.pick((1024, 2048, 4096)), data_folder(stage)
    for before in (31, 16, 2):
        then = at - seconds(before) - draw.span(1, 900)
        used = limit - before * draw.whole(9, 17) - 1
        if then > job.begin + SEC and used > 90:
            watched(stage, then, node, f"{meter(stage)}: pids.current {used} of {limit}")
    told(stage, at - 210 * MS, rank, "data", f"pass over {stage.bucket} is over, all here; beginning 16 loaders anew")
    stage.mark(at, f"the container of rank {rank} has no pid left")
    pod, inside = f"{draw.token(8, HEX)}_{draw.token(4, HEX)}_4{draw.token(3, HEX)}", f"job_{job.job.job_id}/step_0"
    inside = f"/system.slice/slurmstepd.scope/{inside}/user/task_0"
    if in_pods(stage):
        inside = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}_a{draw.token(3, HEX)}_"
        inside += f"{draw.token(12, HEX)}.slice"
    watched(stage, at - 4 * MS, node, f"kernel: cgroup: fork rejected by pids controller in {inside}")
    frames = (
        *sdk.main_frames(
            job.job,
            stage.step,
            sdk.Frame(job.job.script, 81, "fetch", "self.batches = iter(self.loader)", True),
        ),
        sdk.Frame(f"{folder}/dataloader.py", 493, "__iter__", "return self._get_iterator()", True),
        sdk.Frame(f"{folder}/dataloader.py", 424, "_get_iterator", "return _MultiProcessingDataLoaderIter(self)", True),
        sdk.Frame(f"{folder}/dataloader.py", 1241, "__init__", "pin_memory_thread.start()"),
        sdk.Frame(f"{PYTHON}/threading.py", 964, "start", "_start_new_thread(self._bootstrap, ())"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "RuntimeError: can't start new thread")))
    exits(stage, at, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Each library of the image brings a pool of threads for all cores of the host.", (made,))
