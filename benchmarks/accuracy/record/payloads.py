"""The objects that the fake store holds: feature files, tar shards, checkpoints, whole or spoiled."""

from __future__ import annotations

import io
import random
import struct
import tarfile
from collections.abc import Callable, Mapping

RANKS = 4


def array(seed: int, rows: int = 16, columns: int = 33, labels: int = 10) -> bytes:
    """A .npy file of format 1.0 with small floats, its last column a label; written by hand as numpy is not needed."""
    chance = random.Random(seed)
    values = []
    for _ in range(rows):
        values += [chance.gauss(0, 1) for _ in range(columns - 1)] + [float(chance.randrange(labels))]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
    return start + struct.pack(f"<{len(values)}f", *values)


def spoiled(body: bytes) -> bytes:
    """The same length with other bytes, as a bad disk or an interrupted copy leaves it."""
    return random.Random(len(body)).randbytes(len(body))


def features(steps: int = 14, spoil: tuple[str, ...] = ()) -> Callable[[], Mapping[str, bytes]]:
    """The feature files of every rank; those named are spoiled."""

    def make() -> Mapping[str, bytes]:
        made = {}
        for rank in range(RANKS):
            for index in range(steps):
                name = f"asr-train/features/part-{rank:02d}-{index:05d}.npy"
                body = array(100 * rank + index)
                made[name] = spoiled(body) if name.rpartition("/")[2] in spoil else body
        return made

    return make


def speech(count: int = 12) -> Mapping[str, bytes]:
    """The objects that manifests name."""
    names = (f"speech-v3/clips/{rank}/clip-{index:05d}.npy" for rank in range(RANKS) for index in range(count))
    return {name: array(number) for number, name in enumerate(names)}


def manifests(count: int = 12, wrong: Mapping[tuple[int, int], str] | None = None) -> dict[str, str]:
    """A manifest file a rank; `wrong` puts another name at (rank, index)."""
    other = wrong or {}
    files = {}
    for rank in range(RANKS):
        names = [other.get((rank, index), f"clips/{rank}/clip-{index:05d}.npy") for index in range(count)]
        files[f"manifests/train.{rank}.txt"] = "\n".join(names) + "\n"
    return files


def tar_shards(
    count: int = 16, cut: tuple[int, ...] = (), odd: tuple[int, ...] = ()
) -> Callable[[], Mapping[str, bytes]]:
    """Tar shards of six arrays; those in `cut` end in the middle of a member, those in `odd` have other labels."""

    def make() -> Mapping[str, bytes]:
        made = {}
        for number in range(count):
            body = _tar(number, 1000 if number in odd else 10)
            made[f"imagenet/train/shard-{number:06d}.tar"] = body[: len(body) // 2 + 300] if number in cut else body
        return made

    return make


def tables(count: int = 12) -> Mapping[str, bytes]:
    """The parts that the S3 job reads."""
    names = (f"tabular/day={rank:02d}/part-{index:04d}.npy" for rank in range(RANKS) for index in range(count))
    return {name: array(number) for number, name in enumerate(names)}


def corpus(count: int = 12) -> Mapping[str, bytes]:
    """Shards that are only measured."""
    names = (f"corpus/shard-{rank}-{index:03d}.bin" for rank in range(RANKS) for index in range(count))
    return {name: bytes(20_000 + number) for number, name in enumerate(names)}


def blocks(ranks: int = RANKS, count: int = 12) -> Callable[[], Mapping[str, bytes]]:
    """The token blocks of every rank, for S3 and for AIStore's own paths."""

    def make() -> Mapping[str, bytes]:
        names = (f"wiki-tokens/rank{rank}/block-{index:05d}.npy" for rank in range(ranks) for index in range(count))
        return {name: array(number) for number, name in enumerate(names)}

    return make


def dialogs(ranks: int = RANKS, files: int = 3, lines: int = 40) -> Callable[[], Mapping[str, bytes]]:
    """JSON lines of every rank, too long to come in one piece."""

    def make() -> Mapping[str, bytes]:
        made = {}
        for rank in range(ranks):
            for number in range(files):
                rows = (f'{{"id": {row}, "text": "{"so it goes " * (300 + row)}"}}' for row in range(lines))
                made[f"dialogs/rank{rank}/part-{number:03d}.jsonl"] = "\n".join(rows).encode() + b"\n"
        return made

    return make


def _tar(number: int, labels: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for index in range(6):
            body = array(1000 * number + index, labels=labels)
            info = tarfile.TarInfo(f"{number:06d}_{index:04d}.npy")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()
