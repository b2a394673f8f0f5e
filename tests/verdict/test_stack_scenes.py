"""Jobs that hang, with stacks of their ranks: whom the stacks point at, and what they leave open.

The back-end is nccl2, whose watchdog prints no counters, so that stacks are all there is of positions. AIStore's logs
are those of a scenario in which a target was stopped at 07:13:38 and went on at 07:15:16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

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
    """The folder of a job of eight ranks that hangs from 07:13:39 to 07:14:39 UTC; no two jobs have the same bytes."""

    def __init__(self, folder: Path, number: int, silent: Iterable[int] = (6,)) -> None:
        self.folder, self.pid = folder, number * 1000
        for rank in range(8):
            text = f"+ python train.py --job {number}\n"
            text += f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/8\n"
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
            pid = self.pid + rank
            self.write(f"{folder}/n1_rank{rank}_pid{pid}.txt", stack(pid, odd.get(rank, REDUCE)))


def reading_worker(job: Job, url: str = URL) -> None:
    """Rank 6 waits for two DataLoader workers: one reads from AIStore, one is idle."""
    job.stacks({6: LOADER})
    for child, calls in ((206, GET), (207, IDLE)):
        pid = job.pid + child
        job.write(f"stacks/n1_rank6_pid{job.pid + 6}_child{pid}.txt", stack(pid, (*WORKER, *calls), url))


def before_the_fault(job: Job) -> None:
    """The same stacks a minute earlier, while AIStore was healthy."""
    reading_worker(job)
    for path in job.folder.glob("*.log"):
        path.write_text(path.read_text().replace("07:14:39", "07:13:25").replace("07:12:50", "07:12:12"))


def moving(job: Job) -> None:
    """Two dumps; rank 6 stands elsewhere in the second."""
    job.stacks({6: (*MODULE, *GET)}, "t10")
    job.stacks({6: (*MODULE, *FETCH)}, "t40")


def one_file(job: Job) -> None:
    """Stacks of all tasks in one file of `srun -l`, launchers between them."""
    launcher = stack(50, ("<module> (torchrun:8)", "main (torch/distributed/run.py:936)"))
    calls = {rank: (*MODULE, *GET) if rank == 6 else REDUCE for rank in range(8)}
    dumps = [(launcher + stack(job.pid + rank, calls[rank])).splitlines() + [""] * 20 for rank in range(8)]
    columns = zip(*dumps, strict=False)
    job.write("stacks/all.txt", "".join(f"{rank}: {line}\n" for row in columns for rank, line in enumerate(row)))


@dataclass(frozen=True)
class Scene:
    """How the stacks of a job are written, the ranks whose log lacks the time-out, and what the report must say."""

    write: Callable[[Job], object]
    culprits: list[int]
    failure_class: str = "undetermined"
    verdict: str = "undetermined"
    silent: tuple[int, ...] = (6,)
    kind: str | None = None
    node: str | None = None
    blind: str | None = None
    statement: str = ""
    cites: tuple[str, ...] = ()
    contradicted_by: str = ""


def standing(calls: tuple[str, ...] | None, ranks: Iterable[int] = range(8)) -> Callable[[Job], None]:
    """Rank 6 stands in these calls, all others in all_reduce."""
    return lambda job: job.stacks({6: calls} if calls else {}, ranks=ranks)


def elsewhere(calls: tuple[str, ...], kind: str) -> Scene:
    """A rank that stands at another service or at a lock acquits AIStore, although a target was stopped then."""
    return Scene(standing(calls), [6], "rank_hang", "innocent", kind=kind)


STALL, LATE = "data_loading_stall", "who was late, by the stacks"
#: Jobs that read from a cluster in which a target was stopped and went on.
WITH_STORAGE = {
    "a worker reads from the stopped target": Scene(
        reading_worker, [6], STALL, "guilty", node="boKt9304", cites=("urlopen (urllib3/connectionpool.py:787)",)
    ),
    "a worker reads from another node": Scene(lambda job: reading_worker(job, URL.replace(".15:", ".14:")), [6], STALL),
    "before the fault": Scene(before_the_fault, [6], STALL, statement="AIStore shows no fault at that moment"),
    "all alike, all time out": Scene(standing(None), [], blind=LATE, silent=()),
    "a rank that had entered by its own watchdog": Scene(standing((*MODULE, *GET)), [], silent=()),
    "wandb": elsewhere(WANDB, "log_upload"),
    "a checkpoint is no proof either way": Scene(standing(SAVE), [6], "rank_hang"),
    "the stack of the culprit is missing": Scene(
        standing(None, [0, 1, 2, 3, 4, 5, 7]), [6], blind="the stack of rank 6"
    ),
    "slow rather than stuck, as the last of two dumps differs": Scene(
        moving, [6], STALL, blind="whether rank 6 was stuck or slow", cites=("fetch", "__getitem__")
    ),
}
#: More of these, which are looked at where slow tests are asked for.
MORE_WITH_STORAGE = {
    "all alike, one is silent": Scene(standing(None), [], blind=LATE),
    "lock": elsewhere(LOCK, "lock"),
    "hub": elsewhere(HUB, "hub_wait"),
}
#: Jobs of which no log of AIStore is there: a read blames nobody.
WITHOUT_STORAGE = {
    "what was read is said": Scene(
        reading_worker,
        [6],
        STALL,
        blind="the storage that the job read from",
        cites=("request (requests/sessions.py:589)",),
        contradicted_by="urlopen",
    ),
    "one file of all tasks": Scene(one_file, [6], STALL),
}


def read_scenes(library: Library, label: str, scenes: dict[str, Scene], *more: Path) -> tuple[str, dict[str, Json]]:
    """The database of the jobs of all scenes, ingested at once, and the one failure of each."""

    def paths() -> list[Path]:
        for number, scene in enumerate(scenes.values(), 1):
            scene.write(Job(library.base / label / f"job-{number}", number, scene.silent))
        return [library.base / label, *more]

    db = library.made(label, paths)
    found = {failure["job_id"]: failure for failure in failures_of(db)}
    assert len(found) == len(scenes)
    return db, {name: found[f"job-{number}"] for number, name in enumerate(scenes, 1)}


@pytest.fixture(scope="module")
def with_storage(library: Library) -> dict[str, Json]:
    """The failures of the jobs that read from the cluster whose target was stopped."""
    ais = library.folder("target_stopped_plain_get") / "ais"
    return read_scenes(library, "stacks-beside-storage", WITH_STORAGE, ais)[1]


@pytest.fixture(scope="module")
def more_with_storage(library: Library) -> dict[str, Json]:
    """Those of more such jobs."""
    ais = library.folder("target_stopped_plain_get") / "ais"
    return read_scenes(library, "more-stacks", MORE_WITH_STORAGE, ais)[1]


@pytest.fixture(scope="module")
def without_storage(library: Library) -> tuple[str, dict[str, Json]]:
    """The database and the failures of the jobs without logs of AIStore."""
    return read_scenes(library, "stacks-alone", WITHOUT_STORAGE)


def cited(failure: Json, kind: str = "supports") -> str:
    """The lines that the best hypothesis cites."""
    return "\n".join(item["text"] or "" for item in failure["root_causes"][0][kind])


def check(scene: Scene, failure: Json) -> None:
    """The failure says what its scene asks for."""
    found = (failure["culprit_ranks"], failure["failure_class"], failure["storage_verdict"])
    assert found == (scene.culprits, scene.failure_class, scene.verdict), failure["statement"]
    assert scene.kind in (None, failure["failure_kind"])
    assert scene.node in (None, *(node["node_id"] for node in failure["ais_nodes"]))
    assert scene.blind in (None, *(item["what"] for item in failure["blind"]))
    assert scene.statement in failure["statement"]
    assert not scene.cites or any(call in cited(failure) for call in scene.cites)
    assert scene.contradicted_by in cited(failure, "contradicts")


@pytest.mark.parametrize("name", WITH_STORAGE)
def test_beside_a_stopped_target(name: str, with_storage: dict[str, Json]) -> None:
    """Stacks lead to the rank, through its DataLoader worker to the node it reads from, or say what they leave open."""
    check(WITH_STORAGE[name], with_storage[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE_WITH_STORAGE)
def test_more_beside_a_stopped_target(name: str, more_with_storage: dict[str, Json]) -> None:
    """So they do of other places to wait at."""
    check(MORE_WITH_STORAGE[name], more_with_storage[name])


@pytest.mark.parametrize("name", WITHOUT_STORAGE)
def test_without_logs_of_storage(name: str, without_storage: tuple[str, dict[str, Json]]) -> None:
    """Without AIStore's logs a read blames nobody; what was read, and that only stacks tell, is said."""
    check(WITHOUT_STORAGE[name], without_storage[1][name])


