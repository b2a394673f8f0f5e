"""Which progress lines of a training log are kept, and what they say."""

from __future__ import annotations

from itertools import pairwise

import pytest
from lines import Reading, Row, read_worker

from aiscorr.parse.worker.steps import FIRST_LINES, STRIDE_BYTES

pytestmark = pytest.mark.usefixtures("either_reader")


def nemo(step: int, second: int = 0, rank: int = 0, step_s: float = 0.5) -> str:
    """A NeMo line."""
    return (
        f"[NeMo I 2026-11-20 23:{second // 60 % 60:02d}:{second % 60:02d} train:1 rank:{rank}] Training epoch 0,"
        f" iteration {step}/90000 | lr: 1e-4 | global_step: {step} | train_step_timing in s: {step_s}\n"
    )


def kept(reading: Reading, why: str = "") -> list[Row]:
    """The rows kept for this reason, in the order of the lines."""
    rows = [row for row in reading.step_line if why in ("", row["kept"])]
    return sorted(rows, key=lambda row: (row["line_no"], row["step"]))


def test_a_short_log_is_kept_whole() -> None:
    """Of a log with a few steps every step is there, with line, place, time and rank."""
    text = "starting\n" + "".join(nemo(step, step, rank=2) for step in range(10))
    rows = kept(read_worker(text, "/logs/job7/n.log"), "last")
    assert [(row["line_no"], row["step"], row["rank"], row["step_s"]) for row in rows] == [
        (step + 2, step, 2, 0.5) for step in range(10)
    ]
    for row in rows:
        assert text.encode()[row["byte_offset"] :].startswith(row["text"].encode())
    assert rows[1]["local_ns"] - rows[0]["local_ns"] == 1_000_000_000


def test_a_step_0_does_not_tell_how_steps_are_printed() -> None:
    """A line of step 0, which an engine prints as it is built, hides no steps that are printed otherwise."""
    text = "[2021-06-10 20:47:51,885] [INFO] [logging.py:60:log_dist] [Rank 0] step=0, skipped=0, lr=[0.0], mom=[0]\n"
    text += "".join(f" iteration {n}/ 9 | elapsed time per iteration (ms): 13632.8 | lr: 1 |\n" for n in range(1, 4))
    assert [row["step"] for row in kept(read_worker(text, "/logs/job7/n.log"), "last")] == [1, 2, 3]


