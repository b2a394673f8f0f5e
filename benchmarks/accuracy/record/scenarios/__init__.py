"""The scenarios, one file a subject; every module here and in `second/` hands out a tuple named SCENARIOS."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import replace

from benchmarks.accuracy.record.scenario import SETS, Scenario
from benchmarks.accuracy.record.scenarios import second


def all_scenarios(held: str = "all") -> tuple[Scenario, ...]:
    """The scenarios of a set, or all of them, by file and in the order they stand there."""
    first, later = _below(__name__, __path__), _below(second.__name__, second.__path__)
    known = (*first, *(replace(one, held=SETS[1]) for one in later))
    return tuple(one for one in known if held in ("all", one.held))


def _below(package: str, path: Iterable[str]) -> tuple[Scenario, ...]:
    names = sorted(one.name for one in pkgutil.iter_modules(path) if not one.ispkg)
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(one for module in modules for one in module.SCENARIOS)
