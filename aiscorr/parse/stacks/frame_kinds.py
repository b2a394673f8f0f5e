"""What a stack was doing, told by the files and functions of its frames."""

from __future__ import annotations

import re

LIBRARY = re.compile(r"/(?:site-packages|dist-packages|lib(?:64)?/python\d[\d.]*)/|^<frozen")
C10D = "torch/distributed/distributed_c10d.py"
_FRAME_KINDS = (
    (
        "storage",
        re.compile(
            r"/(?:(?:aistore|lhotse/ais|urllib3|requests|(?:aio)?botocore|(?:aio)?boto3|s3transfer|s3fs|fsspec|gcsfs|adlfs"
            r"|smart_open|httpx|httpcore|aiohttp|multistorageclient|minio|obstore|s3torchconnector\w*|cloudpathlib"
            r"|google/cloud/storage|azure/storage|tensorflow/python/lib/io)/|webdataset/gopen|pyarrow/_?(?:s3)?fs\."
            r"|lib/python3\.\d+/(?:http/client|urllib/request)\.py)"
        ),
    ),
    ("checkpoint", re.compile(r"/(?:torch/serialization|torch/distributed/checkpoint|safetensors)|checkpoint", re.I)),
    (
        "data_loading",
        re.compile(
            r"/(?:torch/utils/data|lhotse|webdataset|datasets|streaming|litdata|nemo/collections/.*/data|nvidia/dali"
            r"|ffcv|torchdata|grain|tensorflow_datasets|ray/data|petastorm|deeplake|megatron/energon)/"
        ),
    ),
)
#: Programs that talk to a service of their own through the same clients.
_SERVICES = tuple(
    (kind, re.compile(rf"/(?:site|dist)-packages/(?:{names})[/.]"))
    for kind, names in (
        ("log_upload", "wandb|mlflow|neptune|comet_ml|clearml|aim|swanlab|sentry_sdk|opentelemetry"),
        ("hub_wait", "huggingface_hub|modelscope|transformers/utils/hub|timm/models/_hub|gdown|torch/hub"),
        (
            "another_service",
            "prometheus_client|slack_sdk|datadog|etcd3?|consul|kubernetes|docker|elasticsearch|pymongo|redis|psycopg2?"
            "|sqlalchemy|kafka|ray/(?:dashboard|autoscaler|job_submission)",
        ),
    )
)
#: A pipe or socket of Python's own to another process of the same program: a loader's, a pool's, a manager's, or the
#: parent's that tells a spawned child what to do.
HELPER = re.compile(r"(?<!torch)/multiprocess(?:ing)?/(?:connection|spawn)\.py$")
MANAGER = re.compile(r"/multiprocess(?:ing)?/managers\.py$")
_DECODERS = re.compile(
    r"/(?:wave|tarfile|gzip|zipfile|json/decoder|PIL|soundfile|torchaudio|librosa|av|ffmpeg|pickle)(?:\.py|/)"
)

#: A library that reads data itself, so that what is raised in it may be a read that failed.
_LOADERS = re.compile(
    r"/(?:site|dist)-packages/(?:nvidia/dali|ffcv|webdataset|litdata|streaming|datasets|petastorm|deeplake"
    r"|megatron/energon)/"
)
#: A compiler of kernels, with the cache of what it has built.
_COMPILER = re.compile(r"/(?:site|dist)-packages/(?:triton|torch/_inductor|jax/_src/compilation_cache)[/.]")
_STANDARD = re.compile(r"/lib(?:64)?/python\d[\d.]*/(?!site-packages/|dist-packages/)|^<frozen")

