"""A job whose lines print times of day and no date."""

from __future__ import annotations

from pathlib import Path

from reports import report_of
from scenes import read_in

from aiscorr.report.render import render_json, render_markdown, render_text


def test_a_job_that_prints_no_date(tmp_path: Path) -> None:
    """A log with times of day alone is reported in every form; who stood elsewhere is named all the same."""
    lines = [f"{rank}: 03:47:21 [rank{rank}] sharding over 3 ranks" for rank in range(3)]
    for rank, place in enumerate(("train.py", "train.py", "eval.py")):
        tag = f"{rank}: [rank{rank}]:"
        torch = "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
        lines += [
            f"{tag} Traceback (most recent call last):",
            f'{tag}   File "/asr/{place}", line 40, in main',
            f"{tag}     dist.all_reduce(total)",
            f'{tag}   File "{torch}", line 3252, in all_reduce',
            f"{tag}     work.wait()",
            f"{tag} RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms for recv "
            "operation to complete",
        ]
    log = tmp_path / "logs" / "slurm-482913.out"
    log.parent.mkdir()
    log.write_text("\n".join(lines) + "\n", "utf-8")
    db = str(tmp_path / "d.duckdb")
    read_in(db, log.parent)
    report = report_of(db)
    assert [(one.failure_class, one.culprit_ranks) for one in report.failures] == [("collective_mismatch", (2,))]
    for form in (render_text(report, width=100, color=False), render_markdown(report), render_json(report)):
        assert "eval.py:40" in form
