"""The schedule: nightly and between, one run at a time, a missed night made up for, and a clean stop on SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from aiscorr.serve.ledger import ServiceRun, last_runs, ledger_path

if TYPE_CHECKING:
    from aiscorr.config import Settings
    from aiscorr.serve.plan import ServePlan

#: So often a wait for the end looks up.
_LOOK_S = 1.0


def last_due(plan: ServePlan, now: datetime) -> datetime:
    """The latest moment, not after `now`, at which a nightly run was due."""
    local = now.astimezone(plan.zone)
    due = datetime.combine(local.date(), plan.nightly, plan.zone)
    if due > local:
        due = datetime.combine(local.date() - timedelta(days=1), plan.nightly, plan.zone)
    return due.astimezone(UTC)


def next_due(plan: ServePlan, now: datetime) -> datetime:
    """The first moment after `now` at which a nightly run is due."""
    day = last_due(plan, now).astimezone(plan.zone).date() + timedelta(days=1)
    return datetime.combine(day, plan.nightly, plan.zone).astimezone(UTC)


def is_overdue(plan: ServePlan, runs: Sequence[ServiceRun], now: datetime) -> bool:
    """Whether the latest night had no run that read everything, be it because nothing ran then or it failed."""
    due = last_due(plan, now)
    return not any(run.outcome in ("ok", "partial") and run.began >= due for run in runs)


class Stop:
    """Whether the end was asked for, and the wait for it.

    A signal may ask while the main thread is anywhere, in `wait` too: a threading.Event, whose lock `wait` takes for a
    moment, could hold the handler there for ever.
    """

    def __init__(self) -> None:
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._is_asked = False

    def ask(self) -> None:
        """Asks for the end."""
        self._is_asked = True
        self._asked.put(None)

    def is_asked(self) -> bool:
        """Whether somebody asked."""
        return self._is_asked

    def wait(self) -> None:
        """Returns once somebody has asked; one thread only may wait.

        It looks up now and then: a signal that is handed to another thread of the process does not wake this one.
        """
        while not self._is_asked:
            with contextlib.suppress(Empty):
                self._asked.get(timeout=_LOOK_S)

    def on_signals(self) -> None:
        """SIGTERM and SIGINT ask from now on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self.ask())


class Service:
    """Runs the plan until it is told to `stop`. `work` does one run; `say` is told of each."""

    def __init__(
        self,
        plan: ServePlan,
        settings: Settings,
        work: Callable[[str, Callable[[], bool]], ServiceRun],
        say: Callable[[str], None],
        stop: Stop,
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._work = work
        self._say = say
        self._stop = stop
        self._busy = threading.Lock()

    def run(self) -> None:
        """Schedules, makes up for a missed night, and returns when stopped; a run that is on keeps what it has read."""
        scheduler = self._scheduler()
        scheduler.start()
        try:
            if is_overdue(self._plan, last_runs(ledger_path(self._settings.base_path)), datetime.now(UTC)):
                self._once("catch_up")
            self._stop.wait()
        finally:
            self._stop.ask()
            scheduler.shutdown(wait=True)

    def _scheduler(self) -> Any:
        from apscheduler.schedulers.background import BackgroundScheduler
        from apscheduler.triggers.cron import CronTrigger
        from apscheduler.triggers.interval import IntervalTrigger

        plan = self._plan
        scheduler = BackgroundScheduler(timezone=plan.zone)
        common = {"coalesce": True, "max_instances": 1, "misfire_grace_time": int(plan.grace.total_seconds())}
        nightly = CronTrigger(hour=plan.nightly.hour, minute=plan.nightly.minute, timezone=plan.zone)
        scheduler.add_job(self._once, nightly, args=["nightly"], id="nightly", **common)
        if plan.every is not None:
            interval = IntervalTrigger(seconds=int(plan.every.total_seconds()), timezone=plan.zone)
            scheduler.add_job(self._once, interval, args=["interval"], id="interval", **common)
        return scheduler

    def _once(self, kind: str) -> None:
        """One run; the nightly one waits for another that is on, an interval's is left out then."""
        is_free = self._busy.acquire(blocking=kind != "interval")
        if not is_free:
            return
        try:
            if self._stop.is_asked():
                return
            run = self._work(kind, self._stop.is_asked)
            self._say(run_line(run))
        except Exception as error:
            self._say(f"{kind}: failed: {error}")
        finally:
            self._busy.release()


def run_line(run: ServiceRun) -> str:
    """A run in a line, for a log or a terminal."""
    parts = [f"{run.started_at[:19]}Z {run.kind}: {run.outcome}, {run.file_count} new files, {run.event_count} events"]
    parts += run.notices
    if run.removed_count:
        parts.append(f"{run.removed_count} old rows removed")
    if run.reports:
        parts.append("reports: " + ", ".join(run.reports))
    if run.problems:
        more = f" and {len(run.problems) - 3} more" if len(run.problems) > 3 else ""
        parts.append("problems: " + "; ".join(run.problems[:3]) + more)
    return "; ".join(parts)


def status_text(plan: ServePlan, runs: Sequence[ServiceRun], now: datetime) -> str:
    """The last runs, whether a night was missed, and when the next is due."""
    due = last_due(plan, now)
    lines = [run_line(run) for run in runs] or ["no run so far"]
    if is_overdue(plan, runs, now):
        lines.append(
            f"the nightly run due at {due:%Y-%m-%dT%H:%M}Z has not been made: the service makes it at its start"
        )
    lines.append(f"next nightly run: {next_due(plan, now):%Y-%m-%dT%H:%M}Z ({plan.nightly:%H:%M} {plan.zone.key})")
    return "\n".join(lines)
