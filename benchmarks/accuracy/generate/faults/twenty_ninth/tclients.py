"""Jobs whose client of AIStore is set up or equipped wrongly; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, node_fails, speakers, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there, others_go_with
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Noise
from fixtures.generator import aisevents as ev
from fixtures.generator import aistickets, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, go_duration, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_ninth")

#: What AIStore calls the rights of somebody who may only read.
READS = "GET,HEAD-OBJECT,HEAD-BUCKET,LIST-OBJECTS"


def _unsettled(stage: Stage, sure: Noise) -> None:
    """This noise for certain, and some of the others that a job has as it begins."""
    beside(stage, sure)
    unrest.unsettled(stage, tuple(one for one in unrest.EARLY if one is not sure))


@kind(hangs=False, trains=False)
def command_of_a_pipe_is_not_in_the_image(stage: Stage) -> Scenario:
    """Shards are read through `pipe:ais get`, and the new image has no such command (WebDataset docs, pipe: URLs).

    To acquit: the shell itself says that it finds no `ais`, before any request is sent; rank 0 has listed the shards by
    the SDK a second before; who is denied at that time is another tenant.
    """
    _unsettled(stage, denied_unrest.tenant_is_denied_early)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("command")
    at = job.begin - seconds(1.0)
    are_there(stage, at)
    many, member = draw.pick((256, 512, 1024)), draw.pick(("shards/train", "tars/part", "wds/train"))
    url = f"ais://{stage.bucket}/{member}-{{000000..{many - 1:06d}}}.tar"
    told(stage, at - 720 * MS, 0, "data", f"{many} shards below {member}- by the SDK, {draw.whole(9, 80)} ms")
    told(stage, at - 690 * MS, 0, "data", f"train: WebDataset('pipe:ais get {url} - --silent'), 4 loaders a rank")
    stage.mark(at, "no host of the job has the command that its shards are read by")
    last, place = at, f"{own.build['site']}/webdataset"
    for rank in speakers(stage):
        then, name = at + draw.span(1, 420), f"{member}-{draw.whole(0, many - 1):06d}.tar"
        command = f"ais get ais://{stage.bucket}/{name} - --silent"
        job.say(then, rank, "/bin/sh: 1: ais: not found")
        what = f"(('{command}',), {{'shell': True, 'bufsize': 8192}}): exit 127 (read) {{}}"
        pipe = f"<webdataset.gopen.Pipe object at 0x7f{draw.token(10, HEX)}>"
        frames = (
            sdk.Frame(f"{place}/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
            sdk.Frame(f"{PYTHON}/tarfile.py", 469, "_read", "buf = self.fileobj.read(self.bufsize)"),
            sdk.Frame(f"{place}/gopen.py", 130, "read", "self.check_status()"),
            sdk.Frame(f"{place}/gopen.py", 111, "wait_for_child", "raise IOError("),
        )
        borrowers.caught(stage, then + 4 * MS, rank, frames, f"OSError: (\"{what}\", {pipe}, 'pipe:{command}')")
        last = max(last, then + 4 * MS)
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure", "data"))
    return stage.close("The image was built anew, from a smaller base.", (of_all(made),))


@kind(hangs=False, trains=False)
def bucket_becomes_part_of_the_host_name(stage: Stage) -> Scenario:
    """boto3 puts the bucket in front of the gateway's name, which DNS does not know (boto3 docs, addressing_style).

    To acquit: the address that botocore cannot connect to begins with the bucket, the resolver has no such name, the
    gateway's own name is resolved and answers; buckets that change at that time are of another tenant.
    """
    _unsettled(stage, eighth_unrest.buckets_change_early)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("host name")
    began, proxy = job.begin - seconds(9.0), stage.proxy_of(0)
    are_there(stage, began)
    gate, port = draw.pick(("ais-gw.storage.example", "s3.ais.dc1.example", "aistore.ml.example")), proxy.ports[0]
    told(stage, began - 480 * MS, 0, "env", f"AWS_ENDPOINT_URL_S3=http://{gate}:{port}/s3, getent: {proxy.address}")
    told(stage, began - 460 * MS, 0, "data", "botocore.Config(s3={'addressing_style': 'virtual'}, retries=standard)")
    node = f"ais-probe: GET http://{gate}:{port}/v1/health: 200, {draw.whole(1, 6)} ms"
    watched(stage, began - draw.span(900, 4_000), 0, node)
    stage.mark(began, "rank 0 looks for a host whose name begins with the bucket")
    for turn in range(3):
        then = began + seconds((0.0, 0.9, 2.7)[turn]) + draw.span(3, 30)
        said = f"systemd-resolved: {stage.bucket}.{gate} IN A: rcode NXDOMAIN from 10.0.0.2"
        watched(stage, then, 0, said)
    over = began + seconds(2.7) + draw.span(60, 190)
    script, place = own.script, f"{own.build['site']}/botocore"
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(script, 52, "make_dataset", "for page in pages.paginate(Bucket=bucket, Prefix=prefix):"),
        sdk.Frame(f"{place}/paginate.py", 272, "__iter__", "response = self._make_request(current_kwargs)", True),
        sdk.Frame(f"{place}/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)", True),
        sdk.Frame(
            f"{place}/httpsession.py", 493, "send", "raise EndpointConnectionError(endpoint_url=request.url, error=e)"
        ),
    )
    query = "?list-type=2&prefix=shards%2F&encoding-type=url"
    where = f"http://{stage.bucket}.{gate}:{port}/s3{query}"
    text = f'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "{where}"'
    job.raise_on(over, 0, sdk.traceback(sdk.Raised(caller, text)))
    node_fails(stage, over + 500 * MS, 0, 0)
    others_go_with(stage, over + 2 * SEC, 0)
    made = stage.innocent("software", 0, also=("network", "infrastructure", "storage_io"))
    return stage.close("The settings are those of the cloud that the team has left.", (of_all(made),))


@kind(hangs=False, trains=False)
def sdk_of_the_image_has_no_batches(stage: Stage) -> Scenario:
    """lhotse asks the SDK for a batch, which an SDK before 1.17 does not have (lhotse, AISBatchLoader).

    To acquit: the versions that rank 0 has printed, and an AttributeError before any batch is asked for; what rank 0
    reads of its manifest comes whole; settings of the cluster change meanwhile.
    """
    _unsettled(stage, ninth_unrest.settings_change_early)
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    job, draw = stage.job, stage.draw.child("sdk")
    at = job.begin - seconds(1.0)
    are_there(stage, at)
    has, size = draw.pick(("1.12.2", "1.13.1", "1.15.2")), draw.whole(9, 40) << 20
    told(stage, at - 900 * MS, 0, "env", f"lhotse 1.33.0, aistore {has}, USE_AIS_GET_BATCH=true")
    took = draw.between(0.2, 0.9)
    said = f"cuts/train.jsonl.gz: {size} of {size} bytes, {took:.1f} s"
    node = draw.pick(stage.cluster.up(at - 400 * MS))
    stage.cluster.count(node, at - 400 * MS, get_n=1, get_size=size, get_ns_total=seconds(took))
    told(stage, at - 390 * MS, 0, "data", said)
    stage.mark(at, "every loader asks its SDK for what it does not have")
    frames, last = borrowers.lhotse_frames(stage, 106, "__call__", "batch = self.client.batch()"), at
    for rank in speakers(stage):
        then = at + draw.span(2, 380)
        borrowers.caught(stage, then, rank, frames, "AttributeError: 'Client' object has no attribute 'batch'")
        last = max(last, then)
    all_exit(stage, last)
    made = stage.innocent("software", also=("infrastructure",))
    return stage.close("Another package of the image holds the SDK back.", (of_all(made),))


@kind(culprit=0, hangs=False, lead_s=60.0)
def token_of_the_job_may_only_read(stage: Stage) -> Scenario:
    """A job has the token of somebody who may read only, and saves its first checkpoint (AIStore docs, AuthN, ACL).

    To acquit: rank 0 has printed whose token it is and that it may not write, and a proxy says the same of
    the same user; a target that is full has turned down another tenant's writes.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, near_unrest.tenant_asks_for_removed_names))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("token")
    for one in stage.cluster.proxies:
        aistickets.tokens_taken(stage.cluster, one, at, draw)
    proxy, user = stage.proxy_of(0), draw.pick(("eval-reader", "dashboard", "intern-ro"))
    left = draw.whole(7_200, 40_000)
    told(stage, job.begin - 520 * MS, 0, "env", f"token of user {user}: ais://{stage.bucket} {READS}")
    told(stage, job.begin - 519 * MS, 0, "env", f"token of user {user}: ais://checkpoints {READS}")
    name = f"{own.task}/step-{stage.step:06d}.pt"
    told(stage, at - 900 * MS, 0, "checkpoint", f"first checkpoint of this run: put_file to ais://checkpoints/{name}")
    stage.mark(at - 6 * MS, "rank 0 writes with a token that may only read")
    who = f"user {user}, token expires in {go_duration(left * SEC)}"
    text = f"user `{user}` has insufficient permissions: [{who}, bucket ais://checkpoints, granted({READS})]"
    path = f"/v1/objects/checkpoints/{name}"
    trace = "htrun.go:1636 <- prxauth.go:451 <- bckinit.go:187 <- proxy.go:771"
    stage.cluster.say(proxy, at - 4 * MS, ev.http_error(proxy, text, f"PUT {path}", trace))
    stage.cluster.count(proxy, at - 4 * MS, auth_total_n=1, auth_fail_n=1, err_put_n=1)
    url = f"{proxy.url(0)}{path}?provider=ais"
    body = sdk.answer(proxy, 403, text, "PUT", path, stage.client(0))
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(403, body, url)
    place = f"{own.build['site']}/aistore/sdk/obj"
    caller = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(own.script, 121, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)"),
        sdk.Frame(f"{place}/object_writer.py", 74, "put_file", "return self._put_data(data)", True),
    )
    job.raise_on(at, 0, sdk.http_failure(own, 403, "Forbidden", url, error, caller))
    exits(stage, at, 0)
    made = stage.innocent("software", 0, also=("infrastructure", "storage_io"))
    return stage.close("The token in the template is that of a dashboard.", (made,))
