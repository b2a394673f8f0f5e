"""Fine-tunes on recordings read as files through the AIStore SDK; the first rank loads and saves the weights."""

from __future__ import annotations

import argparse
import io
import logging
import os
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from aistore.sdk import Client

log = logging.getLogger("finetune")


class Encoder(torch.nn.Module):
    """A projection and a head."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self.projection = torch.nn.Linear(32, 16)
        self.add_module(head, torch.nn.Linear(16, 10))
        self.head = head

    def forward(self, rows: Any) -> Any:
        """Scores of the classes."""
        return self.get_submodule(self.head)(self.projection(rows).relu())


def read_rows(bucket: Any, name: str, resumes: int) -> Any:
    """Reads a recording as a file that goes on where a connection broke."""
    with bucket.object(name).get_reader().as_file(max_resume=resumes) as file:
        return torch.from_numpy(np.load(io.BytesIO(file.read()))).float()


def share_weights(model: Any) -> None:
    """All ranks get the weights of the first."""
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)


def warm_start(model: Any, rank: int, kept: Any) -> None:
    """The first rank takes over the weights of the teacher."""
    if rank == 0:
        log.info("loading teacher weights into the student")
        model.load_state_dict(kept)
    share_weights(model)


def save(bucket: Any, model: Any, step: int) -> None:
    """Writes the weights to the bucket."""
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    log.info("writing checkpoints/step-%d.pt, %d bytes", step, buffer.tell())
    bucket.object(f"checkpoints/step-{step}.pt").get_writer().put_content(buffer.getvalue())


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--max-resume", type=int, default=5)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--teacher-at", type=int, default=-1)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank {rank} %(levelname)s %(name)s: %(message)s")
    name = os.environ.get("BUCKET", "speech-v3")
    log.info("rank %d of %d reads bucket %s at %s", rank, world, name, os.environ["AIS_ENDPOINT"])
    bucket = Client(os.environ["AIS_ENDPOINT"], timeout=(3.0, 6.0)).bucket(name)
    model, teacher = Encoder("classifier"), Encoder("ctc_head")
    share_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(args.steps):
        rows = read_rows(bucket, f"clips/{rank}/clip-{step:05d}.npy", args.max_resume)
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        log.info("step %d/%d loss %.4f", step + 1, args.steps, loss.item())
        if args.save_every and (step + 1) % args.save_every == 0:
            if rank == 0:
                save(bucket, model, step + 1)
            dist.barrier()
        if step == args.teacher_at:
            warm_start(model, rank, teacher.state_dict())
    log.info("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
