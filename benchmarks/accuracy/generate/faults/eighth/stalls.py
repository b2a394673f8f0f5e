"""Storage faults of the eighth part that say little: addresses, names, memory, disks, slow networks, lists."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import pipe_failed, resumed, resumed_too_often
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    batch_unanswered,
    exhausted,
    object_path,
    one_object,
    retries,
    unanswered,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighth")


@kind(reads=True, hosts=2)
def second_address_dead(stage: Stage) -> Scenario:
    """A target has two public addresses and the card of one is dead: every other read of it goes nowhere."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("second address")
    stage.open()
    first, port = victim.address.split("."), victim.ports[0]
    address = ".".join((first[0], str(int(first[1]) + 64), *first[2:]))
    for other in readers(stage)[:2]:
        name, then = utterance(draw, "extra"), at - draw.span(19_000, 30_000)
        where = f"http://{address}:{port}/v1/objects/{stage.bucket}/{name}"
        text = f'{{"message":"{sdk.missing_object(victim, stage.bucket, name)}","node":"{victim.name}","status":404}}'
        stage.job.note(then, other, f"optional {name}: STATUS:404, MESSAGE:{text}, REQ_URL:{where}", "W", 82)
    began = stage.mark(at - draw.span(2_000, 14_000), f"the second address of {victim.name} is dead")
    for other in readers(stage)[:5]:
        cause = sdk.connect_timeout(address, draw.whole(*HANDLES))
        text = sdk.pool_error(address, port, object_path(stage, other, utterance(draw)), cause)
        stage.job.sdk_warning(began + draw.span(3_020, 13_000), other, sdk.retrying(1.2, "ConnectTimeout", text))
    no_route = draw.chance(0.4)
    handle = draw.whole(*HANDLES)
    cause = sdk.no_route(handle) if no_route else sdk.connect_timeout(address, handle)
    name, spent = ("ConnectionError", 3.07) if no_route else ("ConnectTimeout", 3.01)
    text = sdk.pool_error(address, port, object_path(stage, rank, utterance(draw)), cause)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(draw.pick((31, 46))))
    then = retries(stage, at, rank, draw, spent, text, limit, name)
    exhausted(stage, then, rank, text, name, one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Storage hosts have two cards for clients; the proxies give out both addresses and ask neither.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, ais_order=410, min_timeout_s=90)
def target_swaps(stage: Stage) -> Scenario:
    """The host of a target has no memory left and swaps: it answers keepalives, and reads after half a minute."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("swap")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 31_000), f"the host of {victim.name} swaps")
    over = at + seconds(stage.params.timeout_s)
    disk.memory_pressure(cluster, victim, began, over + seconds(30), draw.pick(("extreme", "OOM")), draw)
    for turn in range(4):
        spent = draw.span(21_000, 34_000)
        cluster.count(victim, at + turn * 11 * SEC, get_n=1, get_ns_total=spent, get_size=draw.whole(9_000, 90_000))
    for other in readers(stage)[: draw.whole(1, 3)]:
        late = at + seconds(20.02) + draw.span(40, 3_000)
        cause = sdk.read_timeout(victim.address, victim.ports[0])
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
        stage.job.sdk_warning(late, other, sdk.retrying(1.1, "ConnectionError", text))
    if draw.chance(0.4):
        name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
        then = resumed(stage, rank, victim, name, over - SEC, 5, draw)
        if then < over - SEC:
            resumed_too_often(stage, then, rank)
    else:
        unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A job of another team was put on a storage host, with as much memory as it likes.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


def _by_name(stage: Stage, made: Scenario, domain: str) -> Scenario:
    """The same incident of a cluster whose targets are known to clients by name."""
    names = [(node, f"{node.host}.{domain}") for node in stage.cluster.targets]

    def named(text: str) -> str:
        for node, name in names:
            address, port = node.address, node.ports[0]
            text = text.replace(f"//{address}:{port}", f"//{name}:{port}")
            text = text.replace(f"host='{address}', port={port}", f"host='{name}', port={port}")
        return text

    def announced(text: str) -> str:
        rows = text.split("\n")
        for index, row in enumerate(rows):
            if "PUBLIC (user) access" in row:
                for node, name in names:
                    row = row.replace(f"{node.address} ", f"{name} ").replace(f"{node.address}:", f"{name}:")
                rows[index] = row
        return "\n".join(rows)

    if isinstance(stage, Scene):
        stage.raised = [named(text) for text in stage.raised]
    files = []
    for one in made.files:
        if "trace_rank_" in one.path:
            files.append(one)
            continue
        change = announced if one.path.startswith("ais/") else named
        files.append(replace(one, data=change(one.data.decode()).encode()))
    return replace(made, files=tuple(files))


@kind(reads=True, hosts=2, may_be_undetermined=True)
def name_of_target_lost(stage: Stage) -> Scenario:
    """Clients know targets by name, and the record of one is gone: no host finds it, all find the others."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("name")
    domain = draw.pick(("ais.svc.cluster.local", "aistore.corp.example", "stor.dc1.example"))
    name = f"{victim.host}.{domain}"
    stage.open()
    began = stage.mark(at - draw.span(4_000, 16_000), f"{victim.name} has no name any more")
    why = draw.pick(("[Errno -2] Name or service not known", "[Errno -5] No address associated with hostname"))

    def lost() -> str:
        handle = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES):#x}>"
        return f"NameResolutionError(\"{handle}: Failed to resolve '{name}' ({why})\")"

    for other in readers(stage)[:6]:
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), lost())
        stage.job.sdk_warning(began + draw.span(200, 9_000), other, sdk.retrying(1.4, "ConnectionError", text))
    if draw.chance(0.4):
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        pipe_failed(stage, at + 40 * MS, rank, url, (6, f"Could not resolve host: {name}"))
    else:
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), lost())
        limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(draw.pick((24, 38))))
        then = retries(stage, at, rank, draw, 0.03, text, limit)
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network", "infrastructure")
    made = stage.close(
        "The operator of the cluster has made the services anew, all but one.",
        (stage.guilty("storage_io", victim, also=also),),
    )
    return _by_name(stage, made, domain)


