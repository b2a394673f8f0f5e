"""Noise of real sites that is nobody's fault: retries that succeed, other tenants, restarts long ago, busy disks.

Each is a function of a scene. `QUIET` noise belongs to every site; `LOUD` noise is what a hasty reader would blame.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.scene import Around, Scene
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnode, chains
from fixtures.generator.aisdisk import Space
from fixtures.generator.aislog import Say
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import utterance
from fixtures.generator.watchdog import cpp


def _moments(scene: Scene, draw: Draw, how_many: int, before_s: float = 8.0) -> list[int]:
    """Moments between the start of the job and some seconds before the fault."""
    begin, end = scene.job.begin + seconds(4), scene.at - seconds(before_s)
    return [begin + int((end - begin) * draw.between(0, 1)) for _ in range(how_many if end > begin else 0)]


def idle_resets(scene: Scene) -> None:
    """Connections that were idle for more than 30 s are closed by AIStore: one reset, then success."""
    draw = scene.draw.child("idle resets")
    for salt, at in enumerate(_moments(scene, draw, draw.whole(2, 9))):
        left = "Retry(total=4, connect=None, read=None, redirect=None, status=None)"
        cause = "ConnectionResetError(104, 'Connection reset by peer')"
        where = f"/v1/objects/{scene.bucket}/{utterance(draw)}"
        text = f"Retrying ({left}) after connection broken by '{cause}': {where}"
        scene.job.note(at, scene.other_rank(salt), text, "W", 868, "connectionpool")


def pool_full(scene: Scene) -> None:
    """More threads than connections: a warning without consequence."""
    draw = scene.draw.child("pool")
    for salt, at in enumerate(_moments(scene, draw, draw.whole(1, 6))):
        host = scene.proxy_of(scene.other_rank(salt)).address
        text = f"Connection pool is full, discarding connection: {host}. Connection pool size: 10"
        scene.job.note(at, scene.other_rank(salt), text, "W", 327, "connectionpool")


def loader_fallbacks(scene: Scene) -> None:
    """Streams that ended early and were completed object by object (lhotse)."""
    draw = scene.draw.child("fallbacks")
    for salt, at in enumerate(_moments(scene, draw, draw.whole(1, 5))):
        falling = "Falling back to direct AIStore API calls for remaining objects."
        text = f"Batch stream truncated at index {draw.whole(1, 40)}/48. {falling}"
        scene.job.note(at, scene.other_rank(salt), text, "W", 211, "batch_loader")


def tenant_errors(scene: Scene) -> None:
    """Another tenant asks for objects that are not there: 404 on targets, counted."""
    draw = scene.draw.child("tenant errors")
    for at in _moments(scene, draw, draw.whole(3, 14), -30.0):
        node = scene.cluster.target(draw.whole(0, 99))
        name = f"tmp/{draw.token(6)}"
        text = f"{node.name}: ais://scratch/{name} does not exist"
        scene.cluster.say(node, at, ev.http_error(node, text, f"GET /v1/objects/scratch/{name}", "htrun.go:1636"))
        scene.cluster.count(node, at, err_get_n=1)


def tenant_disconnects(scene: Scene) -> None:
    """Another tenant's clients hang up in the middle of their batches."""
    draw = scene.draw.child("disconnects")
    release = scene.params.ais_release
    xact = ev.Xact(scene.cluster.new_xid(), "other-tenant", release.short_names, release.quotes_wid)
    for at in _moments(scene, draw, draw.whole(1, 5)):
        node = scene.cluster.target(draw.whole(0, 99))
        client = f"10.77.{draw.whole(1, 9)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
        scene.cluster.say(node, at, ev.broken_pipe(xact, node, client))
        scene.cluster.count(node, at, getbatch_n=1, err_getbatch_n=1)


