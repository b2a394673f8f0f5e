"""The scenarios, one file a subject; each module here and in the folders of the later sets has a tuple SCENARIOS."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import replace

from benchmarks.accuracy.record.scenario import SETS, Scenario
from benchmarks.accuracy.record.scenarios import fifth, fourth, second, third


def all_scenarios(held: str = "all") -> tuple[Scenario, ...]:
    """The scenarios of a set, or all of them, by file and in the order they stand there."""
    packages = ((__name__, __path__), *((one.__name__, one.__path__) for one in (second, third, fourth, fifth)))
    by_set = zip(SETS, packages, strict=True)
    known = tuple(replace(one, held=name) for name, (package, path) in by_set for one in _below(package, path))
    return tuple(one for one in known if held in ("all", one.held))


def _below(package: str, path: Iterable[str]) -> tuple[Scenario, ...]:
    names = sorted(one.name for one in pkgutil.iter_modules(path) if not one.ispkg)
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(one for module in modules for one in module.SCENARIOS)
