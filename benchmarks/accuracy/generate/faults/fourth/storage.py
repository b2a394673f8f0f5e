"""Storage faults of the fourth part that are loud: throttled, a wrong clock, a panic, uploads, slices, an ETL."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import (
    TRIES_S,
    pipe_failed,
    status_repeated,
    transformed,
    upload_failed,
)
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains
from fixtures.generator import aisservices as services
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourth")


@kind(reads=True, uptime=True, min_timeout_s=120)
def backend_throttles(stage: Stage) -> Scenario:
    """The bucket behind asks the cluster to slow down: cold reads end with 503, the client repeats them in silence."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("throttled")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(2), 1.2, 40, 260, draw)
    stage.mark(at - seconds(1.8), "the backend begins to throttle")
    error, name = "aws-error[SlowDown: Please reduce your request rate.]", utterance(draw)
    then = at - seconds(1.7)
    while then < at + seconds(96):
        other = utterance(draw, "other")
        aisobjects.backend_refused(cluster, cluster.target(draw.whole(0, 99)), then, other, error, 503)
        then += draw.span(2_600, 9_800)
    for after in TRIES_S:
        aisobjects.backend_refused(cluster, victim, at + seconds(after) + draw.span(0.4, 31), name, error, 503)
    status_repeated(stage, rank, victim, name, 503)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close(
        "A new epoch reads objects that are not in the cluster yet, faster than the bucket of S3 behind allows.",
        (made,),
    )


@kind(reads=True, uptime=True)
def clock_ahead(stage: Stage) -> Scenario:
    """The clock of one target is a quarter of an hour ahead: the backend refuses what it signs, the others work."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("clock")
    cluster.skews[victim.node_id] = seconds(draw.between(930, 2600))
    stage.open()
    stage.mark(at - seconds(1.5), f"{victim.name}, whose clock is wrong, is asked for objects that are not there yet")
    aisobjects.cold_gets(cluster, at - seconds(1.5), at + seconds(40), 1.1, 40, 210, draw, victim.node_id)
    said = "The difference between the request time and the current time is too large."
    error = f"aws-error[RequestTimeTooSkewed: {said}]"
    for after in (-1.2, -0.5, 2.2, 6.9):
        other = utterance(draw, "other")
        aisobjects.backend_refused(cluster, victim, at + seconds(after) + draw.span(0.4, 91), other, error, 403)
    name, then = utterance(draw), at
    for attempt in range(2):
        aisobjects.backend_refused(cluster, victim, then, name, error, 403)
        text = f"read of {name} failed (STATUS:403), retrying {attempt + 1}/2"
        stage.job.note(then + 6 * MS, rank, text, "W", 79)
        then += seconds(1.5) + draw.span(1, 30)
    aisobjects.backend_refused(cluster, victim, then, name, error, 403)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, victim, name, (403, "Forbidden"), error))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A host of the cluster has lost its time server. Reads of what is in the cluster already do not mind.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )


@kind(reads=True)
def handler_panics(stage: Stage) -> Scenario:
    """A target panics whenever it is to send one object: the connection is closed without an answer, curl gives up."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("panic")
    stage.open()
    other = f"10.77.{draw.whole(1, 9)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
    first = stage.mark(
        at - seconds(draw.between(21, 33)), f"{victim.name} panics over an object of ais://{stage.bucket}"
    )
    services.handler_panics(cluster, victim, first, other, draw)
    services.handler_panics(cluster, victim, at, stage.client(rank), draw)
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{name}?provider=ais"
    pipe_failed(stage, at + 6 * MS, rank, url, (52, "Empty reply from server"))
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A shard was written in chunks whose list is broken; the handler of reads does not look whether there is one.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(culprit=0, lead_s=60.0)
def upload_forgotten(stage: Stage) -> Scenario:
    """A target is restarted in the middle of a multipart upload over the S3 API: it knows nothing of it any more."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("upload")
    stage.open()
    key = f"{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(at - 40 * MS, rank, f"uploading checkpoint to s3://checkpoints/{key} (multipart)", line=116)
    down = stage.mark(at + seconds(5.1), f"SIGTERM {victim.name}")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, stage.mark(at + seconds(13.2), f"{victim.name} is started again"))
    failed = joined + draw.span(4_200, 9_900)
    message = f'upload "{draw.token(9)}" not found'
    if victim.release.order >= 460:
        message += "\nList uploads in s3://checkpoints to see available upload IDs"
    upload_failed(stage, failed, rank, key, "NoSuchUpload", message)
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "A rolling update restarts a target while rank 0 writes a checkpoint in parts; the others wait for rank 0.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True, uptime=True, targets=4)
def slices_missing(stage: Stage) -> Scenario:
    """Objects of an erasure-coded bucket cannot be put together again: disks were changed on two targets at once."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("slices")
    stage.open()
    stage.mark(at - seconds(9), f"{victim.name} is asked for an object that it has to restore")
    for after in (-8.7, -3.1, 4.4):
        node = cluster.target(draw.whole(0, 99))
        services.slices_missing(cluster, node, at + seconds(after) + draw.span(1, 700), utterance(draw), 1, 2)
    name, then = utterance(draw), at
    for attempt in range(2):
        services.slices_missing(cluster, victim, then, name, 1, 2)
        text = f"read of {name} failed (STATUS:400), retrying {attempt + 1}/2"
        stage.job.note(then + 6 * MS, rank, text, "W", 79)
        then += seconds(1.5) + draw.span(1, 30)
    text = services.slices_missing(cluster, victim, then, name, 1, 2)
    status = (400, "Bad Request")
    raised = refused_get(stage, then, rank, victim, name, status, text, "ErrFailedTo")
    stage.job.raise_on(then + 6 * MS, rank, raised)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall", "data")), ais_nodes=None)
    return stage.close(
        "Two data slices and one parity slice bear the loss of one; an operator changed disks on two targets.", (made,)
    )


