"""Faults around a job, of the third part: scheduler, rendezvous, names, credentials; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.aislog import Say
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "third")


@kind(hangs=False, hosts=2, trains=False)
def host_never_joins(stage: Stage) -> Scenario:
    """One host of the job never starts; the agents of the others wait for it and give up."""
    job, site = stage.job, stage.job.job.build["site"]
    hosts, begin = len(job.job.hosts), stage.job.begin
    stage.mark(begin, f"host {job.job.hosts[-1]} does not start")
    for node in range(hosts - 1):
        for text in torchrun.omp_banner(job.job, node, begin):
            job.agent(begin, node, text)
    over = begin + seconds(301.2)
    kind_name = "torch.distributed.DistStoreError" if job.job.torch.order >= 202 else "RuntimeError"
    late = f"Timed out after 301 seconds waiting for clients. {hosts - 1}/{hosts} clients joined."
    module = f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py"
    frames = (
        sdk.Frame(f"{job.job.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(module, 67, "next_rendezvous", "self._store = TCPStore("),
    )
    job.agent(over, 0, sdk.traceback(sdk.Raised(frames, f"{kind_name}: {late}")))
    for node in range(1, hosts - 1):
        job.agent(over + 40 * MS, node, sdk.traceback(sdk.Raised(frames, _store_gone(job.job.torch.order))))
    job.slurm(over + seconds(1), 0, torchrun.srun_exit(job.job, 0))
    job.slurm(over + seconds(1.1), 0, torchrun.step_cancelled(job.job, over + seconds(1.1)))
    job.ended_at = over + seconds(2)
    also = ("network", "software")
    made: Expect = replace(stage.innocent("infrastructure", also=also), culprit_ranks=None)
    return stage.close("An image cannot be pulled on one host; no rank is ever started.", (made,))


def _store_gone(order: int) -> str:
    """What an agent says when the store it talks to is gone."""
    if order < 205:
        return "RuntimeError: Connection reset by peer"
    tail = "Connection was likely closed. Did the remote server shutdown or crash?"
    said = f"Failed to recv, got 0 bytes. {tail}" if order >= 208 else "failed to recv, got 0 bytes"
    return f"torch.distributed.DistNetworkError: {said}"


@kind(hangs=False, slurm=True)
def cancelled(stage: Stage) -> Scenario:
    """Somebody cancels the job; SLURM gives no reason."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "scancel")
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 30 * MS, 0, torchrun.step_cancelled(job.job, at + 30 * MS))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 60 * MS, node)
    job.ended_at = at + seconds(2)
    return stage.close("A user has seen enough.", (stage.innocent("infrastructure"),))


@kind(hangs=False)
def hub_unreachable(stage: Stage) -> Scenario:
    """A rank asks the Hugging Face hub for a tokenizer and cannot resolve its name; AIStore is asked by address."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    draw = stage.draw.child("hub")
    stage.mark(at, f"rank {rank} cannot resolve huggingface.co")
    path = "/google/umt5-small/resolve/main/tokenizer_config.json"
    where = f"<urllib3.connection.HTTPSConnection object at {draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF):#x}>"
    failed = "Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)"
    why = f'(Caused by NameResolutionError("{where}: {failed}"))'
    pool = f"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: {path} {why}"
    quoted = pool.replace("'", "\\'")
    then = at
    for attempt, wait in enumerate((1, 2, 4, 8, 8), 1):
        cause = f"(MaxRetryError('{quoted}'), '(Request ID: {_request(draw.token(32, 'abcdef0123456789'))})')"
        job.say(then, rank, f"'{cause}' thrown while requesting HEAD https://huggingface.co{path}")
        job.say(then + MS, rank, f"Retrying in {wait}s [Retry {attempt}/5].")
        then += seconds(wait) + draw.span(11, 60)
    text = f"requests.exceptions.ConnectionError: {cause}"
    raise_and_exit(stage, then, rank, text, "tokenizer = AutoTokenizer.from_pretrained(name)")
    also = ("software", "infrastructure", "data")
    return stage.close("The resolver of a host is down.", (stage.innocent("network", rank, also=also),))


def _request(token: str) -> str:
    """A token in the form of a UUID."""
    return "-".join((token[:8], token[8:12], token[12:16], token[16:20], token[20:]))


@kind(hangs=False, ais_order=430, uptime=True, reads=True)
def credentials_expire(stage: Stage) -> Scenario:
    """The job's token for AIStore has expired: proxies answer 401 to every rank that reads."""
    cluster, job, at = stage.cluster, stage.job, stage.at
    draw = stage.draw.child("token")
    stage.open()
    stage.mark(at - SEC, "the token of the job has expired")
    token = f"eyJ{draw.token(33)}.eyJ{draw.token(80)}.{draw.token(43)}"
    text = f'invalid token from header "Authorization": invalid token [err: token expired]: {token}'
    readers = sorted({(stage.culprit + turn * 3) % job.job.world for turn in range(3)})
    path = f"/v1/ml/moss/{stage.bucket}"
    for turn, rank in enumerate(readers):
        then, proxy = at + turn * seconds(0.21), stage.proxy_of(rank)
        refusal = ev.http_error(proxy, text, f"GET {path}", "htrun.go:1636 <- prxauth.go:437 <- ml.go:61")
        cluster.say(proxy, then, Say("W", "prxauth:508", f"token validation failed: {text}"), refusal)
        cluster.count(proxy, then, auth_total_n=1, auth_fail_n=1, auth_invalidtoken_n=1)
        url = sdk.moss_url(proxy.url(0), stage.bucket)
        body = sdk.answer(proxy, 401, text, "GET", path, stage.client(rank))
        failure = "aistore.sdk.errors.AISError: " + sdk.request_error(401, body, url)
        caller = sdk.main_frames(job.job, stage.step, *sdk.batch_get_frames(job.job))
        job.raise_on(then + 5 * MS, rank, sdk.http_failure(job.job, 401, "Unauthorized", url, failure, caller))
    job.agents_end([Exit(readers[0], at + 700 * MS, 1)], at + 700 * MS)
    made: Expect = replace(stage.innocent("software", also=("infrastructure", "data")), culprit_ranks=None)
    return stage.close("A token is valid for a day, the job runs for two.", (made,))
