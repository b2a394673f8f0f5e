"""Where the tasks of an ingest run: in processes of this machine, or on the workers of a Dask cluster.

A task (read these files, judge this case) is a pure function of what it is given: it may run anywhere, and twice. Every
`concurrent.futures.Executor` can run tasks. What schedules them, and tries again where a worker is lost, is the
engine's own business (Dask distributed 2026.8).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, wait
from functools import cache, lru_cache, partial
from typing import Any, TypeVar

from aiscorr import __version__
from aiscorr.errors import AiscorrError, UsageError
from aiscorr.model import PROCESSES

Result = TypeVar("Result")
Workers = Callable[[], Executor]
NAMES = "processes, dask (a cluster of this machine), dask://HOST:PORT, dask+tls://HOST:PORT or dask-file:FILE"
_POLL_S = 0.2
_CONNECT_S = 10
#: How often Dask runs a task again whose worker was lost.
_RETRIES = 2
_SAME = "install the same release on every worker, and start the workers again"


class WorkerError(AiscorrError):
    """A worker cannot run what it is given; raised on the worker, met where the ingest runs."""

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), where=self.where, try_this=self.try_this), (self.what,)


def check_name(name: str, where: str) -> str:
    """The name of an engine as it was given. Raises UsageError where there is none of that name."""
    scheme, mark, rest = name.partition(":")
    is_known = name in (PROCESSES, "dask") if not mark else scheme in ("dask", "dask+tls", "dask-file") and bool(rest)
    if not is_known or (scheme in ("dask", "dask+tls") and mark and not rest.startswith("//")):
        raise UsageError(f"{name!r} is no engine", where=where, try_this=NAMES)
    return name


@contextlib.contextmanager
def workers(name: str, job_count: int) -> Iterator[Workers | None]:
    """What gives the executor of an engine, which starts when it is first asked for; None for processes."""
    if name == PROCESSES:
        yield None
        return
    with contextlib.ExitStack() as held:
        yield cache(lambda: held.enter_context(executor(name, job_count)))


@contextlib.contextmanager
def executor(name: str, job_count: int) -> Iterator[Executor]:
    """An executor of a Dask cluster as long as the block runs; a cluster of this machine has so many workers.

    Raises AiscorrError where Dask is not installed, or its scheduler does not answer.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise AiscorrError(
            "the engine is Dask, which is not installed",
            where=name,
            try_this="pip install -r requirements/cluster.txt, here and on every worker",
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what a worker meets comes back as an exception
    scheme, _, rest = name.partition(":")
    with contextlib.ExitStack() as held:
        if name == "dask":
            cluster = LocalCluster(
                n_workers=job_count,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
            given: dict[str, Any] = {"address": held.enter_context(cluster)}
        elif scheme == "dask-file":
            given = {"scheduler_file": rest}
        else:
            given = {"address": ("tls:" if scheme == "dask+tls" else "tcp:") + rest}
        try:
            client = held.enter_context(Client(**given, timeout=_CONNECT_S, set_as_default=False))
        except (OSError, ValueError) as error:
            raise AiscorrError(
                f"the scheduler of the engine does not answer: {error}",
                where=name,
                try_this="check that `dask scheduler` runs there; --engine processes needs none",
            ) from None
        yield held.enter_context(client.get_executor(pure=False, retries=_RETRIES))


def run(
    pool: Executor,
    call: Callable[..., Result],
    arguments: Sequence[tuple[object, ...]],
    should_stop: Callable[[], bool],
) -> Iterator[tuple[int, Result | None]]:
    """Number and result of each call as it ends; None where its worker was lost, nothing where a stop came before it.

    Raises what a call raises, and WorkerError where a worker has another aiscorr.
    """
    pending = {pool.submit(checked, own_key(), call, *given): number for number, given in enumerate(arguments)}
    while pending:
        done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        for future in done:
            number = pending.pop(future)
            try:
                result: Result | None = future.result()
            except (Exception, CancelledError) as error:
                if isinstance(error, ImportError | AttributeError):
                    raise WorkerError(
                        f"a worker cannot load what it is to run: {error}",
                        where=pool.__class__.__name__,
                        try_this=_SAME,
                    ) from None
                if not is_lost(error):
                    raise
                result = None
            yield number, result
        if should_stop():
            for future in [future for future in pending if future.cancel()]:
                del pending[future]


def checked(key: str, call: Callable[..., Result], *given: Any) -> Result:
    """On a worker: what the call gives, if the worker runs the aiscorr that sent it. Raises WorkerError."""
    if own_key() != key:
        raise WorkerError(
            f"a worker has another aiscorr than the one that sends it work ({__version__}, {_place()})",
            where=socket.gethostname(),
            try_this=_SAME,
        )
    return call(*given)


def check_folder(folder: str) -> None:
    """On a worker: that it reaches the folder that its rows go to. Raises WorkerError."""
    if not os.path.isdir(folder):
        raise WorkerError(
            f"a worker does not see {folder}",
            where=socket.gethostname(),
            try_this="put the database and the logs on a file system that every worker mounts at the same place",
        )


@lru_cache(maxsize=1)
def own_key() -> str:
    """What tasks depend on beside their inputs: the release, how it reads, and its views."""
    from aiscorr.analysis.spec import views_key
    from aiscorr.parse.file_reader import PARSER_VERSION

    return hashlib.sha256(f"{__version__} {PARSER_VERSION} {views_key()}".encode()).hexdigest()


def is_lost(error: BaseException) -> bool:
    """Whether an error says that a worker is gone, and nothing about the task that it ran."""
    from concurrent.futures.process import BrokenProcessPool

    return isinstance(error, BrokenProcessPool | CancelledError) or type(error).__module__.startswith("distributed.")


def _place() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
