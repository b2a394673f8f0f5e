"""Storage faults of the twenty-second part of what is around objects: a bucket destroyed, a transformer killed."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import transformed
from benchmarks.accuracy.generate.faults.words.gateways import batch_error, batch_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.subscribers import audio_of, spread, told
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisservices as services
from fixtures.generator import aistroubles as troubles
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
GONE = "ErrBckNotFound"
ETL = "resample-16k"


@kind(reads=True, hangs=False, lead_s=60.0, without=("restart_before", "second_job"))
def bucket_in_use_is_destroyed_by_a_cleanup(stage: Stage) -> Scenario:
    """A nightly script of the storage team destroys buckets that look unused (aistore docs/bucket, destroy-bck).

    To convict: batches of all ranks are answered with 404 for the bucket, by proxies; the primary gave out a new list
    of buckets just before with `destroy-bck` as the reason, and until then batches of the same bucket were served.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("destroyed")
    stage.open()
    began = stage.mark(at - draw.span(600, 1_800), f"ais://{stage.bucket} is destroyed")
    mishaps.change_buckets(cluster, began, "destroy-bck", draw)
    cluster.end_batches(began + 5 * MS, f"bucket ais://{stage.bucket} is being destroyed")
    request = f"GET /v1/ml/moss/{stage.bucket}"
    for then, other in spread(stage, began + 100 * MS, at, (2, 6), draw):
        text = troubles.no_bucket(cluster, stage.proxy_of(other), then - 3 * MS, request)
        refused = batch_error(stage, other, (404, "Not Found"), text, GONE)
        told(
            stage, then, other, "WARNING", f"batch not served, trying once more: {refused.replace('AISError', GONE, 1)}"
        )
    text = troubles.no_bucket(cluster, stage.proxy_of(rank), at - 3 * MS, request)
    refused = batch_refused(stage, rank, (404, "Not Found"), text, GONE)
    stage.job.raise_on(at, rank, refused.replace("errors.AISError:", f"errors.{GONE}:"))
    leaves(stage, at, rank)
    return stage.close(
        "It goes by the date of the last write, and training only reads.",
        (of_all(stage.guilty("storage_io", cluster.primary(at), also=("data", "infrastructure", "software"))),),
        until=at + 4 * SEC,
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def transformer_of_a_target_is_killed(stage: Stage) -> Scenario:
    """The pod of an ETL beside a target is OOM-killed on long recordings (aistore docs/etl; kubernetes, OOMKilled).

    To convict: the error in the rank's log names a target and its transformer, which has closed the connection; the
    target says the same of this object and, some moments after, that the transformer's pod was terminated (OOMKilled).
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("transformer")
    pod = f"{ETL}-{draw.child('pod').token(8, LOWER)}.ais.svc.cluster.local:8000"
    stage.open()
    told(stage, stage.job.begin + 200 * MS, 0, "INFO", f"reading ais://{stage.bucket} through ETL {ETL} (hpush)")
    died = stage.mark(at - draw.span(40, 900), f"the transformer of {victim.name} is killed")
    for then, other in spread(stage, died, at, (1, 4), draw):
        name = audio_of(draw)
        text = services.transform_failed(cluster, victim, then - 3 * MS, name, pod)
        told(stage, then, other, "WARNING", f"{name} through {ETL}: 400 by {victim.name}: {text}")
    name = audio_of(draw)
    text = services.transform_failed(cluster, victim, at - 3 * MS, name, pod)
    services.transformer_ends(cluster, victim, at + draw.span(300, 2_200), ETL, draw.child("pod"))
    stage.job.raise_on(at, rank, transformed(stage, at, rank, victim, name, (400, "Bad Request"), text))
    leaves(stage, at, rank)
    return stage.close(
        "A lecture of four hours had come into the corpus, and it holds a recording in memory twice.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data_loading_stall", "data", "software")),),
        until=at + seconds(9),
    )
