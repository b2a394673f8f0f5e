"""Storage faults of the thirteenth part that begin at the proxies: hosts that lose theirs when an epoch begins."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.fetchers import no_samples_found, shard_left_out
from benchmarks.accuracy.generate.faults.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "thirteenth")


@kind(
    reads=True,
    hangs=False,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=60.0,
    without=(*RESTARTS, "kalive_hiccup", "loader_fallbacks"),
)
def no_samples_behind_dead_proxy(stage: Stage) -> Scenario:
    """A proxy is gone and WebDataset leaves every shard out: no samples (webdataset issues 65, 112; check_empty)."""
    cluster, at, job = stage.cluster, stage.at, stage.job
    draw, proxy = stage.draw.child("no samples"), stage.proxy_of(stage.culprit)
    stage.open()
    died = stage.mark(at - draw.span(900, 6_000), f"the host of {proxy.name} is gone")
    faults.kill(cluster, proxy, died)
    faults.leave_smap(cluster, proxy, died)
    where = f"{proxy.address} port {proxy.ports[0]}"
    why = (7, f"Failed to connect to {where} after {draw.whole(0, 2)} ms: Couldn't connect to server")
    ranks = list(job.job.ranks_of(job.job.node_of(stage.culprit)))
    last = at
    for rank in ranks:
        then = at - draw.span(20, 400)
        for _ in range(draw.whole(3, 6)):
            shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
            shard_left_out(stage, then, rank, f"{proxy.url(0)}/v1/objects/{stage.bucket}/{shard}", why)
            then += 500 * MS + draw.span(9, 40)
        no_samples_found(stage, then, rank)
        last = max(last, then)
    ended = job.agents_end([Exit(ranks[0], last + 700 * MS, 1)], last + SEC)
    made = stage.guilty("storage_io", proxy, also=("data_loading_stall", "network", "data"))
    return stage.close(
        "Whoever told the loader to warn and go on had a broken shard in mind, not all of them.",
        (replace(made, culprit_ranks=tuple(ranks)),),
        until=ended,
    )
