"""The record of a pull: JSON lines that ingest reads, with each node's status and what could not be fetched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from aiscorr import __version__
from aiscorr.pull.cluster import ClusterMap
from aiscorr.pull.node import NodeResult
from aiscorr.pull.spool import Spool

_NAME = "pull-{:%Y%m%dT%H%M%S%fZ}.jsonl"


def write_record(
    spool: Spool, folder: Path, cluster_map: ClusterMap, results: Iterable[NodeResult], started_at: datetime
) -> Path:
    """Writes the record of a pull that began at `started_at`; returns its path."""
    path = folder / _NAME.format(started_at.astimezone(UTC))
    with spool.part() as part:
        part.write_text("".join(_lines(cluster_map, results, started_at)), "utf-8")
        spool.publish(part, path, 0)
    return path


def _lines(cluster_map: ClusterMap, results: Iterable[NodeResult], started_at: datetime) -> Iterator[str]:
    yield _line(
        {
            "aiscorr_pull": 1,
            "cluster": cluster_map.cluster_id or None,
            "smap_version": cluster_map.version,
            "node_count": len(cluster_map.nodes),
            "started_at": _stamp(started_at),
            "aiscorr_version": __version__,
        }
    )
    for result in results:
        yield _line(
            {
                "node_id": result.node.node_id,
                "sampled_at": _stamp(result.sampled_at),
                "gaps": [{"part": part, "reason": reason} for part, reason in result.gaps],
                "snode": result.node.snode,
                "status": result.status,
            }
        )


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
