"""What the path of a worker log tells: its job, its task or node."""

from __future__ import annotations

import pytest

from aiscorr.parse.path_hints import worker_hints


@pytest.mark.parametrize(
    ("path", "node_no"),
    [
        ("/logs/job7/torchrun-logs-node1/run7_ab12cd34/attempt_0/3/stderr.log", 1),
        ("/logs/job7/torchrun.node2.err", 2),
        ("/logs/job7/node_3/rank5.log", 3),
        ("/logs/error-5120341-4.out", 4),
        ("/home/node5-scratch/job7/rank5.log", None),
        ("/logs/job7/node-exporter.log", None),
    ],
)
def test_the_node_of_a_file(path: str, node_no: int | None) -> None:
    """Its name or a folder of its job gives the number of its node, folders above that do not."""
    assert worker_hints(path).node_no == node_no


@pytest.mark.parametrize(
    ("name", "told_by"),
    [
        ("train-4264164-07.out", ("4264164", 7)),
        ("my.model_big-77120.err", ("77120", None)),
        ("slurm-4264164.out", ("4264164", None)),
        ("train-20261106-1.out", (None, None)),
        ("train-4264164.log", (None, None)),
        ("error-4264164-1.out.gz", ("4264164", 1)),
        ("train-4264164-worker-7.log", ("4264164", 7)),
        ("console-4264164-1.log", ("4264164", 1)),
        ("train-4264164.node7.journal.txt", ("4264164", 7)),
        ("train-20261106-worker-7.log", (None, None)),
        ("train-4264164-master-0.log", ("4264164", None)),
        ("train-worker-7.log", (None, None)),
        ("part-0412.out", (None, None)),
        ("job4264164.out", ("4264164", None)),
        ("4264164.mpi.log", ("4264164", None)),
        ("20261106.log", (None, None)),
    ],
)
def test_the_job_of_a_file(name: str, told_by: tuple[str | None, int | None]) -> None:
    """SLURM's %j and %t behind any name give job and task; a date, a short number or a program's own log do not."""
    hints = worker_hints(f"/logs/{name}")
    assert (hints.job_id, hints.node_no) == told_by


@pytest.mark.parametrize(
    ("name", "told_by"),
    [
        ("error-5120341-rank6.out", ("5120341", 6)),
        ("train_4264164_1.rank3.err", ("4264164", 3)),
        ("rank3.log", (None, 3)),
        ("error-5120341-1.out", ("5120341", None)),
    ],
)
def test_the_rank_of_a_file_of_a_job(name: str, told_by: tuple[str | None, int | None]) -> None:
    """A rank behind the job's number is a rank of that job."""
    hints = worker_hints(f"/logs/{name}")
    assert (hints.job_id, hints.rank) == told_by
