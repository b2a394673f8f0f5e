"""Trains on token blocks that aiohttp reads, several at a time; a read that fails may be tried again."""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import os
import time
from typing import Any

import aiohttp  # type: ignore[import-not-found]
import cluster
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger("pretrain")


async def read(session: aiohttp.ClientSession, name: str, tries: int) -> Any:
    """One block."""
    for attempt in range(tries):
        try:
            async with session.get(f"{os.environ['AIS_ENDPOINT']}/v1/objects/wiki-tokens/{name}") as response:
                response.raise_for_status()
                return np.load(io.BytesIO(await response.read()))
        except (aiohttp.ClientError, TimeoutError) as error:
            if attempt + 1 == tries:
                raise
            logger.warning("%s: %r, attempt %d of %d", name, error, attempt + 1, tries)
            await asyncio.sleep(0.5)
    raise AssertionError


async def read_all(names: list[str], tries: int) -> Any:
    """Some blocks at the same time."""
    limit = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=limit) as session:
        return await asyncio.gather(*(read(session, name, tries) for name in names))


def best_of(losses: list[float], wanted: float) -> int:
    """The step of the last loss that was low enough."""
    for step, loss in enumerate(losses):
        if loss < wanted:
            best = step
    return best


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--report-at", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s [{rank}] %(name)s %(levelname)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, datefmt="%m-%d %H:%M:%S")
    model = DistributedDataParallel(torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses: list[float] = []
    for turn in range(args.rounds):
        began = time.time()
        names = [f"rank{rank}/block-{number:05d}.npy" for number in (2 * turn, 2 * turn + 1)]
        blocks = asyncio.run(read_all(names, args.tries))
        logger.info("round %d: read %d blocks in %.2f s", turn, len(blocks), time.time() - began)
        for block in blocks:
            rows = torch.from_numpy(block)
            loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            time.sleep(0.3)
        logger.info("round %d: loss %.4f", turn, losses[-1])
        if args.report_at and turn + 1 == args.report_at and rank == world - 1:
            logger.info("best step so far %d", best_of(losses, 0.5))
    dist.barrier()
    logger.info("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
