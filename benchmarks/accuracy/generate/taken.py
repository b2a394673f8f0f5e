"""Takes evidence away from a written incident, as it happens: a node gone, a file cut, a side not asked.

What the truth is does not change; what a reader can know of it may become narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fixtures.generator.draw import Draw
from fixtures.generator.model import LogFile, Params, Scenario

Files = tuple[LogFile, ...]


@dataclass(frozen=True)
class Taken:
    """A way to take evidence away; it may leave no failure at all to be seen."""

    take: Callable[[Scenario, Draw], Files]
    fits: Callable[[str, Params], bool] = lambda side, params: True
    hides_failure: bool = False


def _guilty(scenario: Scenario) -> set[str]:
    return {node for expect in scenario.expects for node in expect.ais_nodes or ()}


def _of_nodes(nodes: set[str]) -> Callable[[LogFile], bool]:
    return lambda file: file.path.startswith("ais/") and file.path.split("/")[1] in nodes


def _without(scenario: Scenario, is_gone: Callable[[LogFile], bool]) -> Files:
    return tuple(file for file in scenario.files if not is_gone(file))


def _ais(scenario: Scenario, draw: Draw) -> Files:
    return _without(scenario, lambda file: file.path.startswith("ais/"))


def _workers(scenario: Scenario, draw: Draw) -> Files:
    return _without(scenario, lambda file: file.path.startswith("workers/"))


def _guilty_node(scenario: Scenario, draw: Draw) -> Files:
    return _without(scenario, _of_nodes(_guilty(scenario)))


def _other_node(scenario: Scenario, draw: Draw) -> Files:
    others = [
        node.node_id for node in scenario.nodes if node.role == "target" and node.node_id not in _guilty(scenario)
    ]
    return _without(scenario, _of_nodes({draw.pick(others)})) if others else scenario.files


def _proxies(scenario: Scenario, draw: Draw) -> Files:
    return _without(scenario, _of_nodes({node.node_id for node in scenario.nodes if node.role == "proxy"}))


def _is_log(file: LogFile) -> bool:
    return "trace_rank_" not in file.path and bool(file.data)


def _worker_files(scenario: Scenario) -> list[LogFile]:
    return [file for file in scenario.files if file.path.startswith("workers/") and _is_log(file)]


def _worker_file(scenario: Scenario, draw: Draw) -> Files:
    """One worker file; the dumps stay."""
    gone = draw.pick(_worker_files(scenario)).path
    return _without(scenario, lambda file: file.path == gone)


def _cut(scenario: Scenario, keep: Callable[[list[bytes]], list[bytes]], side: str) -> Files:
    def shortened(file: LogFile) -> LogFile:
        if not file.path.startswith(side) or not _is_log(file):
            return file
        return replace(file, data=b"".join(keep(file.data.splitlines(keepends=True))))

    return tuple(shortened(file) for file in scenario.files)


def _worker_heads(scenario: Scenario, draw: Draw) -> Files:
    """The first 40 % of every worker log are gone, as after a copy of the tail only."""
    return _cut(scenario, lambda lines: lines[len(lines) * 2 // 5 :], "workers/")


def _worker_tails(scenario: Scenario, draw: Draw) -> Files:
    """The last 15 % of every worker log are gone, as from a file that was still being written."""
    return _cut(scenario, lambda lines: lines[: len(lines) * 17 // 20], "workers/")


def _ais_tails(scenario: Scenario, draw: Draw) -> Files:
    return _cut(scenario, lambda lines: lines[: len(lines) * 17 // 20], "ais/")


def _ais_heads(scenario: Scenario, draw: Draw) -> Files:
    """The files begin in the middle, without header, as the output of a logging sidecar."""
    return _cut(scenario, lambda lines: lines[len(lines) * 2 // 5 :], "ais/")


def _tenth(scenario: Scenario, draw: Draw) -> Files:
    """Every line is lost with a chance of ten in a hundred."""
    return _cut(scenario, lambda lines: [line for line in lines if not draw.chance(0.1)], "")


def _only_errors(scenario: Scenario, draw: Draw) -> Files:
    """Somebody fetched the .ERROR files only."""
    return _without(scenario, lambda file: file.path.startswith("ais/") and ".INFO." in file.path)


def _storage(side: str, params: Params) -> bool:
    return side == "storage"


def _many_files(side: str, params: Params) -> bool:
    return params.layout != "srun-l" and params.ranks > params.ranks_per_node


TAKEN: dict[str, Taken] = {
    "ais_side": Taken(_ais),
    "guilty_node": Taken(_guilty_node, _storage),
    "other_node": Taken(_other_node),
    "proxies": Taken(_proxies),
    "worker_file": Taken(_worker_file, _many_files, hides_failure=True),
    "worker_heads": Taken(_worker_heads),
    "worker_tails": Taken(_worker_tails, hides_failure=True),
    "ais_tails": Taken(_ais_tails),
    "ais_heads": Taken(_ais_heads),
    "tenth_of_lines": Taken(_tenth),
    "info_files": Taken(_only_errors),
    "worker_side": Taken(_workers, hides_failure=True),
}


def take(name: str, scenario: Scenario, draw: Draw) -> Scenario:
    """The incident with less evidence."""
    return scenario if name == "nothing" else replace(scenario, files=TAKEN[name].take(scenario, draw))
