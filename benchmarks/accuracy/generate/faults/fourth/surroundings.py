"""Faults around a job, of the fourth part: names, permissions, ports, another file system; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, retries
from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Expect, Job, Node, Scenario
from fixtures.generator.moment import MS, cpp_stamp, glog_stamp, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fourth")

PORT = 29500


def _refused_batch(
    stage: Stage, at: int, rank: int, bucket: str, status: tuple[int, str], text: str, error: str, tcode: str
) -> None:
    """A get-batch that a proxy answers with an error: the exception of the rank."""
    job, proxy, path = stage.job, stage.proxy_of(rank), f"/v1/ml/moss/{bucket}"
    url = sdk.moss_url(proxy.url(0), bucket)
    body = sdk.answer(proxy, status[0], text, "GET", path, stage.client(rank), tcode)
    failure = f"aistore.sdk.errors.{error}: " + sdk.request_error(status[0], body, url)
    caller = sdk.main_frames(job.job, stage.step, *sdk.batch_get_frames(job.job))
    job.raise_on(at, rank, sdk.http_failure(job.job, status[0], status[1], url, failure, caller))


def _refusal(stage: Stage, at: int, proxy: Node, bucket: str, text: str, trace: str, tcode: str = "") -> None:
    """The line of the proxy that goes with it."""
    stage.cluster.say(proxy, at, ev.http_error(proxy, text, f"GET /v1/ml/moss/{bucket}", trace, tcode))


@kind(hangs=False, trains=False)
def bucket_misspelled(stage: Stage) -> Scenario:
    """A configuration names a bucket of noises that never was: every rank is told so at its first batch."""
    job, begin = stage.job, stage.job.begin
    job.start()
    at = stage.mark(begin + seconds(0.4), "every rank asks for a bucket that does not exist")
    bucket = stage.draw.child("name").pick(("musan-nosie", "rirs-smiulated", "noise-muasn", "babble-cuts-v2x"))
    text, trace = f'bucket "ais://{bucket}" does not exist', "htrun.go:1636 <- bckinit.go:112 <- ml.go:57"
    for rank in range(job.job.world):
        then = at + rank * 410_000
        _refusal(stage, then, stage.proxy_of(rank), bucket, text, trace, "ErrBckNotFound")
        _refused_batch(stage, then + 3 * MS, rank, bucket, (404, "Not Found"), text, "ErrBckNotFound", "ErrBckNotFound")
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("data", also=("software",)), culprit_ranks=None)
    return stage.close("Two letters have changed places in a configuration.", (made,))


@kind(hangs=False, ais_order=430, uptime=True, reads=True)
def not_permitted(stage: Stage) -> Scenario:
    """The user of the job may list the bucket of the validation, not read it: proxies answer 403 to all who begin."""
    cluster, job, at = stage.cluster, stage.job, stage.at
    draw, bucket = stage.draw.child("permission"), f"{stage.bucket}-dev"
    stage.open()
    stage.mark(at - seconds(0.1), "the validation begins to read a bucket that the job may not read")
    user = draw.pick(("svc-asr-train", "speech-ci", "batch-train-7"))
    granted = f"bucket ais://{bucket}, granted(HEAD-OBJECT,LIST-OBJECTS)"
    left = f"{draw.whole(5, 21)}h{draw.whole(1, 59)}m{draw.whole(1, 59)}s"
    text = f"user `{user}` has insufficient permissions: [user {user}, token expires in {left}, {granted}]"
    first = sorted({stage.culprit, *readers(stage)[:2]})
    for turn, rank in enumerate(first):
        then, proxy = at + turn * seconds(0.03), stage.proxy_of(rank)
        _refusal(stage, then, proxy, bucket, text, "htrun.go:1636 <- prxauth.go:571 <- ml.go:61")
        cluster.count(proxy, then, acl_total_n=1, acl_denied_n=1)
        _refused_batch(stage, then + 4 * MS, rank, bucket, (403, "Forbidden"), text, "AISError", "")
    job.agents_end([Exit(first[0], at + 700 * MS, 1)], at + 700 * MS)
    made: Expect = replace(stage.innocent("software", also=("infrastructure", "data")), culprit_ranks=None)
    return stage.close("Nobody has given the new user the right to read the bucket of the validation.", (made,))


@kind(hangs=False, lead_s=75.0)
def lustre_evicts(stage: Stage) -> Scenario:
    """The Lustre servers evict a host: what a rank writes there fails. A disk of AIStore failed some time before."""
    beside(stage, mountpath_before)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"the host of rank {rank} is evicted by Lustre")
    path = f"/lustre/fsw/exp/{job.job.task}/step={stage.step}/optim-{rank:05d}.pt"
    job.note(at - seconds(7.4), rank, f"writing {path}", line=118)
    text = f"OSError: [Errno 108] Cannot send after transport endpoint shutdown: '{path}'"
    raise_and_exit(stage, at, rank, text, "torch.save(state, path)")
    also = ("network", "software")
    return stage.close(
        "A lock of the parallel file system was not given back in time; AIStore holds the data only.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(reads=True, hosts=2)
def ports_exhausted(stage: Stage) -> Scenario:
    """A host of the job has no local port left for a connection: its reads fail, those of other hosts do not."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, job = stage.draw.child("ports"), stage.job.job
    stage.open()
    stage.mark(at - seconds(1.1), f"host {job.hosts[job.node_of(rank)]} has no local ports left")
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(41))
    beside_it = [one for one in readers(stage) if job.node_of(one) == job.node_of(rank)][:2]
    for other in beside_it:
        node, handle = stage.cluster.target(draw.whole(0, 99)), draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF)
        path = object_path(stage, other, utterance(draw))
        text = sdk.pool_error(node.address, node.ports[0], path, sdk.no_port_left(handle))
        stage.job.sdk_warning(at - draw.span(20, 800), other, sdk.retrying(1.4, "ConnectionError", text))
    handle = draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF)
    path = object_path(stage, rank, utterance(draw))
    text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.no_port_left(handle))
    read = sdk.Frame(job.script, 77, "fetch", "content = self.bucket.object(name).get_reader().read_all()", True)
    exhausted(stage, retries(stage, at, rank, draw, 0.002, text, limit), rank, text, inner=(read,))
    stage.hang(at + 340 * MS, rank)
    also = ("infrastructure", "software", "data_loading_stall")
    return stage.close(
        "A loader opens a connection for every sample; all local ports wait for their time to be over.",
        (stage.innocent("network", rank, also=also),),
    )


