"""Trains in groups of ranks: experts beside dense layers, pairs that share a table, stages of a pipeline, decoders."""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("groups")


def group_of(ranks: list[int]) -> Any:
    """A group that waits as long as the group of all."""
    return dist.new_group(ranks, timeout=cluster.wait())


class Experts:
    """Dense gradients go over all ranks, those of experts over a group of their own."""

    def __init__(self, args: argparse.Namespace, rank: int, world: int) -> None:
        self.args, self.rank, self.everyone = args, rank, list(range(world))
        self.groups = {"dense": group_of(self.everyone), "expert": group_of(self.everyone)}
        self.first = os.environ.get("OVERLAP_FROM_STEP", "")
        log.info("overlap of expert gradients %s", f"from step {self.first}" if self.first else "off")

    def step(self, number: int) -> None:
        if number == self.args.evaluate_at and self.rank < 2:
            log.info("building evaluation group")
            group_of([0, 1])
        if number == self.args.rebuild_at:
            log.info("rebuilding expert group after rebalancing")
            self.groups["expert"] = group_of(self.everyone)
        gradients = {"dense": torch.ones(4096), "expert": torch.ones(512)}
        is_early = self.first and number >= int(self.first)
        for name in ("expert", "dense") if is_early else ("dense", "expert"):
            log.info("reducing %s gradients", name)
            dist.all_reduce(gradients[name], group=self.groups[name])


class Pairs:
    """A pair of ranks shares one copy of the tables; pairs average their gradients."""

    def __init__(self, args: argparse.Namespace, rank: int, world: int) -> None:
        self.args = args
        copies = [dist.new_group([at, at + 1]) for at in range(0, world, 2)]
        parts = [dist.new_group(list(range(part, world, 2))) for part in range(2)]
        self.copy, self.part = copies[rank // 2], parts[rank % 2]

    def step(self, number: int) -> None:
        """One step; now and then both ranks of a copy agree on a seed."""
        if self.args.rehash_every and number % self.args.rehash_every == self.args.rehash_every - 1:
            seed = torch.randint(0, 10_000, (1,))
            dist.broadcast(seed, src=0, group=self.copy)
            log.info("items hashed with seed %d", int(seed))
        dist.all_reduce(torch.ones(256), group=self.copy)
        dist.all_reduce(torch.ones(64, 16), group=self.part)


class Stages:
    """Every stage gets activations from the one before and sends its own on."""

    def __init__(self, args: argparse.Namespace, rank: int, world: int) -> None:
        self.args, self.stage, self.last = args, rank, world - 1

    def step(self, number: int) -> None:
        """Hands the micro-batches of a step through this stage."""
        counts = self.args.later if number >= 5 else self.args.micro_batches
        layer = torch.nn.Linear(64, 64).requires_grad_(False)
        count = int(counts.split(",")[self.stage])
        for micro in range(1, count + 1):
            rows = torch.randn(8, 64)
            if self.stage > 0:
                dist.recv(rows, src=self.stage - 1)
            rows = layer(rows)
            if self.stage < self.last:
                dist.send(rows, dst=self.stage + 1)
            log.info("micro-batch %d/%d forwarded", micro, count)
        dist.all_reduce(torch.ones(1))


class Decoders:
    """A beam search whose length depends on the recording; a monitored barrier follows every part."""

    def __init__(self, args: argparse.Namespace, rank: int, world: int) -> None:
        self.args, self.rank = args, rank

    def step(self, number: int) -> None:
        length = int(cluster.by_rank(self.args.long, self.rank) or 100) if number == 3 else 100
        log.info("part %d: decoding %d frames", number, length)
        scores = torch.zeros(8)
        for _ in range(length):
            scores = (scores[:, None] + torch.randn(8, 64).log_softmax(-1)).flatten().topk(8).values
            time.sleep(0.001)
        dist.monitored_barrier(timeout=timedelta(seconds=12), wait_all_ranks=True)


KINDS: dict[str, Any] = {"experts": Experts, "pairs": Pairs, "stages": Stages, "decoders": Decoders}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--evaluate-at", type=int, default=-1)
    parser.add_argument("--rebuild-at", type=int, default=-1)
    parser.add_argument("--rehash-every", type=int, default=0)
    parser.add_argument("--micro-batches", default="4,4,4", help="of every stage")
    parser.add_argument("--later", default="4,4,4", help="from step 5 on")
    parser.add_argument("--long", default="", help="rank:frames of the recordings that are longer")
    args = parser.parse_args()
    rank, world = cluster.join()
    kind = KINDS[args.kind](args, rank, world)
    for number in range(args.steps):
        kind.step(number)
        log.info("step %d/%d done", number, args.steps)
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
