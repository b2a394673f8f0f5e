"""Settings of a job or its hosts that send its reads astray, of the seventh part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventh")


def _everywhere(stage: Stage, at: int) -> None:
    """The first rank of each host has exited, and with it its host."""
    job = stage.job.job
    exits = [Exit(rank, at + rank * MS, 1) for rank in range(0, job.world, job.ranks_per_node)]
    stage.job.agents_end(exits, at + 100 * MS)


@kind(hangs=False, trains=False, hosts=2)
def proxy_of_the_site(stage: Stage) -> Scenario:
    """On one host the environment names a web proxy: reads of AIStore are sent there, and fail there."""
    job, draw = stage.job, stage.draw.child("proxy")
    job.start()
    node = job.job.node_of(stage.culprit)
    ranks = tuple(job.job.ranks_of(node))
    at = stage.mark(job.begin + seconds(0.3), f"host {job.job.hosts[node]} has a web proxy in its environment")
    web = draw.pick((("127.0.0.1", 7890), ("proxy.corp.example", 3128), ("10.1.4.9", 8080)))
    is_refused, raised = draw.chance(0.6) or web[0] == "127.0.0.1", []
    for rank in ranks:
        own, url = draw.child("rank", rank), sdk.moss_url(stage.proxy_of(rank).url(0), stage.bucket)
        then = at + own.span(20, 900)
        if is_refused:
            cause = f"ProxyError('Unable to connect to proxy', {sdk.refused(own.whole(*HANDLES))})"
            text = sdk.pool_error(*web, url, cause)
            then = retries(stage, then, rank, own, 0.004, text, at + seconds(31), "ProxyError")
            exhausted(stage, then, rank, text, "ProxyError")
        else:
            page = f"<html><head><title>ERROR: Access Denied</title></head><body>{web[0]} (squid/5.7)</body></html>"
            failure = f"aistore.sdk.errors.APIRequestError: {sdk.request_error(403, page, url, ' ')}"
            caller = sdk.main_frames(job.job, stage.step, *sdk.batch_get_frames(job.job))
            job.raise_on(then, rank, sdk.http_failure(job.job, 403, "Forbidden", url, failure, caller))
        raised.append((then, rank))
    over, first = min(raised)
    job.agents_end([Exit(first, over + 700 * MS, 1)], max(then for then, _ in raised) + 800 * MS)
    made: Expect = stage.innocent("infrastructure", *ranks, also=("software", "network"))
    return stage.close("A host was set up with the profile of the login nodes.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def ca_not_found(stage: Stage) -> Scenario:
    """The cluster speaks TLS; a new image has the site's authority elsewhere, or on one host not at all."""
    job, draw, site = stage.job, stage.draw.child("authority"), stage.job.job.build["site"]
    job.start()
    is_path, last = draw.chance(0.5), []
    node = job.job.node_of(stage.culprit)
    ranks = tuple(range(job.job.world)) if is_path else tuple(job.job.ranks_of(node))
    at = stage.mark(job.begin + seconds(0.3), "ranks do not know the authority of the site")
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for rank in ranks:
        proxy, then = stage.proxy_of(rank), at + rank * 320_000
        if is_path:
            bundle = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
            inner = (
                *sdk.batch_get_frames(job.job),
                sdk.Frame(f"{site}/requests/adapters.py", 302, "cert_verify", "raise OSError("),
            )
            text = f"OSError: Could not find a suitable TLS CA certificate bundle, invalid path: {bundle}"
            caller = sdk.main_frames(job.job, stage.step, *inner)
            job.raise_on(then, rank, sdk.traceback(sdk.Raised(caller, text)))
        else:
            unable = "certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)"
            cause = f"SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] {unable}'))"
            text = sdk.pool_error(proxy.address, proxy.ports[0], path, cause)
            then = retries(stage, then, rank, draw.child("rank", rank), 0.02, text, at + seconds(27), "SSLError")
            exhausted(stage, then, rank, text, "SSLError")
            last.append((then, rank))
    if is_path:
        _everywhere(stage, at + 800 * MS)
    else:
        over, first = min(last)
        job.agents_end([Exit(first, over + 800 * MS, 1)], max(last)[0] + 900 * MS)
    made: Expect = stage.innocent("software", *ranks, also=("infrastructure", "network"))
    made = replace(made, culprit_ranks=None) if is_path else made
    story = "An image is built on another distribution, or a host has missed a package."
    return over_tls(stage, stage.close(story, (made,)))