def test_a_long_log_is_thinned() -> None:
    """Of a log where every line is a step the first, one every 512 KiB and the last are kept, the very last always."""
    text = "".join(nemo(step, step // 4) for step in range(20_000))
    found = read_worker(text, "/logs/job7/n.log")
    assert [row["step"] for row in kept(found, "first")] == list(range(FIRST_LINES))
    sampled = kept(found, "sampled")
    gaps = [after["byte_offset"] - before["byte_offset"] for before, after in pairwise(sampled)]
    assert len(text) // STRIDE_BYTES - 2 <= len(sampled) <= len(text) // STRIDE_BYTES + 1
    assert max(gaps) < 2.2 * STRIDE_BYTES
    assert [row["step"] for row in kept(found, "last")][-24:] == list(range(19_976, 20_000))
    assert len(found.step_line) < 200


def test_the_last_steps_before_an_error_are_kept() -> None:
    """What follows the first fatal line of an attempt does not push the steps before it away."""
    error = (
        "[rank0]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank 0] Watchdog caught collective operation"
        " timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000) ran for 60044"
        " milliseconds before timing out.\n"
    )
    text = "".join(nemo(step, step // 4) for step in range(5000)) + error + "noise of the end\n" * 50_000
    assert kept(read_worker(text, "/logs/job7/n.log"), "last")[-1]["step"] == 4999


def test_ranks_of_one_file_are_all_among_the_last() -> None:
    """Where eight ranks write in turns, every rank is among the lines that are kept of the end."""
    text = "".join(nemo(step, step, rank) for step in range(400) for rank in range(8))
    assert {row["rank"] for row in kept(read_worker(text, "/logs/j/n.log"), "last")} == set(range(8))


def test_bars_that_share_a_line() -> None:
    """Progress bars between carriage returns are steps of one line with their elapsed time; bars that load are none."""
    bars = [f"  1%|▏  | {n}/1752 [00:{n:02d}<1:22:01,  2.00s/it]" for n in (10, 20, 30)]
    text = "Loading checkpoint shards: 50%|#| 2/4 [00:01<00:01, 1.0it/s]\r" + "\r".join(bars) + "\n"
    rows = kept(read_worker(text, "/logs/job7/rank4.log"), "last")
    assert [(row["line_no"], row["step"], row["elapsed_s"], row["step_s"], row["rank"]) for row in rows] == [
        (1, 10, 10.0, 2.0, 4),
        (1, 20, 20.0, 2.0, 4),
        (1, 30, 30.0, 2.0, 4),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            " iteration      182/  250000 | consumed samples: 1 | elapsed time per iteration (ms): 12500.0 | x\n",
            (182, 12.5),
        ),
        (
            "[titan] 2026-05-13 00:52:16,792 - root - INFO - \x1b[31mstep: 26  \x1b[32mloss:  3.7  tps: 2,059\n",
            (26, None),
        ),
        ("steps: 20 loss: 2.1310 iter time (s): 0.513 samples/sec: 15.595\n", (20, 0.513)),
        ("Epoch 0: 1%|# | 5/20 [00:01<00:09,  4.00it/s, loss=1]\n", (5, 0.25)),
        ("2026-11-20 21:36:43,539 INFO [rank 0] train:134 - step 11 loss 1.37 data_s 0.004 step_s 0.210\n", (11, 0.21)),
    ],
)
def test_frameworks(line: str, expected: tuple[int, float | None]) -> None:
    """Each framework's line gives its step and, where printed, its seconds, whatever colours and units."""
    rows = kept(read_worker("x\n" * 40 + line, "/logs/job7/n.log"), "last")
    assert [(row["step"], row.get("step_s")) for row in rows] == [expected]


@pytest.mark.parametrize("before", [1000, 2040, 9000, 33_000, 60_000])
def test_a_progress_line_is_found_wherever_the_first_one_stands(before: int) -> None:
    """The first progress line of a file is found near its start and far from it, in lines of any length."""
    for filler in ("nothing of note here\n", "x" * 70_000 + "\n", "train_step_timin\n"):
        text = (filler * (before // len(filler) + 1))[: before - 1] + "\n" + nemo(7) * 2
        rows = kept(read_worker(text, "/logs/job7/n.log"), "first")
        assert [text[row["byte_offset"] :].startswith("[NeMo I") for row in rows] == [True, True]
        assert [row["step"] for row in rows] == [7, 7]


def unknown(step: int, second: int = 0) -> str:
    """A line of a program that no pattern knows."""
    return f"11-08 06:{second // 60 % 60:02d}:{second % 60:02d} engine: {step} : tempo 0.5 seconds per iteration\n"


def test_lines_of_an_unknown_program_are_kept() -> None:
    """A log whose program no pattern knows gives its repeated lines: the first, one every 512 KiB and the last."""
    text = "".join(unknown(step, step // 4) for step in range(20_000))
    found = read_worker(text, "/logs/job7/rank0.log")
    assert {row["pattern"] for row in found.step_line} == {"repeated_count"}
    assert [row["step"] for row in kept(found, "first")] == list(range(FIRST_LINES))
    assert len(text) // STRIDE_BYTES - 2 <= len(kept(found, "sampled")) <= len(text) // STRIDE_BYTES + 1
    last = kept(found, "last")
    assert last[-1]["step"] == 19_999
    assert last[-1]["local_ns"] - last[-5]["local_ns"] == 1_000_000_000


def test_lines_of_an_unknown_program_count_only_where_no_known_ones_are() -> None:
    """Beside lines of a known program those that only might count steps are left out, and no line is kept twice."""
    text = "".join(nemo(step, step) + unknown(step, step) for step in range(40))
    assert {row["pattern"] for row in read_worker(text, "/logs/j/n.log").step_line} == {"step_nemo"}
    one = read_worker(nemo(7, 7) + "x\n" * 40 + unknown(7, 7), "/logs/j/n.log")
    assert [row["line_no"] for row in kept(one, "last")] == [1, 42]
