"""A whole pull: the cluster map, then all nodes, a few at a time, then the record of it.

A node that cannot be pulled is a gap, and the others go on.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from aiscorr.errors import AiscorrError
from aiscorr.model import WORK_PREFIX
from aiscorr.pull.cluster import Cluster, ClusterMap, Node, RefusedError, UnreachableError
from aiscorr.pull.connection import Connection
from aiscorr.pull.later import GRACE_S, Later, until_stopped
from aiscorr.pull.node import NodePull, NodeResult
from aiscorr.pull.record import write_record
from aiscorr.pull.spool import Spool, open_spool, read_state, write_state

#: Told of nodes done, nodes there are, bytes that have come over the network, and nodes that are being pulled.
Show = Callable[[int, int, int, tuple[str, ...]], None]
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POLL_S = 0.2
#: In a spool: the proxies of the last map that an endpoint gave.
_PROXIES = f"{WORK_PREFIX}proxies.json"
#: In a cluster's folder of it: the nodes of the map that the last pull saw.
_NODES = f"{WORK_PREFIX}nodes.json"


@dataclass(frozen=True)
class SpoolOptions:
    """Where a pull goes, what may lie there (bytes), and how many nodes are asked at a time."""

    folder: str
    max_bytes: int = 10 << 30
    width: int = 4


@dataclass(frozen=True)
class PullSummary:
    """What a pull gave. `folder` is the cluster's, below the spool; the record is among its files."""

    cluster_id: str
    folder: str
    record: str
    results: tuple[NodeResult, ...]
    notices: tuple[str, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """The user asked to stop before it was done."""
        return any(result.is_stopped for result in self.results)

    @property
    def gaps(self) -> list[tuple[NodeResult, str, str]]:
        """Every part that could not be fetched, with its node and the reason."""
        return [(result, part, reason) for result in self.results for part, reason in result.gaps]

    @property
    def byte_count(self) -> int:
        """New bytes of logs."""
        return sum(result.byte_count for result in self.results)


def pull(
    connection: Connection,
    options: SpoolOptions,
    *,
    show: Show = lambda done, count, byte_count, names: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PullSummary:
    """Pulls all proxies and targets of a cluster. Raises AiscorrError where nothing at all can be had."""
    started_at = datetime.now(UTC)
    with open_spool(options.folder, options.max_bytes) as spool:
        reach = partial(_reach, connection, options.width, spool.folder / _PROXIES)
        cluster, cluster_map, notices = until_stopped(reach, should_stop)
        name = cluster_map.cluster_id if _ID.fullmatch(cluster_map.cluster_id) else "cluster"
        folder = Path(os.path.abspath(options.folder), name)
        folder.mkdir(exist_ok=True)
        work = _Work(cluster, spool, folder, connection.node_s, should_stop)
        results = work.run(cluster_map, options.width, show) + _departed(folder / _NODES, cluster_map)
        record = write_record(spool, folder, cluster_map, results, started_at)
        _remember(folder / _NODES, cluster_map)
    refused = [result for result in results if result.is_refused]
    if refused and not any(result.status or result.byte_count for result in results):
        raise cluster.failed(RefusedError(refused[0].gaps[0][1]))
    return PullSummary(cluster_map.cluster_id, str(folder), str(record), tuple(results), notices)


def _reach(connection: Connection, width: int, known_path: Path) -> tuple[Cluster, ClusterMap, tuple[str, ...]]:
    """The cluster by its endpoint, else by another proxy that its last map named; what should be known of that."""
    known = read_state(known_path)
    last = known.get(connection.endpoint, {})
    cluster, notices = Cluster(connection, width), tuple[str, ...]()
    try:
        found = cluster.read_map()
    except UnreachableError as error:
        for endpoint in last.get("proxies", []):
            cluster = Cluster(replace(connection, endpoint=endpoint), width)
            with contextlib.suppress(AiscorrError):
                found = cluster.read_map()
                if found.cluster_id == last["cluster"]:
                    notices = (f"notice: {connection.endpoint} does not answer; asked {endpoint} of its last map",)
                    break
        else:
            raise error from None
    scheme = f"{urlsplit(connection.endpoint).scheme}://"
    urls = (str(node.snode.get("public_net", {}).get("direct_url", "")) for node in found.nodes if node.role == "proxy")
    proxies = [url for url in urls if url.startswith(scheme) and url != connection.endpoint]
    write_state(known_path, {**known, connection.endpoint: {"cluster": found.cluster_id, "proxies": proxies}})
    return cluster, found, notices


class _Work:
    """The nodes of one pull, shared out to threads."""

    def __init__(
        self, cluster: Cluster, spool: Spool, folder: Path, limit_s: float, should_stop: Callable[[], bool]
    ) -> None:
        self._cluster = cluster
        self._spool = spool
        self._folder = folder
        self._limit_s = limit_s
        self._should_stop = should_stop
        self._refused = threading.Event()
        self._under_way: set[str] = set()
        self._pulls: list[NodePull] = []

    def run(self, cluster_map: ClusterMap, width: int, show: Show) -> list[NodeResult]:
        """The results in the order of the map, a node that was not reached any more included."""
        found: dict[str, NodeResult] = {}
        pending = [Later(partial(self._pull_node, node)) for node in cluster_map.nodes]
        waiting, under_way = list(reversed(pending)), list[Later[NodeResult]]()
        asked_s: float | None = None
        while waiting or under_way:
            while waiting and len(under_way) < width:
                under_way.append(waiting.pop().start())
            under_way[0].wait(_POLL_S)
            ended = [one for one in under_way if one.is_ended]
            under_way = [one for one in under_way if not one.is_ended]
            found.update((result.node.node_id, result) for result in (one.result() for one in ended))
            count = sum(one.arrived_count for one in list(self._pulls))
            show(len(found), len(cluster_map.nodes), count, tuple(sorted(self._under_way)))
            asked_s = (asked_s or time.monotonic()) if self._should_stop() else None
            if asked_s is not None and time.monotonic() - asked_s > GRACE_S:
                break  # what hangs in a request is left to itself
        stopped = "the pull was stopped"
        return [
            found.get(node.node_id) or _not_pulled(node, stopped, is_stopped=True) for node in list(cluster_map.nodes)
        ]

    def _pull_node(self, node: Node) -> NodeResult:
        if self._refused.is_set():
            return _not_pulled(node, "not asked: the token was refused for another node", is_refused=True)
        if not _ID.fullmatch(node.node_id) or node.role not in ("proxy", "target"):
            return _not_pulled(node, f"an id or role that no AIStore node has: {node.node_id!r}, {node.role!r}")
        self._under_way.add(node.node_id)
        folder = self._folder / f"ais{node.role}-{node.node_id}"
        try:
            one = NodePull(self._cluster, self._spool, folder, limit_s=self._limit_s, should_stop=self._should_stop)
            self._pulls.append(one)
            result = one.run(node)
        finally:
            self._under_way.discard(node.node_id)
        if result.is_refused:
            self._refused.set()
        return result


def _departed(known_path: Path, cluster_map: ClusterMap) -> list[NodeResult]:
    """The nodes that were in the map at the last pull and are not in it now: what they kept since is not fetched."""
    known, there = read_state(known_path), {node.node_id for node in cluster_map.nodes}
    return [
        _not_pulled(
            Node(node_id, one["role"], one["snode"]),
            f"it has left the cluster map since the last pull: Smap v{one['smap_version']} to v{cluster_map.version}",
        )
        for node_id, one in known.items()
        if node_id not in there
    ]


def _remember(known_path: Path, cluster_map: ClusterMap) -> None:
    version = cluster_map.version
    nodes = {
        node.node_id: {"role": node.role, "snode": node.snode, "smap_version": version} for node in cluster_map.nodes
    }
    write_state(known_path, nodes)


def _not_pulled(node: Node, reason: str, *, is_refused: bool = False, is_stopped: bool = False) -> NodeResult:
    return NodeResult(node, datetime.now(UTC), gaps=[("all", reason)], is_refused=is_refused, is_stopped=is_stopped)
