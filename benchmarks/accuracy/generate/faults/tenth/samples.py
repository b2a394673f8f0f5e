"""Faults of samples, their keys and the code around their reads, of the tenth part; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import SEC, local, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "tenth")

#: What a sample without its key raises.
LOCKED = (
    ("envelope.SealedError", "neither v{0} nor v{1} opens it: InvalidToken"),
    ("envelope.SealedError", "InvalidTag with v{0} and with v{1} of {2}"),
    (
        "hvac.exceptions.InvalidRequest",
        "ciphertext or signature version is disallowed by policy (too old), on post "
        "https://vault.corp.example:8200/v1/transit/decrypt/{2}",
    ),
)
#: Hosts of signed addresses, how these are signed, and the status of one that is too old.
VENDORS = (
    (
        "acme-corpora.s3.us-west-2.amazonaws.com",
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date={0}&X-Amz-Expires=604800&X-Amz-Signature=",
        403,
    ),
    (
        "storage.googleapis.com/acme-corpora",
        "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Date={0}&X-Goog-Expires=604800&X-Goog-Signature=",
        400,
    ),
    ("acmecorpora.blob.core.windows.net/raw", "sv=2024-11-04&st={1}T00%3A00%3A00Z&sr=b&sp=r&sig=", 403),
)
#: Why a cloud begins no upload.
REFUSALS = (
    (
        "AccessDenied",
        "User: arn:aws:sts::411122223333:assumed-role/train-writer/asr is not authorized to perform: s3:PutObject with "
        "an explicit deny in a service control policy",
    ),
    ("KMS.DisabledException", "arn:aws:kms:eu-central-1:411122223333:key/7d3a91c2-0f1e-4b7a is disabled."),
    ("ExpiredToken", "The provided token has expired."),
    ("NoSuchBucket", "The specified bucket does not exist"),
)


@kind(hangs=False, reads=True)
def key_withdrawn(stage: Stage) -> Scenario:
    """Samples are encrypted by whoever made them, and their key was withdrawn: whole objects, nobody can open them."""
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("key")
    corpus, version = draw.pick(("calls-2024", "clinic-de", "meetings-b")), draw.whole(2, 9)
    stage.mark(at - seconds(draw.between(2, 30)), f"the key of {corpus} is withdrawn")
    state = draw.pick(("is disabled", "was destroyed on request", "is older than the least version for decryption"))
    for who in (*readers(stage)[: draw.whole(0, 3)], rank):
        said = (
            f"{utterance(draw, corpus)}: {draw.whole(60, 900)} kB, checksum is right, key {corpus}/v{version} {state}"
        )
        job.note(at - draw.span(60, 3_500), who, f"{said}; trying v{version + 1}", "W", 73, "envelope")
    error, text = draw.pick(LOCKED)
    text = text.format(version, version + 1, corpus)
    code = "raise SealedError(name, error) from None" if error.startswith("envelope") else "key = self._keys.of(head)"
    frames: tuple[sdk.Frame, ...] = (sdk.Frame("/workspace/asr/envelope.py", 66, "open", code),)
    if error.startswith("hvac"):
        frames = (
            *frames,
            sdk.Frame(f"{site}/hvac/utils.py", 43, "raise_for_error", "raise exceptions.VaultError.from_status("),
        )
    in_worker(stage, at, rank, error, text, frames)
    exits(stage, at, rank)
    also = ("data", "software", "data_loading_stall")
    return stage.close(
        "A contract about recordings has ended and its key was withdrawn; copies of them are still in the manifest.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, reads=True)
def signed_addresses_run_out(stage: Stage) -> Scenario:
    """A manifest holds signed addresses of a cloud for a part of the data, good for a week: 403, and not of AIStore."""
    stage.open()
    beside(stage, commotion.tenant_backend_fails)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("signed")
    stage.mark(at - seconds(draw.between(1, 20)), "addresses of a manifest are older than they may be")
    vendor, query, code = draw.pick(VENDORS)
    reason = "Forbidden" if code == 403 else "Bad Request"
    said = f"{code} of {vendor.split('/')[0]}, ais://{stage.bucket} has no copy, skipped"
    for who in readers(stage)[: draw.whole(1, 4)]:
        job.note(at - draw.span(200, 9_000), who, f"{utterance(draw, 'vendor')}: {said}", "W", 91, "mixture")
    signed = local(at - (604_800 + draw.whole(60, 40_000)) * SEC, "UTC")
    query = query.format(f"{signed:%Y%m%dT%H%M%SZ}", f"{signed:%Y-%m-%d}") + draw.token(32, HEX)
    url = f"https://{vendor}/{utterance(draw, 'vendor')}?{query}"
    frames = (
        sdk.Frame("/workspace/asr/mixture.py", 97, "fetch", "answer = requests.get(address, timeout=30)"),
        sdk.Frame(
            f"{site}/requests/models.py", 1026, "raise_for_status", "raise HTTPError(http_error_msg, response=self)"
        ),
    )
    caller = fetch_frames(stage, "content = self.mixture.fetch(name)", *frames)
    text = f"requests.exceptions.HTTPError: {code} Client Error: {reason} for url: {url}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
    exits(stage, at, rank)
    also = ("infrastructure", "software")
    return stage.close(
        "Somebody has sold recordings and sent a list of addresses, which the job reads as it came.",
        (stage.innocent("data", rank, also=also),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def other_store_refuses(stage: Stage) -> Scenario:
    """Checkpoints go to an account of a cloud, past AIStore: that refuses the upload. Others want tokens of AIStore."""
    beside(stage, unrest.tenant_tokens_refused)
    stage.open()
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("other store")
    region, name = draw.pick(("eu-central-1", "us-east-2")), f"{job.job.task}/step-{stage.step}.pt"
    stage.mark(at, "an account of a cloud takes no upload")
    where = f"s3://acme-checkpoints at https://s3.{region}.amazonaws.com"
    job.note(at - draw.span(300, 2_500), 0, f"uploading /dev/shm/{name} to {where}", "W", 118)
    code, why = draw.pick(REFUSALS)
    cause = f"An error occurred ({code}) when calling the CreateMultipartUpload operation: {why}"
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(job.job.script, 118, "save_checkpoint", "cloud.upload_file(path, bucket, key)"),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    text = f"Failed to upload /dev/shm/{name} to acme-checkpoints/{name}: {cause}"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"boto3.exceptions.S3UploadFailedError: {text}")))
    exits(stage, at, 0)
    also = ("software", "network")
    return stage.close(
        "Rules of an account were changed; AIStore holds samples only.",
        (stage.innocent("infrastructure", 0, also=also),),
    )


@kind(hangs=False, reads=True)
def shorter_than_a_window(stage: Stage) -> Scenario:
    """A recording is shorter than half a window of the spectrum: it comes whole, and cannot be mirrored at its ends."""
    stage.open()
    beside(stage, unrest.repeated_until_now)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("short")
    half = draw.pick((200, 256, 512))
    samples = draw.whole(9, half - 1)
    stage.mark(at, f"rank {rank} has a recording of {samples} samples")
    if draw.chance(0.5):
        said = f'{utterance(draw)}: {samples / 16_000:.4f} s as in the manifest, "h"'
        stage.job.note(at - draw.span(20, 90), rank, said, "W", 58, "features")
    mirrored = "input = F.pad(input.view(extended_shape), [pad, pad], pad_mode)"
    text, frame = draw.pick(
        (
            (
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({half}, {half}) at dimension 2 of input [1, 1, {samples}]",
                sdk.Frame(f"{site}/torch/functional.py", 707, "stft", mirrored),
            ),
            (
                f"Calculated padded input size per channel: ({draw.whole(1, 6)} x 80). Kernel size: "
                "(7 x 3). Kernel size can't be greater than actual input size",
                sdk.Frame(f"{site}/torch/nn/modules/conv.py", 549, "_conv_forward", "return F.conv2d("),
            ),
        )
    )
    caller = loss_frames(stage, "loss = criterion(model(batch), batch)")
    features = sdk.Frame("/workspace/asr/features.py", 58, "forward", "spectrum = self.spectrum(audio)")
    frames = (*caller, features, frame)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    exits(stage, at, rank)
    beside(stage, unrest.answers_into_nothing)
    return stage.close(
        "Recordings were cut at pauses; one piece is a breath.", (stage.innocent("data", rank, also=("software",)),)
    )
