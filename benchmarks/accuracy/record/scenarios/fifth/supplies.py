"""What ranks read: files and libraries that a host lacks, objects that are missing, refused or other than listed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from benchmarks.accuracy.record.payloads import features, speech
from benchmarks.accuracy.record.scenario import Fault, Layout, Scenario, Start, Truth


def _birds(count: int = 192) -> Mapping[str, str]:
    """Clips of a bird each."""
    files = {}
    for number in range(count):
        wave = (f"{math.sin(at / (2 + number % 5)):.4f}" for at in range(200))
        files[f"birds/clip{number:04d}.txt"] = "\n".join(wave) + "\n"
    return files


def _digests() -> Mapping[str, str]:
    """The list of digests beside the tiles."""
    rows = (f"{hashlib.md5(body).hexdigest()}  {name.rpartition('/')[2]}\n" for name, body in features()().items())
    return {"tiles.md5": "".join(rows)}


SCENARIOS = (
    Scenario(
        "library_is_not_installed_on_second_node",
        "The second node lacks a shared library: both its ranks raise OSError before their first step.",
        "birdsong.py",
        Truth("software", (2, 3), ("infrastructure",)),
        ("--native-filters",),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        node_environment={1: {"BIRD_FILTERS": "libbirdfilters.so.3"}},
        files=_birds(),
        group_timeout_s=18,
    ),
    Scenario(
        "clips_are_not_staged_on_third_node",
        "Nobody copied the clips to the third node: FileNotFoundError in the loader processes of both its ranks.",
        "birdsong.py",
        Truth("data", (4, 5), ("software", "infrastructure")),
        layout=Layout.SRUN_TEE,
        nodes=3,
        ranks_per_node=2,
        node_environment={2: {"BIRDS_ROOT": "/local/birds"}},
        files=_birds(),
        group_timeout_s=18,
    ),
    Scenario(
        "tile_has_another_digest",
        "A tile of rank 1 is answered with other bytes than its list says, seen in a loader process.",
        "geo_tiles.py",
        Truth("data", (1,), ("storage_io", "network")),
        ("--md5sums", "tiles.md5", "--workers", "1"),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        needs=("requests",),
        files=_digests(),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-01-00008", "spoil"),),
        group_timeout_s=60,
    ),
    Scenario(
        "too_many_requests_until_retries_end",
        "Every read of one tile of rank 0 is answered 429: RetryError of requests after the fourth retry.",
        "geo_tiles.py",
        Truth("storage_io", (0,), ("network",)),
        layout=Layout.STREAM,
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-00-00006", "status", status=429, message="rate limit exceeded"),),
        group_timeout_s=60,
    ),
    Scenario(
        "connection_refused_on_second_node",
        "The second node is told a port at which nothing listens; its ranks try again and give up.",
        "geo_tiles.py",
        Truth("storage_io", (2, 3), ("network", "software", "infrastructure")),
        ("--retries", "3"),
        layout=Layout.FILES,
        nodes=2,
        ranks_per_node=2,
        needs=("requests",),
        node_environment={1: {"TILE_SERVER": "http://127.0.0.1:51099"}},
        objects=features(),
        group_timeout_s=60,
    ),
    Scenario(
        "connections_of_sdk_are_reset",
        "The server resets every connection that asks for one clip of rank 3, in a loader process with the SDK.",
        "voice_sdk.py",
        Truth("storage_io", (3,), ("network",)),
        layout=Layout.TEE,
        needs=("aistore", "tenacity"),
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/3/clip-00007", "reset"),),
        group_timeout_s=60,
    ),
    Scenario(
        "weights_to_start_from_are_not_there",
        "Rank 0 downloads weights whose key does not exist: 404 of HeadObject, while the others wait for them.",
        "warm_start.py",
        Truth("data", (0,), ("storage_io", "software")),
        ("--start-from", "clips/0/final-00400.npy"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("boto3",),
        objects=speech,
        group_timeout_s=60,
    ),
    Scenario(
        "healthy_with_clips_left_out",
        "Clips that cannot be used are left out with a traceback, resets are got over, and the job is done.",
        "voice_sdk.py",
        None,
        ("--leave-out", "--attempts", "4"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("aistore", "tenacity"),
        objects=speech,
        faults=(
            Fault(r"^/v1/.*/clips/[13]/clip-0000[28]", "spoil"),
            Fault(r"^/v1/.*/clips/[0-3]/clip-0000[159]", "reset", 1),
        ),
        group_timeout_s=60,
    ),
)
