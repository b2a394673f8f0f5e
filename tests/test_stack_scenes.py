"""Jobs that hang, with stacks of their ranks, beside AIStore's logs or without: whom the stacks point at, and what they leave open.

The back-end is nccl2, whose watchdog prints no counters, so that stacks are all there is of positions. AIStore's logs
are those of a scenario in which a target was stopped at 07:13:38 and went on at 07:15:16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from scenes import Library, read_in, rows
from truths import Json, failures_of

MODULE = ("<module> (train.py:212)", "main (train.py:196)")
REDUCE = (*MODULE, "sync_gradients (train.py:163)", "wrapper (torch/distributed/c10d_logger.py:83)", "all_reduce (torch/distributed/distributed_c10d.py:3252)")  # fmt: skip
LOADER = (*MODULE, "__next__ (torch/utils/data/dataloader.py:708)", "_next_data (torch/utils/data/dataloader.py:1458)", "_get_data (torch/utils/data/dataloader.py:1420)", "_try_get_data (torch/utils/data/dataloader.py:1251)", "get (multiprocessing/queues.py:113)")  # fmt: skip
WORKER = (*MODULE, "__iter__ (torch/utils/data/dataloader.py:440)", "_worker_loop (torch/utils/data/_utils/worker.py:349)")
FETCH = ("fetch (torch/utils/data/_utils/fetch.py:52)", "__getitem__ (train.py:45)")
GET = (*FETCH, "get_reader (aistore/sdk/obj/object.py:131)", "request (requests/sessions.py:589)", "urlopen (urllib3/connectionpool.py:787)", "readinto (socket.py:706)")  # fmt: skip
IDLE = ("get (multiprocessing/queues.py:113)",)
WANDB = (*MODULE, "log (wandb/sdk/wandb_run.py:391)", "send (requests/adapters.py:667)", "readinto (socket.py:706)")
SAVE = (*MODULE, "save_checkpoint (train.py:88)", "save (torch/serialization.py:944)")
LOCK = (*MODULE, "build_index (train.py:30)", "acquire (filelock/_api.py:344)")
HUB = (*MODULE, "hf_hub_download (huggingface_hub/file_download.py:1007)", "send (httpx/_client.py:914)")
URL = "http://10.44.20.15:51081/v1/objects/train/shard-000082.tar?provider=ais"
MISSED = '[rank{rank}]:[E1005 07:14:39.3{rank}3630533 ProcessGroupNCCLUtils.cpp:412] [TC][rank={rank}][name=0] Operation timed out after 60003 ms\n'  # fmt: skip


def stack(pid: int, calls: Iterable[str], url: str | None = None) -> str:
    """A stack as py-spy prints it; the calls are given from the outermost one inwards."""
    lines = [f"Process {pid}: python train.py", "Python v3.11.7 (/env/bin/python3.11)", "", f'Thread {pid} (idle): "MainThread"']
    for call in reversed(list(calls)):
        lines.append(f"    {call}")
        if url and call.startswith("request "):
            lines += ["        Arguments:", f'            url: "{url}"']
    return "\n".join(lines) + "\n"


class Job:
    """The folder of a job of eight ranks that hangs from 07:13:39 to 07:14:39 UTC."""

    def __init__(self, folder: Path, silent: Iterable[int] = ()) -> None:
        self.folder = folder / "workers" / "job"
        for rank in range(8):
            text = f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/8\n"
            text += "[NeMo I 2026-10-05 07:12:50 train:131 rank:0] Training started\n" if rank == 0 else ""
            text += "" if rank in silent else MISSED.format(rank=rank)
            self.write(f"rank{rank}.log", text)

    def write(self, name: str, text: str) -> None:
        """A file of the job."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def stacks(self, odd: dict[int, tuple[str, ...]], folder: str = "stacks", ranks: Iterable[int] = range(8)) -> None:
        """A file for each rank: all_reduce, or what is given."""
        for rank in ranks:
            self.write(f"{folder}/n1_rank{rank}_pid{rank + 100}.txt", stack(rank + 100, odd.get(rank, REDUCE)))


@pytest.fixture
def judge(tmp_path: Path, library: Library) -> Callable[..., Json]:
    """Ingests a job, with AIStore's logs or without, and gives its one failure."""

    def look(job: Job, *, has_storage: bool = True) -> Json:
        db = str(tmp_path / "stacks.duckdb")
        ais = [library.folder("target_stopped_plain_get") / "ais"] if has_storage else []
        read_in(db, job.folder, *ais)
        (failure,) = failures_of(db)
        return failure

    return look


def said(failure: Json) -> tuple[Any, ...]:
    """The head of a conclusion."""
    return failure["culprit_ranks"], failure["failure_class"], failure["storage_verdict"]


def test_a_worker_that_reads_from_a_stopped_target(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """A rank that waits for a DataLoader worker which reads from AIStore is followed there."""
    job = Job(tmp_path, silent=[6])
    job.stacks({6: LOADER})
    job.write("stacks/n1_rank6_pid106_child206.txt", stack(206, (*WORKER, *GET), URL))
    job.write("stacks/n1_rank6_pid106_child207.txt", stack(207, (*WORKER, *IDLE)))
    failure = judge(job)
    assert said(failure) == ([6], "data_loading_stall", "guilty")
    assert [node["node_id"] for node in failure["ais_nodes"]] == ["boKt9304"]
    assert "rank 6 waited for storage" in failure["statement"].lower()
    cited = [item["text"] for item in failure["root_causes"][0]["supports"]]
    assert any("object.py" in text or "urlopen" in text for text in cited)


def test_without_logs_of_storage(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """Without AIStore's logs a stack in a read blames nobody; what it read is said."""
    job = Job(tmp_path)
    job.stacks({6: LOADER})
    job.write("stacks/n1_rank6_pid106_child206.txt", stack(206, (*WORKER, *GET), URL))
    failure = judge(job, has_storage=False)
    assert failure["storage_verdict"] == "undetermined"
