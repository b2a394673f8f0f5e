"""Guilty storage of nodes that were killed and print nothing of it: a save, shards of before the job, a new bucket.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.absentees import bucket_not_made, save_given_up
from benchmarks.accuracy.generate.faults.words.natives import one_line, refused_at, shard_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisabsences, aisstandstills, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")
W = "WARNING"
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(culprit=0, lead_s=62.0, without=(*RESTARTS, "kalive_hiccup"))
def save_is_refused_by_a_target_killed_with_it(stage: Stage) -> Scenario:
    """Rank 0 puts a checkpoint to a target that was just killed (recorded runs, kill -9; aistore/sdk, seven tries).

    To convict: all tries of rank 0 name the address of one target and end before the primary removes that one; its log
    breaks off without an orderly end, and begins anew. Reads of others were refused there too, and missed after that.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("save")
    stage.open()
    name = f"{stage.job.job.task}/step={stage.step}.ckpt"
    stage.job.note(at - 90 * MS, 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    died = stage.mark(at - draw.span(4, 60), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, gone - 400 * MS, 1)
    path = f"/v1/objects/checkpoints/{name}?provider=ais&pid={stage.proxy_of(0).node_id}"
    text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    then = at + draw.span(3, 9)
    for most in (1.4, 2.4, 4.2, 6.1, 5.9, 5.2):
        wait = round(draw.between(1.0, most), 2)
        stage.job.sdk_warning(then, 0, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(3, 9)
    save_given_up(stage, then, text)
    for early, other in spread(stage, at + SEC, at + seconds(17), (1, 3), draw):
        shard = shard_of(draw)
        refused, turn = refused_at(stage, other, victim, draw, shard), 1
        while early < gone + 200 * MS:
            left = (gone - early) / SEC + draw.between(0.3, 2.9) if turn == 6 else 1.0
            wait = round(max(left, draw.between(1.0, min(30.0, 2.0**turn + 0.5))), 2)
            stage.job.sdk_warning(early, other, sdk.retrying(wait, "ConnectionError", refused))
            early, turn = early + seconds(wait) + 5 * MS, turn + 1
        heir = stage.other_target(victim, draw.whole(0, 50))
        missing = aisstandstills.not_here(cluster, heir, early - 3 * MS, shard)
        answer = one_line(stage, early, other, heir, shard, 404, missing)
        told(stage, early, other, "reader", f"{shard} left out after {turn} tries: {answer}", W)
    stage.hang(at + 260 * MS, 0)
    back = stage.mark(died + draw.span(43_000, 52_000), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    return stage.close(
        "The kernel of the storage host had taken the process with the most memory.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
    )


@kind(reads=True, uptime=True, lead_s=72.0, without=(*RESTARTS, *MISSING, "kalive_hiccup"))
def shards_of_a_target_lost_before_the_job_began(stage: Stage) -> Scenario:
    """A target died minutes before a job starts, whose index names all it had (aistore docs, ha; issues with 404).

    To convict: the list is shorter than the index by about the share of one target from the first second on; the
    primary has removed a target before the job began, whose log breaks off then; who answers 404 are all others.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("lost before")
    died = stage.mark(cluster.begin - draw.span(80_000, 170_000), f"{victim.name} is killed, and is not started again")
    faults.kill(cluster, victim, died)
    faults.leave_smap(cluster, victim, died)
    stage.open()
    named = draw.whole(9_000, 60_000)
    short = round(named / len(cluster.targets) * draw.between(0.94, 1.06))
    said = f"the index of ais://{stage.bucket} names {named} objects, its list has {named - short}"
    told(stage, stage.job.begin + draw.span(200, 900), 0, "corpus", said, W)

    turns = iter(range(draw.whole(0, 50), 99))

    def missed(then: int, name: str) -> tuple[Node, str]:
        node = stage.other_target(victim, next(turns))
        return node, aisstandstills.not_here(cluster, node, then - 4 * MS, name)

    for then, other in spread(stage, stage.job.begin + seconds(5), at - seconds(2), (3, 6), draw):
        name = utterance(draw)
        node, text = missed(then, name)
        told(stage, then, other, "corpus", f"{name} left out: {one_line(stage, then, other, node, name, 404, text)}", W)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=39, err_soft_getbatch_n=9)
    name = f"noise/rir-{draw.whole(0, 999):03d}.flac"
    node, text = missed(at, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (404, "Not Found"), text))
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "The host's power supply had failed, and the alarm went to somebody on holiday.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )


@kind(proxies=2, hosts=2, off_primary=True, lead_s=58.0, without=(*RESTARTS, "kalive_hiccup"))
def bucket_cannot_be_made_while_no_primary_is_there(stage: Stage) -> Scenario:
    """The primary is killed as a rank makes a bucket by another proxy (aistore docs, ha; ais/prxrev.go, 502).

    To convict: the proxy that answers 502 says that it cannot reach the primary, whose log breaks off; all nodes miss
    it at their keepalives, and another is elected half a minute later. Nothing is said of any target.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, primary = stage.draw.child("no primary"), cluster.primary(stage.at)
    proxy = stage.proxy_of(rank)
    heir = draw.pick([one for one in cluster.proxies if one is not primary])
    stage.open()
    died = stage.mark(at - draw.span(900, 5_800), f"kill -9 {primary.name}, the primary")
    faults.kill(cluster, primary, died)
    elected = faults.elect(cluster, primary, heir, died)
    beside = [one for one in readers(stage) if stage.proxy_of(one) is primary][: draw.whole(1, 3)]
    for other in beside:
        then = died + draw.span(500, 9_000)
        path = f"/v1/objects/{stage.bucket}/{shard_of(draw)}?provider=ais"
        refused = sdk.pool_error(primary.address, primary.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        for turn in range(7):
            if then > over_at(stage) - SEC:
                break
            wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
            said = (sdk.retrying(wait, "ConnectionError", refused), "WARNING")
            stage.job.sdk_warning(
                then, other, *(said if turn < 6 else ("All retries exhausted; request failed", "ERROR"))
            )
            then += seconds(wait) + 5 * MS
    step = stage.step
    name = f"decoded-{stage.job.job.task.replace('_', '-')}-{step}-{stage.job.job.node_of(rank)}"
    told(stage, at - 60 * MS, rank, "decode", f"hypotheses of step {step} go to ais://{name}, which is made first")
    path = f"/v1/buckets/{name}"
    aisabsences.not_passed_on(cluster, proxy, primary, at - 2 * MS, path)
    bucket_not_made(stage, at, rank, proxy, path)
    stage.hang(at + 310 * MS, rank)
    return stage.close(
        "The other proxies were well, and so was the cluster as soon as one of them was elected.",
        (stage.guilty("storage_io", primary, also=("network", *ALSO)),),
        ALIVE,
        until=elected + seconds(20),
    )
