"""Ways to read an object, one a client: each takes the address of the store and gives a function from key to bytes."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import time
import urllib.request
from collections.abc import Callable
from typing import Any

log = logging.getLogger("reader")
Read = Callable[[str], bytes]
SIGNATURE = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20240117T081500Z&X-Amz-Expires=43200"


def by_requests(url: str, args: argparse.Namespace) -> Read:
    """Reads with requests, whose urllib3 tries again in silence; links may have been signed before the job began."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    policy = Retry(total=args.retries, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=policy))

    def read(key: str) -> bytes:
        where = f"{url}/s3/{key}?{SIGNATURE}" if args.signed else f"{url}/v1/objects/{key}"
        response = session.get(where, timeout=args.timeout or None)
        response.raise_for_status()
        return bytes(response.content)

    return read


def by_httpx(url: str, args: argparse.Namespace) -> Read:
    import httpx

    client = httpx.Client(base_url=url, timeout=args.timeout or None, follow_redirects=args.follow, trust_env=False)

    def read(key: str) -> bytes:
        response = client.get(f"/v1/objects/{key}")
        response.raise_for_status()
        return bytes(response.content)

    return read


def by_aiohttp(url: str, args: argparse.Namespace) -> Read:
    """Reads with aiohttp; a read that fails is warned of and tried again."""
    import aiohttp

    async def fetch(key: str) -> bytes:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            for attempt in range(1, args.attempts + 1):
                try:
                    async with session.get(f"{url}/v1/objects/{key}") as response:
                        response.raise_for_status()
                        return bytes(await response.read())
                except (aiohttp.ClientError, TimeoutError) as error:
                    if attempt == args.attempts:
                        raise
                    log.warning("%s: %r, attempt %d of %d", key, error, attempt, args.attempts)
                    await asyncio.sleep(0.5)
        raise AssertionError

    return lambda key: asyncio.run(fetch(key))


def by_urllib(url: str, args: argparse.Namespace) -> Read:
    """Reads with the standard library; a read that fails is warned of and tried again."""

    def read(key: str) -> bytes:
        for attempt in range(1, args.attempts + 1):
            try:
                with urllib.request.urlopen(f"{url}/v1/objects/{key}", timeout=args.timeout or None) as response:
                    return bytes(response.read())
            except OSError as error:
                if attempt == args.attempts:
                    raise
                log.warning("reading %s failed (attempt %d of %d): %s", key, attempt, args.attempts, error)
                time.sleep(0.3)
        raise AssertionError

    return read


def by_tenacity(url: str, args: argparse.Namespace) -> Read:
    """Reads with urllib; what fails is tried again and logged by tenacity."""
    from tenacity import before_sleep_log, retry, stop_after_attempt, wait_fixed

    warn = before_sleep_log(log, logging.WARNING)

    @retry(stop=stop_after_attempt(args.attempts), wait=wait_fixed(0.7), before_sleep=warn)
    def fetch_block(key: str) -> bytes:
        with urllib.request.urlopen(f"{url}/v1/objects/{key}", timeout=10) as response:
            return bytes(response.read())

    return fetch_block


def by_smart_open(url: str, args: argparse.Namespace) -> Read:
    import smart_open

    def read(key: str) -> bytes:
        with smart_open.open(f"{url}/v1/objects/{key}", "rb") as file:
            return bytes(file.read())

    return read


def by_fsspec(url: str, args: argparse.Namespace) -> Read:
    """Reads with fsspec's HTTP file system."""
    import fsspec

    files = fsspec.filesystem("http")
    return lambda key: bytes(files.cat_file(f"{url}/v1/objects/{key}"))


def by_s3fs(url: str, args: argparse.Namespace) -> Read:
    import s3fs

    where = {"endpoint_url": f"{url}/s3", "region_name": "us-east-1"}
    path_style = {"s3": {"addressing_style": "path"}}
    files = s3fs.S3FileSystem(key="k", secret="s", client_kwargs=where, config_kwargs=path_style)

    def read(key: str) -> bytes:
        with files.open(key, "rb") as file:
            return bytes(file.read())

    return read


def s3_client(url: str, read_timeout: float, attempts: int, mode: str = "standard") -> Any:
    """A boto3 client of the store's S3 endpoint."""
    import boto3
    from botocore.config import Config

    retries = {"max_attempts": attempts, "mode": mode}
    config = Config(connect_timeout=3, read_timeout=read_timeout, retries=retries, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": "trainer", "aws_secret_access_key": "trainer", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=url + "/s3", config=config, **keys)


def by_boto3(url: str, args: argparse.Namespace) -> Read:
    s3 = s3_client(url, args.timeout or 60, args.attempts)

    def read(key: str) -> bytes:
        bucket, _, name = key.partition("/")
        return bytes(s3.get_object(Bucket=bucket, Key=name)["Body"].read())

    return read


def sdk_client(url: str, args: argparse.Namespace) -> Any:
    """AIStore's client with the retries asked for; they are logged."""
    from aistore.sdk import Client
    from aistore.sdk.retry_config import RetryConfig
    from tenacity import before_sleep_log, stop_after_attempt, wait_fixed
    from urllib3 import Retry

    retries = RetryConfig.default()
    status = [429, 500, 502, 503, 504]
    retries.http_retry = Retry(total=args.retries, connect=0, read=0, backoff_factor=0.5, status_forcelist=status)
    retries.network_retry.stop = stop_after_attempt(args.attempts)
    retries.network_retry.wait = wait_fixed(1)
    retries.network_retry.before_sleep = before_sleep_log(log, logging.WARNING)
    return Client(url, timeout=(3.0, args.timeout) if args.timeout else None, retry_config=retries)


def by_sdk(url: str, args: argparse.Namespace) -> Read:
    """Reads with AIStore's SDK, as a whole or as a file that goes on where a connection broke."""
    client = sdk_client(url, args)

    def read(key: str) -> bytes:
        bucket, _, name = key.partition("/")
        reader = client.bucket(bucket).object(name).get_reader()
        if not args.max_resume:
            return bytes(reader.read_all())
        with reader.as_file(max_resume=args.max_resume) as file:
            return bytes(file.read())

    return read


CLIENTS = {
    "requests": by_requests,
    "httpx": by_httpx,
    "aiohttp": by_aiohttp,
    "urllib": by_urllib,
    "tenacity": by_tenacity,
    "smart_open": by_smart_open,
    "fsspec": by_fsspec,
    "s3fs": by_s3fs,
    "boto3": by_boto3,
    "sdk": by_sdk,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", choices=CLIENTS, required=True)
    parser.add_argument("--timeout", type=float, default=10, help="of a read, 0 for none")
    parser.add_argument("--attempts", type=int, default=3, help="where the client is told by the number of attempts")
    parser.add_argument("--retries", type=int, default=3, help="of urllib3, by status")
    parser.add_argument("--max-resume", type=int, default=0)
    parser.add_argument("--signed", action="store_true")
    parser.add_argument("--follow", action=argparse.BooleanOptionalAction, default=True)


def reader_of(args: argparse.Namespace) -> Read:
    """The reader asked for, of the store that this host is told."""
    return CLIENTS[args.client](os.environ.get("STORE_URL", os.environ["AIS_ENDPOINT"]), args)
