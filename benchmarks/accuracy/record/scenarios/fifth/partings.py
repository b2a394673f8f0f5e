"""Ranks that call another collective than the rest, one more or less of them, or one of another length."""

from __future__ import annotations

import random
from collections.abc import Mapping

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Truth

_RECORDER = {"TORCH_FR_BUFFER_SIZE": "2000"}
_TEXT = "the old mill stood by a river that nobody in town had ever tried to cross in winter"
_WORDS = _TEXT.split()


def _records(job: Running) -> None:
    job.take_flight_records()


def _stacks_and_records(job: Running) -> None:
    job.take_stacks()
    job.take_flight_records()


def _frames(odd: int, first: int, ranks: int = 4, count: int = 2880) -> Mapping[str, str]:
    """Frames of every rank; those of `odd` are nearly silent from number `first` on."""
    chance = random.Random(8)
    files = {}
    for rank in range(ranks):
        rows = []
        for number in range(count):
            is_quiet = rank == odd and number >= first
            rows.append(" ".join(f"{chance.gauss(0, 0.01 if is_quiet else 1.2):.4f}" for _ in range(4)))
        files[f"frames/part{rank}.txt"] = "\n".join(rows) + "\n"
    return files


def _sentences(words: tuple[int, ...], count: int = 120) -> Mapping[str, str]:
    """Sentences of every rank, of so many words each."""
    files = {}
    for rank, length in enumerate(words):
        rows = (" ".join(_WORDS[(number + at) % len(_WORDS)] for at in range(length)) for number in range(count))
        files[f"pairs/train.{rank}.src"] = "\n".join(rows) + "\n"
    return files


def _parcels(odd: tuple[int, int], ranks: int = 4, regions: int = 6) -> Mapping[str, str]:
    """Parcels of every rank; those of `odd`, a rank and a region, have some that nobody labelled."""
    chance = random.Random(3)
    files = {}
    for rank in range(ranks):
        for region in range(regions):
            rows = []
            for number in range(60):
                label = 255 if (rank, region) == odd and number in (17, 18, 41) else number % 12
                rows.append(",".join([str(label), *(f"{chance.gauss(label / 12, 1):.3f}" for _ in range(5))]))
            files[f"parcels/{rank}/region{region:02d}.csv"] = "\n".join(rows) + "\n"
    return files


def _reviews(count: int) -> Mapping[str, str]:
    """One file of reviews."""
    rows = (f"{1 + number % 5}\t{' '.join(_WORDS[number % 9 :])} {number}" for number in range(count))
    return {"reviews/train.tsv": "\n".join(rows) + "\n"}


SCENARIOS = (
    Scenario(
        "dead_codes_are_restarted_by_one_rank",
        "Frames of rank 2 fall silent, so it alone restarts codes, with a broadcast; DETAIL compares the calls.",
        "codebook.py",
        Truth("collective_mismatch", (2,), ("software", "data")),
        layout=Layout.TEE,
        environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        files=_frames(2, 144),
        group_timeout_s=20,
    ),
    Scenario(
        "report_by_tokens_of_each_rank",
        "Sentences of rank 1 are longer: it comes to its report, a reduction, before the others do. Dumps.",
        "pairs_mt.py",
        Truth("collective_mismatch", (1,), ("software", "data")),
        layout=Layout.STREAM,
        environment=_RECORDER,
        files=_sentences((9, 13, 9, 9)),
        acts=(Act(r"rank 0 step 8 ", _records, 8.0),),
        group_timeout_s=22,
    ),
    Scenario(
        "counts_are_longer_on_one_rank",
        "A region of rank 3 has unlabelled parcels: it counts 256 classes and reduces more numbers than the others.",
        "parcels.py",
        Truth("collective_mismatch", (3,), ("data", "software")),
        layout=Layout.FILES,
        files=_parcels((3, 2)),
        group_timeout_s=20,
    ),
    Scenario(
        "one_line_left_for_the_first_rank",
        "193 lines for four ranks: rank 0 has a batch more, which the others miss: they wait after the epoch. Stacks.",
        "reviews.py",
        Truth("collective_mismatch", (0,), ("data", "software")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        environment=_RECORDER,
        files=_reviews(193),
        acts=(Act(r"r3 - epoch 0 batch 5", _stacks_and_records, 7.0),),
        group_timeout_s=18,
    ),
)
