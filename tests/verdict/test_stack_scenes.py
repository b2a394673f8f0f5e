"""Jobs that hang, with stacks of their ranks: whom the stacks point at, and what they leave open.

The back-end is nccl2, whose watchdog prints no counters, so that stacks are all there is of positions. AIStore's logs
are those of a scenario in which a target was stopped at 07:13:38 and went on at 07:15:16.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from http_site import site
from reports import as_json, report_of
from scenes import Library, read_in, rows
from truths import Json, failures_of

MODULE = ("<module> (train.py:212)", "main (train.py:196)")
REDUCE = (
    *MODULE,
    "sync_gradients (train.py:163)",
    "wrapper (torch/distributed/c10d_logger.py:83)",
    "all_reduce (torch/distributed/distributed_c10d.py:3252)",
)
LOADER = (
    *MODULE,
    "__next__ (torch/utils/data/dataloader.py:708)",
    "_next_data (torch/utils/data/dataloader.py:1458)",
    "_get_data (torch/utils/data/dataloader.py:1420)",
    "_try_get_data (torch/utils/data/dataloader.py:1251)",
    "get (multiprocessing/queues.py:113)",
)
WORKER = (
    *MODULE,
    "__iter__ (torch/utils/data/dataloader.py:440)",
    "_worker_loop (torch/utils/data/_utils/worker.py:349)",
)
FETCH = ("fetch (torch/utils/data/_utils/fetch.py:52)", "__getitem__ (train.py:45)")
GET = (
    *FETCH,
    "get_reader (aistore/sdk/obj/object.py:131)",
    "request (requests/sessions.py:589)",
    "urlopen (urllib3/connectionpool.py:787)",
    "readinto (socket.py:706)",
)
IDLE = ("get (multiprocessing/queues.py:113)",)
WANDB = (*MODULE, "log (wandb/sdk/wandb_run.py:391)", "send (requests/adapters.py:667)", "readinto (socket.py:706)")
SAVE = (*MODULE, "save_checkpoint (train.py:88)", "save (torch/serialization.py:944)")
LOCK = (*MODULE, "build_index (train.py:30)", "acquire (filelock/_api.py:344)")
HUB = (*MODULE, "hf_hub_download (huggingface_hub/file_download.py:1007)", "send (httpx/_client.py:914)")
URL = "http://10.44.20.15:51081/v1/objects/train/shard-000082.tar?provider=ais"
MISSED = (
    "[rank{rank}]:[E1005 07:14:39.3{rank}3630533 ProcessGroupNCCLUtils.cpp:412] [TC][rank={rank}][name=0]"
    " Operation timed out after 60003 ms\n"
)


def stack(pid: int, calls: Iterable[str], url: str | None = None) -> str:
    """A stack as py-spy prints it; the calls are given from the outermost one inwards."""
    lines = [
        f"Process {pid}: python train.py",
        "Python v3.11.7 (/env/bin/python3.11)",
        "",
        f'Thread {pid} (idle): "MainThread"',
    ]
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
    """Ingests the job, beside AIStore's logs or without, and gives its one failure."""

    def look(job: Job, *, has_storage: bool = True) -> Json:
        db = str(tmp_path / "stacks.duckdb")
        if has_storage:
            shutil.copytree(library.folder("target_stopped_plain_get") / "ais", tmp_path / "ais")
        read_in(db, job.folder, *([tmp_path / "ais"] if has_storage else []))
        (failure,) = failures_of(db)
        return failure

    return look


def said(failure: Json) -> tuple[Any, ...]:
    """The head of a conclusion."""
    return failure["culprit_ranks"], failure["failure_class"], failure["storage_verdict"]


def cited(failure: Json, kind: str = "supports") -> str:
    """The lines that the best hypothesis cites."""
    return "\n".join(item["text"] or "" for item in failure["root_causes"][0][kind])


def blind(failure: Json) -> set[str]:
    """What the report says it could not see."""
    return {item["what"] for item in failure["blind"]}


def reading_worker(job: Job, url: str | None = URL) -> None:
    """Rank 6 waits for two DataLoader workers: one reads from AIStore, one is idle."""
    job.stacks({6: LOADER})
    job.write("stacks/n1_rank6_pid106_child206.txt", stack(206, (*WORKER, *GET), url))
    job.write("stacks/n1_rank6_pid106_child207.txt", stack(207, (*WORKER, *IDLE)))


