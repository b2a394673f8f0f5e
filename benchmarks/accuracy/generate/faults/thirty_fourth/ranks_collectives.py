"""Ranks that call another collective, keep the others waiting, or do not reach each other; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, nccl_error, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import REMOTE, nccl_info, nccl_warns
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator import watchdog as wd
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "thirty_fourth")
CHECK = re.compile(r"WorkNCCL::checkTimeout\(std::optional<[^)]*\)")


@kind(hangs=False, torch_order=203, torch_before=215, lead_s=64.0, without=RESTARTS)
def one_rank_alone_broadcasts_that_it_skips_a_step(stage: Stage) -> Scenario:
    """A broadcast stands behind a condition that holds on one rank (pytorch docs, deadlocks; recorded b1).

    To acquit: every watchdog speaks of one sequence number, and one rank alone has another operation there, a
    broadcast of one element, just after it told that it skips a step. A target was killed half a minute before and is
    back; all batches were served, this rank's among them.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("alone")
    said = f"step {stage.step}: loss {draw.between(60, 900):.1f} is above 50, telling all ranks to skip this step"
    told(stage, at - 12 * MS, rank, "train", said, "WARNING")
    stage.mark(at, f"rank {rank} alone calls a broadcast")
    site, script = own.build["site"], own.script
    frames = (
        f"#0 broadcast from {site}/torch/distributed/distributed_c10d.py:2824",
        f"#1 agree_to_skip from {script}:151",
        f"#2 main from {script}:194",
        f"#3 <module> from {script}:212",
    )
    stuck = stage.everyone_else()
    mine = stuck[rank]
    stuck[rank] = replace(mine, op="BROADCAST", numel_in=1, numel_out=1, enqueued=mine.seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "rank_hang"))
    return stage.close("The condition had been tried on one device only, where nobody else waits.", (made,))