@kind(reads=True, uptime=True)
def transformer_killed(stage: Stage) -> Scenario:
    """The container that transforms what a target reads is killed for its memory: the ETL is stopped everywhere."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("etl")
    stage.open()
    etl, name = "resample-16k", utterance(draw)
    stage.mark(at - 30 * MS, f"the transformer of {victim.name} is killed")
    pod = f"10.233.{draw.whole(64, 120)}.{draw.whole(2, 250)}:8000"
    text = services.transform_failed(cluster, victim, at, name, pod)
    stage.job.note(at + 6 * MS, rank, f"read of {name} failed (STATUS:400), retrying 1/2", "W", 79)
    services.transformer_ends(cluster, victim, at + draw.span(90, 140), etl, draw)
    then = at + seconds(1.5) + draw.span(1, 30)
    text = services.no_transformer(cluster, victim, then, name, etl)
    stage.job.note(then + 6 * MS, rank, f"read of {name} failed (STATUS:404), retrying 2/2", "W", 79)
    for after in (2.1, 3.3):
        node = cluster.target(draw.whole(0, 99))
        services.no_transformer(cluster, node, at + seconds(after) + draw.span(1, 300), utterance(draw), etl)
    then += seconds(3) + draw.span(1, 30)
    text = services.no_transformer(cluster, victim, then, name, etl)
    stage.job.raise_on(then + 6 * MS, rank, transformed(stage, then, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Every target runs a container that resamples what the job reads; one of them has too little memory.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "infrastructure")),),
    )


@kind(reads=True)
def removed_alive(stage: Stage) -> Scenario:
    """The control network loses packets: the primary removes a target that lives, what it holds is missing."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("removed")
    stage.open()
    began = stage.mark(at - seconds(41.5), f"the control network of {victim.name} loses packets")
    gone = faults.leave_smap(cluster, victim, began, hung=True)
    then = at
    for attempt in range(2):
        designated = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(5, 8))
        stage.job.note(then + 8 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/2", "W", 96)
        then += seconds(1.5 * 2**attempt)
    designated = stage.other_target(victim, 2)
    last = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(5, 8))
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 350 * MS, rank)
    faults.resume(cluster, victim, gone + seconds(draw.between(9, 14)))
    return stage.close(
        "A switch drops packets of the control network; keepalive gives up a target that serves data all the while.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "network")),),
    )
