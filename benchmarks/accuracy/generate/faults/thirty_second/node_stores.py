"""Guilty storage of disks, maps and stores: a full disk, an ill one, a reboot without rebalance, Google's store behind.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.absentees import UNAVAILABLE, address_given_up
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import put_refused
from benchmarks.accuracy.generate.faults.words.regulars import status_to_the_end
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisabsences, aishouseholders, aisstandstills
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
ALSO = ("data_loading_stall", "infrastructure")
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(culprit=0, lead_s=60.0, without=(*RESTARTS, "tenant_out_of_space"))
def full_file_system_is_found_out_by_a_save(stage: Stage) -> Scenario:
    """A file system of a target is really full, which shows as rank 0 saves (recorded: ENOSPC, FSHC, then 507).

    To convict: rank 0 is told 507 by one target for its checkpoint, at its second try; that target has met "no space
    left on device" at the first, tells of it by FSHC, and is out of space at every tick since. The others wait.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, step = stage.draw.child("full"), stage.step
    stage.open()
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/step={step}.ckpt"
    stage.job.note(at - 70 * MS, 0, f"saving checkpoint to ais:/{path[11:]}", line=116)
    found = stage.mark(at + draw.span(1_200, 6_500), f"{victim.name} finds a file system full")
    space = aisabsences.found_full(cluster, victim, found, path, draw)
    again = found + draw.span(240, 900)
    aisabsences.is_full(cluster, victim, again, over_at(stage) + seconds(40), path, space)
    stage.job.raise_on(again + 6 * MS, 0, put_refused(stage, again, victim, path, space.error))
    others = [node for node in cluster.targets if node is not victim]
    for turn in range(draw.whole(3, 9)):
        spent = draw.span(300, 2_900)
        aishouseholders.puts_arrive(cluster, draw.pick(others), at + SEC + turn * SEC, draw.whole(20, 900) << 20, spent)
    stage.hang(at + 250 * MS, 0)
    return stage.close(
        "A dump of a database lay on the same disk, and nothing of AIStore had written that.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
    )


@kind(reads=True, min_timeout_s=120, lead_s=70.0, without=(*RESTARTS, *DISKS))
def failing_disk_is_never_given_up(stage: Stage) -> Scenario:
    """A disk fails, and the check of file systems is switched off (aistore docs, fshc.enabled; EIO; urllib3, 500).

    To convict: the rank raises after a minute and a half of 500 at one target, which tells of an error of the same disk
    at each try, and of other objects on it since before; no check of that disk follows, it is never disabled.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("never given up"), utterance(stage.draw.child("never given up", "name"))
    disk = draw.whole(0, len(victim.disks) - 1)
    stage.open()
    began = stage.mark(at - draw.span(24_000, 52_000), f"disk {victim.disks[disk]} of {victim.name} begins to fail")
    for then, other in spread(stage, began, at - seconds(2), (3, 6), draw):
        aisabsences.disk_errs(cluster, victim, then, utterance(draw), disk)
        if draw.chance(0.6):
            told(stage, then + draw.span(40, 90), other, "reader", "a read came at the second try", "WARNING")
    asked, over = status_to_the_end(stage, rank, victim, name, 500)
    for then in asked:
        aisabsences.disk_errs(cluster, victim, then + 3 * MS, name, disk)
    for then, _ in spread(stage, at + seconds(3), over, (2, 5), draw):
        aisabsences.disk_errs(cluster, victim, then, utterance(draw), disk)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The check had been switched off in a night with too many false alarms.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
    )


@kind(reads=True, targets=4, lead_s=156.0, without=(*RESTARTS, *MISSING, "kalive_hiccup"))
def hypotheses_are_looked_for_where_a_reboot_was(stage: Stage) -> Scenario:
    """What a job wrote while a target was away stays with others, rebalance is off (aistore docs, rebalance.enabled).

    To convict: a target answers 404 for what a rank has put a minute before, to another target by its own line; the one
    was restarted in order around that time, and no rebalance has begun since it is back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, step = stage.draw.child("reboot"), stage.step
    heir, writer = stage.other_target(victim, draw.whole(0, 50)), (readers(stage) or [0])[0]
    stage.open()
    down = stage.mark(at - draw.span(116_000, 124_000), f"the host of {victim.name} is rebooted")
    faults.terminate(cluster, victim, down)
    for then, other in spread(stage, down + SEC, down + seconds(40), (1, 3), draw):
        missed = utterance(draw)
        text = aisstandstills.not_here(cluster, stage.other_target(victim, draw.whole(0, 50)), then - 4 * MS, missed)
        told(stage, then, other, "reader", f"{missed} left out, it is not there now: {text}", "WARNING")
    name = f"decoded/step{step - step % 100:06d}/part-{draw.whole(0, 63):05d}.jsonl"
    wrote, lines = down + draw.span(14_000, 34_000), draw.whole(700, 4_900)
    aishouseholders.puts_arrive(cluster, heir, wrote - 3 * MS, lines * 211, draw.span(4, 30))
    put = f"{lines} hypotheses put to {heir.url(0)}/v1/objects/{stage.bucket}/{name}"
    told(stage, wrote, writer, "decode", put)
    back = down + draw.span(46_000, 54_000)
    joined = aisabsences.comes_back_unmoved(cluster, victim, back, draw)
    cluster.start_batches(joined + seconds(3), heir)
    told(stage, at - 60 * MS, rank, "decode", f"scoring ais://{stage.bucket}/{name}")
    text = aisstandstills.not_here(cluster, victim, at - 4 * MS, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 280 * MS, rank)
    return stage.close(
        "Rebalance had been switched off for the move of a rack, and was never switched on again.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )


@kind(reads=True, hangs=False, lead_s=74.0, without=RESTARTS)
def warm_reads_fail_with_the_store_behind(stage: Stage) -> Scenario:
    """Each warm read asks Google's store for the version, which fails inside (docs, validate_warm_get; GCS 503).

    To convict: since one moment reads of many ranks are told 503 by all targets, whose lines give the store's error; it
    is asked at each read before that, by gcp.head.n, and nothing of AIStore itself has ended or changed.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, tries = stage.draw.child("behind"), 5
    stage.open()
    began = stage.mark(at - draw.span(19_000, 33_000), "the store behind the bucket fails")
    aisabsences.asks_google(cluster, stage.job.begin, began, 0.5, draw.child("well"))

    def fails(then: int, who: int, name: str, turn: int) -> None:
        owner = stage.draw.child("owner", name).pick(cluster.targets)
        aisabsences.version_not_known(cluster, owner, then - 4 * MS, name)
        if turn < tries:
            url = f"{stage.proxy_of(who).url(0)}/v1/objects/{stage.bucket}/{name}"
            told(stage, then, who, "clips", f"{UNAVAILABLE}: {url}, try {turn} of {tries}", "WARNING")

    for then, other in spread(stage, began + SEC, at - seconds(3), (3, 7), draw):
        name = utterance(draw)
        for turn in range(1, draw.whole(2, 3)):
            if then < at:
                fails(then, other, name, turn)
            then += seconds(2.0 ** (turn - 1)) + draw.span(5, 40)
    name, then = utterance(draw), at - seconds(15)
    for turn in range(1, tries + 1):
        then = at if turn == tries else then
        fails(then, rank, name, turn)
        then += seconds(2.0 ** (turn - 1)) - draw.span(5, 40)
    address_given_up(stage, at + 2 * MS, rank)
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "The store's own page told of it two hours later.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("network", *ALSO))),),
        until=at + seconds(40),
    )
