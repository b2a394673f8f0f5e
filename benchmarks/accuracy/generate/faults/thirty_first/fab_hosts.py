"""Hosts without power, schedulers and addresses that end a job; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_first")

#: How long torchrun waits for a process that it has sent SIGTERM, in seconds.
PATIENCE_S = 30


def _silent_from(stage: Stage, node: int, at: int) -> None:
    """Nothing of a host is written any more, neither lines nor dumps."""
    job = stage.job
    job.lines = [line for line in job.lines if line.node != node or line.at < at]
    if isinstance(stage, Scene):
        lost = tuple(dict.fromkeys((*stage.setting.lost_dumps, *job.job.ranks_of(node))))
        stage.setting = replace(stage.setting, lost_dumps=lost)


@kind(hosts=2, lead_s=60.0, without=("teardown_noise",))
def host_loses_its_power_in_a_step(stage: Stage) -> Scenario:
    """A host has no power from one moment on, all others wait for its ranks (Slurm docs, Node failure; IPMI, AC lost).

    To acquit: no line of that host is younger than the last step, not even its agent's, as all other ranks time out;
    its management controller tells of its supplies; batches that failed before were served. SEL's wording from memory.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("power")
    node = max(1, own.node_of(stage.culprit))
    ranks, host = tuple(own.ranks_of(node)), own.hosts[node]
    stage.mark(at - 30 * MS, f"{host} loses its power")
    end = stage.hang(at, *ranks)
    _silent_from(stage, node, at - 30 * MS)
    told_at = at + draw.span(19_000, 45_000)
    for turn, supply in enumerate(("PSU1", "PSU2")):
        said = f"bmc of {host}: sel: Power Supply {supply} | Power Supply AC lost | Asserted"
        watched(stage, told_at + turn * MS, 0, said)
    job.slurm(end + seconds(0.4), 0, f"srun: error: Node failure on {host}")
    made = stage.innocent("infrastructure", *ranks, also=("network",))
    return stage.close("The breaker of a rail of that rack was at its limit.", (made,))


