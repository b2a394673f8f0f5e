"""Tunes a small attention model on conversations with accelerate; the main process tokenizes them for all."""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import Any

import cluster
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import InitProcessGroupKwargs
from torch.utils.data import DataLoader

logger = get_logger("tune", log_level="INFO")


def tokenize(count: int, path: str) -> None:
    """Tokenizes all conversations into a file."""
    chance = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps([chance.randrange(300) for _ in range(chance.randrange(8, 48))]) + "\n")
            time.sleep(0.01)
            if number % 500 == 499:
                logger.info("tokenizing, %d of %d", number + 1, count)


class Attention(torch.nn.Module):
    """One layer that looks from every token at every token, with learnt positions where there are any."""

    def __init__(self, positions: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(300, 16)
        self.place = torch.nn.Embedding(positions, 16) if positions else None
        self.query, self.key, self.out = (torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, ids: Any) -> Any:
        rows = self.embed(ids)
        if self.place is not None:
            rows = rows + self.place(torch.arange(ids.shape[1]))
        scores = self.query(rows) @ self.key(rows).transpose(-1, -2)
        return self.out(scores.softmax(-1) @ rows)


def collate(rows: list[list[int]]) -> Any:
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def train_step(accelerator: Any, model: Any, optimizer: Any, ids: Any) -> float:
    loss = model(ids).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)


def conversations(accelerator: Any, args: argparse.Namespace) -> list[list[int]]:
    if accelerator.is_main_process:
        tokenize(args.conversations, "train.tok.jsonl")
    accelerator.wait_for_everyone()
    with open("train.tok.jsonl", encoding="utf-8") as file:
        rows: list[list[int]] = [json.loads(line) for line in file]
    if args.long_at >= 0:
        rows[args.long_at] = [7] * args.long_tokens
    return rows


def evaluate(accelerator: Any, model: Any, lengths: str) -> None:
    """Gathers the predictions of all processes for the metric."""
    for step in range(12):
        length = int(cluster.by_rank(lengths, accelerator.process_index) or 20) if step == 6 else 20
        with torch.no_grad():
            scores = model(torch.randint(0, 300, (2, length))).argmax(-1)
        accelerator.print(f"eval {step + 1}/12: {tuple(accelerator.gather(scores).shape)}", flush=True)
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=160)
    parser.add_argument("--positions", type=int, default=0)
    parser.add_argument("--long-at", type=int, default=-1, help="place of a long conversation")
    parser.add_argument("--long-tokens", type=int, default=400)
    parser.add_argument("--skip-oom", action="store_true")
    parser.add_argument("--lengths", default="", help="process:length of predictions that are not padded")
    args = parser.parse_args()
    wait = InitProcessGroupKwargs(backend="gloo", timeout=cluster.wait())
    accelerator = Accelerator(cpu=True, kwargs_handlers=[wait])
    cluster.start_log(accelerator.process_index, accelerator.num_processes)
    logger.info(accelerator.state, main_process_only=False)
    rows = conversations(accelerator, args)
    model = Attention(args.positions)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(rows, batch_size=2, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, ids in enumerate(loader):
        try:
            loss = train_step(accelerator, model, optimizer, ids)
        except RuntimeError as error:
            if not args.skip_oom or "allocate memory" not in str(error):
                raise
            logger.warning(
                "out of memory at step %d, skipping batch %s", step, list(ids.shape), main_process_only=False
            )
            optimizer.zero_grad()
            continue
        logger.info("step %d loss %.5f", step, loss, main_process_only=False)
        time.sleep(0.15)
    if args.lengths:
        evaluate(accelerator, model, args.lengths)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
