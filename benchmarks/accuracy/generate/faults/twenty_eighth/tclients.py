"""Jobs whose client of AIStore is set up wrongly, and which end before their first step; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, node_fails, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there, others_go_with
from benchmarks.accuracy.generate.faults.words.workbenches import in_pods
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Noise
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_eighth")

#: What a client that speaks TLS makes of the first bytes of a plain answer.
PLAIN = "SSLError(SSLError(1, '[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)'))"


def _unsettled(stage: Stage, sure: Noise) -> None:
    """This noise for certain, and some of the others that a job has as it begins."""
    beside(stage, sure)
    unrest.unsettled(stage, tuple(one for one in unrest.EARLY if one is not sure))


@kind(hangs=False, trains=False)
def namespace_of_the_bucket_is_left_out(stage: Stage) -> Scenario:
    """A bucket lies in a namespace, and the script asks for one without it (AIStore docs, ais://#ns/bucket).

    To acquit: the list of buckets that rank 0 has printed has that name below a namespace only, the proxy is right that
    there is none without it; the bucket that is changed or destroyed at that time is another tenant's.
    """
    _unsettled(stage, eighth_unrest.buckets_change_early)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("namespace")
    at, proxy = job.begin - seconds(1.0), stage.proxy_of(0)
    are_there(stage, at)
    space, bucket = draw.pick(("speech", "asr-team", "tts")), stage.bucket
    others = ", ".join(draw.shuffled((f"ais://#{space}/{bucket}", "ais://checkpoints", "ais://scratch")))
    told(stage, at - 340 * MS, 0, "data", f"buckets of the cluster: {others}")
    told(stage, at - 210 * MS, 0, "data", f"names of Client('{proxy.url(0)}').bucket('{bucket}')")
    stage.mark(at - 12 * MS, "rank 0 asks for a bucket without its namespace")
    text = f'bucket "ais://{bucket}" does not exist'
    trace = "htrun.go:1636 <- bckinit.go:112 <- proxy.go:640"
    stage.cluster.say(
        proxy, at - 8 * MS, ev.http_error(proxy, text, f"GET /v1/buckets/{bucket}", trace, "ErrBckNotFound")
    )
    stage.cluster.count(proxy, at - 8 * MS, err_lst_n=1)
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(own.script, 52, "make_dataset", "names = [one.name for one in bucket.list_all_objects()]"),
        *borrowers.list_frames(stage),
    )
    path = f"/v1/buckets/{bucket}?provider=ais"
    said = borrowers.answered(stage, proxy, (404, "Not Found"), "ErrBckNotFound", text, path, caller)
    job.raise_on(at, 0, said)
    node_fails(stage, at + 500 * MS, 0, 0)
    others_go_with(stage, at + 2 * SEC, 0)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", 0, also=("data", "storage_io"))
    return stage.close("The buckets of each team were moved below a namespace last week.", (of_all(made),))


@kind(hangs=False, trains=False)
def https_asked_of_a_plain_port(stage: Stage) -> Scenario:
    """The endpoint of the job begins with https, and the cluster speaks HTTP (requests issues, WRONG_VERSION_NUMBER).

    To acquit: the message is what a client of TLS says of a plain answer; the exporter of the same host reads from the
    same proxy without TLS at that time; keepalives that are late have to do with another node.
    """
    _unsettled(stage, unrest.EARLY[2])
    job, own, draw = stage.job, stage.job.job, stage.draw.child("https")
    began, proxy = job.begin - seconds(9.5), stage.proxy_of(0)
    are_there(stage, began)
    endpoint = proxy.url(0).replace("http:", "https:")
    retries = "http_retry total=0, network_retry 3 attempts"
    told(stage, began - 420 * MS, 0, "env", f"AIS_ENDPOINT={endpoint} AIS_SKIP_VERIFY_CRT=true, {retries}")
    path = f"/v1/buckets/{stage.bucket}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, PLAIN).replace("HTTPConn", "HTTPSConn")
    stage.mark(began, "rank 0 speaks TLS to a proxy that does not")
    then = began
    for _ in range(2):
        wait = round(draw.between(1.0, 3.0), 2)
        stage.job.sdk_warning(then, 0, sdk.retrying(wait, "SSLError", text))
        then += seconds(wait) + draw.span(6, 40)
    asked = f"ais-exporter: GET {proxy.url(0)}/v1/cluster?what=smap: 200, {len(stage.cluster.targets)} targets"
    watched(stage, then - draw.span(200, 900), 0, asked)
    stage.job.sdk_warning(then, 0, "All retries exhausted; request failed", "ERROR")
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(own.script, 52, "make_dataset", "names = [one.name for one in bucket.list_all_objects()]"),
        *borrowers.list_frames(stage),
    )
    job.raise_on(then + 2 * MS, 0, sdk.exhausted(own, caller, "SSLError", text))
    node_fails(stage, then + 500 * MS, 0, 0)
    others_go_with(stage, then + 2 * SEC, 0)
    made = stage.innocent("software", 0, also=("network", "infrastructure", "storage_io"))
    return stage.close("The endpoint was copied from the site that has TLS.", (of_all(made),))


@kind(hangs=False, trains=False)
def token_file_is_not_mounted(stage: Stage) -> Scenario:
    """The token of AIStore was not put where the job looks for it (Kubernetes docs, optional secrets; SDK, token).

    To acquit: all ranks miss a file of their own host before a single request is sent; tokens that a proxy turns down
    at that time are those of another tenant.
    """
    _unsettled(stage, tenth_unrest.tenant_tokens_refused_early)
    beside(stage, denied_unrest.tenant_is_denied_early)
    own, draw, at = stage.job.job, stage.draw.child("token"), stage.job.begin - seconds(1.1)
    are_there(stage, at)
    folder = draw.pick(("/var/run/secrets/ais", "/run/secrets/ais", "/etc/ais/token"))
    told(stage, at - 370 * MS, 0, "env", f"token of AIStore from {folder}/auth.token, endpoint {own.endpoints[0]}")
    why = "the secret is optional" if in_pods(stage) else "the prolog has found none to copy"
    for node in range(len(own.hosts)):
        watched(stage, at - draw.span(9_000, 14_000), node, f"mounts: {folder} tmpfs ro, 0 files ({why})")
    stage.mark(at - 10 * MS, "the token of the job is not there")
    client = f"{own.script.rsplit('/', 1)[0]}/client.py"
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "client = make_client(args)"),
        sdk.Frame(client, 23, "make_client", 'token = json.loads(Path(args.token).read_text())["token"]', True),
        sdk.Frame(f"{PYTHON}/pathlib.py", 1058, "read_text", "with self.open(mode='r', encoding=encoding) as f:"),
        sdk.Frame(f"{PYTHON}/pathlib.py", 1044, "open", "return io.open(self, mode, buffering, encoding)", True),
    )
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{folder}/auth.token'"
    last = all_raise(stage, at, sdk.Raised(without_carets(frames), text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure",))
    return stage.close("The secret has another name in the new namespace.", (of_all(made),))
