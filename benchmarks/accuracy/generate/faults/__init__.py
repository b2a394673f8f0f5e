"""The faults without a scenario of their own, by part and side; to import this registers them all."""

from benchmarks.accuracy.generate.faults import (
    fourth_stalls,
    fourth_storage,
    fourth_surroundings,
    fourth_training,
    known_storage,
    known_training,
    second_storage,
    second_training,
    shared_storage,
    shared_training,
    third_stalls,
    third_storage,
    third_surroundings,
    third_training,
)
from benchmarks.accuracy.generate.kinds import KINDS

__all__ = [
    "KINDS",
    "fourth_stalls",
    "fourth_storage",
    "fourth_surroundings",
    "fourth_training",
    "known_storage",
    "known_training",
    "second_storage",
    "second_training",
    "shared_storage",
    "shared_training",
    "third_stalls",
    "third_storage",
    "third_surroundings",
    "third_training",
]
