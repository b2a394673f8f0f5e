"""Takes evidence away piece by piece: a verdict may become undetermined, a failure may vanish, but it may not flip."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.accuracy.places import logs
from benchmarks.accuracy.score.ask import report_of
from benchmarks.accuracy.score.judge import nodes_of
from benchmarks.accuracy.score.truth import Expected, Json, Truth, read_truth

#: What the client alone can say of a failure of storage.
_OF_THE_CLIENT = frozenset({"data_loading_stall", "network"})


def cuts(incident: Path) -> list[Path]:
    """What is taken away, one at a time: either side, each AIStore node, each file of the job."""
    sides = [folder for name in ("ais", "workers") if (folder := incident / name).is_dir()]
    nodes = sorted(path for path in (incident / "ais").glob("*") if path.is_dir())
    files = [path for name in ("workers", "logs") for path in sorted((incident / name).glob("*"))]
    return [path for path in (*sides, *nodes, *files) if path.name != "workers" or len(sides) == 2]


def flips(failures: Sequence[Json], truth: Truth) -> list[str]:
    """What the failures of a narrowed incident say that contradicts its truth.

    A job whose id went with the logs may be any of those expected: it contradicts only if it contradicts all.
    """
    found = []
    for failure in failures:
        of_job = [one for one in truth.expected if (one.job_id or "") == str(failure.get("job_id"))]
        tries = [turned(one, failure) for one in of_job or truth.expected]
        if not truth.expected:
            found.append(f"false alarm {failure.get('failure_class')}/{failure.get('storage_verdict')}")
        elif all(tries):
            mildest = min(tries, key=len)
            found.append("; ".join(mildest))
    return found


def turned(expected: Expected, failure: Json) -> list[str]:
    """What a failure says otherwise than the truth; less is no contradiction."""
    verdict, name, found = failure.get("storage_verdict"), failure.get("failure_class"), []
    if expected.verdict is not None and verdict not in {*expected.verdicts, "undetermined"}:
        found.append(f"storage {expected.verdict} -> {verdict} {failure.get('confidence')}")
    if expected.nodes is not None and (blamed := nodes_of(failure) - set(expected.nodes)):
        found.append(f"blames {sorted(blamed)}")
    if expected.culprits is not None and (extra := set(failure.get("culprit_ranks", [])) - set(expected.culprits)):
        found.append(f"culprits {sorted(extra)} too many")
    fewer = _OF_THE_CLIENT if verdict == "undetermined" else frozenset()
    if name not in {*expected.classes, "undetermined", *fewer}:
        found.append(f"class {name}")
    return found


def narrowed(incidents: Sequence[Path], jobs: int) -> Iterator[tuple[str, list[str]]]:
    """For each incident without each of its pieces: its name with that of the piece, and what flips."""
    tasks = [(incident, cut) for incident in incidents if read_truth(incident).soft is None for cut in cuts(incident)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for (incident, cut), found in zip(tasks, pool.map(flips_without, *zip(*tasks, strict=True)), strict=True):
            yield f"{incident.name} without {cut.relative_to(incident)}", found


def flips_without(incident: Path, cut: Path) -> list[str]:
    """What flips if an incident is asked about without one of its `cuts`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / incident.name
        shutil.copytree(incident, copy, symlinks=True)
        gone = copy / cut.relative_to(incident)
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink()
        try:
            report = report_of(logs(copy))
        except Exception as error:  # an incident that cannot be asked about any more is a result
            return [f"{type(error).__name__}: {str(error)[:200]}"]
        return flips(report["failures"], read_truth(incident))
