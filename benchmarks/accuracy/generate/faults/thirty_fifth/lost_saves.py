"""Guilty storage of targets that are lost while checkpoints are written to them: stopped, and killed for memory.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.getters import struck_by
from benchmarks.accuracy.generate.faults.words.goners import shard_put_in_vain, stands_in_sending, unsent_bytes_listed
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import writers_to
from fixtures.generator import aisdisk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fifth")
NOISE = (*RESTARTS, "kalive_hiccup")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)


@kind(culprit=0, lead_s=60.0, without=NOISE)
def checkpoint_waits_for_a_stopped_target(stage: Stage) -> Scenario:
    """Rank 0 puts a checkpoint to a target that is stopped, with no limit of time (recorded 03, with a PUT).

    To convict: rank 0 begins to save and says nothing more; its stack sends a PUT, its one connection has megabytes
    that wait to be sent to one target, which has no line in its log from that second on; the primary misses that one
    after some fifteen seconds and removes it. All others serve as before.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, until = stage.draw.child("save waits"), over_at(stage) + seconds(36)
    stage.open()
    told(stage, stage.job.begin - draw.span(300, 700), 0, "ckpt", "aistore client: timeout=None, to ais://checkpoints")
    name = f"{stage.job.job.task}/step_{stage.step:06d}.pt"
    told(stage, at - 40 * MS, 0, "ckpt", f"put {name}, {draw.between(0.9, 9.4):.1f} GiB")
    stood = stage.mark(at - draw.span(5, 35), f"SIGSTOP {victim.name}")
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    after = min(draw.between(25, 47), stage.params.timeout_s - 13)
    py_spy(stage, after, (main_thread(stage, *stands_in_sending(stage)),))
    listed = at + seconds(after) + draw.span(250, 800)
    unsent_bytes_listed(stage, listed, 0, victim, draw)
    stage.hang(at + 200 * MS, 0)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "A snapshot of its virtual machine was taken, memory and all.",
        (stage.guilty("storage_io", victim, also=("rank_hang", "infrastructure")),),
        until=back + seconds(55),
    )


@kind(lead_s=92.0, without=(*NOISE, "tenant_out_of_space", "low_space"))
def target_killed_for_memory_as_all_ranks_save(stage: Stage) -> Scenario:
    """A sharded checkpoint comes to a target without memory, which its kernel kills (issues: OOMKilled targets).

    To convict: of all ranks that save some are refused at one address, seven times each, and name their own shard; that
    target tells of low memory at each tick, its log breaks off without a word as the save begins, peers lose their
    streams to it, and it is removed. The other ranks have stored their shards and wait.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("memory")
    stage.open()
    aisdisk.memory_pressure(cluster, victim, stage.job.begin + seconds(9), at - seconds(1), "high", draw.child("low"))
    step = f"{stage.job.job.task}/step_{stage.step:06d}"
    told(stage, at - draw.span(600, 900), 0, "ckpt", f"sharded save of {stage.params.ranks} ranks to {step}")
    died = stage.mark(at - draw.span(20, 400), f"{victim.name} is killed for its memory")
    faults.kill(cluster, victim, died)
    struck = writers_to(stage, draw)
    for rank in struck:
        shard_put_in_vain(stage, at + draw.span(1, 90), rank, victim, f"{step}/__{rank}_0.distcp", draw)
    removed_and_back(stage, died)
    stage.hang(at + 700 * MS, *struck)
    return stage.close(
        "Its limit of memory left no room for the page cache of so many writes.",
        (struck_by(stage, "storage_io", struck, victim, ("infrastructure",)),),
        ALIVE,
        until=died + seconds(100),
    )
