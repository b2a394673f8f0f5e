"""The last words of each rank, as a worker's log is read."""

from __future__ import annotations

import pytest
from lines import read_worker

pytestmark = pytest.mark.usefixtures("either_reader")

WATCHDOG = (
    "[rank{0}]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank {0}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=629, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000) ran for 60044"
    " milliseconds before timing out.\n"
)


def test_last_words_of_each_rank() -> None:
    """The last three telling lines of each rank before the failure spoke are kept, with step and activity."""
    steps = "".join(
        f"[NeMo I 2026-11-20 23:04:{n:02d} t:1 rank:{n % 2}] global_step: {n} | loss: 3\n" for n in range(20)
    )
    steps += "".join(f'{{"ts": "2026-11-20T23:04:{n}Z", "rank": 2, "step": {n}, "loss": 3}}\n' for n in range(20, 25))
    late = "[NeMo I 2026-11-20 23:06:00 t:1 rank:0] global_step: 99 | after the failure\n"
    found = read_worker(steps + WATCHDOG.format(0) + late, "/logs/j/n.log")
    assert [(row["rank"], row["step"]) for row in found.worker_tail if row["rank"] == 0] == [(0, 14), (0, 16), (0, 18)]
    assert [row["step"] for row in found.worker_tail if row["rank"] == 1] == [15, 17, 19]
    assert [row["step"] for row in found.worker_tail if row["rank"] == 2] == [22, 23, 24]
    assert [row["line_no"] for row in found.worker_tail if row["rank"] == 1] == [16, 18, 20]


def test_last_words_of_a_task_are_those_of_its_rank() -> None:
    """A line behind a label of srun is of the rank that lines of its task name, or of its number, as others are."""
    lines = [f"{task}: step {step} is done\n" for step in range(9) for task in range(3)]
    told = [
        f"{task}: [rank{task + 4}]: {text}\n"
        for task in range(2)
        for text in (
            "Traceback (most recent call last):",
            '  File "/asr/train.py", line 9, in main',
            "ValueError: boom",
        )
    ]
    found = read_worker("".join(lines + told), "/logs/j/n.log").worker_tail
    steps = {rank: [row["step"] for row in found if row["rank"] == rank and row["step"]] for rank in (4, 5, None)}
    assert steps == {4: [7, 8], 5: [7, 8], None: [6, 7, 8]}
    alike = [line.replace("rank4", "rank0").replace("rank5", "rank1") for line in told]
    found = read_worker("".join(lines + alike), "/logs/j/n.log").worker_tail
    assert [row["step"] for row in found if row["rank"] == 2] == [6, 7, 8]


def test_last_words_point_at_their_line() -> None:
    """Line number and byte offset of last words are those of the line in the file."""
    text = "".join(f"[rank{n % 3}]: step {n} ü\n" for n in range(3_000))
    raw = text.encode()
    for row in read_worker(text, "/logs/j/n.log").worker_tail:
        assert (
            raw[row["byte_offset"] :].split(b"\n")[0].decode() == row["text"] == text.splitlines()[row["line_no"] - 1]
        )


def test_last_words_glued_to_those_of_another_rank_are_kept() -> None:
    """A line that stands behind another rank's on one physical line is that of its own rank; a quoted rank is none."""
    text = 'x\n[Rank 3] max reserved: 27196.0[Rank 2] max reserved: 27112.0\n[Rank 3] heard "[Rank 4]: gone"\n'
    found = read_worker(text, "/logs/j/n.log").worker_tail
    told = [(row["rank"], row["line_no"], row["text"]) for row in found if row["rank"] in (2, 4)]
    assert told == [(2, 2, "[Rank 2] max reserved: 27112.0")]


def test_last_words_are_of_the_attempt_that_wrote_them() -> None:
    """An attempt that failed while its ranks were connected has no last words of the attempt before."""
    failed = (
        "E1120 23:05:{}.598000 24209 torch/distributed/elastic/multiprocessing/api.py:1002] "
        "failed (exitcode: 1) local_rank: 0 (pid: {}) of binary: /opt/venv/bin/python3\n"
    )
    text = (
        "[rank1]: reading ais://speech/utt-7.wav\n"
        "[rank0]: ValueError: boom\n"
        + failed.format("24", 71)
        + "RuntimeError: Gloo connectFullMesh failed with [/pt/gloo/tcp/pair.cc:152] timed out connecting\n"
        "[/pt/third_party/gloo/gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect, willRetry=0, retry=4, "
        "retryLimit=3, rank=0, size=4, local=[10.0.0.7]:27285, remote=[10.0.0.8]:21912$0, error=SO_ERROR: refused\n"
        + failed.format("34", 83)
    )
    found = read_worker(text, "/logs/j/n.log")
    told = [(row["attempt_no"], row["rank"], row["line_no"], row["activity"]) for row in found.worker_tail]
    assert told == [(0, 1, 1, "storage_wait")]


def test_gloo_waits_for_no_storage() -> None:
    """A rank that tries to connect to its peers says so in words that others use of storage."""
    text = (
        "[/pt/third_party/gloo/gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect, willRetry=1, retry=2, "
        "retryLimit=3, rank=0, size=4, local=[10.0.0.7]:27285, remote=[10.0.0.8]:21912$0, error=SO_ERROR: refused\n"
    )
    assert [row["activity"] for row in read_worker(text, "/logs/j/n.log").worker_tail] == ["initialisation"]


def test_a_record_glued_to_the_bar_of_another_rank_is_its_own() -> None:
    """A record right behind the progress bar of another process has its own rank and stamp."""
    bar = "[default0]:Epoch 0:  30%|███       | 6/20 [00:01<00:02,  4.70it/s]"
    record = "[default1]:[2026-11-20 21:57:13,492][urllib3.connectionpool][WARNING] - Retrying (Retry(total=4, connect="
    record += "None)) after connection broken by 'ConnectionResetError(104, 'reset')': /v1/objects/train/a.tar"
    (row,) = read_worker(f"{bar}{record}\n", "/logs/j/n.log").worker_line
    assert (row["local_rank"], row["stamp_source"], row["text"]) == (1, "own", record)