def test_launchers_are_told_from_trainers(without_storage: tuple[str, dict[str, Json]]) -> None:
    """In one file of all tasks the launchers' stacks are no stacks of ranks."""
    where = "where job_id = 'job-2' group by kind order by kind"
    found = rows(without_storage[0], f"select kind, count(*) from stack_process {where}")
    assert found == [("launcher", 8), ("trainer", 8)]


def test_no_watchdog_has_spoken_yet(tmp_path: Path) -> None:
    """Stacks of a job that writes on give no failure; report and first page say who stands apart, and if it moved."""
    job = Job(tmp_path / "workers" / "job", 1, silent=range(8))
    job.stacks({6: (*MODULE, *GET)})
    db = str(tmp_path / "stacks.duckdb")
    read_in(db, job.folder)
    (failure,) = as_json(report_of(db))["failures"]
    assert (failure["culprit_ranks"], failure["ended_at"]) == ([6], None), "known from its stacks alone"
    now = datetime.now(UTC)
    (job.folder / "rank0.log").write_text(f"{now:%Y-%m-%dT%H:%M:%SZ} INFO [rank 0] step 41 done\n")
    read_in(db, job.folder)
    report = as_json(report_of(db))
    assert report["failures"] == []
    assert [(item["ranks"], item["is_moved"]) for item in report["standing_apart"]] == [([6], False)]
    statement = report["standing_apart"][0]["statement"]
    assert statement == "Rank 6 is in readinto (socket.py) while 7 ranks wait in all_reduce (distributed_c10d.py)"
    with site(db, tmp_path) as served:
        page = served.get("/").text
        assert "<h2>Jobs that may hang now</h2>" in page and "readinto" in page
    job.stacks({6: SAVE}, folder="stacks_later")
    read_in(db, job.folder)
    assert [item["is_moved"] for item in as_json(report_of(db))["standing_apart"]] == [True]
    job.stacks({6: SAVE}, folder="stacks_third")
    read_in(db, job.folder)
    assert [item["is_still"] for item in as_json(report_of(db))["standing_apart"]] == [True]
