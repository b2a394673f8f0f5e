"""A job that begins and does not come to a step: banners of its agents, exceptions before ranks know of each other."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

#: So many ranks of a host, or of a job, say the same.
SPEAKERS = 32


def banners(stage: Stage, at: int) -> None:
    """The agent of each host speaks of its threads."""
    job = stage.job
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, at):
            job.agent(at, host, text)


def bare(stage: Stage, at: int, rank: int, raised: sdk.Raised) -> None:
    """An exception before the process group is made: no rank stands in front of its lines."""
    text = sdk.traceback(raised)
    stage.job.say(at, rank, text)
    if isinstance(stage, Scene):
        stage.raised.append(text.split("\n")[-1])


def begins(stage: Stage, *inner: sdk.Frame, line: int = 164) -> tuple[sdk.Frame, ...]:
    """From the script's main, before its first step, to what it prepares there."""
    script = stage.job.job.script
    code = inner[0].code if inner else "prepare(args)"
    outer = (sdk.Frame(script, 212, "<module>", "main()"), sdk.Frame(script, line, "main", code, True))
    return (*outer, *inner[1:])


def all_leave(stage: Stage, at: int, ranks: list[int]) -> None:
    """Ranks have raised: on each of their hosts the first of them ends the others."""
    job = stage.job
    firsts = {job.job.node_of(rank): rank for rank in reversed(ranks)}
    job.agents_end([Exit(rank, at + rank * MS, 1) for rank in firsts.values()], at + 400 * MS)


def throttled_neighbour(scene: Scene) -> None:
    """Another job's batches are turned away with 429 around the fault; it asks again, is served and ends well."""
    draw, cluster, node = scene.draw.child("throttled neighbour"), scene.cluster, scene.bystander()
    names = ("lecture-video", "ocr-lines", "maps-z16")
    other = loud.neighbour(scene, draw, "throttled neighbour", (2_500, 6_500), names)
    release, bucket, proxy = scene.params.ais_release, other.job.bucket, cluster.proxy(0)
    xid = f"{'gbt-' if release.gbt_prefix else ''}{draw.token(9)}"
    xact = ev.Xact(xid, bucket, release.short_names, release.quotes_wid)
    for turn in range(draw.whole(3, 8)):
        then, rank = scene.at - draw.span(-7_000, 22_000), turn % other.job.world
        if not other.begin + seconds(2) < then < other.ended_at - seconds(6) or cluster.process(node, then) is None:
            continue
        wid, pressure = cluster.wid(proxy, draw), ev.advice("critical", "100ms", "low", "high", "critical")
        text = ev.rejected(xact, wid, pressure, draw.whole(14, 52), release.order)
        own, forwarded = ev.phase_one_failed(proxy, node, bucket, wid, len(cluster.targets), text)
        cluster.say(node, then, own)
        cluster.say(proxy, then + MS, forwarded)
        cluster.count(node, then, err_getbatch_n=1)
        later = then + draw.span(600, 2_900)
        said = f"ais://{bucket}: 429, asked again, batch complete after {(later - then) / SEC:.1f} s"
        other.say(later, rank, f"{comma_stamp(later, other.job.zone)} [rank{rank}] INFO reader: {said}")