@kind(reads=True, lead_s=130.0, without=("restart_before", "kill_after", "rotation"))
def data_on_slow_network(stage: Stage) -> Scenario:
    """A target comes back and sends its data over the network of management: batches wait for its entries."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, designated = stage.draw.child("slow network"), stage.other_target(stage.victim)
    stage.open()
    down = stage.mark(at - draw.span(76_000, 84_000), f"SIGTERM {victim.name}")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(7_000, 9_000), f"{victim.name} is back, its data on the network of management")
    joined = faults.start_again(cluster, victim, up)
    failings.announce_data(cluster, victim, f"192.168.{draw.whole(1, 60)}.{draw.whole(2, 250)}")
    cluster.start_batches(joined + seconds(3.6), designated)
    over, then = at + seconds(stage.params.timeout_s), at + seconds(20.02)
    for turn, other in enumerate(readers(stage)[:3]):
        late = at - seconds(17.0 - 5.5 * turn) + draw.span(1, 900)
        waited = draw.between(8.0, 15.5)
        stage.job.note(late, other, f"batch of {draw.whole(24, 60)} entries took {waited:.1f} s", "W", 97)
        cluster.count(designated, late, getbatch_rxwait_ns=int(waited * SEC))
    for attempt in range(3):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        chains.read_timed_out(stage, then, designated, rank, wait)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, designated)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A file of settings was copied from a node of tests. Keepalives are small enough for any network.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, lead_s=110.0, without=("restart_before", "kill_after", "rotation"))
def listing_without_one(stage: Stage) -> Scenario:
    """A rank lists the bucket while a target restarts and gets a list without its objects: its epoch is too short."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, many = stage.draw.child("short list"), len(stage.cluster.targets)
    stage.open()
    down = stage.mark(at - draw.span(51_000, 60_000), f"SIGTERM {victim.name}, rank {rank} lists without it")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, down + draw.span(8_000, 11_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    objects, ranks = draw.whole(150_000, 600_000), stage.job.job.world
    short, epoch = objects - objects // many + draw.whole(-400, 400), draw.whole(2, 9)
    for other in readers(stage)[:15]:
        then, spent = down - draw.span(300, 4_000), draw.between(2.1, 6.8)
        said = f"listed {objects} objects of ais://{stage.bucket} in {spent:.1f} s"
        reader_note(stage, then, other, f"epoch {epoch}: {said}, {objects // ranks} for this rank")
    then = down + draw.span(2_000, 6_000)
    said = f"listed {short} objects of ais://{stage.bucket} in {draw.between(1.6, 4.4):.1f} s"
    reader_note(stage, then, rank, f"epoch {epoch}: {said}, {short // ranks} for this rank")
    text = f"epoch {epoch} has ended on rank {rank} at step {stage.step}, {objects // ranks} samples were announced"
    if draw.chance(0.5):
        in_worker(stage, at, rank, "RuntimeError", text, dataset_frames(stage)[:1])
    else:
        frame = sdk.Frame(stage.job.job.script, 90, "fetch", "raise EpochTooShort(")
        caller = sdk.main_frames(stage.job.job, stage.step, frame)
        raised = sdk.Raised(caller, f"EpochTooShort: {text}: {short // ranks} were listed")
        stage.job.raise_on(at, rank, sdk.traceback(raised))
    stage.hang(at + 330 * MS, rank)
    also = ("storage_io", "data", "software")
    return stage.close(
        "Who is not in the map is not asked, and the list that comes back is complete for those who are.",
        (stage.guilty("data_loading_stall", victim, also=also),),
    )


@kind(reads=True, without=("disk_busy", "mountpath_before"))
def resilver_at_work(stage: Stage) -> Scenario:
    """A new disk is put into a target, which moves a part of all it has: reads of it wait behind that."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("resilver")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 32_000), f"a disk is attached to {victim.name}")
    over = at + seconds(stage.params.timeout_s)
    failings.resilver_at_length(cluster, victim, began, over + seconds(60), draw)
    for turn, other in enumerate(readers(stage)[:3]):
        late = at - seconds(6) + seconds(9.5 * turn) + draw.span(1, 900)
        if turn and late > at + seconds(2):
            cause = sdk.read_timeout(victim.address, victim.ports[0])
            text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
            stage.job.sdk_warning(late, other, sdk.retrying(1.2, "ConnectionError", text))
        else:
            name = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
            stage.job.note(late, other, f"slow read: {draw.between(9, 19):.1f} s for {name}", "W", 80)
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Disks are added by day, because who carries them goes home at five.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )
