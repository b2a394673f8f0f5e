"""Storage faults of the thirteenth part that begin at the proxies: tokens that were good are good no more."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.gateways import batch_refused
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator.aislog import Say
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "thirteenth")


def _refuses(stage: Stage, proxy: Node, at: int, request: str, token: str) -> str:
    """A proxy does not believe the signature of a token: the text, which the client gets with 401."""
    cluster, why = stage.cluster, "token signature is invalid: crypto/rsa: verification error"
    text = f'invalid token from header "Authorization": invalid token [err: {why}]: {token}'
    asked = "ml.go:61" if "/ml/moss/" in request else "bckinit.go:104 <- proxy.go:771"
    refusal = ev.http_error(proxy, text, request, f"htrun.go:1636 <- prxauth.go:437 <- {asked}")
    cluster.say(proxy, at, Say("W", "prxauth:508", f"token validation failed: {text}"), refusal)
    cluster.count(proxy, at, auth_total_n=1, auth_fail_n=1, auth_invalidtoken_n=1)
    return text


def _token(draw: Draw) -> str:
    return f"eyJ{draw.token(33)}.eyJ{draw.token(80)}.{draw.token(342)}"


@kind(reads=True, hangs=False, ais_order=430, uptime=True, lead_s=60.0)
def signing_key_not_kept(stage: Stage) -> Scenario:
    """The server of tokens starts anew with a key of its own making: no token is good any more (aistore docs/authn)."""
    cluster, job, at = stage.cluster, stage.job, stage.at
    draw, own = stage.draw.child("signing"), _token(stage.draw.child("token"))
    stage.open()
    began = stage.mark(at - draw.span(2_000, 14_000), "the server of tokens has lost its key and made another")
    then = began + draw.span(90, 900)
    while then < at + seconds(9):
        tenant = draw.pick(("tenant-d", "ocr-pages", "weblake"))
        request = f"GET /v1/objects/{tenant}/part-{draw.whole(0, 9999):05d}.bin"
        _refuses(stage, draw.pick(cluster.proxies), then, request, _token(draw.child(tenant)))
        then += draw.span(200, 2_100)
    ranks, last = [stage.culprit, *readers(stage)[: draw.whole(1, 4)]], at
    for turn, rank in enumerate(ranks):
        last = at + turn * draw.span(60, 150)
        text = _refuses(stage, stage.proxy_of(rank), last, f"GET /v1/ml/moss/{stage.bucket}", own)
        job.raise_on(last + 5 * MS, rank, batch_refused(stage, rank, (401, "Unauthorized"), text))
    job.agents_end([Exit(stage.culprit, at + 700 * MS, 1)], max(last, at + 700 * MS))
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "software")))
    return stage.close(
        "Its pod was moved, and its volume was one that lives as long as the pod.",
        (replace(made, culprit_ranks=None),),
        until=at + 20 * SEC,
    )
