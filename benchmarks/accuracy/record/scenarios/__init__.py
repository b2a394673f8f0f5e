"""The scenarios, one file a subject; every module here hands out a tuple named SCENARIOS."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.accuracy.record.scenario import Scenario


def all_scenarios() -> tuple[Scenario, ...]:
    """All scenarios, by file and in the order they stand there."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(one for module in modules for one in module.SCENARIOS)
