"""Pre-trains a toy language model on random tokens in the style of Megatron's loop; saves and samples now and then."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class TokenModel(torch.nn.Module):
    """Embeds a token and predicts the next one."""

    def __init__(self, vocabulary: int = 256, width: int = 32) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens: Any) -> Any:
        """The logits of the next tokens."""
        return self.head(self.embed(tokens))


def generate(model: Any, count: int) -> list[int]:
    """Samples tokens one by one."""
    tokens = [0]
    with torch.no_grad():
        while len(tokens) < count:
            logits = model.module(torch.tensor(tokens[-64:]))[-1]
            tokens.append(int(torch.multinomial(logits.softmax(-1), 1)))
    return tokens


def save(model: Any, folder: str, iteration: int) -> None:
    """Writes a checkpoint."""
    path = Path(folder) / f"iter_{iteration:07d}.pt"
    print(f"saving checkpoint at iteration {iteration} to {path}", flush=True)
    torch.save({"iteration": iteration, "model": model.state_dict()}, path)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-iters", type=int, default=40)
    parser.add_argument("--iter-seconds", type=float, default=0.25)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--save")
    parser.add_argument("--save-interval", type=int, default=10)
    parser.add_argument("--sample-interval", type=int, default=0)
    parser.add_argument("--sample-tokens", type=int, default=100)
    parser.add_argument("--data", default="")
    return parser.parse_args()


def tokens_of(args: argparse.Namespace, rank: int) -> Any:
    """One batch of tokens, weighted by the data file of this rank where there is one."""
    batch = torch.randint(0, 256, (8, 33))
    scale = 1.0
    path = Path(args.data.format(rank=rank)) if args.data else None
    if path is not None and path.exists():
        scale = float(path.read_text("utf-8"))
    return batch, scale


def main() -> None:
    """Trains."""
    args = parse()
    if os.environ.get("USE_ROTARY_KERNELS"):
        import rotary_kernels

        rotary_kernels.build()
    rank, world = cluster.join()
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    print(f"rank {rank}: group of {world} ready, restart count {attempt}", flush=True)
    model = DistributedDataParallel(TokenModel())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for iteration in range(1, args.train_iters + 1):
        began = time.time()
        batch, scale = tokens_of(args, rank)
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()) * scale
        if not math.isfinite(loss.item()):
            print(f"rank {rank}: loss is {loss.item()}, stopping training", flush=True)
            sys.exit(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(args.iter_seconds)
        print(
            f" [rank {rank}] iteration {iteration:8d}/{args.train_iters:8d} | elapsed time per iteration (ms): "
            f"{1000 * (time.time() - began):.1f} | lm loss: {loss.item():.6E} |",
            flush=True,
        )
        if rank == 0 and args.save and iteration % args.save_interval == 0:
            save(model, args.save, iteration)
        if rank == 0 and args.sample_interval and iteration % args.sample_interval == 0:
            print(f"generating {args.sample_tokens} tokens for the validation report", flush=True)
            generate(model, args.sample_tokens)
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank}: training finished", flush=True)


if __name__ == "__main__":
    main()
