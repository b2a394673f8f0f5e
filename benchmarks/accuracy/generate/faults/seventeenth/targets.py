"""Storage faults of the seventeenth part of targets that end, restart, are starved or cannot be connected to."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import (
    httpx_cut,
    killed_for_a_while,
    leaves,
    lines_cut,
    reset_as_it_writes,
    server_gone,
    wget_ended,
)
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back, in_vain, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn, aisobjects, aisrifts, chains, sdk
from fixtures.generator import aisdisk as disks
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisquiet as quiet
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventeenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def compressed_list_has_no_end(stage: Stage) -> Scenario:
    """A target is killed as it sends lines, and who reads them counts nothing (cpython docs, gzip; aistore docs/ha)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("lines")
    stage.open()
    died = stage.mark(at - draw.span(1, 14), f"{victim.name} is killed for its memory")
    disks.memory_pressure(cluster, victim, died - draw.span(21_000, 36_000), died, "high", draw)
    joined = killed_for_a_while(stage, died, (7_000, 12_000))
    for other in readers(stage)[: draw.whole(0, 3)]:
        said = f"text/part-{draw.whole(0, 2047):05d}.jsonl.gz ended early ({victim.url(0)}), the next one is read"
        stage.job.note(at + draw.span(2, 90), other, said, "W", 34, "lines")
    lines_cut(stage, at, rank)
    leaves(stage, at, rank)
    return stage.close(
        "Its limit was set when the cluster had a tenth of the objects.",
        (stage.guilty("storage_io", victim, also=("data", "network", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def quiet_wget_has_a_code(stage: Stage) -> Scenario:
    """A target crashes, wget below a pipe was told to be quiet: exit 4 (webdataset#112; wget manual, exit status)."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("wget")
    stage.open()
    died = stage.mark(at - draw.span(20, 400), f"{victim.name} crashes")
    joined = killed_for_a_while(stage, died, (9_000, 15_000), 3)
    for other in readers(stage)[: draw.whole(0, 2)]:
        shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
        said = f"OSError('pipe: exit 4 (read)') in {shard}, sent to {victim.url(0)}: passed over"
        stage.job.note(at + draw.span(30, 400), other, said, "W", 88)
    wget_ended(stage, at, rank, f"shards/train-{draw.whole(0, 4095):06d}.tar")
    leaves(stage, at, rank)
    return stage.close(
        "A nil pointer in a path of code that only a list of that size comes to.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "data", "software")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def all_of_a_batch_is_disconnected(stage: Stage) -> Scenario:
    """The kernel kills a target: one of many requests is not answered (aiohttp docs, ServerDisconnectedError)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("gathered")
    stage.open()
    died = stage.mark(at - draw.span(1, 9), f"the kernel kills {victim.name}")
    quiet.too_much_memory(cluster, victim, died - draw.span(23_000, 37_000), draw)
    joined = killed_for_a_while(stage, died, (10_000, 17_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        name = utterance(draw)
        said = f"Server disconnected: {victim.url(0)}/v1/objects/{stage.bucket}/{name}, once more in 30 s"
        stage.job.note(at + draw.span(2, 60), other, said, "W", 60, "fetch")
    server_gone(stage, at, rank)
    leaves(stage, at, rank)
    return stage.close(
        "Whoever cut its memory in half had looked at what it uses on a Sunday.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def bytes_announced_and_not_sent(stage: Stage) -> Scenario:
    """A target is restarted for new settings as httpx reads (httpx docs, exceptions; aistore docs/lifecycle_node)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("announced")
    stage.open()
    joined = comes_back(stage, at - draw.span(5, 120), "for its new settings")
    cluster.count(victim, at - 3 * MS, err_get_n=1)
    for other in readers(stage)[: draw.whole(1, 3)]:
        said = f"{victim.url(0)}: peer closed connection, {utterance(draw)} is left out"
        stage.job.note(at + draw.span(1, 150), other, said, "W", 73, "reader")
    wanted = draw.whole(300, 3_000) << 10
    httpx_cut(stage, at, rank, draw.whole(9, 200) << 10, wanted)
    leaves(stage, at, rank)
    return stage.close(
        "A change of its configuration is taken over by a restart, one target a minute.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=STILL)
def checkpoint_is_reset_on_its_way(stage: Stage) -> Scenario:
    """A target restarts as a checkpoint is sent to it: reset by peer (requests docs; aistore docs/lifecycle_node)."""
    victim, at = stage.victim, stage.at
    draw = stage.draw.child("on its way")
    stage.open()
    name = f"{stage.job.job.task}/step={stage.step}.pt"
    where = f"{victim.url(0)}/v1/objects/checkpoints/{name}"
    stage.job.note(at - draw.span(900, 4_000), 0, f"saving checkpoint to {where}", line=116)
    joined = comes_back(stage, at - draw.span(5, 90), "for an update of its image")
    stage.cluster.count(victim, at - 2 * MS, err_put_n=1)
    reset_as_it_writes(stage, at, 0)
    leaves(stage, at, 0)
    return stage.close(
        "Updates were to wait for a window that no job knows of.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, targets=4, ais_order=410, lead_s=80.0, without=STILL)
def entries_gone_in_maintenance(stage: Stage) -> Scenario:
    """A target is shut down without a rebalance, and batches lack what it has (aistore docs/lifecycle_node)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("maintenance")
    stage.open()
    ended = stage.mark(at - draw.span(6_000, 24_000), f"{victim.name} is shut down for maintenance")
    faults.terminate(cluster, victim, ended)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 5)]):
        then = ended + seconds(3) + int((at - ended - seconds(3)) * draw.between(0, 0.9))
        lost, node = draw.whole(1, 6), stage.other_target(victim, turn)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=48 - lost, err_soft_getbatch_n=lost)
        said = f"get-batch: {lost} of 48 objects are missing, the batch goes on without them"
        stage.job.note(then + draw.span(4, 40), other, said, "W", 102)
    node = stage.other_target(victim, draw.whole(0, 99))
    failed = chains.missing_entry(stage, at - 5 * MS, node, node, utterance(draw))
    stage.job.raise_on(at, rank, failed.traceback)
    leaves(stage, at, rank)
    return stage.close(
        "Half an hour of maintenance was not to move forty terabytes twice.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, targets=4, ais_order=410, min_timeout_s=60, lead_s=60.0, without=STILL)
def sender_loses_its_host(stage: Stage) -> Scenario:
    """The host of a sender dies: a batch comes late, then lacks what it had (lhotse PR 1549; docs/get_batch)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("sender")
    stage.open()
    died = stage.mark(at - draw.span(1_000, 7_000), f"the host of {victim.name} dies")
    peers = [stage.other_target(victim, turn) for turn in range(3)]
    aisobjects.lose_host(cluster, victim, died, at + seconds(38), peers[:2])
    left = faults.leave_smap(cluster, victim, died, hung=True)
    for other in readers(stage)[: draw.whole(1, 3)]:
        late = at + seconds(20.02) + draw.span(1, 900)
        chains.read_timed_out(stage, late, draw.pick(peers), other, round(draw.between(1.0, 1.5), 2))
    node, wait = draw.pick(peers), round(draw.between(1.0, 1.5), 2)
    late = at + seconds(20.02)
    chains.read_timed_out(stage, late, node, rank, wait)
    over = max(late + seconds(wait), left + seconds(1)) + draw.span(60, 400)
    owner = stage.other_target(victim, draw.whole(0, 99))
    failed = chains.missing_entry(stage, over - 5 * MS, node, owner, utterance(draw))
    stage.job.raise_on(over, rank, failed.traceback)
    leaves(stage, over, rank)
    return stage.close(
        "Its board management has a line on a voltage, which nobody has read yet.",
        (stage.guilty("storage_io", victim, also=("network", "data", "data_loading_stall")),),
        until=over + seconds(12),
    )


@kind(reads=True, hangs=False, slurm=True, uptime=True, lead_s=60.0, without=STILL)
def quota_of_a_container_used_up(stage: Stage) -> Scenario:
    """A container of storage has 4 processors, needs 40: a job crawls (kubernetes docs, limits; aistore issue 316)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("quota")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), f"the quota of {victim.name} is used up")
    over = crawls(stage, draw.whole(8, 13), 9.0, 23.0)
    aischurn.starved(cluster, victim, began, over + seconds(10), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(6_000, 12_000)
    while then < over:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(8, 22):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 21_000)
    cancelled_by_hand(stage, over + draw.span(900, 6_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    made = replace(made, culprit_ranks=None)
    return stage.close("A chart was updated, and with it came limits that were made for a laptop.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=60, without=STILL)
def table_of_connections_is_full(stage: Stage) -> Scenario:
    """A host of storage drops new connections, old ones go on: a loader ends (Linux docs, nf_conntrack_max)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("table"), stage.at + seconds(stage.draw.child("patience").between(24, 36))
    stage.open()
    began = stage.mark(at - draw.span(1_000, 9_000), f"the host of {victim.name} has no room for new connections")
    aisrifts.loses_packets(cluster, victim, began, over + seconds(25), draw)

    def text(who: int) -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES) // 16 * 16)
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    for turn, other in enumerate(readers(stage)[: draw.whole(1, 5)]):
        retries(stage, at + turn * 900 * MS, other, draw, 3.01, text(other), over - seconds(6), "ConnectTimeout")
    said = text(rank)
    then = retries(stage, at, rank, draw, 3.01, said, over, "ConnectTimeout")
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    in_worker(stage, then + 2 * MS, rank, "requests.exceptions.ConnectTimeout", said, dataset_frames(stage))
    leaves(stage, then + 2 * MS, rank)
    return stage.close(
        "Each short read of another job leaves an entry behind for two minutes.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=STILL)
def no_descriptor_for_who_comes(stage: Stage) -> Scenario:
    """A target has as many files open as it may have, accepts nobody (aistore docs/performance, limits; Go's net)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("descriptors")
    stage.open()
    began = stage.mark(at - draw.span(21_000, 33_000), f"{victim.name} has no descriptor left")
    aisobjects.no_descriptors(cluster, victim, began, over + seconds(10), draw)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over, 0.0)
    stage.hang(at + 340 * MS, stage.culprit)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure"))
    return stage.close("The limit of its unit is the default one, since somebody has installed it anew.", (made,))