def test_a_worker_that_reads_from_a_stopped_target(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """A rank that waits for a DataLoader worker is followed there, and the address among its variables to the node."""
    job = Job(tmp_path, silent=[6])
    reading_worker(job)
    failure = judge(job)
    assert said(failure) == ([6], "data_loading_stall", "guilty")
    assert [node["node_id"] for node in failure["ais_nodes"]] == ["boKt9304"]
    assert "urlopen (urllib3/connectionpool.py:787)" in cited(failure)


def test_a_request_to_another_node(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """A target that was stopped meanwhile is not to blame for a request that goes to another one."""
    job = Job(tmp_path, silent=[6])
    reading_worker(job, URL.replace(".15:", ".14:"))
    assert said(judge(job)) == ([6], "data_loading_stall", "undetermined")


def test_before_the_fault(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """The same stacks while AIStore was healthy blame nobody, and say that AIStore shows no fault."""
    job = Job(tmp_path, silent=[6])
    reading_worker(job)
    for path in job.folder.glob("*.log"):
        path.write_text(path.read_text().replace("07:14:39", "07:13:25").replace("07:12:50", "07:12:12"))
    failure = judge(job)
    assert said(failure) == ([6], "data_loading_stall", "undetermined")
    assert "AIStore shows no fault at that moment" in failure["statement"]


def test_without_logs_of_storage(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """Without AIStore's logs a read blames nobody; what was read, and that only stacks tell, is said."""
    job = Job(tmp_path, silent=[6])
    reading_worker(job)
    failure = judge(job, has_storage=False)
    assert said(failure) == ([6], "data_loading_stall", "undetermined")
    assert "the storage that the job read from" in blind(failure)
    assert "request (requests/sessions.py:589)" in cited(failure)
    assert "urlopen" in cited(failure, "contradicts")


@pytest.mark.parametrize("silent", [(), (6,)], ids=["all time out", "one is silent"])
def test_all_alike(tmp_path: Path, judge: Callable[..., Json], silent: tuple[int, ...]) -> None:
    """Stacks that are all alike name nobody, not even a rank whose log lacks the time-out, and the report says so."""
    job = Job(tmp_path, silent=silent)
    job.stacks({})
    failure = judge(job)
    assert said(failure) == ([], "undetermined", "undetermined")
    assert "who was late, by the stacks" in blind(failure)


def test_a_rank_that_had_entered(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """A rank whose own watchdog waited for the collective had entered it, wherever its stack stands."""
    job = Job(tmp_path)
    job.stacks({6: (*MODULE, *GET)})
    assert said(judge(job)) == ([], "undetermined", "undetermined")


def test_a_missing_stack(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """The rank whose stack is missing is named as such."""
    job = Job(tmp_path, silent=[6])
    job.stacks({}, ranks=[0, 1, 2, 3, 4, 5, 7])
    failure = judge(job)
    assert failure["culprit_ranks"] == [6] and "the stack of rank 6" in blind(failure)


def test_a_stack_that_moves(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """Of two dumps the last one counts, and a culprit that stood elsewhere before is slow rather than stuck."""
    job = Job(tmp_path, silent=[6])
    job.stacks({6: (*MODULE, *GET)}, "t10")
    job.stacks({6: (*MODULE, *FETCH)}, "t40")
    failure = judge(job)
    assert failure["culprit_ranks"] == [6] and "whether rank 6 was stuck or slow" in blind(failure)
    assert "fetch" in cited(failure) or "__getitem__" in cited(failure)


@pytest.mark.parametrize(
    ("calls", "kind"), [(WANDB, "log_upload"), (LOCK, "lock"), (HUB, "hub_wait")], ids=["wandb", "lock", "hub"]
)
def test_something_else(tmp_path: Path, judge: Callable[..., Json], calls: tuple[str, ...], kind: str) -> None:
    """A rank that stands at another service or at a lock acquits AIStore, although a target was stopped then."""
    job = Job(tmp_path, silent=[6])
    job.stacks({6: calls})
    failure = judge(job)
    assert (*said(failure), failure["failure_kind"]) == ([6], "rank_hang", "innocent", kind)


def test_a_checkpoint(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """A rank that saves a checkpoint is no proof against AIStore, nor for it while a target is stopped."""
    job = Job(tmp_path, silent=[6])
    job.stacks({6: SAVE})
    assert said(judge(job)) == ([6], "rank_hang", "undetermined")


def test_one_file_of_all(tmp_path: Path, judge: Callable[..., Json]) -> None:
    """Stacks of all tasks in one file of `srun -l`, launchers between them, are told apart by the task."""
    job = Job(tmp_path, silent=[6])
    launcher = stack(50, ("<module> (torchrun:8)", "main (torch/distributed/run.py:936)"))
    dumps = [launcher + stack(rank + 100, (*MODULE, *GET) if rank == 6 else REDUCE) for rank in range(8)]
    columns = zip(*(text.splitlines() + [""] * 20 for text in dumps), strict=False)
    job.write("stacks/all.txt", "".join(f"{rank}: {line}\n" for row in columns for rank, line in enumerate(row)))
    failure = judge(job, has_storage=False)
    assert said(failure) == ([6], "data_loading_stall", "undetermined")
    found = rows(tmp_path / "stacks.duckdb", "select kind, count(*) from stack_process group by kind order by kind")
    assert found == [("launcher", 8), ("trainer", 8)]


def test_no_watchdog_has_spoken_yet(tmp_path: Path) -> None:
    """Stacks of a job that hangs now give no failure; report and first page say who stands apart, and if it moved."""
    job = Job(tmp_path, silent=range(8))
    job.stacks({6: (*MODULE, *GET)})
    db = str(tmp_path / "stacks.duckdb")
    read_in(db, job.folder)
    report = as_json(report_of(db))
    assert report["failures"] == []
    assert [(item["ranks"], item["is_moved"]) for item in report["standing_apart"]] == [([6], False)]
    statement = report["standing_apart"][0]["statement"]
    assert statement == "Rank 6 stands in readinto (socket.py) while 7 ranks wait in all_reduce (distributed_c10d.py)"
    with site(db, tmp_path) as served:
        page = served.get("/").text
        assert "<h2>Jobs that may hang now</h2>" in page and "readinto" in page
    job.stacks({6: SAVE}, folder="stacks_later")
    read_in(db, job.folder)
    assert [item["is_moved"] for item in as_json(report_of(db))["standing_apart"]] == [True]
    job.stacks({6: SAVE}, folder="stacks_third")
    read_in(db, job.folder)
    assert [item["is_still"] for item in as_json(report_of(db))["standing_apart"]] == [True]
