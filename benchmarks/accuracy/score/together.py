"""Judges one report of many incidents that were read into one database; a failure is found by its job id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.score.evidence import CitedFiles
from benchmarks.accuracy.score.judge import stated_faults
from benchmarks.accuracy.score.truth import Json, Truth


def judged_together(report: Json, truths: Sequence[Truth]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """For each expected failure its incident and what is not right; and the jobs of failures that nobody expected."""
    left, found = list(report["failures"]), []
    for truth in truths:
        files = CitedFiles((truth.folder, truth.folder.parent, Path.cwd()))
        for expected in truth.expected:
            of_job = [one for one in report["failures"] if str(one.get("job_id")) == str(expected.job_id)]
            left = [one for one in left if one not in of_job]
            if len(of_job) == 1:
                words = [str(one) for one in stated_faults(expected, of_job[0], files)]
            else:
                words = [f"{len(of_job)} failures of job {expected.job_id}"]
            found.append((truth.name, words))
    return found, [str(one.get("job_id")) for one in left]
