"""Guilty storage of the thirty-fourth part: targets that are lost while ranks write checkpoints.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.absentees import connection_listed
from benchmarks.accuracy.generate.faults.words.getters import struck_by
from benchmarks.accuracy.generate.faults.words.lostones import (
    BEFORE_A_HOST_LEAVES,
    DIALED_S,
    shard_not_saved,
    stands_in_a_put,
    tried_in_vain,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import writers_to
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "network", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup")


@kind(lead_s=62.0, without=NOISE)
def shards_of_a_checkpoint_dial_a_host_without_power(stage: Stage) -> Scenario:
    """A storage host loses its power as all ranks write their shards of a checkpoint (aistore/sdk; recorded 03).

    To convict: some ranks dial one address in vain, three seconds each time, and give up; all others have saved. Peers
    run into time-outs at the same host, then find no route to it; its log breaks off, and the primary, which hears
    nothing either, removes it half a minute later than one whose connections are refused.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("power")
    struck = writers_to(stage, draw)
    stage.open()
    died = stage.mark(at - draw.span(40, 1_300), f"the host of {victim.name} loses its power")
    gone = faults.leave_smap(cluster, victim, died, hung=True)
    peers = draw.shuffled([one for one in cluster.targets if one is not victim])[: draw.whole(1, 2)]
    aisobjects.lose_host(cluster, victim, died, gone, peers)
    told(stage, at - 80 * MS, 0, "saver", f"step {stage.step}: each rank puts its shard to ais://checkpoints")
    folder = f"{stage.job.job.task}/step_{stage.step}"
    for one in struck:
        path = f"/v1/objects/checkpoints/{folder}/__{one}_0.distcp?provider=ais&pid={stage.proxy_of(one).node_id}"

        def why(path: str = path) -> str:
            cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
            return sdk.pool_error(victim.address, victim.ports[0], path, cause)

        begun, own = at + draw.span(2, 160), draw.child("rank", one)
        then = tried_in_vain(stage, begun, one, why, own, BEFORE_A_HOST_LEAVES, DIALED_S)
        shard_not_saved(stage, then, one, why())
    well = [one for one in range(stage.params.ranks) if one not in struck]
    for one in draw.shuffled(well)[: draw.whole(2, 4)]:
        spent = draw.between(0.3, 1.2)
        told(stage, at + seconds(spent) + 4 * MS, one, "saver", f"__{one}_0.distcp is saved, {spent:.2f} s")
    stage.hang(at + 1_400 * MS, *struck)
    return stage.close(
        "A fuse of its rack had gone, and the second supply was plugged into the same row.",
        (struck_by(stage, "storage_io", struck, victim, also=ALSO),),
        ALIVE,
        until=gone + seconds(40),
    )


@kind(culprit=0, lead_s=60.0, without=NOISE)
def checkpoint_is_put_to_a_target_that_stands_still(stage: Stage) -> Scenario:
    """SIGSTOP of the target that a checkpoint goes to, and the writer has no limit of time (recorded 03; aistore/sdk).

    To convict: rank 0 says that it saves and never that it has; its stack waits for the answer to a PUT, its connection
    leads to one target and is silent since that second. That target has written no line since, the primary misses it,
    removes it, and adds it back as it goes on, long after the job has ended.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("still")
    stage.open()
    own = f"saving goes to ais://checkpoints via {stage.proxy_of(0).url(0)}, timeout=None"
    told(stage, stage.job.begin - draw.span(300, 800), 0, "saver", own)
    name = f"{stage.job.job.task}/step={stage.step}.pt"
    told(stage, at - 50 * MS, 0, "saver", f"saving {name}, {draw.between(1.1, 9.8):.1f} GB")
    stood = stage.mark(at - draw.span(2, 35), f"SIGSTOP {victim.name}")
    until = over_at(stage) + seconds(draw.between(30, 55))
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    after = min(draw.between(28, 44), stage.params.timeout_s - 14)
    py_spy(stage, after, (main_thread(stage, *stands_in_a_put(stage)),))
    listed = at + seconds(after) + draw.span(200, 800)
    connection_listed(stage, listed, 0, victim, ("python3", stage.job.job.rank_pids[0]), draw)
    stage.hang(at + 280 * MS, 0)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "Its cgroup had been frozen by a script that was meant for another pod.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=back + seconds(60),
    )
