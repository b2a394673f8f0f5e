"""What somebody does on a training host beside the job; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.workbenches import in_pods
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import torchrun
from fixtures.generator import watchdog as wd
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_first")

#: How long torchrun waits for a process that it has sent SIGTERM, in seconds.
PATIENCE_S = 30


def _watchdogs(stage: Stage, at: int, late: int, rank: int) -> tuple[dict[int, int], dict[int, str]]:
    """All ranks but a stopped one time out and dump, those of its host later; when each has seen it, and its cause."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("watchdogs")
    seen: dict[int, int] = {}
    causes: dict[int, str] = {}
    for one, work in stage.everyone_else(rank).items():
        tick = draw.span(2, 100)
        began = late if own.node_of(one) == own.node_of(rank) else at
        then = began + draw.span(0, 90) + own.timeout_s * SEC + tick
        ran = own.timeout_s * 1000 + tick // MS
        for turn, text in enumerate(wd.caught(own, one, then, work, ran)):
            job.say(then + turn, one, text)
        seen[one], causes[one] = then, wd.timeout_text(own, one, work, ran)
        if own.torch.dumps_on_timeout and not own.torch.is_nccl2:
            dumped = then + draw.span(380, 900)
            for text in wd.received(own, one, dumped, None, work.enqueued, work.completed):
                job.say(dumped, one, text)
    return seen, causes


