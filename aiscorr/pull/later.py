"""Calls that may hang in a request: each in a thread that does not keep the process from ending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from aiscorr.errors import AiscorrError

T = TypeVar("T")
#: How long a call is waited for once the user asked to stop.
GRACE_S = 3.0
_POLL_S = 0.2


class Later(Generic[T]):
    """A call in a thread of its own, and what it gave or raised."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._given: list[T] = []
        self._error: BaseException | None = None

    def start(self) -> Later[T]:
        """Begins it."""
        self._thread.start()
        return self

    def wait(self, seconds: float) -> None:
        """Waits for its end, so long at most."""
        self._thread.join(seconds)

    @property
    def is_ended(self) -> bool:
        """It gave or raised something."""
        return bool(self._given) or self._error is not None

    def result(self) -> T:
        """What it gave; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._given[0]

    def _run(self) -> None:
        try:
            self._given.append(self._call())
        except BaseException as error:  # raised where it is asked for
            self._error = error


def until_stopped(call: Callable[[], T], should_stop: Callable[[], bool]) -> T:
    """What a call gives; raises AiscorrError where the user asks to stop and it does not end soon."""
    later = Later(call).start()
    asked_s: float | None = None
    while not later.is_ended:
        later.wait(_POLL_S)
        asked_s = (asked_s or time.monotonic()) if should_stop() else None
        if asked_s is not None and time.monotonic() - asked_s > GRACE_S and not later.is_ended:
            raise AiscorrError("the pull was stopped", where="the cluster map", try_this="the next pull begins again")
    return later.result()