#: What waits for another thread, process or task of the same program, and gives up after a while.
_WAITS = re.compile(
    r"/(?:concurrent/futures/_base|queue|threading|asyncio/(?:tasks|timeouts|queues|locks|runners)"
    r"|multiprocess(?:ing)?/(?:pool|queues|connection|managers|synchronize)|joblib/parallel)\.py$"
)
#: Functions that are there to get data; those that put some away, or fetch something else, are not.
_FETCHES = re.compile(
    r"fetch|(?:^|_)(?:next|get|load|read|download|pop|take|iter)_(?:batch|sample|shard|item|data|example|chunk)"
    r"|(?:batches|samples|shards)$|^(?:read|load|download|__next__|__iter__|__getitem__)$"
)
#: Functions of a program that put something away.
_SAVES = re.compile(r"(?:^|_)(?:save|upload|store|persist|write|dump|export)(?:_|$)|checkpoint", re.I)
#: Kinds of stacks that put nothing away for the job, and those that are after something else than samples.
_NO_WRITERS = ("collective", "log_upload", "hub_wait", "another_service")
_NO_READERS = (*_NO_WRITERS, "checkpoint")
#: Where operations on tensors and arrays stand; what loads data is beside them.
_OPERATIONS = re.compile(
    r"/(?:site|dist)-packages/(?:torch/(?!utils/data/|serialization|hub|storage)|torchvision/transforms|numpy/(?!lib/)"
    r"|transformers|tokenizers|triton|omegaconf|hydra|pydantic)"
)
_STORES = re.compile(r"save|store|write|upload|flush|checkpoint|commit|weights|model", re.I)


def frame_kind_of(paths: list[str]) -> str:
    """What a stack (outermost first) was doing, by its files: storage, decoding, checkpoint,
    data_loading, collective or other. The innermost known frame decides, but what a client of another
    service asked for is log_upload, hub_wait or another_service."""
    for kind, regex in _SERVICES:
        if any(regex.search(path) for path in paths):
            return kind
    for path in reversed(paths):
        if C10D in path or "torch/distributed/c10d_logger" in path:
            return "collective"
        for kind, regex in _FRAME_KINDS:
            if regex.search(path):
                return kind
        if _DECODERS.search(path):
            return "decoding"
    return "other"


def is_reading(paths: list[str], functions: list[str]) -> bool:
    """Whether a stack (outermost first) was after data, whatever library it used: a loader, a client of storage, a
    decoder, or a function of the program's own for getting data. Where a tensor's operation failed it was not."""
    kind = frame_kind_of(paths)
    if kind in _NO_READERS or _OPERATIONS.search(_last_call(paths)):
        return False
    return _is_after_data(paths, functions, kind in ("storage", "data_loading", "decoding"))


def is_saving(paths: list[str], functions: list[str]) -> bool:
    """Whether a stack (outermost first) was putting something away: a checkpoint's code, or a function of the program's
    own for it. Where a tensor's operation failed it was not."""
    kind = frame_kind_of(paths)
    if kind in _NO_WRITERS or _OPERATIONS.search(_last_call(paths)):
        return False
    return kind == "checkpoint" or any(_SAVES.search(name) for name in _own(paths, functions))


def _own(paths: list[str], functions: list[str]) -> list[str]:
    """The functions of a stack that are of the program itself."""
    return [name for path, name in zip(paths, functions, strict=True) if not LIBRARY.search(path)]


def _last_call(paths: list[str]) -> str:
    """The file of the last call (outermost first) that is not of Python's own library."""
    return next((path for path in reversed(paths) if not _STANDARD.search(path)), "")


def _is_after_data(paths: list[str], functions: list[str], is_told: bool) -> bool:
    """Whether a stack whose files tell so, or a function of the program's own, gets data, and none puts some away."""
    own = _own(paths, functions)
    if any(_STORES.search(name) for name in own[-2:]):
        return False
    return is_told or any(_FETCHES.search(name) for name in own)


def ends_in_loader(paths: list[str]) -> bool:
    """Whether the last call (outermost first) beside Python's own library is one of a library that reads data."""
    return _LOADERS.search(_last_call(paths)) is not None


def is_of_compiler(paths: list[str]) -> bool:
    """Whether the last call (outermost first) that is not of Python's own library is one of a compiler of kernels."""
    return _COMPILER.search(_last_call(paths)) is not None


def waits_for_data(paths: list[str], functions: list[str]) -> bool:
    """Whether a stack (outermost first) ends in a wait of the program's own that a function for data began.

    Such a wait that runs out tells nothing of its cause: what was awaited did not come.
    """
    if not paths or _WAITS.search(paths[-1]) is None or functions[-1] == "__get_result":  # what a thread raised
        return False
    return _is_after_data(paths, functions, frame_kind_of(paths) == "data_loading")
