"""Trains a small Q network on replayed transitions, drawn by their priorities; errors are recorded for the launcher."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger("q")


class Replay:
    """The transitions of this rank with a priority each."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            rows = [[float(one) for one in line.split()] for line in file]
        self.table = torch.tensor(rows)

    def segment(self, number: int, length: int) -> Any:
        """A stretch of consecutive transitions."""
        return self.table[number * length : (number + 1) * length]

    @staticmethod
    def draw(segment: Any, count: int) -> Any:
        """So many transitions, the surprising ones more often."""
        priority = segment[:, -1] ** 0.6
        chosen = torch.multinomial(priority / priority.sum(), count, replacement=True)
        return segment[chosen]


class QNet(torch.nn.Module):
    """A value for every action."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.ReLU(), torch.nn.Linear(32, actions))

    def forward(self, state: Any) -> Any:
        """The values."""
        return self.body(state)


@record
def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--segment", type=int, default=24)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s %(levelname).1s q[{rank}/{world}] %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    replay = Replay(f"replay/actor{rank}.txt")
    logger.info("%d transitions", len(replay.table))
    net = DistributedDataParallel(QNet(4, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for update in range(args.updates):
        batch = replay.draw(replay.segment(update, args.segment), args.batch)
        values = net(batch[:, :4])
        wanted = batch[:, 4] + 0.97 * values.max(1).values.detach()
        loss = torch.nn.functional.smooth_l1_loss(values[:, 0], wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 3 == 0:
            logger.info("update %d loss %.4f", update, loss.item())
        time.sleep(0.15)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
