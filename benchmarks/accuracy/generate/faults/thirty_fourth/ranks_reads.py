"""What ranks ask AIStore for in vain, though it is well: names that never were, a host without its way to storage.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.natives import one_line
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_fourth")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)

#: What the kernel of a host says that has no way to a network at all, and not only to one address of it.
UNREACHABLE = ("[Errno 113] No route to host", "[Errno 101] Network is unreachable")


def _missed(stage: Stage, at: int, rank: int, folder: str, draw: Draw) -> tuple[str, str]:
    """A target has no object of a name below a folder that is not there; the name, and what the client is told."""
    node = draw.pick(list(stage.cluster.targets))
    name = f"{folder}/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
    text = aisobjects.not_there(stage.cluster, node, at - 3 * MS, name)
    return name, one_line(stage, at, rank, node, name, 404, text)


@kind(reads=True, lead_s=66.0, without=(*RESTARTS, "mountpath_before", "soft_errors"))
def manifest_names_a_folder_that_was_never_uploaded(stage: Stage) -> Scenario:
    """Two manifests are merged, and one of them spells the folder another way (aistore docs, 404; NeMo manifests).

    To acquit: as the job begins rank 0 tells that the bucket has nothing below the folder of some entries. All
    targets, none of which has left or come, answer 404 to names of that folder and to no others, and everything else
    is read.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.throttled_in_window, ninth_unrest.keepalives_late))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("folder")
    folder, most = draw.pick(("train_clean", "Train", "train-v2", "data/train")), draw.whole(3, 6)
    whole, wrong = draw.whole(90_000, 400_000), draw.whole(300, 2_000)
    begin = job.begin
    said = f"manifest: {whole} entries, {whole - wrong} below train/ and {wrong} below {folder}/"
    told(stage, begin - 700 * MS, 0, "corpus", said)
    said = f"ais://{stage.bucket}: {whole - wrong} objects below train/, 0 below {folder}/"
    told(stage, begin - 520 * MS, 0, "corpus", f"{said}; up to {most} entries of a rank may be missing")
    for then, other in spread(stage, begin + seconds(6), at - seconds(2), (3, 7), draw):
        name, answer = _missed(stage, then, other, folder, draw)
        told(stage, then, other, "corpus", f"1 of {most} missing: {name}: {answer}", "WARNING")
    for turn in range(most):
        span = (at - SEC - begin - seconds(5)) // most
        then = begin + seconds(5) + span * turn + int(span * draw.between(0.1, 0.9))
        name, answer = _missed(stage, then, rank, folder, draw)
        told(stage, then, rank, "corpus", f"{turn + 1} of {most} missing: {name}: {answer}", "WARNING")
    node = draw.pick(list(stage.cluster.targets))
    name = f"{folder}/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
    stage.mark(at, f"rank {rank} misses one more entry than it may, {name}")
    text = aisobjects.not_there(stage.cluster, node, at - 3 * MS, name)
    job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (404, "Not Found"), text))
    stage.hang(at + 240 * MS, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("The second manifest came from a colleague whose copy of the corpus has it so.", (made,), ALIVE)


def _unreachable(stage: Stage, rank: int, at: int, draw: Draw) -> None:
    """A read of a rank fails at a target or its proxy, and anew at the proxy until it gives up, or is ended."""
    job, over, proxy = stage.job, stage.at + seconds(stage.params.timeout_s - 4), stage.proxy_of(rank)
    then, text, name = at, "", utterance(draw)
    for turn in range(7):
        is_redirected = turn == 0 and (rank == stage.culprit or draw.chance(0.6))
        node = draw.pick(list(stage.cluster.targets)) if is_redirected else proxy
        path = object_path(stage, rank, name) if is_redirected else f"/v1/objects/{stage.bucket}/{name}?provider=ais"
        cause = sdk.no_route(draw.whole(*HANDLES)).replace(*UNREACHABLE)
        text = sdk.pool_error(node.address, node.ports[0], path, cause)
        if then >= over:
            return
        if turn < 6:
            wait = round(draw.between(1.0, min(14.0, 2.0**turn + 0.5)), 2)
            job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
            then += seconds(wait) + draw.span(2, 9)
    job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    read = "content = self.bucket.object(name).get_reader().read_all()"
    caller = sdk.main_frames(job.job, stage.step, sdk.Frame(job.job.script, 77, "fetch", read, True))
    job.raise_on(then + 2 * MS, rank, sdk.exhausted(job.job, caller, "ConnectionError", text))


@kind(reads=True, hangs=False, hosts=2, min_timeout_s=90, lead_s=62.0, without=(*RESTARTS, "tenant_disconnects"))
def uplink_of_a_host_to_storage_goes_down(stage: Stage) -> Scenario:
    """The card by which one host reaches storage loses its link (man 7 ip, ENETUNREACH; mlx5 and netdev docs).

    To acquit: the kernel of that host has the link that goes down in the same second; ranks of that host alone cannot
    reach targets nor their proxy, by an error that their own kernel gives and no peer. All nodes stay in the map and
    serve the others. A target that was late for keepalives before was never removed.
    """
    stage.open()
    beside(stage, ninth_unrest.keepalives_late)
    beside(stage, commotion.throttled_in_window)
    own, at, draw = stage.job.job, stage.at, stage.draw.child("uplink")
    node = own.node_of(stage.culprit)
    ranks = tuple(own.ranks_of(node))
    down = stage.mark(at - draw.span(40, 300), f"{own.hosts[node]} loses its link to storage")
    watched(stage, down, node, "kernel: mlx5_core 0000:c1:00.0 ens6f0np0: Link down")
    watched(stage, down + draw.span(3, 20), node, "systemd-networkd[1203]: ens6f0np0: Lost carrier")
    for rank in ranks:
        _unreachable(stage, rank, at + draw.span(2, 90), draw.child("rank", rank))
    for other in [one for one in readers(stage) if own.node_of(one) != node][:4]:
        fine = f"step {stage.step}: 48 of 48 recordings in {draw.between(0.09, 0.3):.2f} s"
        told(stage, at + draw.span(5, 60), other, "dataset", fine)
    end = stage.hang(at + 120 * MS, *ranks)
    made = stage.innocent("network", *ranks, also=("infrastructure",))
    return stage.close("A transceiver had been too warm for weeks.", (made,), ALIVE, until=end + seconds(40))