def _socket_line(job: Job, at: int, level: str, number: int, text: str) -> str:
    """A line of c10d's sockets in the agent, which has no rank."""
    if job.torch.glog:
        return f"{level}{glog_stamp(at, job.zone)} {job.agent_pids[0]} socket.cpp:{number}] [c10d] {text}"
    stamp = cpp_stamp(at, job.zone) if job.torch.prints_time else ""
    return f"[{level}{stamp} socket.cpp:{number}] [c10d] {text}"


@kind(hangs=False, trains=False)
def port_taken(stage: Stage) -> Scenario:
    """A process that an older job has left holds the port of the rendezvous: no rank is ever started."""
    job, site, order = stage.job, stage.job.job.build["site"], stage.params.torch_release.order
    begin = stage.mark(stage.job.begin, f"port {PORT} of {job.job.hosts[0]} is taken")
    for node in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, node, begin - 20 * MS):
            job.agent(begin - 20 * MS, node, text)
    listens = "The server socket has failed to listen on any local network address."
    bound = [
        f"The server socket has failed to bind to {ip}:{PORT} (errno: 98 - Address already in use)."
        for ip in ("[::]", "0.0.0.0")
    ]
    said = (("W", 436, bound[0]), ("W", 436, bound[1]), ("E", 472, listens))
    for turn, (level, number, text) in enumerate(said):
        then = begin + turn * 61_417
        job.agent(then, 0, _socket_line(job.job, then, level, number, text))
    told = f"port: {PORT}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    tail = told if order >= 204 else " ".join(bound)
    module = f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py"
    frames = (
        sdk.Frame(f"{job.job.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(module, 67, "next_rendezvous", "self._store = TCPStore("),
    )
    raised = sdk.Raised(frames, f"torch.distributed.DistNetworkError: {listens} {tail}")
    job.agent(begin + 3 * MS, 0, sdk.traceback(raised))
    job.slurm(begin + seconds(1), 0, torchrun.srun_exit(job.job, 0))
    job.slurm(begin + seconds(1.1), 0, torchrun.step_cancelled(job.job, begin + seconds(1.1)))
    job.ended_at = begin + seconds(2)
    made: Expect = replace(stage.innocent("software", also=("infrastructure", "network")), culprit_ranks=None)
    return stage.close("A process of yesterday's job was not ended.", (made,))
