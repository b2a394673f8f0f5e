"""Reads the scenarios, one TOML a subject, and says which modules the script of each needs."""

from __future__ import annotations

import ast
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Scenario, Start, Truth

JOBS = Path(__file__).with_name("jobs")
_SCENARIOS = Path(__file__).with_name("scenarios")
# What a client is made of, where it is not the module of its name.
_CLIENTS = {
    "sdk": ("aistore", "tenacity"),
    "urllib": (),
    "fsspec": ("fsspec", "aiohttp"),
    "smart_open": ("smart_open", "requests"),
}
# What a script imports only when it is told to.
_LATE = {
    "checkpoints.py": {"boto3", "safetensors"},
    "hf_trainer.py": {"accelerate", "requests"},
    "lit.py": {"requests", "webdataset"},
    "models.py": {"torchmetrics"},
    "streams.py": {"aiohttp"},
}
# What a script reads, where its scenario does not say.
_SUPPLIES: dict[tuple[str, ...], dict[str, Any]] = {
    ("train_objects.py",): {"objects": {"parts": {}}},
    ("lit.py", "--data", "objects"): {"objects": {"parts": {}}},
    ("tars.py",): {"objects": {"shards": {}}},
    ("lit.py", "--data", "shards"): {"objects": {"shards": {}}},
    ("clips.py",): {"files": {"rows": {"of": "clip"}}},
    ("sharded.py",): {"files": {"rows": {"of": "pair"}}},
}


@cache
def all_scenarios() -> tuple[Scenario, ...]:
    """The scenarios, by subject and in the order of its file; ValueError names a key that is unknown."""
    found = []
    for path in sorted(_SCENARIOS.glob("*.toml")):
        for name, row in tomllib.loads(path.read_text("utf-8")).items():
            found.append(read_scenario(name, path.stem, row))
    return tuple(found)


def read_scenario(name: str, subject: str, row: Mapping[str, Any]) -> Scenario:
    """A scenario from its table in TOML; what `launch` holds counts like keys beside it."""
    flat = {**{key: value for key, value in row.items() if key != "launch"}, **row.get("launch", {})}
    if unknown := sorted(set(flat) - set(_READ)):
        raise ValueError(f"{subject}.toml, [{name}]: unknown key {', '.join(unknown)}; there are {', '.join(_READ)}")
    read: dict[str, Any] = {}
    for key, value in flat.items():
        made = _READ[key](value)
        read.update(made if key == "world" else {_NAMES.get(key, key): made})
    if read.get("layout") in (Layout.TASKS, Layout.LABELS):
        read.setdefault("start", Start.TASKS)
    for head, supplies in _SUPPLIES.items():
        if read["job"][: len(head)] == head:
            read = {**supplies, **read}
    return Scenario(name, subject, **read)


def needs_of(scenario: Scenario) -> tuple[str, ...]:
    """The modules that a job imports beside torch, numpy and the standard library."""
    found = _imports(scenario.script) | _LATE.get(scenario.script, set())
    if "--client" in scenario.job:
        client = scenario.job[scenario.job.index("--client") + 1]
        found |= set(_CLIENTS.get(client, (client,)))
    return tuple(sorted(found - set(sys.stdlib_module_names) - {"torch", "numpy"}))


@cache
def _imports(script: str) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.parse((JOBS / script).read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    own = {name for name in found if (JOBS / f"{name}.py").exists()}
    return frozenset(found - own).union(*(_imports(f"{name}.py") for name in own))


def _by_node(read: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], dict[int, Any]]:
    return lambda table: {int(node): read(value) for node, value in table.items()}


def _truth(table: Mapping[str, Any]) -> Truth:
    ranks = table.get("ranks")
    also, storage = tuple(table.get("also_ok", ())), table.get("storage")
    return Truth(table["class"], None if ranks is None else tuple(ranks), also, storage)


def _act(table: Mapping[str, Any]) -> Act:
    return Act(table["after"], tuple(table["do"]), table.get("delay_s", 0.0))


def _world(pair: list[int]) -> dict[str, int]:
    nodes, ranks_per_node = pair
    return {"nodes": nodes, "ranks_per_node": ranks_per_node}


_NAMES = {"expect": "truth", "options": "launcher"}
_WRITTEN = ("truth", "nodes", "ranks_per_node")
_READ: dict[str, Callable[[Any], Any]] = {
    **{one.name: lambda value: value for one in fields(Scenario)[2:] if one.name not in _WRITTEN},
    "job": lambda text: tuple(shlex.split(text)),
    "launcher": lambda text: tuple(shlex.split(text)),
    "options": lambda text: tuple(shlex.split(text)),
    "expect": _truth,
    "layout": lambda text: Layout[text.upper()],
    "start": lambda text: Start[text.upper()],
    "world": _world,
    "node_env": _by_node(dict),
    "limits": _by_node(dict),
    "shared_memory_mib": _by_node(int),
    "delays_s": _by_node(float),
    "absent_nodes": tuple,
    "wrong_port_nodes": tuple,
    "faults": lambda rows: tuple(Fault(**row) for row in rows),
    "acts": lambda rows: tuple(_act(row) for row in rows),
}
