"""Guilty storage of what operators set: a limit of disk use, a limit of soft errors, a new image of an ETL.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.foremen import held_up, refused_with, steps_before
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import dataset_refused, one_line
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, moments, turned_down
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisassemblies, aisdeeds, aisforemen, aisoperations, aisservices, aistasks
from fixtures.generator import aisevents as ev
from fixtures.generator.chains import Failed
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(reads=True, hangs=False, ais_order=410, lead_s=70.0, without=(*RESTARTS, *DISKS, "tenant_rejected", "second_job"))
def limit_of_disk_use_is_set_below_what_is_usual(stage: Stage) -> Scenario:
    """disk.disk_util_max_wm is lowered under what disks are used every day (aistore docs/configuration, disk; 429).

    To convict: all targets turn batches down for their disks, `dsk=critical`, with the wids of the proxies' lines, and
    none did before a new configuration came; their disks are half used, as each tick tells. Some batches are
    taken, so other ranks come through at a second try, and steps wait for them. What the limit is stands in no log.
    """
    cluster, rank = stage.cluster, stage.culprit
    draw, tries = stage.draw.child("limit"), 4
    client_told(stage, f"get-batch: 48 entries, streaming, tries {tries}, retries of the SDK off")
    asked = held_up(stage, dict.fromkeys(steps_before(stage, 12, 2, draw.whole(2, 4), draw), 2.06))
    at, first = stage.at, min(asked.values())
    changed = stage.mark(first - draw.span(1_600, 5_900), "an operator lowers the limit of disk use")
    aisoperations.configured(cluster, changed, draw.whole(5, 40))
    over = at + seconds(70)
    for node in cluster.targets:
        own = draw.child(node.node_id)
        aisforemen.disks_half_busy(cluster, node, changed - seconds(45), over, own)
        aisforemen.held_busy(cluster, node, changed + own.span(400, 5_900), own)
        for second in range(changed + SEC, over, 3 * SEC):
            cluster.count(node, second, getbatch_throttle_ns=own.whole(1, 9) * 100 * MS)

    def turned(then: int, one: int) -> Failed:
        node, proxy = draw.pick(cluster.targets), stage.proxy_of(one)
        wid, advice = cluster.wid(proxy, draw), ev.advice("critical", "100ms", "low", "low", "critical")
        text = ev.rejected(cluster.xact, wid, advice, draw.whole(0, 5), node.release.order) if cluster.xact else ""
        aisassemblies.turned_down(cluster, proxy, node, then, wid, text)
        cluster.count(node, then, err_getbatch_n=1)
        return turned_down(stage, then, one, wid, 429, text)

    for then in asked.values():
        one = draw.pick(readers(stage))
        again(stage, then + 4 * MS, one, turned(then, one), 1, tries)
    for one in readers(stage)[: draw.whole(0, 2)]:
        then = at + draw.span(2, 60)
        again(stage, then + 4 * MS, one, turned(then, one), 1, tries)
    turns = list(moments(at, (2.0, 4.0, 8.0), draw))
    for turn, then in enumerate(turns):
        failed = turned(then, rank)
        if turn + 1 < tries:
            again(stage, then + 4 * MS, rank, failed, turn + 1, tries)
        else:
            stage.job.raise_on(then + 6 * MS, rank, failed.traceback)
    leaves(stage, turns[-1] + 9 * MS, rank)
    return stage.close(
        "It was copied from a cluster of spinning disks.",
        (of_all(stage.guilty("storage_io", stage.victim, also=ALSO)),),
        until=over,
    )


@kind(reads=True, ais_order=450, lead_s=74.0, without=(*RESTARTS, "soft_errors", "mountpath_before", "second_job"))
def limit_of_soft_errors_is_lowered_under_tolerant_readers(stage: Stage) -> Scenario:
    """get_batch.max_soft_errs is lowered to one, and batches always lacked a few (aistore docs/get_batch, 400).

    To convict: batches lack entries from the first minute on, of recordings that were withdrawn, and ranks go on
    without them; since a new configuration the same is answered with 400 by whatever target, whose text has the limit,
    `(max: 1)`; before that, targets counted soft errors and no failed batch.
    """
    cluster, rank = stage.cluster, stage.culprit
    draw, tries = stage.draw.child("soft"), 4
    client_told(stage, f"get-batch: 48 entries, buffered, goes on without what is missing, tries {tries}")
    asked = held_up(stage, dict.fromkeys(steps_before(stage, 9, 1.5, draw.whole(1, 3), draw), 1.06))
    at, first = stage.at, min(asked.values())
    changed = stage.mark(first - draw.span(1_100, 4_000), "an operator lowers the limit of soft errors")
    for then, other in spread(stage, stage.job.begin + seconds(4), changed - seconds(1), (4, 9), draw):
        lost, node = draw.whole(2, 4), draw.pick(cluster.up(then))
        cluster.count(node, then - 4 * MS, getbatch_n=1, getbatch_obj_n=48 - lost, err_soft_getbatch_n=lost)
        told(stage, then, other, "data", f"batch of {node.url(0)}: {48 - lost} of 48 entries, {lost} are withdrawn")
    aisoperations.configured(cluster, changed, draw.whole(5, 40))

    def failed(then: int, one: int) -> Failed:
        node, wid = draw.pick(cluster.up(then)), cluster.wid(stage.proxy_of(one), draw)
        text = aisforemen.too_many_soft_errors(cluster, node, then - 2 * MS, wid, draw.whole(6, 40), 1)
        return refused_with(stage, one, node, then - 9 * MS, wid, text)

    for then in asked.values():
        other = draw.pick(readers(stage))
        again(stage, then + 4 * MS, other, failed(then, other), 1, tries)
    turns = list(moments(at, (1.0, 2.0, 4.0), draw))
    for turn, then in enumerate(turns):
        last = failed(then, rank)
        if turn + 1 < tries:
            again(stage, then + 4 * MS, rank, last, turn + 1, tries)
        else:
            stage.job.raise_on(then + 6 * MS, rank, last.traceback)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "A team had asked for batches that are whole or fail at once.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data", *ALSO))),),
        ALIVE,
        until=turns[-1] + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=64.0, without=("tenant_errors", "second_job"))
def updated_etl_does_not_come_up_again(stage: Stage) -> Scenario:
    """An ETL in use is stopped for a new version, whose pod is not ready on one target (aistore docs/etl, init).

    To convict: reads through the ETL are told that there is none, by all targets, since all of them ended it by a
    user's word; half a minute later the same name is begun again, one target names the state of its pod, and the
    others give it up. Reads without the ETL go on. The rank has asked for one object six times.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, tries = stage.draw.child("etl"), 6
    etl = f"{draw.pick(('resample-16k', 'logmel-80', 'trim-silence', 'loudness'))}-{draw.token(3, LOWER)}"
    tail = f"&etl_name={etl}"
    said = f"AISIterDataset of ais://{stage.bucket} through ETL {etl}, tries {tries}, 8 loaders, 16 batches ahead each"
    told(stage, stage.job.begin - SEC, 0, "dataset", said)
    stage.open()
    asked = at - seconds(31) - draw.span(60, 900)
    stopped = stage.mark(asked - draw.span(900, 6_000), f"{etl} is stopped for its new version")
    aisdeeds.transformers_stopped(cluster, stopped, etl, draw)

    def refused(then: int, one: int, name: str, turn: int) -> None:
        node = stage.draw.child("owner", name).pick(cluster.targets)
        text = aisservices.no_transformer(cluster, node, then - 4 * MS, name, etl)
        why = one_line(stage, then, one, node, name, 404, text, tail)
        if turn < tries:
            told(stage, then, one, "dataset", f"{name}: {why}, try {turn} of {tries}", "WARNING")
        else:
            dataset_refused(stage, then, one, node, name, 404, text, tail=tail)

    for then, other in spread(stage, asked + SEC, at - seconds(5), (2, 5), draw):
        name = utterance(draw)
        for turn in range(1, draw.whole(2, 4)):
            if then < at:
                refused(then, other, name, turn)
            then += seconds(2.0 ** (turn - 1)) + draw.span(5, 40)
    name, then = utterance(draw), asked
    for turn in range(1, tries + 1):
        refused(at if turn == tries else then, rank, name, turn)
        then += seconds(2.0 ** (turn - 1)) + draw.span(5, 40)
    failed = stopped + draw.span(24_000, 29_000)
    stage.mark(failed, f"{etl} is begun again and does not come up")
    aistasks.transformer_waits(cluster, cluster.primary(failed), stage.victim, failed, etl, draw)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "It was tried on a cluster of three targets.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("software", "data", *ALSO))),),
        until=at + seconds(30),
    )