def _ends(stage: Stage, node: int, first: Exit, stopped: int) -> int:
    """The agent of a host ends its ranks; one that is stopped does not hear it, and is killed half a minute later."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("ends", node)
    then = first.at + draw.span(70, 190)
    others = [one for one in own.ranks_of(node) if one != first.rank]
    for one in others:
        job.agent(then, node, torchrun.closing(own, node, one, then))
        then += MS
    codes = dict.fromkeys(others, -15)
    if stopped in others:
        then += PATIENCE_S * SEC + draw.span(2, 40)
        number = torchrun.since(torchrun.API_LINES, own.torch.order)[0] + 16
        said = f"Unable to shutdown process {own.rank_pids[stopped]} via SIGTERM, forcefully exiting via SIGKILL"
        job.agent(then, node, torchrun.agent_line(own, node, then, "W", number, said))
        codes[stopped] = -9
    then += draw.span(30, 120)
    job.agent(then, node, torchrun.failed(own, node, first, then))
    ended = [Exit(one, then, code) for one, code in codes.items()]
    job.agent(then + 3 * MS, node, torchrun.table(own, node, first, ended))
    job.slurm(then + draw.span(30, 70), node, torchrun.srun_exit(own, node))
    return then + 10 * MS


@kind(hangs=False, lead_s=60.0)
def rank_stands_stopped_and_is_not_continued(stage: Stage) -> Scenario:
    """Somebody stops the processes of a host by SIGSTOP and continues all but one (signal(7); torchrun, SIGKILL).

    To acquit: sudo names the process that is stopped and not continued; its rank alone says nothing any more, not even
    that it has observed a dump, and torchrun has to kill it; the batch was here, and a target is restarted later.
    """
    stage.open(save_every=10_000)
    beside(stage, unrest.entries_missing)
    unrest.unsettled(stage, (commotion.reads_recover, past_unrest.turned_away_in_window, tunrest.readers_resume))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("stopped")
    node = own.node_of(rank)
    for one in sorted({*speakers(stage), rank}):
        told(stage, at - draw.span(160, 260), one, "data", f"step {stage.step}: 48 of 48 recordings are here")
    user, terminal = draw.pick(("hpc-admin", "jlindqvist", "ops")), draw.whole(0, 9)
    pids = [own.rank_pids[one] for one in own.ranks_of(node)]
    head = f"sudo: {user} : TTY=pts/{terminal} ; PWD=/root ; USER=root ; COMMAND=/usr/bin/kill"
    stopped = stage.mark(at - 90 * MS, f"the ranks of {own.hosts[node]} are stopped by SIGSTOP")
    watched(stage, stopped, node, f"{head} -STOP {' '.join(map(str, pids))}")
    again = [pid for pid in pids if pid != own.rank_pids[rank]]
    went_on = at + draw.span(250, 600)
    watched(stage, went_on, node, f"{head} -CONT {' '.join(map(str, again))}")
    if isinstance(stage, Scene):
        stage.hung_at = at
    seen, causes = _watchdogs(stage, at, went_on, rank)
    stage.mark(went_on, f"job {own.job_id}: the other ranks wait in collectives")
    down = max(seen.values()) + (draw.span(1_500, 2_100) if own.torch.dumps_on_timeout else draw.span(60, 220))
    over = down
    for host in range(len(own.hosts)):
        here = [one for one in own.ranks_of(host) if one in seen]
        if not here:
            continue
        first = min(here, key=lambda one: seen[one])
        then = down + draw.span(0, 90)
        for text in wd.taken_down(own, first, then, causes[first]):
            job.say(then, first, text)
        over = max(over, _ends(stage, host, Exit(first, then + 20 * MS, -6), rank))
    job.slurm(over + draw.span(70, 120), 0, torchrun.step_cancelled(own, over + 100 * MS))
    job.ended_at = over + seconds(0.3)
    stage.mark(job.ended_at, f"job {own.job_id} has ended")
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("infrastructure", "software"))
    return stage.close(
        "A script freezes a host for a snapshot of its memory; its second list of processes is one short.", (made,)
    )


@kind(hosts=2, hangs=False, lead_s=75.0)
def processes_of_a_user_fill_a_training_host(stage: Stage) -> Scenario:
    """Forks of somebody's R fill a training host, and the kernel kills a rank for it (oom_kill; wording from memory).

    To acquit: the host's free memory falls to nothing, the kernel's table lists dozens of R and a rank as the largest
    process, and there is no constraint of a cgroup; a target that is low in memory is another host's, and serves.
    """
    stage.open()
    beside(stage, eighth_unrest.memory_is_low)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, tunrest.batches_fall_back))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("forks")
    node, pid = own.node_of(rank), own.rank_pids[rank]
    whole, user = 1007.4, draw.whole(2_000, 9_000)
    began, then = max(job.begin + seconds(4), at - 55 * SEC), job.begin + draw.span(1_000, 3_000)
    session = draw.whole(9, 400)
    logged = f"systemd-logind[{draw.whole(900, 3_000)}]: New session {session} of user u{user}."
    watched(stage, began - 2 * SEC, node, logged)
    while then < at - SEC:
        share = 0.61 if then < began else max(0.006, 0.61 * (at - then) / (at - began))
        watched(stage, then, node, f"node-exporter: MemTotal {whole:.1f}G, MemAvailable {whole * share:.1f}G")
        then += draw.span(7_000, 12_000)
    killed = stage.mark(at - 60 * MS, f"the kernel of {own.hosts[node]} kills rank {rank} for want of memory")
    kernel = (
        "kernel: R invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
    )
    watched(stage, killed, node, kernel)
    watched(stage, killed + MS, node, "kernel: Tasks state (memory values in pages):")
    columns = "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"
    watched(stage, killed + MS, node, f"kernel: {columns}")
    pages = draw.whole(9_000_000, 12_000_000)
    forks = int((whole - 24) * 262_144 - len(own.ranks_of(node)) * pages) // 4_850_000
    first = draw.whole(200_000, 800_000)
    tasks = [(one, 0, own.rank_pids[one], pages - draw.whole(90_000, 700_000), "python3") for one in own.ranks_of(node)]
    tasks = [(one, uid, p, pages if p == pid else rss, name) for one, uid, p, rss, name in tasks]
    tasks += [(0, user, first + turn, draw.whole(4_100_000, 5_600_000), "R") for turn in range(forks)]
    for _, uid, task, rss, name in tasks:
        row = f"[{task:7d}] {uid:5d} {task:7d} {rss + 3_000_000:8d} {rss:8d} {rss * 8 + 4096:8d}        0             0"
        watched(stage, killed + 2 * MS, node, f"kernel: {row} {name}")
    scope = f"/system.slice/slurmstepd.scope/job_{own.job_id}/step_0/user/task_0"
    scope = "/kubepods.slice/kubepods-burstable.slice" if in_pods(stage) else scope
    said = "kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
    watched(stage, killed + 4 * MS, node, f"{said}task_memcg={scope},task=python3,pid={pid},uid=0")
    size = f"total-vm:{(pages + 3_000_000) * 4}kB, anon-rss:{pages * 4 - 512_000}kB, file-rss:184320kB"
    said = f"kernel: Out of memory: Killed process {pid} (python3) {size}, shmem-rss:327680kB, UID:0 "
    watched(stage, killed + 5 * MS, node, f"{said}pgtables:{pages * 8 // 1024}kB oom_score_adj:0")
    job.agents_end([Exit(rank, at, -9)], at + 20 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("mclapply was called with one fork for each core of the host.", (made,))
