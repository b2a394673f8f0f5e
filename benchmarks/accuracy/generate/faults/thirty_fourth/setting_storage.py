"""Guilty storage in awkward set-ups: a clock that is behind, rotated logs, two jobs, srun without torchrun.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.sitters import (
    aborted_first,
    as_of,
    by_its_own_clock,
    reads_status,
    stacks_in_folder,
    tasks_end,
    without_torchrun,
)
from benchmarks.accuracy.generate.faults.words.tries import (
    again,
    client_told,
    moments,
    other_targets,
    removed_and_back,
    short,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisstandstills, chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "infrastructure", "network")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, lead_s=66.0, without=NOISE)
def target_stands_still_whose_clock_is_behind(stage: Stage) -> Scenario:
    """A stopped target has a clock that is minutes behind (recorded 03; chrony not running on one storage host).

    To convict: each try of the rank runs into its time-out at one address, and the primary asks that target in vain and
    removes it, by clocks that agree with the job's. In its own log the gap stands minutes earlier, as long as the
    others miss it, and it comes back at the end of the gap; what it says of maps shows by how much its clock is off.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("behind")
    cluster.skews[victim.node_id] = -draw.span(290_000, 760_000)
    client_told(stage, "one GET for each utterance, read time-out 20 s, retries of the SDK only")
    stage.open()
    frozen = stage.mark(at - draw.span(9, 40), f"SIGSTOP {victim.name}, whose clock is behind")
    over = over_at(stage)
    faults.stop(cluster, victim, frozen, over + seconds(28))
    gone = faults.leave_smap(cluster, victim, frozen, hung=True)
    name, then = utterance(draw), at + seconds(20.02)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    asked = at
    while asked < gone and then < over - SEC:
        wait = round(draw.between(1.0, 1.4), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        asked = then + seconds(wait)
        then = asked + seconds(20.02)
    if asked >= gone and asked < over - SEC:
        heir = draw.pick([one for one in cluster.up(asked) if one is not victim])
        missing = aisstandstills.not_here(cluster, heir, asked + 3 * MS, name)
        text = refused_get(stage, asked + 3 * MS, rank, heir, name, (404, "Not Found"), missing)
        stage.job.raise_on(asked + 9 * MS, rank, text)
    stage.hang(at + 320 * MS, rank)
    back = faults.resume(cluster, victim, over + seconds(28) + 2 * MS)
    by_its_own_clock(cluster, victim)
    return stage.close(
        "Its host had been installed anew without a time server, and its disk controller stood still.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=back + seconds(20),
    )


@kind(reads=True, ais_order=450, lead_s=58.0, without=(*NOISE, "soft_errors"))
def logs_rotate_between_two_tries_of_a_batch(stage: Stage) -> Scenario:
    """A target is killed, and while a rank tries again all other daemons rotate their logs (ais log rotation; cron).

    To convict: the first tries end short for want of the killed target, said at the end of the old files of those who
    put the batch together; the last is refused at that target by the proxy's new file, which removes it as well. The
    victim has no rotated file: its log breaks off before, and the next one begins with its restart.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rotated")
    client_told(stage, "get-batch: 48 entries, streaming, tries 4")
    stage.open()
    died = stage.mark(at - draw.span(12, 50), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    tries = list(moments(at, (2.0, 3.0, 4.0), draw))
    turned = stage.mark(tries[1] + draw.span(900, 2_300), "rotate-logs")
    for node in cluster.nodes:
        if node is not victim:
            cluster.last_process(node).rotations.append(turned + draw.span(1, 40))
    for turn, then in enumerate(tries):
        if turn + 1 == len(tries) or (turn == 2 and draw.chance(0.5)):
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            failed = short(stage, then, rank, draw)
        if turn + 1 < len(tries):
            again(stage, then + 7 * MS, rank, failed, turn + 1, len(tries))
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The kernel had ended it for its memory; the rotation was that of every full hour.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=60.0, without=(*NOISE, "second_job"))
def one_dead_target_ends_two_jobs(stage: Stage) -> Scenario:
    """Two jobs train from one cluster, and a target that dies fails a rank of each (recorded 02, twice).

    To convict: a rank of the first job has a short batch, whose work item its target gives up as it cannot reach the
    dead one; a second or two later a rank of the other job is refused there, with the wid that a proxy logs. Peers
    lose their streams to it, its log breaks off. Each job waits in its own collective for its own rank.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("two jobs")
    alike = replace(stage.params, ranks=8, ranks_per_node=4, layout="slurm", style="nemo", culprit=0)
    other = stage.new_job("beside", alike, stage.job.begin + draw.span(6_000, 14_000))
    client_told(stage, "get-batch: 48 entries, streaming, one try")
    stage.open()
    step = int((at + draw.span(900, 2_600) - other.begin) / seconds(alike.step_s)) + 1
    second, then = step % other.job.world, other.step_at(step) + draw.span(20, 60)
    stage.mark(other.begin, f"job {other.job.job_id} starts training")
    other.start()
    other.train(0, step)
    stage.load(other, other.begin + 60 * MS, at - 100 * MS)
    died = stage.mark(at - draw.span(10, 30), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    failed = chains.cut_off_stream(stage, at, draw.pick(other_targets(stage, at)), victim, rank, draw.whole(0, 6), 48)
    stage.job.raise_on(at + 8 * MS, rank, failed.traceback)
    with as_of(stage, other, step):
        refused = chains.dead_designated(stage, then, victim, second)
        other.raise_on(then + 8 * MS, second, refused.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    stage.hang(then + 330 * MS, second, step=step, job=other)
    first = stage.guilty("storage_io", victim, also=ALSO)
    return stage.close(
        "The storage host had lost its power for some seconds; nobody told the two teams of each other.",
        (first, replace(first, job_id=other.job.job_id, culprit_ranks=(second,))),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, slurm=True, lead_s=78.0, without=NOISE)
def plain_srun_rank_stands_in_a_read_without_time_out(stage: Stage) -> Scenario:
    """A rank reads a shard of a target that has been stopped, after another's restart was got over (recorded 03).

    To convict: the rank's stack stands in the SDK's read of a shard, its socket is one to the target that writes no
    line and counts nothing from then on, and that the primary asks in vain and removes. The restart a minute before
    was that of another target, orderly, and each batch that it held up was served. There is no torchrun: each rank is
    a task of srun with a file of its own, the rank is known by the number in its name.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no time-out")
    stage.open()
    beside(stage, commotion.restart_survived)
    frozen = stage.mark(at - draw.span(12, 40), f"SIGSTOP {victim.name}")
    over = over_at(stage)
    faults.stop(cluster, victim, frozen, over + seconds(32))
    faults.leave_smap(cluster, victim, frozen, hung=True)
    stage.hang(at + 330 * MS, rank)
    plain = without_torchrun(stage)
    if plain:
        first, ended = aborted_first(stage)
        tasks_end(stage, first, ended, "Aborted (core dumped)")
    back = faults.resume(cluster, victim, over + seconds(32) + 2 * MS)
    pid = stage.job.job.rank_pids[rank]
    socket = (
        f"ESTAB 0 0 {stage.client(rank)} {victim.endpoint(0)} "
        + f'users:(("python3",pid={pid},fd={draw.whole(31, 96)}))'
    )
    tail = f"\n$ ss -tnp state established | grep pid={pid}\n{socket}\n"
    made = stage.close(
        "The hypervisor had paused the storage host for a snapshot that did not end.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "rank_hang")),),
        until=back + seconds(20),
    )
    return stacks_in_folder(stage, made, (main_thread(stage, *reads_status(stage)),), tail)
