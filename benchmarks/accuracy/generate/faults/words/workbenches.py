"""Loader processes of a rank: the frames in which it waits for them, and what it prints when one of them fails."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from fixtures.generator import sdk
from fixtures.generator.stage import Stage

#: From a process that was forked back to the frame in which the rank forked it.
FORK = (
    ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
    ("_launch", f"{PYTHON}/multiprocessing/popen_fork.py", 71),
    ("__init__", f"{PYTHON}/multiprocessing/popen_fork.py", 19),
    ("_Popen", f"{PYTHON}/multiprocessing/context.py", 281),
    ("_Popen", f"{PYTHON}/multiprocessing/context.py", 224),
    ("start", f"{PYTHON}/multiprocessing/process.py", 121),
)


def data_folder(stage: Stage) -> str:
    """Where torch.utils.data lies."""
    return f"{stage.job.job.build['site']}/torch/utils/data"


def in_pods(stage: Stage) -> bool:
    """Whether Kubernetes runs the job, and not SLURM."""
    return stage.job.job.layout not in ("slurm", "srun-l")


def meter(stage: Stage) -> str:
    """What tells how full the cgroup of a job is."""
    return "cadvisor" if in_pods(stage) else "cgroup-exporter"


def script_folder(stage: Stage) -> str:
    """Where the script and its own modules lie."""
    return stage.job.job.script.rsplit("/", 1)[0]


def next_frames(stage: Stage, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From the script's main to a loader that is asked for its next batch."""
    loader = f"{data_folder(stage)}/dataloader.py"
    return sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(stage.job.job.script, 83, "fetch", "return next(self.batches)", True),
        sdk.Frame(loader, 708, "__next__", "data = self._next_data()", True),
        *inner,
    )


def queue_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to the queue that loader processes fill."""
    loader = f"{data_folder(stage)}/dataloader.py"
    return next_frames(
        stage,
        sdk.Frame(loader, 1458, "_next_data", "idx, data = self._get_data()", True),
        sdk.Frame(loader, 1420, "_get_data", "success, data = self._try_get_data()", True),
    )


def caught_in_loader(stage: Stage, at: int, rank: int, worker: int, frames: tuple[sdk.Frame, ...], text: str) -> None:
    """A rank raises anew what a loader process has raised; the loader's own traceback stands in the message."""
    loader, name = f"{data_folder(stage)}/dataloader.py", text.split(":")[0]
    outer = next_frames(
        stage,
        sdk.Frame(loader, 1480, "_next_data", "return self._process_data(data)", True),
        sdk.Frame(loader, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{stage.job.job.build['site']}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    loop = sdk.Frame(f"{data_folder(stage)}/_utils/worker.py", 349, "_worker_loop", "data = fetcher.fetch(index)", True)
    own = sdk.traceback(sdk.Raised((loop, *frames), text))
    said = f"{name}: Caught {name} in DataLoader worker process {worker}.\nOriginal {own}\n"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(outer, said)))


def loader_name(stage: Stage) -> str:
    """What a host calls the process of a loader: PyTorch gives it a name since 2.6."""
    return "pt_data_worker" if stage.job.job.torch.order >= 206 else "python3"


def loader_killed(stage: Stage, at: int, rank: int, pid: int, signal: str) -> None:
    """A rank learns while it waits for a batch that a signal has ended one of its loaders."""
    loader, waits = f"{data_folder(stage)}/dataloader.py", queue_frames(stage)
    handler = f"{data_folder(stage)}/_utils/signal_handling.py"
    first = sdk.Raised(
        (
            sdk.Frame(loader, 1251, "_try_get_data", "data = self._data_queue.get(timeout=timeout)", True),
            sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 113, "get", "if not self._poll(timeout):"),
            sdk.Frame(handler, 73, "handler", "_error_if_any_worker_fails()"),
        ),
        f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: {signal}. ",
        sdk.DIRECT,
    )
    last = sdk.Frame(loader, 1264, "_try_get_data", "raise RuntimeError(")
    text = f"RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly"
    stage.job.raise_on(at, rank, sdk.traceback(first, sdk.Raised((*waits, last), text)))


def waits_for_loaders(stage: Stage) -> Thread:
    """The main thread of a rank that waits for a batch of its loaders."""
    loader = f"{data_folder(stage)}/dataloader.py"
    return main_thread(
        stage,
        ("poll", f"{PYTHON}/selectors.py", 415),
        ("wait", f"{PYTHON}/multiprocessing/connection.py", 948),
        ("_poll", f"{PYTHON}/multiprocessing/connection.py", 440),
        ("get", f"{PYTHON}/multiprocessing/queues.py", 113),
        ("_try_get_data", loader, 1251),
        ("_get_data", loader, 1420),
        ("_next_data", loader, 1458),
        ("__next__", loader, 708),
        ("fetch", stage.job.job.script, 83),
        ("next_batch", stage.job.job.script, 94),
    )


def forked_loader(stage: Stage, *inner: tuple[str, str, int]) -> Thread:
    """The main thread of a forked loader, from the innermost frame to the rank's own script."""
    loader = f"{data_folder(stage)}/dataloader.py"
    return main_thread(
        stage,
        *inner,
        ("fetch", f"{data_folder(stage)}/_utils/fetch.py", 52),
        ("_worker_loop", f"{data_folder(stage)}/_utils/worker.py", 349),
        ("run", f"{PYTHON}/multiprocessing/process.py", 108),
        *FORK,
        ("__init__", loader, 1182),
        ("_get_iterator", loader, 424),
        ("__iter__", loader, 493),
        ("fetch", stage.job.job.script, 81),
        ("next_batch", stage.job.job.script, 94),
    )
