"""What programs print whose users write to a storage team: requests, MDS, boto3 streams, fsspec, tar readers, TLS.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.regulars import background_failed
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

#: Why a client that verifies gives up a connection whose server sends its own certificate and no issuer.
NO_ISSUER = (
    "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
    "unable to get local issuer certificate (_ssl.c:1006)'))"
)


def webshard(draw: Draw) -> str:
    """The name of a shard of pictures."""
    return f"wds/train-{draw.whole(0, 6_143):05d}.tar"


def token_file(draw: Draw) -> str:
    """The name of a file of lines of text."""
    return f"text/{draw.pick(('cc', 'wiki', 'books', 'code'))}/part-{draw.whole(0, 1_999):05d}.jsonl.zst"


def status_in_worker(stage: Stage, at: int, rank: int, url: str, status: int, reason: str) -> None:
    """A loader process reads an address with requests and raises for its status."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/objects.py", 71, "__getitem__", "answer.raise_for_status()"),
        sdk.Frame(f"{site}/requests/models.py", 1024, "raise_for_status", "raise HTTPError(http_error_msg, response="),
    )
    kind = "Client" if status < 500 else "Server"
    in_worker(
        stage, at, rank, "requests.exceptions.HTTPError", f"{status} {kind} Error: {reason} for url: {url}", frames
    )


def mds_endpoint_lost(stage: Stage, at: int, rank: int, url: str) -> None:
    """Streaming downloads a shard with boto3, which gets no connection to the address it was sent on to."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            f"{site}/streaming/base/storage/download.py",
            214,
            "_download_file",
            "client.download_file(bucket, key, local)",
        ),
        sdk.Frame(f"{site}/boto3/s3/inject.py", 192, "download_file", "return transfer.download_file("),
        sdk.Frame(f"{site}/s3transfer/futures.py", 264, "result", "raise self._exception"),
        sdk.Frame(
            f"{site}/botocore/httpsession.py", 493, "send", "raise EndpointConnectionError(endpoint_url=request."
        ),
    )
    text = f'Could not connect to the endpoint URL: "{url}"'
    background_failed(stage, at, rank, "botocore.exceptions.EndpointConnectionError", text, frames)


def boto_stream_broken(stage: Stage, at: int, rank: int) -> None:
    """botocore was in the middle of a body when its connection was reset; it names no address then."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/ranges.py", 63, "read", 'data = self.get(key, span)["Body"].read()', True),
        sdk.Frame(f"{site}/botocore/response.py", 106, "read", "raise ResponseStreamingError(error=e)"),
    )
    cause = "(\"Connection broken: ConnectionResetError(104, 'Connection reset by peer')\", "
    cause += "ConnectionResetError(104, 'Connection reset by peer'))"
    text = f"An error occurred while reading from response stream: {cause}"
    in_worker(stage, at, rank, "botocore.exceptions.ResponseStreamingError", text, frames)


def lines_not_found(stage: Stage, at: int, rank: int, url: str) -> None:
    """fsspec opens an address, is told 404, and makes that an error of files with nothing but the address."""
    site = stage.job.job.build["site"]
    place = f"{site}/fsspec/implementations/http.py"
    frames = (
        sdk.Frame("/workspace/train/lines.py", 44, "__iter__", 'with fsspec.open(url, "rb", compression="zstd") as f:'),
        sdk.Frame(place, 451, "_info", "raise FileNotFoundError(url) from exc"),
    )
    in_worker(stage, at, rank, "FileNotFoundError", url, frames)


def archive_cut(stage: Stage, at: int, rank: int, url: str) -> None:
    """tarfile reads a shard from memory and misses the end of a member."""
    frames = (
        sdk.Frame("/workspace/train/shards.py", 58, "__iter__", "payload = archive.extractfile(member).read()", True),
        sdk.Frame(f"{PYTHON}/tarfile.py", 689, "readinto", "buf = self.read(len(b))"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 678, "read", 'raise ReadError("unexpected end of data")'),
    )
    stage.job.say(at - 2 * MS, rank, f"shards: cannot unpack {url}")
    in_worker(stage, at, rank, "tarfile.ReadError", "unexpected end of data", frames)
