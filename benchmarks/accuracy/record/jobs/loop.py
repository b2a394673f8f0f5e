"""The training loop that scripts share: a model, with DDP or by hand, and the steps of its optimizer."""

from __future__ import annotations

import logging
import time
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def average_gradients(model: Any) -> None:
    """Averages the gradients of all ranks, parameter by parameter."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


class Loop:
    """Steps of an optimizer, each with a line in the log."""

    def __init__(self, model: Any, total: int = 0, ddp: bool = True, pause: float = 0.2, **options: Any) -> None:
        self.ddp, self.total, self.pause = ddp, total, pause
        self.model = DistributedDataParallel(model, **options) if ddp else model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        self.done = 0

    def step(self, loss: Any) -> float:
        self.optimizer.zero_grad()
        loss.backward()
        if not self.ddp:
            average_gradients(self.model)
        self.optimizer.step()
        self.done += 1
        log.info("step %d/%d loss %.4f", self.done, self.total, loss.item())
        time.sleep(self.pause)
        return float(loss)

    def end(self) -> None:
        """Waits for all others and leaves the group."""
        dist.barrier()
        log.info("training finished")
        dist.destroy_process_group()


def classify(model: Any, rows: Any) -> Any:
    """The loss of rows whose last column is their class."""
    return torch.nn.functional.cross_entropy(model(rows[:, :-1]), rows[:, -1].long())