@kind(culprit=0, lead_s=62.0, without=("second_job",))
def validation_on_rank_0_takes_longer_than_a_collective_may(stage: Stage) -> Scenario:
    """Rank 0 validates alone, from a disk of its own host, while others wait (pytorch forum; torchtune, Lightning).

    To acquit: rank 0 tells all the while how far its validation is and where it reads from; it is the one rank
    without a time-out, and all others wait in the next collective. The target that is killed dies long after they
    began to wait.
    """
    stage.open(save_every=10_000)
    loud.killed_in_the_hang(stage)
    unrest.unsettled(stage, (unrest.connects_repeated, disk_unrest.disk_lost_in_window))
    at, draw, limit = stage.at, stage.draw.child("validation"), stage.params.timeout_s
    begins = stage.mark(at - 60 * MS, "rank 0 begins to validate alone")
    every = max(4.0, limit / 12)
    per_s = draw.between(7, 16)
    whole = int(per_s * (limit * draw.between(1.5, 3.2)))
    said = f"step {stage.step}: dev_all.jsonl, {whole} recordings of /raid/dev on this host, beam 16, rank 0 only"
    told(stage, begins, 0, "validate", said)
    spent = every
    while spent < limit - 1:
        done = int(per_s * spent * draw.between(0.98, 1.02))
        told(stage, begins + seconds(spent), 0, "validate", f"{done} of {whole} decoded, {done / spent:.1f}/s")
        spent += every * draw.between(0.97, 1.03)
    stage.hang(at, 0)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The list had been extended from an hour of speech to thirty.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def communicator_finds_no_interface_of_the_name_it_was_given(stage: Stage) -> Scenario:
    """NCCL is told of an interface that one host does not have (NCCL docs, NCCL_SOCKET_IFNAME; nccl issues).

    To acquit: ranks of one host alone say which name they were given and that there is none, before any step; other
    hosts have it. What proxies and targets tell in these seconds is of other tenants.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    beside(stage, ninth_unrest.keepalives_early)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("interface")
    node, name = own.node_of(stage.culprit), draw.pick(("bond0", "ens10f0np0", "ib-bond0"))
    at = stage.mark(job.begin - draw.span(200, 260), f"NCCL finds no {name} on {own.hosts[node]}")
    job.start()
    for one in firsts(stage):
        if own.node_of(one) != node:
            then = at + draw.span(10, 140)
            nccl_info(stage, then, one, f"NCCL_SOCKET_IFNAME set by environment to {name}")
            nccl_info(stage, then + MS, one, f"Bootstrap : Using {name}:10.9.{own.node_of(one) % 250}.11<0>")
    last = "Bootstrap : no socket interface found"
    advice = "ncclInternalError: Internal check failed."
    text = nccl_error(stage, f"internal error - please report this issue to the NCCL developers\n{advice}", last)
    for rank in own.ranks_of(node):
        then = at + draw.span(20, 170)
        nccl_info(stage, then, rank, f"NCCL_SOCKET_IFNAME set by environment to {name}")
        nccl_warns(stage, then + MS, rank, "bootstrap.cc:45", last)
        frames = loss_frames(stage, "dist.barrier()")
        job.raise_on(then + 4 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    over = at + draw.span(500, 900)
    job.agents_end([Exit(own.ranks_of(node)[0], over, 1)], over)
    made = stage.innocent("software", *own.ranks_of(node), also=("network", "infrastructure"))
    return stage.close("The host had come back from its repair with a new card, in another slot.", (made,))


def _channels(stage: Stage, rank: int, peer: int) -> None:
    """As the job begins, two ranks tell of the card that they reach each other by."""
    own, draw = stage.job.job, stage.draw.child("channels")
    for one, other, way in ((rank, peer, "send"), (peer, rank, "receive")):
        card, then = own.local_rank(one), stage.job.begin - draw.span(150, 300)
        host = own.node_of(one) % 250
        ends = f"{one}[{own.local_rank(one)}] -> {other}[{own.local_rank(other)}]"
        ends = ends if way == "send" else f"{other}[{own.local_rank(other)}] -> {one}[{own.local_rank(one)}]"
        nccl_info(stage, then, one, f"NET/IB : Using [{card}]mlx5_{card}:1/RoCE [RO]; OOB bond0:10.9.{host}.11<0>")
        nccl_info(stage, then + 40 * MS, one, f"Channel 00/0 : {ends} [{way}] via NET/IB/{card}/GDRDMA")


@kind(hangs=False, hosts=2, torch_order=203, torch_before=215, lead_s=66.0, without=RESTARTS)
def port_of_a_card_goes_down_between_two_ranks(stage: Stage) -> Scenario:
    """A port of RoCE goes down; half a minute later its retries are used up (NCCL docs, NCCL_IB_TIMEOUT; nccl issues).

    To acquit: the kernel of a host has a link that goes down, NCCL says so of that card, and the rank that uses it and
    its peer end with a completion of status 12. No request to AIStore fails then; those that were repeated before went
    by other cards and were served.
    """
    stage.open()
    unrest.unsettled(stage, (tenth_unrest.peer_reconnects, disk_unrest.tenant_full_in_window))
    beside(stage, unrest.connects_repeated)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("port")
    peer = (rank + own.ranks_per_node) % own.world
    node, card = own.node_of(rank), own.local_rank(rank)
    _channels(stage, rank, peer)
    stage.mark(at, f"port of mlx5_{card} on {own.hosts[node]} goes down")
    watched(stage, at, node, f"kernel: mlx5_core 0000:{0x1A + 0x11 * card:02x}:00.0 rdma{card}: Link down")
    nccl_warns(
        stage, at + 3 * MS, rank, "transport/net_ib.cc:211", f"NET/IB : mlx5_{card}:1 Got async event : port error"
    )
    gone, order = at + draw.span(30_600, 33_900), own.torch.order
    for turn, (one, other) in enumerate(((rank, peer), (peer, rank))):
        then, local = gone + turn * draw.span(40, 900), own.local_rank(one)
        where = f"10.9.{own.node_of(other) % 250}.11<{draw.whole(33_000, 60_000)}>"
        gids = (own.node_of(one) % 200 + 11, own.node_of(other) % 200 + 11)
        ids = f"localGid ::ffff:10.19.{local}.{gids[0]} remoteGids ::ffff:10.19.{local}.{gids[1]}"
        last = f"NET/IB: Got completion from peer {where} with status=12 opcode=0 len=0 vendor err 129 "
        last += f"({'Send' if turn == 0 else 'Recv'}) {ids} hca mlx5_{local}"
        nccl_warns(stage, then, one, "transport/net_ib.cc:1298", last)
        brief, code = REMOTE.split("\n")
        brief = brief.split(" (run")[0]
        cause = f"NCCL error: {brief}, NCCL version {since(NCCL, order)}\n{code}\nLast error:\n{last}"
        for text in wd.taken_down(own, one, then + 90 * MS, cause):
            text = CHECK.sub("checkForNCCLErrorsInternal(std::shared_ptr<c10d::NCCLComm>&)", text)
            job.say(then + 90 * MS, one, text.replace("checkTimeout at", "checkForNCCLErrorsInternal at"))
    exits = [Exit(one, gone + SEC + turn * 300 * MS, -6) for turn, one in enumerate((rank, peer))]
    job.agents_end(exits, gone + 2 * SEC)
    made = replace(stage.innocent("network", also=("gpu_fabric", "infrastructure")), culprit_ranks=None)
    return stage.close("Somebody had pulled the cable of the neighbour below, and then put it back.", (made,))