def _terminated(stage: Stage, at: int, node: int, stays: int | None) -> int:
    """SLURM ends a host's agent; a rank that does not end is killed half a minute later. When the agent is through."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("terminated", node)
    *said, last = torchrun.death_signal(own, node, at)
    for text in said:
        job.agent(at, node, text)
    over = at + draw.span(300, 900)
    if stays is not None:
        over = at + PATIENCE_S * SEC + draw.span(3, 40)
        number = torchrun.since(torchrun.API_LINES, own.torch.order)[0] + 16
        text = f"Unable to shutdown process {own.rank_pids[stays]} via SIGTERM, forcefully exiting via SIGKILL"
        job.agent(over, node, torchrun.agent_line(own, node, over, "W", number, text))
    job.agent(over + 90 * MS, node, last)
    job.slurm(over + draw.span(200, 700), node, f"srun: error: {own.hosts[node]}: task {node}: Terminated")
    return over


@kind(hangs=False, slurm=True, lead_s=60.0)
def preemption_cuts_a_save_to_the_cluster(stage: Stage) -> Scenario:
    """A preempted job saves to AIStore as SIGTERM comes, and is killed in the middle (Slurm docs, preempt; torchrun).

    To acquit: slurmstepd says DUE TO PREEMPTION first, rank 0 has begun to save for that reason and torchrun kills it
    half a minute later; only then a target finds the body of the PUT cut, the loudest error and a consequence.
    """
    stage.open()
    beside(stage, tunrest.batches_fall_back)
    unrest.unsettled(stage, (commotion.rebalance_running, commotion.tenant_meets_bad_data))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("preempted")
    stage.mark(at, f"SLURM takes the hosts of job {own.job_id} for another one")
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "PREEMPTION"))
    job.slurm(at + 4 * MS, 0, "srun: Job step aborted: Waiting up to 92 seconds for job step to finish.")
    key = f"checkpoints/{own.task}/step={stage.step}.pt"
    begun, whole = at + draw.span(60, 160), draw.whole(5_100, 9_800)
    told(
        stage, begun, 0, "save", f"SIGTERM: saving {whole} MiB to ais://{stage.bucket}/{key} before the end", "WARNING"
    )
    rate = whole / draw.between(52, 75)
    for turn in range(1, 5):
        sent = int(rate * 6.5 * turn)
        told(stage, begun + seconds(6.5 * turn), 0, "save", f"{key}: {sent} of {whole} MiB sent")
    signalled = at + draw.span(20, 50)
    over = _terminated(stage, signalled, 0, 0)
    for node in range(1, len(own.hosts)):
        _terminated(stage, signalled + draw.span(1, 90), node, None)
    target, cut = stage.victim, over + draw.span(3, 30)
    written = f"{int(rate * (over - begun) / SEC) - draw.whole(1, 30)}MiB"
    text = f"{target.name}: failed to receive ais://{stage.bucket}/{key} (written {written}): unexpected EOF"
    request = f"PUT /v1/objects/{stage.bucket}/{key}"
    stage.cluster.count(target, cut, err_put_n=1)
    said = ev.http_error(target, text, request, "htrun.go:1636 <- target.go:1139 <- target.go:794")
    stage.cluster.say(target, cut, said)
    job.ended_at = over + 2 * SEC
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("The partition of the job is one that others may take from.", (made,))


@kind(hangs=False, trains=False, hosts=2, slurm=True)
def master_address_is_of_the_former_allocation(stage: Stage) -> Scenario:
    """An env file has MASTER_ADDR of the allocation before, where nobody listens (torchrun docs, static rendezvous).

    To acquit: agents of all hosts are refused by a host that is not of this job, on torchrun's port, until they give
    up; no rank was begun and nothing was read; a target of AIStore dies when all is over.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("former")
    limit, port, site = draw.pick((60, 120)), draw.pick((29500, 29501, 12355)), own.build["site"]
    first = own.hosts[0]
    master = f"{first[:-4]}{int(first[-4:]) + len(own.hosts) + draw.whole(3, 40):04d}"
    began = stage.mark(job.begin - seconds(6), f"agents look for their store on {master}, a host of another job")
    launchers.banners(stage, began - 300 * MS)
    job.agent(began - seconds(2), 0, f"launch: MASTER_ADDR={master} MASTER_PORT={port} from /workspace/asr/cluster.env")
    job.agent(began - seconds(2) + MS, 0, f"launch: nodes of job {own.job_id}: {','.join(own.hosts)}")
    number = 696 if own.torch.order < 205 else 752
    over = began
    for node in range(len(own.hosts)):
        then, wait = began + draw.span(20, 400), 1.0
        over = began + limit * SEC + draw.span(30, 380)
        while then < over - SEC:
            stamp = cpp_stamp(then, own.zone) if own.torch.prints_time else ""
            said = f"The client socket has failed to connect to [{master}]:{port} (errno: 111 - Connection refused)."
            job.agent(then, node, f"[W{stamp} socket.cpp:{number}] [c10d] {said}")
            then += seconds(wait) + draw.span(5, 300)
            wait = min(wait * 2.0, 16.0)
        frames = (
            sdk.Frame(f"{own.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
            sdk.Frame(f"{site}/torch/distributed/run.py", 1019, "run", "elastic_launch("),
            sdk.Frame(
                f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py",
                67,
                "next_rendezvous",
                "self._store = TCPStore(",
            ),
        )
        text = f"The client socket has timed out after {limit * 1000}ms while trying to connect to ({master}, {port})."
        job.agent(over, node, sdk.traceback(sdk.Raised(frames, f"torch.distributed.DistNetworkError: {text}")))
        job.slurm(over + draw.span(200, 900), node, torchrun.srun_exit(own, node))
    job.ended_at = over + 2 * SEC
    late_unrest.killed_when_all_is_over(stage)
    made = of_all(stage.innocent("infrastructure", also=("software", "network")))
    return stage.close("The file had been written by the job of the week before.", (made,))
