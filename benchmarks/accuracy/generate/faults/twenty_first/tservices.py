"""Services beside AIStore that jobs lean on: hubs, trackers, other clouds, a home; of the twenty-first part.

Storage is innocent. The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_first")


@kind(hangs=False, trains=False)
def hub_turns_every_rank_away(stage: Stage) -> Scenario:
    """All ranks ask the Hugging Face Hub for one file at once and are limited (transformers#34841, hub#3312, #3342).

    To acquit: the 429 is of huggingface.co, for what a model has; AIStore's answers were to other tenants.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("hub"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(2_500, 7_000), "the hub turns all ranks away")
    model = draw.pick(("openai/whisper-large-v3", "Qwen/Qwen2.5-7B", "facebook/w2v-bert-2.0"))
    url = f"https://huggingface.co/api/models/{model}/tree/main/additional_chat_templates?recursive=False&expand=False"
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 163, "main", "tokenizer = AutoTokenizer.from_pretrained(options.model)", True),
        sdk.Frame(
            f"{site}/transformers/tokenization_utils_base.py",
            1966,
            "from_pretrained",
            "for template in list_repo_templates(",
        ),
        sdk.Frame(f"{site}/transformers/utils/hub.py", 161, "list_repo_templates", "return ["),
        sdk.Frame(f"{site}/huggingface_hub/hf_api.py", 3159, "list_repo_tree", "for path_info in paginate("),
        sdk.Frame(f"{site}/huggingface_hub/utils/_pagination.py", 37, "paginate", "hf_raise_for_status(r)"),
        sdk.Frame(
            f"{site}/huggingface_hub/utils/_http.py",
            475,
            "hf_raise_for_status",
            "raise _format(HfHubHTTPError, str(e), response) from e",
        ),
    )
    text = f"huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: {url}"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("infrastructure", also=("software", "network")))
    return stage.close("All jobs of the site leave it by one address.", (made,), until=over)


@kind(culprit=0, lead_s=60.0)
def tracker_keeps_rank_zero(stage: Stage) -> Scenario:
    """Rank 0 waits till Weights & Biases has taken an artifact, which it does not (wandb#7266, #3223, #5650).

    To acquit: wandb tells of its own network error, and the stack of rank 0 stands in its wait; no thread is in a read
    of AIStore. The target was killed while all others waited already.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, own_unrest.neighbour_is_reset, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("tracker")
    base, files = f"{own.build['site']}/wandb/sdk", draw.whole(3, 40)
    stage.mark(at, "rank 0 waits for its tracker")
    reader_note(
        stage, at - 60 * MS, 0, f"step {stage.step}: logging artifact samples-{stage.step}, {files} files, waiting"
    )
    error = draw.pick(("ConnectTimeout", "HTTPError", "TransientError"))
    job.say(at + draw.span(9_000, 14_000), 0, f"wandb: Network error ({error}), entering retry loop.")
    stack = standing_in(
        stage,
        194,
        ("wait", f"{PYTHON}/threading.py", 331),
        ("_get_and_clear", f"{base}/lib/mailbox.py", 126),
        ("wait", f"{base}/lib/mailbox.py", 283),
        ("wait", f"{base}/artifacts/artifact.py", 872),
        ("log_samples", f"{own.script.rsplit('/', 1)[0]}/tracking.py", 58),
    )
    py_spy(stage, min(draw.between(24, 44), own.timeout_s - 14), (stack,))
    stage.hang(at + 50 * MS, 0)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", 0, also=("rank_hang", "network", "infrastructure"))
    return stage.close("The tracker had an outage, as its status page says.", (made,))


def _upload_refused(stage: Stage, at: int, bucket: str, key: str) -> None:
    """boto3 gives up on rank 0, before a part is sent."""
    job, own, site = stage.job, stage.job.job, stage.job.job.build["site"]
    cause = "An error occurred (ExpiredToken) when calling the CreateMultipartUpload operation: The provided token has "
    cause += "expired."
    client = sdk.Frame(
        f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
    )
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/boto3/s3/transfer.py", 372, "upload_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 103, "result", "return self._coordinator.result()"),
            client,
        ),
        f"botocore.exceptions.ClientError: {cause}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 121, "save_checkpoint", "aws.upload_file(path, BUCKET, key)", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    text = (
        f"boto3.exceptions.S3UploadFailedError: Failed to upload /dev/shm/step-{stage.step:07d}.pt to {bucket}/{key}: "
    )
    job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text + cause)))


@kind(culprit=0, hangs=False, lead_s=75.0)
def credentials_of_a_cloud_expire(stage: Stage) -> Scenario:
    """Checkpoints go to S3 itself, with a token for hours that has run out (boto3 docs, credentials; s3fs#504).

    To acquit: the address is one of amazonaws.com, and S3 says what is wrong with the token; the full target and the
    429 of AIStore are about other writes and other batches.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.tenant_backend_fails, unrest.entries_missing))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("expire")
    region, bucket = (
        draw.pick(("us-west-2", "eu-central-1", "us-east-2")),
        draw.pick(("acme-asr-ckpt", "lab-runs-prod")),
    )
    key = f"{own.task}/step-{stage.step:07d}.pt"
    stage.mark(at, "a token for S3 has run out")
    where = f"https://{bucket}.s3.{region}.amazonaws.com/{key}"
    reader_note(stage, at - draw.span(900, 2_500), 0, f"uploading {draw.between(2, 40):.1f} GiB to {where}")
    _upload_refused(stage, at, bucket, key)
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", 0, also=("infrastructure",))
    return stage.close("The role of the job is assumed once, at its beginning.", (made,))