def kalive_hiccup(scene: Scene) -> None:
    """A keepalive that failed once and was fine at the next try."""
    draw = scene.draw.child("hiccup")
    node, at = scene.bystander(), (_moments(scene, draw, 1, 20) or [scene.job.begin])[0]
    primary = scene.cluster.primary(at)
    scene.cluster.say(primary, at, aisnode.fast_kalive(primary, node, ev.DEADLINE))
    scene.cluster.count(primary, at, err_kalive_n=1)


def disk_busy(scene: Scene) -> None:
    """The disks of a target are busy for a while; nobody waits long for it."""
    draw = scene.draw.child("disk busy")
    node = scene.bystander()
    begin = scene.job.begin + seconds(5)
    until = max(begin + seconds(20), scene.at - seconds(6))
    disk.disk_pressure(scene.cluster, node, begin, until, draw)


def low_space(scene: Scene) -> None:
    """A target with little room left says so at every capacity report."""
    draw = scene.draw.child("low space")
    node = scene.bystander()
    for at in _moments(scene, draw, 2):
        path = node.mountpaths[0]
        room = f"{path}: used {draw.whole(86, 89)}%, avail {draw.whole(200, 500)}.13GiB"
        scene.cluster.say(node, at, Say("I", "", room))
        scene.cluster.say(node, at + 2 * MS, Say("I", "", f"{path}: (low-free-space)"))


def rotation(scene: Scene) -> None:
    """All nodes rotate their logs in the middle of the job."""
    draw = scene.draw.child("rotate")
    at = scene.job.begin + (scene.at - scene.job.begin) // 2
    scene.mark(at, "rotate-logs")
    for node in scene.cluster.nodes:
        scene.cluster.last_process(node).rotations.append(at + draw.span(1, 9))


def soft_errors(scene: Scene) -> None:
    """Batches of other ranks with a few missing objects, which their loaders skip."""
    draw = scene.draw.child("soft")
    for at in _moments(scene, draw, draw.whole(2, 8)):
        node = scene.cluster.target(draw.whole(0, 99))
        scene.cluster.count(node, at, getbatch_n=1, getbatch_obj_n=34, err_soft_getbatch_n=draw.whole(1, 3))


def second_job(scene: Scene) -> None:
    """Another job reads from the same cluster and ends well."""
    params = replace(scene.params, ranks=4, ranks_per_node=4, layout="slurm", style="nemo")
    other = scene.new_job("neighbour", params, scene.job.begin + seconds(7))
    last = int((scene.params.lead_s + min(scene.params.timeout_s, 120)) / params.step_s) + 20
    other.start()
    other.train(0, last, save_every=10_000)
    other.finish(last)


