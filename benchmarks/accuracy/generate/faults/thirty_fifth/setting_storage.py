"""Guilty storage in awkward set-ups: attempts, wrong clocks, two targets in trouble, two jobs at once.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words import setups
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.mixtures import out_for_seconds, tries_until_back
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, moments, other_targets, removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "thirty_fifth")
ALSO = ("data_loading_stall", "network", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
QUIET = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, hangs=False, lead_s=62.0, without=QUIET)
def both_attempts_are_refused_by_one_dead_target(stage: Stage) -> Scenario:
    """torchrun starts a job again sooner than a killed target is missed (torchrun docs, max-restarts; recorded 02).

    To convict: in both attempts the same rank is answered 400 with the address of one target, to which the proxy could
    not connect, in a line with the wid. The log of that target ends before the first without a word, its peers lose
    their streams then, and the primary removes it after the second.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw, at = stage.draw.child("attempts"), stage.at
    client_told(stage, "get-batch: 48 members of the rank's own shard, buffered, colocation 2, one try")
    stage.open(save_every=20)
    died = stage.mark(at - draw.span(12, 60), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    job.raise_on(at + 7 * MS, rank, chains.dead_designated(stage, at, victim, rank).traceback)
    setups.ranks_started_again(stage, at + draw.span(500, 900), rank)
    first = (stage.step - 2) // 20 * 20 + 1
    begin = at + draw.span(10_600, 12_400)
    setups.next_attempt(stage, begin, first)
    turn = first + 1 + (rank - first - 1) % 8
    job.train(first, turn)
    stage.load(job, begin + 60 * MS, job.step_at(turn))
    then = job.step_at(turn) + draw.span(20, 60)
    failed = chains.dead_designated(stage, then, victim, rank).traceback
    address = stage.client(rank).split(":")[0]
    job.raise_on(then + 7 * MS, rank, failed.replace(stage.client(rank), f"{address}:{draw.whole(32_800, 60_900)}"))
    job.agents_end([Exit(rank, then + 800 * MS, 1)], then + 800 * MS)
    removed_and_back(stage, died)
    return stage.close(
        "The process of the target was killed by hand for another's; a job with one restart used it up in 20 s.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ("the agents' INFO lines about the restart are off, as by default",),
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=62.0, without=QUIET)
def clock_of_a_killed_target_is_minutes_off(stage: Stage) -> Scenario:
    """A storage host has lost its time server, and all logs are rotated amid the tries (aistore docs, logs; chrony).

    To convict: targets that are well name one peer as they abort the work items, one of the last tries is refused at
    its address, peers lose streams to it and the primary removes it, all by clocks that agree. Its own log ends without
    a word minutes off, and what it received with the others (new maps) tells by how much.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw, at = stage.draw.child("minutes off"), stage.at
    off = draw.between(140.0, 560.0) * draw.pick((1, 1, -1))
    cluster.skews[victim.node_id] = round(off * 1_000) * MS
    most = draw.whole(3, 4)
    client_told(stage, f"get-batch: 48 entries, streaming, tries {most}")
    stage.open()
    died = stage.mark(at - draw.span(12, 50), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    turned = stage.mark(at + draw.span(1_100, 4_700), "rotate-logs")
    for node in cluster.nodes:
        if node is not victim:
            cluster.last_process(node).rotations.append(turned + draw.span(1, 9))
    refused = draw.whole(1, most - 1)
    for turn, then in enumerate(moments(at, (2.0, 3.0, 4.0)[: most - 1], draw)):
        if turn == refused:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            designated = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, designated, victim, rank, draw.whole(0, 6), 48)
        if turn + 1 < most:
            again(stage, then + 6 * MS, rank, failed, turn + 1, most)
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        f"The host's clock was off by {off:.0f} s since it had another address; the target ran out of memory.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, lead_s=128.0, without=QUIET)
def socket_of_a_silent_rank_leads_to_one_target(stage: Stage) -> Scenario:
    """A rank reads a shard of a target that stands still; another one was restarted before (recorded 03 and 07).

    To convict: the stack of the silent rank stands in a GET and its one connection to storage leads to the address of a
    target, whose log has a gap from that moment on, and which the primary cannot reach and removes. The target that was
    restarted had joined again, and its rebalance was over, before the step in which the rank stands.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw, at = stage.draw.child("socket"), stage.at
    beside(stage, noise.restart_before)
    stage.open()
    shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    told(stage, at - 30 * MS, rank, "corpus", f"opening ais://{stage.bucket}/{shard}")
    stage.mark(at - 25 * MS, f"SIGSTOP {victim.name}")
    until = at + seconds(stage.params.timeout_s + draw.between(31, 44))
    faults.stop(cluster, victim, at - 25 * MS, until)
    faults.leave_smap(cluster, victim, at, hung=True)
    after = min(draw.between(21, 37), stage.params.timeout_s - 14)
    py_spy(stage, after, (main_thread(stage, *setups.in_an_object_read(stage)),))
    setups.socket_found(stage, after + 0.7, rank, victim)
    stage.hang(at + 350 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "Somebody had attached a debugger to the target's process and had gone to a meeting.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        ("reads of shards have no read time-out, as in the recorded run",),
        until=back + seconds(5),
    )


@kind(reads=True, proxies=2, hosts=2, off_primary=True, lead_s=60.0, without=QUIET)
def proxy_that_some_hosts_are_told_stands_still(stage: Stage) -> Scenario:
    """Each host has one proxy as its endpoint, and one of them stands still (recorded 03; aistore/sdk, read time-out).

    To convict: all ranks that wait in vain, and these alone, are of hosts that read via one proxy, and time out at its
    address; its log has a gap from that moment to its end, the primary cannot reach it either, which is on no host of
    the job, and removes it. Ranks of other hosts have their batches of the same step via other proxies.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, over = stage.draw.child("told proxy"), stage.proxy_of(stage.culprit), over_at(stage)
    client_told(stage, "every rank with a loader reads at every step, from the proxy in AIS_ENDPOINT of its host")
    stage.open()
    frozen = stage.mark(at - draw.span(40, 300), f"SIGSTOP {proxy.name}, which is not the primary")
    faults.stop(cluster, proxy, frozen, over + seconds(900))
    gone = faults.leave_smap(cluster, proxy, frozen, hung=True)
    struck = sorted({rank, *(one for one in readers(stage) if stage.proxy_of(one) is proxy)})
    for one in struck:
        mine = draw.child("waits", one)
        path = object_path(stage, one, utterance(mine)).split("&", maxsplit=1)[0]
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.read_timeout(proxy.address, proxy.ports[0]))
        then = retries(stage, at + mine.span(1, 120), one, mine, 20.02, text, over - SEC)
        if then < over - SEC:
            exhausted(stage, then, one, text, inner=one_object(stage))
    for one in sorted({*firsts(stage)} & {*readers(stage)}):
        if stage.proxy_of(one) is not proxy:
            url, spent = stage.proxy_of(one).url(0), draw.between(0.05, 0.3)
            said = f"step {stage.step}: 48 of 48 entries in {spent:.2f} s via {url}"
            told(stage, at + draw.span(180, 290), one, "loader", said)
    stage.hang(at + 340 * MS, *struck)
    made = replace(
        stage.guilty("data_loading_stall", proxy, also=("storage_io", *ALSO[1:])), culprit_ranks=tuple(struck)
    )
    return stage.close(
        "The virtual machine of the proxy was paused to be moved to another host, and the move never began.",
        (made,),
        ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",),
        until=gone + seconds(20),
    )


@kind(reads=True, ais_order=450, lead_s=66.0, without=(*QUIET, "second_job"))
def neighbour_ends_of_its_own_beside_a_lost_target(stage: Stage) -> Scenario:
    """Two jobs meet one killed target: one has no tries, the other gets over it and fails of its own (recorded 02, 07).

    To convict, for the first job: its rank's batch is short in the moment in which a target names the killed one as it
    aborts the work item; streams to that one break and its log begins anew. The neighbour fails too, and has its batch
    and further steps before a device of its own has no memory left: storage is innocent of that.
    """
    victim, rank = stage.victim, stage.culprit
    draw, at = stage.draw.child("neighbour"), stage.at
    small = replace(stage.params, ranks=8, ranks_per_node=8)
    other = stage.new_job("neighbour that fails", small, stage.job.begin + draw.span(7_000, 12_000))
    client_told(stage, "get-batch: 48 entries, streaming, one try")
    stage.open()
    step = int((at - other.begin) / seconds(small.step_s)) + 1
    stage.open(other, until_step=step, save_every=10_000)
    died = stage.mark(at - draw.span(12, 50), f"kill -9 {victim.name}")
    failed = chains.cut_off_stream(stage, at, draw.pick(other_targets(stage, at)), victim, rank, draw.whole(0, 6), 48)
    stage.job.raise_on(at + 8 * MS, rank, failed.traceback)
    joined = out_for_seconds(stage, died, draw)
    tried = draw.whole(1, 7)
    over = tries_until_back(stage, other, other.step_at(step) + 40 * MS, tried, joined, draw)
    other.delay(step, over - other.step_at(step))
    last = step + draw.whole(11, 26)
    other.train(step, last)
    stage.load(other, over + 60 * MS, other.step_at(last))
    full = (tried + draw.whole(1, 7)) % 8
    _has_no_memory(stage, other.step_at(last) + 90 * MS, full, last)
    stage.hang(at + 340 * MS, rank)
    second = stage.innocent("gpu", full, also=("software", "out_of_memory"))
    return stage.close(
        "A target was killed and was back in seconds. One job does not try again; the other does, and then meets a "
        "batch that is too long for its device.",
        (stage.guilty("storage_io", victim, also=ALSO), replace(second, job_id=other.job.job_id)),
        ALIVE,
        until=max(other.ended_at, joined + seconds(60)),
    )


def _has_no_memory(stage: Stage, at: int, rank: int, step: int) -> None:
    """A rank of the neighbour, the job made last, has a batch that is too long, and exits."""
    other, order = stage.jobs[-1], stage.params.torch_release.order
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    text = (
        f"{name}: CUDA out of memory. Tried to allocate 3.06 GiB. GPU {rank} has a total capacity of 79.10 GiB of "
        "which 811.44 MiB is free. Including non-PyTorch memory, this process has 78.29 GiB memory in use."
    )
    stage.mark(at, f"job {other.job.job_id}: rank {rank} has no device memory left at step {step}")
    frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
    frames = tuple(replace(one, file=other.job.script) for one in frames)
    other.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    other.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
