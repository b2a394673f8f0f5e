"""Faults of other systems than AIStore, of the sixteenth part: homes, parallel file systems, trackers, the hub."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, second_stamp
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixteenth")


@kind(hangs=False, trains=False, hosts=2)
def home_gives_no_locks(stage: Stage) -> Scenario:
    """A cache lies in a home that gives no locks on one host (huggingface/datasets#2618, #6744; toil#4846)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("locks"), stage.job.job.build["site"]
    job.start()
    node, at = own.node_of(stage.culprit), job.begin + draw.span(600, 3_900)
    stage.mark(at, f"the home gives {own.hosts[node]} no locks")
    if draw.chance(0.6):
        watched(stage, at - draw.span(900, 9_000), node, "kernel: lockd: cannot monitor nfs-home")
    frames = (
        *loss_frames(stage, "dataset = load_dataset(args.dataset, cache_dir=args.cache)"),
        sdk.Frame(
            f"{site}/datasets/builder.py",
            824,
            "download_and_prepare",
            "with FileLock(lock_path) if is_local else contextlib.nullcontext():",
        ),
        sdk.Frame(f"{site}/filelock/_api.py", 376, "__enter__", "self.acquire()"),
        sdk.Frame(f"{site}/filelock/_unix.py", 51, "_acquire", "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    )
    raised, ranks = sdk.Raised(frames, "OSError: [Errno 37] No locks available"), own.ranks_of(node)
    for rank in ranks:
        job.raise_on(at + draw.span(1, 400), rank, sdk.traceback(raised))
    over = job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + 900 * MS)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("The daemon that keeps locks was not started on that host.", (made,), until=over)


@kind(culprit=0, hangs=False, lead_s=80.0, without=("low_space", "tenant_out_of_space"))
def one_server_of_lustre_is_full(stage: Stage) -> Scenario:
    """One server of a parallel file system is full, the others are not: ENOSPC (Lustre manual, full OST; io-500#63)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.throttled_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("server of lustre")
    place = f"/lustre/{draw.pick(('scratch', 'work', 'fsw'))}/{own.task}/step-{stage.step}.pt"
    stage.mark(at, "one server of Lustre has no room left")
    job.note(at - draw.span(2_900, 9_000), 0, f"saving checkpoint to {place}", line=116)
    if draw.chance(0.5):
        index, used = draw.whole(0, 71), draw.whole(97, 99)
        said = f"lfs-watch: OST{index:04x} {used}% of {draw.pick((87, 131, 242))}.3T used, all others below 80%"
        watched(stage, at - draw.span(9_000, 30_000), 0, said)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 118, "save_checkpoint", "with Flushed(path) as out: torch.save(state, out)", True),
        sdk.Frame(own.script, 97, "__exit__", "os.fsync(self.out.fileno())", True),
    )
    text = "OSError: [Errno 28] No space left on device"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    return stage.close(
        "Somebody writes archives with a stripe count of one.",
        (stage.innocent("infrastructure", 0, also=("software",)),),
    )


def _not_logged(stage: Stage, at: int, url: str, pool: str) -> None:
    """MLflow has repeated a request as often as it may; requests and its own error tell the same."""
    site = stage.job.job.build["site"]
    module = f"{site}/mlflow/utils/request_utils.py"
    first = sdk.Raised(
        (
            sdk.Frame(module, 237, "_get_http_response_with_retries", "return session.request("),
            sdk.Frame(f"{site}/requests/adapters.py", 691, "send", "raise RetryError(e, request=request)"),
        ),
        f"requests.exceptions.RetryError: {pool}",
        sdk.DURING,
    )
    frames = (
        *loss_frames(stage, "mlflow.log_metrics(scores, step=step)"),
        sdk.Frame(f"{site}/mlflow/store/tracking/rest_store.py", 82, "_call_endpoint", "return call_endpoint("),
        sdk.Frame(f"{site}/mlflow/utils/rest_utils.py", 212, "http_request", "raise MlflowException("),
    )
    text = f"mlflow.exceptions.MlflowException: API request to {url} failed with exception {pool}"
    stage.job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))


@kind(culprit=0, hangs=False, lead_s=80.0, min_timeout_s=90)
def tracking_server_fails(stage: Stage) -> Scenario:
    """A server of metrics answers 500 until its client has enough, and that ends rank 0 (mlflow#14627, #5192)."""
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, unrest.connects_repeated, unrest.entries_missing))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("tracking")
    host, status = (
        draw.pick(("mlflow.ml-tools", "10.30.4.17", "tracking.lab.internal")),
        draw.pick((500, 502, 503, 504)),
    )
    path, over = "/api/2.0/mlflow/runs/log-batch", at + draw.span(40_000, 58_000)
    stage.mark(at, f"{host} answers with {status}")
    pool = f"HTTPConnectionPool(host='{host}', port=5000): Max retries exceeded with url: {path} "
    pool += f"(Caused by ResponseError('too many {status} error responses'))"
    url = f"http://{host}:5000{path}"
    if draw.chance(0.5):
        then = over - draw.span(60, 900)
        stamp = second_stamp(then, own.zone).replace("-", "/")
        said = (
            f"{stamp} WARNING mlflow.system_metrics.system_metrics_monitor: Failed to log system metrics: API request "
        )
        stage.job.say(then, 0, f"{said}to {url} failed with exception {pool}")
    _not_logged(stage, over, url, pool)
    exits(stage, over, 0)
    unrest.hung_up_on(stage)
    return stage.close(
        "The data base behind the server has no room left.",
        (stage.innocent("software", 0, also=("infrastructure", "network")),),
    )


@kind(hangs=False, trains=False)
def parts_of_the_hub_not_fetched(stage: Stage) -> Scenario:
    """Weights of the hub come in parts, and its store of parts breaks off (xet-core#394, transformers#43023)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("parts"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(9_000, 60_000), "the hub's store of parts breaks off its answers")
    why = draw.pick(
        (
            "CAS service error : Error : single flight error: Real call failed: CasObjectError(InternalIOError("
            "Custom { kind: Other, error: reqwest::Error { kind: Decode, source: hyper::Error(Body, Custom { "
            "kind: UnexpectedEof, error: IncompleteBody }) } }))",
            "CAS service error : ReqwestMiddleware Error: Request failed after 5 retries",
            "CAS service error : IO Error: Timer expired",
        )
    )
    frames = (
        *loss_frames(stage, "encoder = AutoModel.from_pretrained(args.encoder)"),
        sdk.Frame(f"{site}/transformers/utils/hub.py", 479, "cached_files", "hf_hub_download("),
        sdk.Frame(
            f"{site}/huggingface_hub/file_download.py",
            1171,
            "_hf_hub_download_to_cache_dir",
            "_download_to_tmp_and_move(",
        ),
        sdk.Frame(f"{site}/huggingface_hub/file_download.py", 629, "xet_get", "download_files("),
    )
    raised = sdk.Raised(frames, f"RuntimeError: Data processing error: {why}")
    if draw.chance(0.5):
        over = each_raises(stage, at, raised.text, frames)
        made = of_all(stage.innocent("infrastructure", also=("network", "software")))
    else:
        job.raise_on(at, stage.culprit, sdk.traceback(raised))
        over = job.agents_end([Exit(stage.culprit, at + 700 * MS, 1)], at + 700 * MS)
        made = replace(stage.innocent("infrastructure", also=("network", "software")), culprit_ranks=(stage.culprit,))
    return stage.close("The line of the site to the world is full in the evening.", (made,), until=over)
