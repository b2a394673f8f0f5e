"""Storage that looks ill beside a fault of another kind, and harms nobody of the job: noise of the eleventh part.

Each is a noise (faults.beside) around the moment of the fault. What an incident has of them is drawn: sites differ.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.noise import tenant_out_of_space, tenant_rejected
from benchmarks.accuracy.generate.scene import Noise, Scene, readers
from fixtures.generator import sdk
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage


def entries_missing(scene: Scene) -> None:
    """Batches of ranks that train lack some objects, which the client has asked to go on without."""
    cluster, draw = scene.cluster, scene.draw.child("entries missing")
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 4)]):
        node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(900, 21_000)
        if at < scene.job.begin + seconds(3) or cluster.process(node, at) is None:
            continue
        lost = draw.whole(1, 3)
        cluster.count(node, at, getbatch_n=1, getbatch_obj_n=48 - lost, err_soft_getbatch_n=lost)
        said = f"get-batch: {lost} of 48 objects are missing, the batch goes on without them"
        scene.job.note(at + draw.span(4, 40), who, said, "W", 102)


def connects_repeated(scene: Scene) -> None:
    """Connections of some ranks to one target are not made in time, and are at the next try."""
    cluster, draw = scene.cluster, scene.draw.child("connects")
    node = cluster.target(draw.whole(0, 99))
    began = scene.at - draw.span(8_000, 22_000)
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        at = began + draw.span(1, 2_000)
        if at < scene.job.begin + seconds(4):
            continue
        where = f"/v1/objects/{scene.bucket}"
        cause = sdk.connect_timeout(node.address, draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF) // 16 * 16)
        wait = round(draw.between(1.0, 1.9), 2)
        text = sdk.pool_error(node.address, node.ports[0], where, cause)
        scene.job.sdk_warning(at, who, sdk.retrying(wait, "ConnectTimeout", text))
        served = at + seconds(wait) + draw.span(30, 300)
        said = f"get-batch served after 2 attempts, {(served - at) / SEC + 3.0:.1f} s"
        scene.job.note(served + 2 * MS, who, said, "W", 99)


#: Of a job that trains, and of one that begins.
AMID: tuple[Noise, ...] = (
    entries_missing,
    connects_repeated,
    commotion.reads_recover,
    commotion.tenant_meets_bad_data,
    commotion.tenant_backend_fails,
    commotion.throttled_in_window,
    commotion.rebalance_running,
    eighth_unrest.slow_then_fine,
    eighth_unrest.tenant_panics,
    eighth_unrest.memory_is_low,
    ninth_unrest.keepalives_late,
    ninth_unrest.copies_are_made,
    ninth_unrest.reads_are_hedged,
    ninth_unrest.optional_is_missing,
    tenth_unrest.repeated_until_now,
    tenth_unrest.tenant_batches_fail,
    tenth_unrest.tenant_tokens_refused,
    tenth_unrest.disk_found_well,
    tenth_unrest.peer_reconnects,
    tenant_out_of_space,
    tenant_rejected,
)
EARLY: tuple[Noise, ...] = (
    eighth_unrest.buckets_change_early,
    ninth_unrest.settings_change_early,
    ninth_unrest.keepalives_early,
    tenth_unrest.disk_found_well_early,
    tenth_unrest.tenant_tokens_refused_early,
)


def unsettled(stage: Stage, among: tuple[Noise, ...] = AMID) -> None:
    """Nothing, one or two of these, after the job has opened or while it begins; most often one."""
    draw = stage.draw.child("unsettled")
    many = draw.pick((0, 1, 1, 1, 1, 2, 2, 2))
    for noise in draw.shuffled(among)[:many]:
        beside(stage, noise)


def hung_up_on(stage: Stage) -> None:
    """Targets that wrote to ranks when they died say so, in most incidents."""
    if stage.draw.child("hung up on").chance(0.65):
        beside(stage, tenth_unrest.answers_into_nothing)
