"""Hosts, pods and limits that end a job which reads by AIStore's clients, of the twenty-eighth part.

Storage is innocent. The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed, loader_name, meter
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import torchrun
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_eighth")

#: What requests says of an answer whose connection is reset in its middle.
RESET = "ConnectionResetError(104, 'Connection reset by peer')"
BROKEN = f'("Connection broken: {RESET}", {RESET})'


@kind(reads=True, hangs=False, lead_s=75.0)
def whole_shards_read_at_once_fill_a_host(stage: Stage) -> Scenario:
    """Each loader reads its next shards whole by read_all, and the host's memory is used up (exitcode -9, oom_kill).

    To acquit: the cgroup of the job's host fills as shards are read, one after the other and in seconds, and the kernel
    ends the rank; a target is short of memory too, and serves.
    """
    stage.open()
    beside(stage, eighth_unrest.memory_is_low)
    unrest.unsettled(stage, (tunrest.readers_resume, tunrest.withdrawn_left_out, unrest.connects_repeated))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("shards")
    node, limit, loaders = own.node_of(rank), draw.pick((200.0, 360.0, 480.0)), draw.pick((8, 12, 16))
    told(stage, job.begin - 390 * MS, 0, "data", f"{loaders} loaders a rank, prefetch_factor=4, read_all of each shard")
    began = stage.mark(at - draw.span(13_000, 19_000), f"the memory of {own.hosts[node]} begins to be used up")
    for turn in range(1, 6):
        share, then = 0.47 + 0.1 * turn, began + (at - began) * turn // 6
        size = draw.whole(3_000, 7_900) << 20
        took = draw.between(2.1, 4.9)
        one = draw.pick(stage.cluster.up(then))
        stage.cluster.count(one, then - 40 * MS, get_n=1, get_size=size, get_ns_total=seconds(took))
        said = f"shards/train-{draw.whole(0, 900):06d}.tar: {size} of {size} bytes by read_all, {took:.1f} s"
        told(stage, then - 39 * MS, rank, "shards", said)
        watched(stage, then, node, f"{meter(stage)}: memory.current {limit * share:.1f}G, memory.max {limit:.1f}G")
    rss = int(limit * (1 << 20) / min(8, own.ranks_per_node) * draw.between(0.8, 0.95))
    said = f"kernel: Memory cgroup out of memory: Killed process {own.rank_pids[rank]} (python3) "
    said += f"total-vm:{rss + 91_750_400}kB, anon-rss:{rss}kB, file-rss:188416kB, shmem-rss:{rss // 7}kB, UID:0"
    watched(stage, at - 14 * MS, node, said)
    job.agents_end([Exit(rank, at + 30 * MS, -9)], at + 30 * MS, {node: torchrun.oom_lines(own, node)})
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("Shards of the new set are ten times as large.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def decoder_of_a_loader_segfaults(stage: Stage) -> Scenario:
    """A library that decodes audio ends a loader process (torchaudio and stable-audio-tools issues, segfault).

    To acquit: the kernel names the library, the recording had come whole, and its batch with it; readers that had to
    resume have read their shards whole.
    """
    stage.open()
    beside(stage, tunrest.readers_resume)
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("decoder")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(50, 400)
    library, ending = draw.pick((("libmpg123.so.0.47.0", "mp3"), ("libopusfile.so.0.4.5", "opus")))
    name, size = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.{ending}", draw.whole(90_000, 900_000)
    told(stage, at - 90 * MS, rank, "dataset", f"batch {stage.step}: 32 of 32 recordings here, decoding in loader 1")
    told(stage, at - 60 * MS, rank, "dataset", f"{name}: {size} of {size} bytes, decoding")
    stage.mark(at - 25 * MS, f"a loader of rank {rank} crashes as it decodes")
    job.say(at - 25 * MS, rank, "ERROR: Unexpected segmentation fault encountered in worker.")
    place, stack = draw.token(5, HEX), draw.token(8, HEX)
    where = f"ip 00007f{place}2{draw.token(4, HEX)} sp 00007ffc{stack} error 4 in {library}[7f{place}00000+4c000]"
    said = f"kernel: {loader_name(stage)}[{pid}]: segfault at {draw.pick(('0', '18', '7f40'))} {where}"
    watched(stage, at - 12 * MS, node, said)
    loader_killed(stage, at, rank, pid, "Segmentation fault")
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "infrastructure", "data_loading_stall"))
    return stage.close("The image has an old build of that library.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0, without=RESTARTS)
def pod_gives_its_place_to_another(stage: Stage) -> Scenario:
    """The scheduler of Kubernetes ends a pod for one of higher priority, and its job with it (docs, Preempted by pod).

    To acquit: the event names the pod that has its place before any rank fails; steps go on until then; a rebalance
    that an operator has begun has the disks busy, and batches come.
    """
    name = f"{stage.job.job.task.replace('_', '-')}-{stage.draw.child('place').token(5, LOWER)}"
    stage.job.job = replace(stage.job.job, layout="kubectl", job_id=name)
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, eighth_unrest.tenant_panics))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("preempted")
    node = own.node_of(stage.culprit)
    stage.mark(at, f"the pod on {own.hosts[node]} is preempted")
    parts = (
        draw.token(8, HEX),
        draw.token(4, HEX),
        f"4{draw.token(3, HEX)}",
        f"a{draw.token(3, HEX)}",
        draw.token(12, HEX),
    )
    head = f"k8s-events: ml-train Pod/{name}-worker-{node} Normal"
    job.agent(at, node, f"{head} Preempted Preempted by pod {'-'.join(parts)} on node {own.hosts[node]}")
    job.agent(at + 30 * MS, node, f"{head} Killing Stopping container pytorch")
    job.agent_signalled(at + draw.span(90, 400), node)
    over = at + draw.span(1_900, 3_400)
    said = f"k8s-events: ml-train PyTorchJob/{name} Warning PyTorchJobFailed pod {name}-worker-{node} was deleted"
    job.agent(over, 0, said)
    for host in range(len(own.hosts)):
        if host != node:
            job.agent_signalled(over + draw.span(200, 900), host)
    job.ended_at = over + 2 * SEC
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("The service that answers users needed one more host.", (of_all(made),))


def _reset_again_and_again(stage: Stage, rank: int, began: int, name: str, turns: int) -> int:
    """A reader of this rank loses its stream so often and resumes it; when it loses it once more."""
    draw, then = stage.draw.child("reset", rank), began
    for turn in range(1, turns + 1):
        said = f"Resuming 'objects/{stage.bucket}/{name}' after {BROKEN} ({turn}/5)"
        borrowers.own_line(stage, then, rank, "WARNING", said)
        then += draw.span(500, 1_600)
    return then


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def own_firewall_resets_large_streams(stage: Stage) -> Scenario:
    """A host takes late segments of large answers for invalid and resets its own connections (kubernetes#74839).

    To acquit: the kernel of that host says so, and counts the resets that it sends itself; readers of its ranks alone
    are cut off, whichever target they read from; all other hosts read on.
    """
    stage.open()
    unrest.unsettled(
        stage, (unrest.entries_missing, tunrest.cold_reads_polled, upload_unrest.neighbour_loses_its_bucket)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("firewall")
    node = own.node_of(rank)
    began = stage.mark(at - draw.span(7_000, 9_500), f"the firewall of {own.hosts[node]} takes streams for invalid")
    name, sent = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.whole(20, 90)
    over = _reset_again_and_again(stage, rank, began + 400 * MS, name, 5)
    for one in [one for one in own.ranks_of(node) if one != rank][:3]:
        other = f"shards/train-{draw.whole(0, 4095):06d}.tar"
        _reset_again_and_again(stage, one, began + draw.span(300, 3_000), other, draw.whole(2, 4))
    for turn in range(4):
        then, source = began + (over - began) * turn // 4, draw.pick(stage.cluster.targets)
        said = f"SRC={source.address} DST=10.9.{node % 250}.17 PROTO=TCP SPT={source.ports[0]}"
        head = "kernel: nf_ct_proto_6: SEQ is over the upper bound (over the window of the receiver) IN= OUT="
        watched(stage, then, node, f"{head} {said}")
        sent += draw.whole(30, 190)
        watched(stage, then + 90 * MS, node, f"nstat: TcpOutRsts {sent}, conntrack -S: invalid={sent * 3}")
    borrowers.resumed_too_often(stage, over, rank, BROKEN)
    exits(stage, over, rank)
    made = stage.innocent("network", rank, also=("infrastructure", "data_loading_stall", "storage_io"))
    return stage.close("A rule that drops what is invalid came with a new image of the hosts.", (made,))


@kind(hangs=False, slurm=True, lead_s=60.0)
def hour_of_the_queue_strikes_amid_fallbacks(stage: Stage) -> Scenario:
    """The job has used up its time in the queue while its clients warn of this and that (SLURM: DUE TO TIME LIMIT).

    To acquit: SLURM itself says why it ends the step; ranks train up to then, and each warning of a client has come to
    a good end.
    """
    stage.open()
    beside(stage, tunrest.batches_fall_back)
    beside(stage, tunrest.readers_resume)
    unrest.unsettled(stage, (tunrest.withdrawn_left_out, commotion.throttled_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("hour")
    hours, told_at = draw.pick((4, 8, 12, 24)), job.begin - 800 * MS
    spent = hours * 3600 - (at - told_at) // SEC
    clock = f"{spent // 3600:02d}:{spent // 60 % 60:02d}:{spent % 60:02d}"
    told(stage, told_at, 0, "launch", f"squeue: {clock} of {hours:02d}:00:00 used, resumed from the last checkpoint")
    stage.mark(at, f"the time of job {own.job_id} is over")
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "TIME LIMIT"))
    job.slurm(at + 3 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 260)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 1_800), node, f"srun: error: {own.hosts[node]}: task {node}: Terminated")
    job.ended_at = at + 3 * SEC
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("The loop of the script does not look at the clock.", (of_all(made),))