def _kernel_not_cached(stage: Stage, at: int, user: str) -> None:
    """Triton cannot write what it has compiled on the culprit."""
    job, rank, draw, site = stage.job, stage.culprit, stage.draw.child("cached"), stage.job.job.build["site"]
    digest = "".join(draw.pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(52))
    pid = job.job.rank_pids[rank]
    serial = "-".join(draw.token(length, HEX) for length in (8, 4, 4, 4, 12))
    path = f"/home/{user}/.triton/cache/{digest}/tmp.pid_{pid}_{serial}/fused_softmax.cubin"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            "/workspace/asr/kernels.py", 84, "softmax", "fused_softmax[grid](out, scores, width, BLOCK=block)", True
        ),
        sdk.Frame(f"{site}/triton/runtime/jit.py", 623, "run", "kernel = self.compile("),
        sdk.Frame(
            f"{site}/triton/compiler/compiler.py", 290, "compile", "metadata_group[ir_filename] = fn_cache_manager.put("
        ),
        sdk.Frame(f"{site}/triton/runtime/cache.py", 120, "put", "with open(temp_path, mode) as f:"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"OSError: [Errno 122] Disk quota exceeded: '{path}'")))


@kind(hangs=False, lead_s=60.0)
def home_is_over_its_quota(stage: Stage) -> Scenario:
    """Triton compiles for a new shape and cannot write to ~/.triton (mamba#164; triton docs, TRITON_CACHE_DIR).

    To acquit: the errno is of a quota, the path one below /home; nothing of AIStore is in the stack.
    """
    stage.open()
    unrest.unsettled(
        stage, (own_unrest.listings_of_a_tenant_fail, disk_unrest.tenant_full_in_window, tenth_unrest.disk_found_well)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("quota")
    user = draw.pick(("mweber", "s.rao", "u10644", "lchen"))
    stage.mark(at, f"the home of {user} is over its quota")
    node, most = job.job.node_of(rank), draw.pick((20, 50, 100))
    watched(
        stage,
        at - draw.span(4_000, 15_000),
        node,
        f"quota: {user} on nfs-home:/home: {most}G of {most}G, grace expired",
    )
    _kernel_not_cached(stage, at, user)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("Caches of three projects lie in one home.", (made,))


@kind(culprit=0, hangs=False, min_timeout_s=90, lead_s=75.0)
def lustre_keeps_a_checkpoint(stage: Stage) -> Scenario:
    """Checkpoints go to Lustre, one of whose servers is failed over; the write comes back with EIO (Lustre manual).

    To acquit: the path is below /lustre, and the kernel's LustreError names the target of that file system.
    """
    stage.open()
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, disk_unrest.disk_lost_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("lustre")
    name = f"{draw.pick(('scratch', 'lfs2', 'work'))}-OST{draw.whole(0, 63):04x}"
    server = f"10.44.0.{draw.whole(11, 60)}@o2ib"
    path = f"/lustre/{name.split('-')[0]}/{own.task}/step_{stage.step}.pt"
    stage.mark(at, f"{name} does not answer")
    reader_note(stage, at - 80 * MS, 0, f"writing {path}, {draw.between(3, 30):.1f} GiB")
    lost = at + draw.span(6_000, 9_000)
    handle = f"ffff{draw.token(12, HEX)}"
    client = f"{name}-osc-{handle}"
    code = f"{draw.whole(1_000, 9_000)}:0:(client.c:2295:ptlrpc_expire_one_request())"
    sent, limit = lost // SEC - 6, lost // SEC
    late = f"[sent {sent}/real {sent}]  req@ffff{draw.token(12, HEX)} x18{draw.whole(10**13, 10**14 - 1)}/t0(0) "
    late += f"o4->{client}@{server}:6/4 lens 488/448 e 0 to 1 dl {limit} ref 2 fl Rpc:X/0/ffffffff rc 0/-1"
    watched(stage, lost, 0, f"kernel: Lustre: {code} @@@ Request sent has timed out for slow reply: {late}")
    gone = f"Connection to {name} (at {server}) was lost; in progress operations using this service will"
    watched(stage, lost + MS, 0, f"kernel: Lustre: {client}: {gone} wait for recovery to complete")
    over = lost + draw.span(22_000, 40_000)
    why = f"{client}: This client was evicted by {name}; in progress operations using this service will fail."
    watched(stage, over - 30 * MS, 0, f"kernel: LustreError: 167-0: {why}")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 120, "save_checkpoint", "out.write(buffer.getbuffer())", True),
    )
    job.raise_on(over, 0, sdk.traceback(sdk.Raised(frames, "OSError: [Errno 5] Input/output error")))
    exits(stage, over, 0)
    made = stage.innocent("infrastructure", 0, also=("network", "software"))
    return stage.close("A pair of its servers was updated.", (made,))
