"""What readers above AIStore's clients print: lhotse's batch loader, MSC, botocore, Streaming, torch's DataLoader."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage


def _loader(stage: Stage, *lines: tuple[int, str, str]) -> tuple[sdk.Frame, ...]:
    """NeMo's data set hands its cuts to lhotse, which has a loader of its own for AIStore."""
    site = stage.job.job.build["site"]
    nemo = f"{site}/nemo/collections/asr/data/audio_to_text_lhotse.py"
    return (
        sdk.Frame(nemo, 86, "__getitem__", "audio, audio_lens, cuts = self.load_audio(cuts)"),
        sdk.Frame(f"{site}/lhotse/dataset/input_strategies.py", 318, "__call__", "cuts = self.ais_batch_loader(cuts)"),
        *(sdk.Frame(f"{site}/lhotse/ais/batch_loader.py", line, where, code) for line, where, code in lines),
    )


def empty_entry_not_told(stage: Stage, at: int, rank: int) -> None:
    """An entry of a streamed batch is empty; lhotse's own warning of that asks for a field that it has not."""
    frames = _loader(stage, (238, "__call__", 'f"from bucket {info.provider}://{info.bck} returned empty content. "'))
    in_worker(stage, at, rank, "AttributeError", "'MossOut' object has no attribute 'bck'", frames)


def stream_truncated(stage: Stage, at: int, rank: int, index: int, wanted: int) -> None:
    """A streamed batch has ended too early, what is left is asked for one by one."""
    falling = "Falling back to direct AIStore API calls for remaining objects."
    text = f"Batch stream truncated at index {index}/{wanted}. {falling}"
    stage.job.note(at, rank, text, "W", 211, "batch_loader")


def missing_text(stage: Stage, at: int, rank: int, node: Node, name: str, text: str) -> str:
    """The text of the SDK's error for an object that a node does not have, in one line."""
    path = f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, 404, text, "GET", path, stage.client(rank))
    return sdk.request_error(404, body, node.url(0) + path + sdk.query(stage.proxy_of(rank), at), " ")


def fallback_failed(stage: Stage, at: int, rank: int, name: str, why: str) -> None:
    """lhotse cannot read an object alone either."""
    text = f"Failed to fetch object {name} from bucket ais://{stage.bucket}: {why}"
    stage.job.note(at, rank, text, "E", 250, "batch_loader")
    frames = _loader(stage, (256, "__call__", "raise AISBatchLoaderError("))
    error = "lhotse.ais.batch_loader.AISBatchLoaderError"
    in_worker(stage, at + 2 * MS, rank, error, f"Direct API fallback failed for {name}", frames)


def msc_missing(stage: Stage, at: int, rank: int, node: Node, name: str, text: str) -> None:
    """Multi-Storage Client makes an error of files of a 404; who said so stands in the first half."""
    job, site = stage.job, stage.job.job.build["site"]
    provider = f"{site}/multistorageclient/providers/ais.py"
    error = "aistore.sdk.errors.ErrObjNotFound: " + missing_text(stage, at, rank, node, name, text)
    first = sdk.Raised(
        (
            sdk.Frame(provider, 162, "_translate_errors", "return func()", True),
            sdk.Frame(provider, 232, "_invoke_api", "return reader.read_all()", True),
            sdk.Frame(
                f"{site}/aistore/sdk/response_handler.py",
                45,
                "handle_response",
                "raise self.parse_error(r) from http_err",
            ),
        ),
        error,
        sdk.DURING,
    )
    caller = fetch_frames(
        stage,
        'content = msc.open(f"msc://train/{name}", "rb").read()',
        sdk.Frame(
            provider,
            234,
            "_get_object",
            'return self._translate_errors(_invoke_api, operation="GET", bucket=bucket, key=key)',
        ),
        sdk.Frame(provider, 166, "_translate_errors", "raise FileNotFoundError("),
    )
    raised = sdk.Raised(caller, f"FileNotFoundError: Object {stage.bucket}/{name} does not exist.")
    job.raise_on(at, rank, sdk.traceback(first, raised))


def endpoint_gone(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """botocore has no connection to the endpoint it was given, after all its attempts."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/httpsession.py",
            493,
            "send",
            "raise EndpointConnectionError(endpoint_url=request.url, error=e)",
        ),
    )
    where = f"{node.url(0)}/s3/{stage.bucket}/{name}"
    text = f'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "{where}"'
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def loader_timed_out(stage: Stage, at: int, rank: int, limit: int) -> None:
    """torch's DataLoader has waited for its processes as long as it was told to."""
    file = f"{stage.job.job.build['site']}/torch/utils/data/dataloader.py"
    caller = sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(file, 708, "__next__", "data = self._next_data()", True),
        sdk.Frame(file, 1458, "_next_data", "idx, data = self._get_data()", True),
        sdk.Frame(file, 1413, "_get_data", "raise RuntimeError("),
    )
    text = f"RuntimeError: DataLoader timed out after {limit} seconds"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def index_too_late(stage: Stage, at: int, rank: int, folder: str, waited: float) -> None:
    """MosaicML Streaming waits a minute for the index that the first rank of the host downloads."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    module = f"{site}/streaming/base"
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 168, "main", "dataset = StreamingDataset(remote=remote, local=local, batch_size=batch)"),
        sdk.Frame(f"{module}/dataset.py", 513, "__init__", "stream_shards = stream.get_shards(world)"),
        sdk.Frame(f"{module}/stream.py", 466, "get_shards", "wait_for_file_to_exist("),
        sdk.Frame(
            f"{module}/util.py",
            76,
            "wait_for_file_to_exist",
            "raise RuntimeError(f'{err_msg}' + f'{timeout:.3f} < {dt:.3f} secs.')",
        ),
    )
    text = f"RuntimeError: {folder}/index.json file took too long to download60.000 < {waited:.3f} secs."
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