def restart_before(scene: Scene) -> None:
    """A target is restarted while the job trains; a rank repeats its batch some times, with success."""
    cluster, node = scene.cluster, scene.bystander()
    draw = scene.draw.child("restart")
    rank = scene.other_rank(77)
    down = scene.job.begin + seconds(12)
    if scene.at - down < seconds(75) or cluster.xact is None:
        return
    scene.mark(down, f"SIGTERM {node.name}")
    faults.terminate(cluster, node, down)
    then = down + 30 * MS
    for attempt in range(draw.whole(2, 4)):
        designated = scene.other_target(node, attempt)
        failed = chains.missing_entry(scene, then, designated, designated, utterance(draw), draw.whole(6, 9))
        scene.job.note(then + 8 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/5", "W", 96)
        then += seconds(1.5 + attempt)
    joined = faults.start_again(cluster, node, then)
    cluster.start_batches(joined + seconds(3.6), scene.other_target(node))


def mountpath_before(scene: Scene) -> None:
    """A target loses a disk early on; the others have copies of what was on it."""
    node = scene.bystander()
    if len(node.disks) > 1 and scene.at - scene.job.begin > seconds(60):
        at = scene.job.begin + seconds(14)
        scene.mark(at, f"{node.name} disables {node.mountpaths[0]}")
        disk.lose_mountpath(scene.cluster, node, at, node.mountpaths[0], node.disks[0], 35.0)


def tenant_out_of_space(scene: Scene) -> None:
    """A target is too full for another tenant's writes; reads go on."""
    node, space = scene.bystander(), Space("3581.0GiB", "142.4GiB", 96, "3725.29GiB")
    at = scene.job.begin + seconds(9)
    scene.mark(at, f"{node.name} runs out of space for tenant-b")
    disk.put_rejected(scene.cluster, node, at, "/v1/objects/tenant-b/o7", space)
    disk.out_of_space(scene.cluster, node, at, scene.at + seconds(40), space)


def tenant_rejected(scene: Scene) -> None:
    """A target under pressure turns down another tenant's batches."""
    cluster, node, draw = scene.cluster, scene.bystander(), scene.draw.child("rejected")
    release = scene.params.ais_release
    if release.order < 410:
        return
    xact = ev.Xact(cluster.new_xid(), "other-tenant", release.short_names, release.quotes_wid)
    advice = ev.advice("critical", "100ms", "critical", "low", "low")
    proxy = cluster.proxy(0)
    for at in _moments(scene, draw, draw.whole(2, 6)):
        wid = cluster.wid(proxy, draw)
        text = ev.rejected(xact, wid, advice, draw.whole(11, 40), release.order)
        own, forwarded = ev.phase_one_failed(proxy, node, "other-tenant", wid, len(cluster.targets), text)
        cluster.say(node, at, own)
        cluster.say(proxy, at + MS, forwarded)
        cluster.count(node, at, err_getbatch_n=1)


def kill_after(scene: Scene) -> None:
    """A target is killed while the job hangs already: too late to be the cause."""
    if scene.hung_at is None or scene.params.timeout_s < 45:
        return
    node, at = scene.bystander(), scene.hung_at + seconds(0.45 * scene.params.timeout_s)
    if scene.cluster.process(node, at) is None or any(one.at >= at for one in scene.cluster.members):
        return
    scene.mark(at, f"kill -9 {node.name}, while the job hangs")
    faults.kill(scene.cluster, node, at)
    faults.leave_smap(scene.cluster, node, at)


def teardown_noise(scene: Scene) -> None:
    """Ranks that lose the store when rank 0 dies first (2.5 to 2.13)."""
    torch = scene.params.torch_release
    if scene.hung_at is None or not 205 <= torch.order <= 213:
        return
    at = scene.job.ended_at - SEC
    reason = "(maybe TCPStore server has shut down too early), with error: "
    text = f'Failed to check the "should dump" flag on TCPStore, {reason}'
    for salt in range(min(4, scene.params.ranks - 1)):
        rank = scene.other_rank(salt)
        tag = torch.group_tag(rank)
        line = cpp(scene.job.job, rank, at + salt, torch.preparing or 1533, f"{tag}{text}Broken pipe", "W")
        scene.job.say(at + salt, rank, line)


QUIET = {
    one.__name__: one
    for one in (idle_resets, pool_full, loader_fallbacks, tenant_errors, tenant_disconnects, kalive_hiccup)
} | {one.__name__: one for one in (disk_busy, low_space, rotation, soft_errors)}
LOUD = {one.__name__: one for one in (mountpath_before, tenant_out_of_space, tenant_rejected)}
OPENING = {"restart_before": restart_before}
LAST = {one.__name__: one for one in (kill_after, teardown_noise, second_job)}
NAMES = (*QUIET, *LOUD, *OPENING, *LAST)
#: Noise of a job that trains: its ranks speak, or read.
OF_RANKS = tuple(one.__name__ for one in (idle_resets, pool_full, loader_fallbacks, soft_errors, restart_before))


def around(names: tuple[str, ...]) -> Around:
    """The noise of these names, each at its time."""
    first = QUIET | LOUD
    return Around(
        [first[name] for name in names if name in first],
        [OPENING[name] for name in names if name in OPENING],
        [LAST[name] for name in names if name in LAST],
    )
