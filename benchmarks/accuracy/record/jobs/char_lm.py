"""Trains a character-level language model with DDP; every rank reads a text file of its own."""

from __future__ import annotations

import argparse
import math
import os
import string
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

CHARS = "\n" + string.ascii_letters + string.digits + string.punctuation + " "
STOI = {ch: i for i, ch in enumerate(CHARS)}
PAD = STOI["\n"]


def encode(text: str) -> Any:
    """Text to ids."""
    return torch.tensor([STOI[c] for c in text])


class Bigram(torch.nn.Module):
    """Predicts the next character."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.wte = torch.nn.Embedding(len(CHARS), width)
        self.lm_head = torch.nn.Linear(width, len(CHARS))

    def forward(self, idx: Any, targets: Any) -> Any:
        """The loss; padding is not predicted."""
        logits = self.lm_head(torch.tanh(self.wte(idx)))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=PAD)


def get_batch(text: str, it: int, args: argparse.Namespace) -> Any:
    """The batch of an iteration; texts are read again from the start when they are over."""
    size = args.batch_size * args.block_size
    start = it * size % (len(text) - size)
    data = encode(text[start : start + size + 1])
    shape = (args.batch_size, args.block_size)
    return data[:-1].view(shape), data[1:].view(shape)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(prog="char_lm.py")
    parser.add_argument("--data-dir", default="data/books")
    parser.add_argument("--max-iters", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--block-size", type=int, default=32)
    parser.add_argument("--n-embd", type=int, default=24)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    args = parser.parse_args()
    rank, world = cluster.join()
    path = os.path.join(args.data_dir, f"part{rank}.txt")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    print(f"[rank {rank}] {path}: {len(text):,} characters, tokens per iteration {128 * world}", flush=True)
    model = DDP(Bigram(args.n_embd))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    t0 = time.time()
    for it in range(args.max_iters):
        x, y = get_batch(text, it, args)
        loss = model(x, y)
        if math.isnan(loss.item()):
            print(f"[rank {rank}] iter {it}: loss is nan, stopping", flush=True)
            break
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.2)
        t1 = time.time()
        print(f"[rank {rank}] iter {it}: loss {loss.item():.4f}, time {1000 * (t1 - t0):.2f}ms", flush=True)
        t0 = t1
    dist.barrier()
    if rank == 0:
        torch.save(model.module.state_dict(), "ckpt.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
