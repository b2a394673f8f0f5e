"""Warnings of AIStore's own clients that come to a good end, seconds before a fault that has nothing to do with them.

Each is a noise (faults.beside) around the moment of the fault, of a job that trains: the culprit's clients warn too.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words import borrowers
from benchmarks.accuracy.generate.faults.words.fetchers import falls_back
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import chains, sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.moment import MS, SEC, seconds


def readers_resume(scene: Scene) -> None:
    """Readers of large shards lose their streams, resume them, and have read them whole some seconds later."""
    cluster, draw = scene.cluster, scene.draw.child("readers resume")
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 4)]):
        began, turns = scene.at - draw.span(9_000, 26_000), draw.whole(1, 3)
        if began < scene.job.begin + seconds(3):
            continue
        name, size = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.whole(180_000, 900_000) * 1024
        then, left = began, size
        for turn in range(1, turns + 1):
            got = left // draw.whole(3, 9)
            left -= got
            borrowers.resumes(scene, then, who, name, got, left, turn)
            then += draw.span(300, 1_900)
        done = then + draw.span(700, 3_000)
        node = draw.pick(cluster.up(done) or list(cluster.targets))
        cluster.count(node, done, get_n=1, get_size=size, get_ns_total=done - began)
        said = f"{name}: {size} of {size} bytes, read whole after {turns} resumption{'s' if turns > 1 else ''}"
        told(scene, done, who, "shards", said)


def withdrawn_left_out(scene: Scene) -> None:
    """Batches name recordings that their speakers have withdrawn; the data set goes on without these, as it is told."""
    cluster, draw = scene.cluster, scene.draw.child("withdrawn")
    many = draw.whole(90, 900)
    told(scene, scene.job.begin - 330 * MS, 0, "data", f"cont_on_err=True: {many} withdrawn recordings are left out")
    for who in (scene.culprit, *readers(scene)[: draw.whole(2, 5)]):
        at, node = scene.at - draw.span(1_200, 27_000), cluster.target(draw.whole(0, 99))
        if at < scene.job.begin + seconds(3) or cluster.process(node, at) is None:
            continue
        lost = draw.whole(1, 2)
        cluster.count(node, at, getbatch_n=1, getbatch_obj_n=32 - lost, err_soft_getbatch_n=lost)
        for turn in range(lost):
            name = f"withdrawn/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
            said = f"Skipping {name}: Batch entry failed on the server"
            told(scene, at + (3 + turn) * MS, who, "aistore.pytorch.batch_iter_dataset", said, "WARNING")


def cold_reads_polled(scene: Scene) -> None:
    """Clips of a bucket in a cloud are read for the first time: clients time out once, poll the lock, and have them."""
    cluster, draw = scene.cluster, scene.draw.child("polled")
    bucket = draw.pick(("noise-augment", "room-responses", "music-beds"))
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        at, node = scene.at - draw.span(14_000, 28_000), draw.pick(list(cluster.targets))
        if at < scene.job.begin + seconds(23) or cluster.process(node, at - 21 * SEC) is None:
            continue
        name, size = f"beds/{draw.token(9, LOWER)}.flac", draw.whole(60_000, 400_000) * 1024
        borrowers.own_line(
            scene,
            at,
            who,
            "INFO",
            "Delaying retry by polling for object write-lock release after: 'ReadTimeout'",
        )
        then, wait = at + draw.span(1_000, 5_000), round(draw.between(1.0, 1.9), 2)
        late = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out. (read timeout=20)"
        scene.job.sdk_warning(then, who, sdk.retrying(wait, "ReadTimeout", late))
        done = then + seconds(wait) + draw.span(90, 900)
        spent = done - at + 20 * SEC
        cluster.count(node, then, aws_get_n=1, aws_get_ns_total=then - at + 20 * SEC, aws_get_size=size)
        cluster.count(node, done, get_n=1, get_ns_total=draw.span(40, 400), get_size=size)
        said = f"s3://{bucket}/{name}: first read, {size} of {size} bytes after {spent / SEC:.1f} s, prefetched"
        told(scene, done, who, "augment", said)


def batches_fall_back(scene: Scene) -> None:
    """A designated target is late for proxies once; lhotse reads each object of those batches alone, and has them."""
    cluster, draw = scene.cluster, scene.draw.child("fall back")
    node = scene.bystander()
    began = scene.at - draw.span(11_000, 27_000)
    if began < scene.job.begin + seconds(4) or cluster.process(node, began) is None:
        return
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        then = began + draw.span(2, 900)
        failed = chains.dead_designated(scene, then, node, who, ev.DEADLINE)
        falls_back(scene, then + 4 * MS, who, failed.error)
        many, spent = draw.pick((24, 32, 48)), draw.between(0.9, 3.1)
        for turn in range(4):
            at = then + seconds(spent * (turn + 1) / 5)
            one = draw.pick(cluster.up(at) or [node])
            cluster.count(one, at, get_n=many // 4, get_size=many * 4_100, get_ns_total=draw.span(20, 160))
        said = f"{many} of {many} recordings by single reads, {spent:.1f} s"
        told(scene, then + seconds(spent), who, "dataset", said)
