"""Noise of storage and of pipes that ends well, and lines of programs that fail for reasons of their own.

The first are noises (faults.beside) around the moment of a fault, of a job that trains or begins.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aiscrewmates, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.moment import MS, python_stamp, seconds
from fixtures.generator.stage import Stage

TENANTS = ("radio-2019", "lidar-sweeps", "ocr-pages", "tenant-d")


def tenants_batches_come_to_nothing(scene: Scene) -> None:
    """Another tenant's clients are gone, and entries of its batches come too late: its own, before and after."""
    _come_to_nothing(scene, scene.at)


def tenants_batches_come_to_nothing_early(scene: Scene) -> None:
    """The same while the job begins."""
    _come_to_nothing(scene, scene.job.begin - seconds(1))


def _come_to_nothing(scene: Scene, at: int) -> None:
    draw, cluster = scene.draw.child("come to nothing"), scene.cluster
    xact = aiscrewmates.others_batches(cluster, draw.pick(TENANTS), draw)
    for _ in range(draw.whole(3, 8)):
        node, then = cluster.target(draw.whole(0, 99)), at - draw.span(-7_000, 24_000)
        if cluster.process(node, then) is None:
            continue
        what = draw.pick((0, 0, 1, 1, 2))
        if what == 0:
            aiscrewmates.entries_too_late(cluster, node, then, xact, draw.whole(1, 4), draw)
        elif what == 1:
            aiscrewmates.client_gone(cluster, node, then, xact, draw)
        else:
            aiscrewmates.never_fetched(cluster, node, then, xact, draw)


def curl_pipes_try_again(scene: Scene) -> None:
    """Shards come through pipes of curl, some of which lose their connection, try again and come whole."""
    draw, cluster, job = scene.draw.child("curl pipes"), scene.cluster, scene.job
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 4)]):
        began = scene.at - draw.span(9_000, 27_000)
        node = draw.pick(cluster.up(began) or list(cluster.targets))
        if began < job.begin + seconds(3) or cluster.process(node, began) is None:
            continue
        then, name = began, f"shards/train-{draw.whole(0, 4095):06d}.tar"
        for turn in range(draw.whole(1, 2)):
            wait = 1 << turn
            job.say(then, who, "curl: (56) Recv failure: Connection reset by peer")
            left = f"{wait} second{'s' if wait > 1 else ''}. {5 - turn} retries left."
            job.say(then + MS, who, f"Warning: Problem (retrying all errors). Will retry in {left}")
            then += seconds(wait) + draw.span(200, 1_900)
        size = draw.whole(90_000, 480_000) * 1024
        cluster.count(node, then, get_n=1, get_size=size, get_ns_total=draw.span(300, 1_800))
        told(scene, then + draw.span(20, 90), who, "shards", f"{name}: {size} bytes through the pipe, read whole")


def timer_goes_off(
    stage: Stage, at: int, rank: int, limit: int, threads: tuple[tuple[tuple[str, str, int], ...], ...]
) -> None:
    """faulthandler prints the stacks of a process, as its timer was told to; the thread that was first comes last."""
    draw = stage.draw.child("timer")
    rows = [f"Timeout ({limit // 3600}:{limit // 60 % 60:02d}:{limit % 60:02d})!"]
    for frames in threads:
        rows.append(f"Thread 0x00007f{draw.token(7, HEX)}{draw.pick('0246')}40 (most recent call first):")
        rows += [f'  File "{file}", line {line} in {function}' for function, file, line in frames]
        rows.append("")
    stage.job.say(at, rank, "\n".join(rows[:-1]))


def dynamo_line(stage: Stage, at: int, rank: int, times: int, text: str) -> str:
    """A warning of torch._dynamo about a frame that it has compiled so often."""
    own = stage.job.job
    module = f"torch/_dynamo/convert_frame.py:{1016 if own.torch.order < 209 else 1550}"
    return f"[rank{rank}]:W{python_stamp(at, own.zone)} {own.rank_pids[rank]} {module}] [0/{times}] {text}"


def asserts_on_device(stage: Stage, at: int, rank: int, place: str, kernel: str, what: str, blocks: int) -> None:
    """A kernel prints which of its threads do not find what it asserts."""
    for block in range(blocks):
        where = f"{stage.job.job.torch.source_tree}{place}: {kernel}: block: [{block},0,0], thread: [0,0,0]"
        stage.job.say(at, rank, f"{where} Assertion `{what}` failed.")


def chained(stage: Stage, at: int, rank: int, first: sdk.Raised, then: sdk.Raised) -> None:
    """An exception that was raised while another one was handled."""
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(first.frames, first.text, sdk.DURING), then))
