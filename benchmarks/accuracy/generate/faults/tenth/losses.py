"""Storage faults of the tenth part on targets: what they know of objects, have confirmed, send twice, may write."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.doorways import part_refused
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, refused_get, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back, of_all, others_fail
from benchmarks.accuracy.generate.faults.words.workplaces import batch_in_disorder, shard_of_another_step, tar_not_read
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses as losses
from fixtures.generator import aisobjects, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "tenth")


@kind(reads=True, lead_s=90.0, without=RESTARTS)
def attributes_lost(stage: Stage) -> Scenario:
    """Disks of a target were copied to new ones without their attributes: files are there, objects are not."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("attributes")
    stage.open()
    back = comes_back(stage, at - draw.span(23_000, 39_000), "which comes back with a copy of a disk")
    disk, by_own = draw.whole(0, len(victim.disks) - 1), draw.chance(0.4)

    def fails(then: int, name: str) -> str:
        return losses.attributes_empty(cluster, victim, then, name, disk)

    for _ in range(draw.whole(3, 8)):
        fails(back + 2 * SEC + int((at - back) * draw.between(0.1, 1)), utterance(draw, "other"))
    others_fail(stage, back + 4 * SEC, (-4.4, -2.0, 0.6, 1.8), draw, fails)
    name = utterance(draw)
    text = fails(at, name)
    if by_own:
        tar_not_read(stage, at + 6 * MS, rank, f"{name}: 404 from {victim.url(0)}, read well in the last epoch")
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A disk that was about to fail was copied by a tool that copies contents, in time and completely.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(hangs=False, trains=False, uptime=True, targets=4)
def confirmed_write_lost(stage: Stage) -> Scenario:
    """A target's host loses its power seconds after a checkpoint was confirmed; one shard of it is the one before."""
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw, world = stage.draw.child("confirmed"), stage.job.job.world
    died = stage.mark(job.begin - seconds(draw.between(105, 170)), f"the host of {victim.name} loses its power")
    saved, every = died - draw.span(2_000, 19_000), draw.pick((200, 250, 500))
    wanted = draw.whole(9, 60) * every
    for node in cluster.targets:
        puts = max(1, world // len(cluster.targets))
        cluster.count(node, saved, put_n=puts, put_ns_total=puts * draw.span(90, 700), put_size=puts << 28)
    peers = [node for node in cluster.targets if node is not victim][:2]
    aisobjects.lose_host(cluster, victim, died, died + seconds(31), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    faults.start_again(cluster, victim, died + draw.span(44_000, 58_000))
    job.start()
    at = job.begin + seconds(0.6)
    when = f"{local(saved, job.job.zone):%H:%M:%S}"
    task = job.job.task
    said = f"going on from ais://checkpoints/{task}, latest.json: step {wanted}, {world} shards, confirmed at {when}"
    job.note(at - 60 * MS, 0, said, line=104)
    for other in range(world) if world <= 32 else (0, rank):
        shard, step = f"shard-{other:05d}.pt", wanted - every if other == rank else wanted
        owner = victim if other == rank else stage.other_target(victim, other)
        reader_note(stage, at + draw.span(1, 400), other, f"{shard} of step {step} from {owner.url(0)}")
    for node in cluster.up(at):
        cluster.count(node, at + 200 * MS, get_n=2, get_ns_total=draw.span(90, 400), get_size=2 << 28)
    over = at + draw.span(420, 800)
    shard_of_another_step(stage, over, rank, f"{task}/shard-{rank:05d}.pt", wanted - every, wanted, victim)
    ended = job.agents_end([Exit(rank, over + 700 * MS, 1)], over + 700 * MS)
    also = ("data", "software", "data_loading_stall")
    return stage.close(
        "What is written lies in memory for half a minute, confirmed or not; the job was ended for the loss of power.",
        (stage.guilty("storage_io", victim, also=also),),
        until=ended,
    )


@kind(reads=True, ais_order=400)
def entries_twice(stage: Stage) -> Scenario:
    """Streams between targets break and entries are sent again: a batch is answered well and is in disorder."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("twice")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 21_000), f"what is sent to {victim.name} comes twice")
    for other, after in zip(readers(stage), (-4.6, -2.3, 1.4), strict=False):
        then, index = max(began, at + seconds(after)) + draw.span(1, 600), draw.whole(3, 40)
        losses.received_twice(cluster, victim, stage.other_target(victim, draw.whole(0, 99)), then, index)
        wid = cluster.wid(stage.proxy_of(other), draw)
        said = f"batch {wid} of {victim.url(0)}: entry {index + 1} has another name, asked for once more"
        stage.job.note(then + 9 * MS, other, said, "W", 65)
    index, wid = draw.whole(3, 40), cluster.wid(stage.proxy_of(rank), draw)
    losses.received_twice(cluster, victim, stage.other_target(victim, draw.whole(0, 99)), at, index)
    cluster.count(victim, at, getbatch_n=1, getbatch_obj_n=48, getbatch_obj_size=48 * 16_000)
    batch_in_disorder(stage, at + 14 * MS, rank, victim, index + 1, wid, draw)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data", "data_loading_stall")))
    return stage.close(
        "Something between the hosts ends connections of more than an hour; what was sent is unsure.", (made,)
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def quota_reached(stage: Stage) -> Scenario:
    """A project of one file system of a target has reached its quota, and there is room: rank 0 cannot upload."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, job = stage.draw.child("quota"), stage.job
    stage.open()
    began = stage.mark(at - draw.span(2_000, 40_000), f"writes of checkpoints run into a quota of {victim.name}")
    for _ in range(draw.whole(0, 5)):
        then = began + int((at - began) * draw.between(0, 0.95))
        losses.over_quota(cluster, victim, then, "checkpoints", f"tenant-b/run{draw.whole(1, 9)}/last.pt", draw)
    key = f"{job.job.task}/step={stage.step}.pt"
    job.note(at - draw.span(4_000, 9_000), 0, f"uploading checkpoint to s3://checkpoints/{key}", line=116)
    then, text = at, ""
    for attempt in range(5):
        text = losses.over_quota(cluster, victim, then, "checkpoints", key, draw)
        then += draw.span(80, 900 << attempt) if attempt < 4 else 0
    part_refused(stage, then + 7 * MS, 0, key, text)
    ended = job.agents_end([Exit(0, then + 900 * MS, 1)], then + 900 * MS)
    return stage.close(
        "The hosts of storage share a template with those of users, where each project has its quota.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=ended,
    )


@kind(reads=True, lead_s=90.0, without=RESTARTS)
def one_speaks_tls(stage: Stage) -> Scenario:
    """A cluster is to speak TLS from next week; one target does so since its restart, and nobody believes it."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("tls")
    stage.open()
    back = comes_back(stage, at - draw.span(22_000, 34_000), "which comes back with the settings of next week")
    losses.speaks_tls(cluster, victim, back + 4 * SEC, at + seconds(100), draw)
    why = draw.pick(("self-signed certificate", "unable to get local issuer certificate"))
    told = f"certificate verify failed: {why} (_ssl.c:{draw.pick((1006, 997, 1000))})"
    cause = f"SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] {told}'))"

    def failed(who: int) -> str:
        path = object_path(stage, who, utterance(draw))
        return sdk.pool_error(victim.address, victim.ports[0], path, cause).replace("HTTPConn", "HTTPSConn")

    for other in readers(stage)[:4]:
        late = back + seconds(4) + int((at - back - seconds(4)) * draw.between(0, 0.95))
        wait = round(draw.between(1, 1.5), 2)
        stage.job.sdk_warning(late, other, sdk.retrying(wait, "SSLError", failed(other)))
    text = failed(rank)
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((19, 37))))
    then = retries(stage, at, rank, draw, 0.03, text, limit, "SSLError")
    exhausted(stage, then, rank, text, "SSLError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A change was merged too early; whichever target restarts takes it.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "software")),),
    )