@kind(hangs=False, trains=False)
def endpoint_not_set(stage: Stage) -> Scenario:
    """Nobody tells boto3 where AIStore is any more: every rank asks the cloud itself for the bucket."""
    job, draw, site = stage.job, stage.draw.child("endpoint"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + seconds(0.4), "every rank reads from the cloud instead of AIStore")
    how = draw.pick(("key", "credentials", "connect"))
    host, module = f"{stage.bucket}.s3.amazonaws.com", f"{site}/botocore"
    for rank in range(job.job.world):
        then, name = at + rank * 290_000, f"shards/train-{draw.whole(0, 4095):06d}.tar"
        if how == "key":
            text = "The AWS Access Key Id you provided does not exist in our records."
            s3_refused(stage, then, rank, "InvalidAccessKeyId", "GetObject", text)
            continue
        frame = sdk.Frame(f"{module}/auth.py", 427, "add_auth", "raise NoCredentialsError()")
        text = "NoCredentialsError: Unable to locate credentials"
        if how == "connect":
            frame = sdk.Frame(f"{module}/httpsession.py", 493, "send", "raise EndpointConnectionError(")
            text = f'EndpointConnectionError: Could not connect to the endpoint URL: "https://{host}/{name}"'
        caller = fetch_frames(stage, "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()", frame)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(caller, f"botocore.exceptions.{text}")))
    _everywhere(stage, at + 800 * MS)
    made: Expect = replace(stage.innocent("software", also=("infrastructure", "data", "network")), culprit_ranks=None)
    return stage.close("A variable was in the old launcher and is not in the new one.", (made,))


@kind(hangs=False, trains=False, may_be_undetermined=True)
def old_cluster_named(stage: Stage) -> Scenario:
    """A configuration names the proxies of a cluster that was taken down last month; nobody asks the one that runs."""
    job, draw = stage.job, stage.draw.child("old")
    host, port = f"10.{draw.whole(200, 240)}.{draw.whole(1, 250)}.{draw.whole(2, 250)}", 51080
    how = draw.pick(("refused", "timeout", "name"))
    host = f"ais-proxy.{draw.pick(('ais-old', 'storage-a', 'ml-east'))}.svc.cluster.local" if how == "name" else host
    job.job = replace(job.job, endpoints=(f"http://{host}:{port}",))
    job.start()
    at = stage.mark(job.begin + seconds(0.3), "every rank asks a cluster that is gone")
    path, last = f"/v1/ml/moss/{stage.bucket}?provider=ais", []
    for rank in range(job.job.world):
        own = draw.child("rank", rank)
        handle = own.whole(*HANDLES)
        cause = sdk.refused(handle) if how == "refused" else sdk.connect_timeout(host, handle)
        if how == "name":
            failed = f"Failed to resolve '{host}' ([Errno -2] Name or service not known)"
            cause = f'NameResolutionError("<urllib3.connection.HTTPConnection object at {handle:#x}>: {failed}")'
        text = sdk.pool_error(host, port, path, cause)
        kind_name = "ConnectTimeout" if how == "timeout" else "ConnectionError"
        spent = 3.01 if how == "timeout" else 0.006
        then = retries(stage, at + own.span(10, 700), rank, own, spent, text, at + seconds(29), kind_name)
        exhausted(stage, then, rank, text, kind_name)
        last.append((then, rank))
    exits = []
    for node in range(len(job.job.hosts)):
        then, first = min(one for one in last if job.job.node_of(one[1]) == node)
        exits.append(Exit(first, then + 700 * MS, 1))
    job.agents_end(exits, max(then for then, _ in last) + 900 * MS)
    also = ("infrastructure", "network", "undetermined")
    made: Expect = replace(stage.innocent("software", also=also), culprit_ranks=None)
    return stage.close("An experiment of spring is started again as it was.", (made,))
