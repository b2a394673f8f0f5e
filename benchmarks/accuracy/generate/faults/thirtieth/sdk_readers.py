"""Storage faults of the thirtieth part below readers of the SDK: direct reads, blobs, recordings of lhotse."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.inmates import (
    blob_cut,
    direct_frames,
    direct_refused,
    recordings_not_opened,
)
from benchmarks.accuracy.generate.faults.words.natives import first_repeat, one_line, refused_at
from benchmarks.accuracy.generate.faults.words.requests import exhausted, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk, aisinmates, aislapses, aisobjects, aisquiet
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup", "tenant_errors"))
def direct_reader_stays_with_a_target_in_its_back_off(stage: Stage) -> Scenario:
    """A target is killed for memory and not started again at once; direct reads go on asking (k8s, back-off; SDK).

    To convict: the rank is refused by one address for up to a minute, of which no gateway had told it; that target's
    log ends after words of too little memory just before, it is removed from the map, and back once the job is over.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("direct")
    stage.open()
    died = at - draw.span(150, 1_800)
    stage.mark(died - draw.span(40_000, 46_000), f"{victim.name} runs out of memory")
    aisdisk.memory_pressure(cluster, victim, died - draw.span(34_000, 39_000), died, "high", draw)
    aisquiet.too_much_memory(cluster, victim, died - draw.span(21_000, 24_000), draw)
    stage.mark(died, f"{victim.name} is killed for its memory, and its restart is put off")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left, 2)
    text = direct_refused(stage, victim, utterance(draw), draw)
    over = retries(stage, at, rank, draw, 0.02, text, left + seconds(60))
    peers = [one for one in cluster.targets if one is not victim]
    for other in readers(stage)[: draw.whole(2, 4)]:
        first_repeat(stage, at + draw.span(60, 9_000), other, draw, refused_at(stage, other, victim, draw))
    for then, other in spread(stage, left + 200 * MS, max(over, left + seconds(5)), (2, 4), draw):
        node, name = draw.pick(peers), utterance(draw)
        why = one_line(stage, then, other, node, name, 404, aisobjects.not_there(cluster, node, then - 4 * MS, name))
        told(stage, then, other, "samples", f"{name} left out: {why}", "WARNING")
    exhausted(stage, over, rank, text, "ConnectionError", direct_frames(stage))
    leaves(stage, over + 8 * MS, rank)
    faults.start_again(cluster, victim, max(over, left) + draw.span(12_000, 26_000))
    return stage.close(
        "It was the fourth time that night, and each time its kubelet waited twice as long.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=max(over, left) + seconds(75),
    )


def _clip(draw: Draw) -> tuple[str, int]:
    """The name of a long video, and its size."""
    return f"videos/{draw.whole(0, 255):02x}/{draw.whole(0, 99_999):05d}.mp4", draw.whole(300, 2_400) << 20


@kind(reads=True, hangs=False, lead_s=66.0)
def blobs_end_early_at_a_target_without_a_way_out(stage: Stage) -> Scenario:
    """A storage host has lost its way to the cloud while blobs are read in chunks (SDK, blob download; docs).

    To convict: the rank's video ends early and nobody is named; in that moment one target gives up this blob and
    those of other ranks, since the cloud cannot be reached from it; all others go on and count theirs as read.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("blobs")
    stage.open()
    lost = stage.mark(at, f"the host of {victim.name} loses its way out")
    well = [node for node in cluster.up(at) if node is not victim]
    then = stage.job.begin + draw.span(500, 3_000)
    while then < at + seconds(12):
        name, size = _clip(draw)
        node = draw.pick(well if then > lost - seconds(15) else [*well, victim])
        aisinmates.blob_read(cluster, node, then, name, size, draw)
        then += draw.span(1_400, 4_600)

    ended = lost + draw.span(2_900, 6_200)

    def cut(over: int, who: int, name: str, size: int) -> int:
        aisinmates.blob_breaks(cluster, victim, lost - draw.span(900, 4_900), over, name, size, draw)
        got = int(size * draw.between(0.05, 0.7)) // aisinmates.BLOB_CHUNK * aisinmates.BLOB_CHUNK
        if who != rank:
            short = f"IncompleteRead({got} bytes read, {size - got} more expected)"
            said = f"{name} left out: ('Connection broken: {short}', {short})"
            told(stage, over + 3 * MS, who, "clips", said, "WARNING")
        return got

    for over, other in spread(stage, lost + 200 * MS, ended, (2, 5), draw):
        cut(over, other, *_clip(draw))
    name, size = _clip(draw)
    got = cut(ended - 3 * MS, rank, name, size)
    told(stage, lost - draw.span(5_000, 5_900), rank, "clips", f"ais://{stage.bucket}/{name}: {size} bytes, by blob")
    blob_cut(stage, ended, rank, got, size - got)
    leaves(stage, ended + 6 * MS, rank)
    return stage.close(
        "Its host had renewed its lease, and the answer named no router any more.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=ended + seconds(40),
    )


@kind(reads=True, hangs=False, lead_s=68.0, without=(*DISKS, "tenant_errors"))
def recordings_of_lhotse_lay_behind_a_lost_path(stage: Stage) -> Scenario:
    """A target loses the fabric to one of its volumes, which is given up (lhotse, Shar on AIStore; NVMe over fabrics).

    To convict: the tar is not there, its target says; some seconds before, the same target could not open it, had too
    many errors of input, and disabled the mountpath; of what other ranks miss it is the same.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("lost path")
    stage.open()
    which = draw.whole(0, len(victim.mountpaths) - 1)
    disabled = at + draw.span(2_900, 5_600)
    stage.mark(disabled - seconds(9.5), f"{victim.name} loses the path to {victim.mountpaths[which]}")
    path, disk = victim.mountpaths[which], victim.disks[which]
    aisdisk.lose_mountpath(cluster, victim, disabled, path, disk, draw.between(41, 70))

    def tar() -> str:
        return f"shar/recording.{draw.whole(0, 4_095):06d}.tar"

    def asks(since: int, name: str) -> int:
        """urllib3 repeats 500 without a word, until the volume is off and it is 404; when that is."""
        for after in TRIES_S:
            then = since + seconds(after)
            if then > disabled + 5 * MS:
                return then
            aislapses.not_opened(cluster, victim, then, name, "input/output error", which)
        return since + seconds(TRIES_S[-1])

    for since, other in spread(stage, disabled - seconds(5.9), at + 400 * MS, (2, 5), draw):
        name = tar()
        then = asks(since, name)
        why = one_line(
            stage, then + 4 * MS, other, victim, name, 404, aisobjects.not_there(cluster, victim, then, name)
        )
        told(stage, then + 4 * MS, other, "shar", f"{name} left out: {why}", "WARNING")
    name = tar()
    over = asks(at, name)
    text = aisobjects.not_there(cluster, victim, over, name)
    recordings_not_opened(stage, over + 4 * MS, rank, victim, name, 404, text)
    leaves(stage, over + 10 * MS, rank)
    return stage.close(
        "A switch of the fabric was restarted, and the second path had been dead for weeks.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(60),
    )
