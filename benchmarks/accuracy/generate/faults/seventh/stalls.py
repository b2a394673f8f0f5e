"""Storage faults of the seventh part that say little: a table of connections, a lock, a wait, a front door."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import pipe_failed
from benchmarks.accuracy.generate.faults.words.doorways import ingress_refused, job_timed_out, waits_on_job
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    retries,
    unanswered,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisrifts as rifts
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "seventh")


@kind(reads=True, hosts=2)
def table_of_connections_full(stage: Stage) -> Scenario:
    """The kernel of a target's host tracks connections and has no room: new ones get no answer, old ones live on."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("table")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), f"the table of connections on the host of {victim.name} is full")
    over = at + seconds(stage.params.timeout_s)
    rifts.loses_packets(cluster, victim, began, min(over, at + seconds(240)), draw)
    for other in readers(stage)[:4]:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
        stage.job.sdk_warning(began + draw.span(3_010, 14_000), other, sdk.retrying(1.3, "ConnectTimeout", text))
    if stage.params.timeout_s >= 180 and draw.chance(0.5):
        waited = draw.whole(131_040, 135_900)
        where = f"{victim.address} port {victim.ports[0]}"
        told = f"Failed to connect to {where} after {waited} ms: Couldn't connect to server"
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        pipe_failed(stage, at + waited * MS, rank, url, (28, told))
    else:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
        limit = min(over - seconds(8), at + seconds(draw.pick((31, 44, 52))))
        then = retries(stage, at, rank, draw, 3.01, text, limit, "ConnectTimeout")
        exhausted(stage, then, rank, text, "ConnectTimeout", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A service on the storage host opens a connection for each line it logs. Keepalives have theirs.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(culprit=0, lead_s=60.0, min_timeout_s=90, uptime=True)
def prefetch_stands_still(stage: Stage) -> Scenario:
    """Rank 0 has the cluster read ahead and waits for it; one target cannot reach the backend and never says so."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("prefetch")
    stage.open()
    asked = stage.mark(at - draw.span(20, 400), f"a prefetch begins; {victim.name} does not get anywhere")
    job = troubles.prefetch_begins(cluster, asked, victim, draw)
    over = at + seconds(stage.params.timeout_s)
    aisobjects.cold_gets(cluster, asked, asked + seconds(14), 0.3, 300, 2_900, draw.child("cold"), victim.node_id)
    stage.job.note(asked + 3 * MS, rank, f"shards of the next epoch: prefetch {job} of {draw.whole(2, 9)}00", line=70)
    then, last = asked + 10 * MS, min(over, asked + seconds(300))
    while then < last:
        waits_on_job(stage, then, rank, job)
        then += seconds(10) + draw.span(4, 30)
    if over > asked + seconds(320):
        job_timed_out(stage, asked + seconds(310), rank)
    stage.hang(at + 20 * MS, rank)
    return stage.close(
        "The host of one target has lost the route to S3. Nobody needs it for what is in the cluster already.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, hosts=2)
def address_taken(stage: Stage) -> Scenario:
    """A new machine has the address of a target: whoever connects reaches now the one, now the other."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("taken")
    stage.open()
    began = stage.mark(at - draw.span(1_500, 6_000), f"a new machine has the address of {victim.name}")
    over = at + seconds(stage.params.timeout_s)
    rifts.address_taken(cluster, victim, began, min(over, at + seconds(200)), draw)
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for other in readers(stage)[:4]:
        late = began + draw.span(100, 12_000)
        aborted = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
        refused = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        stage.job.sdk_warning(late, other, sdk.retrying(1.2, "ConnectionError", draw.pick((aborted, refused))))
    text = sdk.pool_error(
        victim.address,
        victim.ports[0],
        object_path(stage, rank, utterance(draw)),
        sdk.refused(draw.whole(*HANDLES)),
    )
    limit = min(over - seconds(8), at + seconds(draw.pick((27, 40))))
    then = retries(stage, at, rank, draw, 0.004, text, limit)
    if draw.chance(0.5):
        in_worker(stage, then, rank, "requests.exceptions.ConnectionError", text, dataset_frames(stage))
    else:
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Somebody has typed an address twice. The target runs on and answers whom it hears.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, may_be_undetermined=True)
def front_door_too_small(stage: Stage) -> Scenario:
    """The ingress before the cluster was replaced and takes no large body: a checkpoint gets 413."""
    rank, at = stage.culprit, stage.at
    draw = stage.draw.child("door")
    stage.open()
    stage.mark(at - draw.span(12_000, 40_000), "the ingress before the cluster is replaced")
    host = f"{draw.pick(('ais', 'aistore', 's3-train'))}.storage.corp.example"
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/step-{stage.step}.pt"
    stage.job.raise_on(at + 40 * MS, rank, ingress_refused(stage, at, host, path, draw.whole(2, 30) << 30))
    ended = stage.job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    made = replace(stage.guilty("storage_io", also=("infrastructure", "software", "network")), ais_nodes=None)
    return stage.close(
        "What comes in from outside passes an ingress; its new version has a limit of a megabyte unless it is told.",
        (made,),
        until=ended,
    )


@kind(reads=True)
def lock_never_given_back(stage: Stage) -> Scenario:
    """A PUT that broke off keeps its lock: the index of the epoch cannot be read, all else on that target can."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("lock")
    name = f"index/epoch-{draw.whole(2, 40)}.jsonl"
    stage.open()
    began = stage.mark(at - draw.span(21_000, 38_000), f"a PUT of {name} at {victim.name} breaks off")
    troubles.upload_abandoned(cluster, victim, began, name, draw)
    over = at + seconds(stage.params.timeout_s)
    path = object_path(stage, rank, name)
    for other in readers(stage)[: draw.whole(1, 3)]:
        late = at + seconds(20.02) + draw.span(30, 900)
        cause = sdk.read_timeout(victim.address, victim.ports[0])
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, name), cause)
        if late < over - SEC:
            stage.job.sdk_warning(late, other, sdk.retrying(1.4, "ConnectionError", text))
    aisobjects.cold_gets(cluster, at, min(over, at + seconds(200)), 1.9, 4, 60, draw.child("others"))
    unanswered(stage, rank, draw, victim, path, over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Those who make the index write it anew each hour, and one of them was killed. The target waits for the rest.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )
