"""Ranks that wait or work on their own while the others' time runs out."""

from __future__ import annotations

from benchmarks.accuracy.record.payloads import speech, tables
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Start, Truth
from benchmarks.accuracy.record.texts import boxes

_GAMES = "e4 20\nd4 24\nc4 18\n"


def _stacks(job: Running) -> None:
    job.take_stacks()


SCENARIOS = (
    Scenario(
        "worker_forked_while_lock_is_held",
        "Loader processes of rank 2 are forked while a thread holds a lock, which they wait for for ever. Stacks.",
        "detect.py",
        Truth("data_loading_stall", (2,), ("rank_hang", "software")),
        layout=Layout.TEE,
        files=boxes(96),
        faults=(Fault(r"^put:/v1/.*/samples-2\.json", "late", delay_s=6.0),),
        acts=(Act(r"epoch 0 mean loss", _stacks, 10.0),),
        group_timeout_s=18,
    ),
    Scenario(
        "crop_never_holds_the_box",
        "A box of rank 3 is larger than the crop that is to hold it: its loader process tries for ever. Stacks.",
        "detect.py",
        Truth("data_loading_stall", (3,), ("rank_hang", "data", "software")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        files=boxes(odd={75: {"bbox": [4, 6, 49, 30]}}),
        acts=(Act(r"Epoch: \[0\]\[ 2/", _stacks, 11.0),),
        group_timeout_s=18,
    ),
    Scenario(
        "first_rank_prepares_too_long",
        "The main process tokenizes longer than the others wait for it in accelerate's barrier.",
        "instruct_acc.py",
        Truth("rank_hang", (0,), ("software",)),
        ("--conversations", "6000"),
        layout=Layout.TEE,
        needs=("accelerate",),
        group_timeout_s=15,
    ),
    Scenario(
        "a_game_takes_too_long",
        "Rank 2 plays a game of thousands of plies, and says so now and then, while the others wait.",
        "selfplay.py",
        Truth("rank_hang", (2,), ("software",)),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        files={"openings.2.txt": _GAMES * 3 + "a4 90000\n"},
        group_timeout_s=14,
    ),
    Scenario(
        "upload_keeps_a_rank_from_the_barrier",
        "The store does not answer an upload of rank 2; the monitored barrier of the others names it. Stacks.",
        "tables_boto.py",
        Truth("storage_io", (2,), ("network", "rank_hang")),
        ("--upload-every", "5", "--read-timeout", "60"),
        layout=Layout.FILES,
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^put:/s3/embeddings/.*/embedding_2\.bin", "hang"),),
        acts=(Act(r"embedding_2\.bin", _stacks, 6.0),),
    ),
    Scenario(
        "sdk_waits_without_time_limit",
        "The SDK in a loader process of rank 1 has no time limit, and the store does not answer. Stacks.",
        "asr_sdk.py",
        Truth("data_loading_stall", (1,), ("storage_io", "network")),
        ("--read-timeout", "0"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        needs=("aistore",),
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/1/clip-00006", "hang"),),
        acts=(Act(r'"rank": 0, .*"step 5 ', _stacks, 9.0),),
        group_timeout_s=16,
    ),
)
