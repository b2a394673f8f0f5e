"""Pre-trains a toy language model in the style of well-known loops; saves, samples and answers signals."""

from __future__ import annotations

import argparse
import logging
import math
import os
import signal
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from loop import Loop

log = logging.getLogger("pretrain")
stop = threading.Event()


class TokenModel(torch.nn.Module):
    """Embeds a token and predicts the next one."""

    def __init__(self, vocabulary: int = 256, width: int = 32) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.embed(tokens))


def generate(model: Any, count: int) -> list[int]:
    tokens = [0]
    with torch.no_grad():
        while len(tokens) < count:
            logits = model.module(torch.tensor(tokens[-64:]))[-1]
            tokens.append(int(torch.multinomial(logits.softmax(-1), 1)))
    return tokens


def save(model: Any, folder: str, step: int) -> None:
    path = Path(folder) / f"iter_{step:07d}.pt"
    log.info("saving checkpoint at iteration %d to %s", step, path)
    torch.save({"iteration": step, "model": model.state_dict()}, path)


def rate(step: int, total: int) -> float:
    """A circular schedule: slow at first, falling to nothing at the end."""
    return 0.1 * math.sqrt(1 - (step / total) ** 2)


def on_signal(number: int, _frame: Any) -> None:
    """Asks the loop to stop after this step, as the batch system warns before it ends a job."""
    log.warning("received %s, will save and stop after this step", signal.Signals(number).name)
    stop.set()


def push_gauges(url: str, rank: int) -> None:
    while True:
        time.sleep(2.5)
        urllib.request.urlopen(f"{url}/metrics/job/pretrain", f'{{"rank": {rank}}}'.encode(), timeout=5).close()


def own_group(where: str) -> None:
    """Joins at an address of its own, as scripts do that were written for `mp.spawn`."""
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=where, rank=rank, world_size=world, timeout=cluster.wait())
    dist.destroy_process_group()


def token_cache(folder: str, rank: int, count: int = 4 << 20) -> Any:
    """The tokens of this rank, written once and mapped into memory."""
    path = Path(folder) / f"tokens_rank{rank}.bin"
    if not path.exists() or not path.stat().st_size:
        path.parent.mkdir(parents=True, exist_ok=True)
        log.info("building %s", path)
        np.random.default_rng(rank).integers(0, 255, count, dtype=np.uint16).tofile(path)
    return np.memmap(path, dtype=np.uint16, mode="r")


def batch_of(cache: Any, step: int, total: int) -> Any:
    """A batch of tokens, of the cache where there is one."""
    if cache is None:
        return torch.randint(0, 256, (8, 33))
    at = (step - 1) * (len(cache) // total)
    return torch.from_numpy(cache[at : at + 264].astype(np.int64)).view(8, 33)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pretrain.py")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.2)
    parser.add_argument("--schedule-steps", type=int, default=0, help="of the schedule, when it differs")
    parser.add_argument("--save", default="")
    parser.add_argument("--save-interval", type=int, default=10)
    parser.add_argument("--sample-interval", type=int, default=0)
    parser.add_argument("--sample-tokens", type=int, default=100)
    parser.add_argument("--token-cache", default="")
    parser.add_argument("--loss-scale", default="", help="file of every rank, {rank} in its name")
    parser.add_argument("--vocabulary-root", action="store_true")
    parser.add_argument("--inspect-at", type=int, default=0)
    parser.add_argument("--gauges", default="")
    parser.add_argument("--init-method", default="")
    return parser.parse_args()


def prepare(args: argparse.Namespace) -> None:
    """What the script wants of its host before it joins."""
    if os.environ.get("USE_ROTARY_KERNELS"):
        import rotary_kernels

        rotary_kernels.build()
    if args.vocabulary_root:
        print(f"vocabulary {os.environ['CORPUS_ROOT']}/vocab.en.txt", flush=True)
    if args.init_method:
        own_group(args.init_method)
    signal.signal(signal.SIGUSR1, on_signal)


def train(args: argparse.Namespace, rank: int) -> None:
    cache = token_cache(args.token_cache, rank) if args.token_cache else None
    path = Path(args.loss_scale.format(rank=rank))
    scale = float(path.read_text("utf-8")) if path.is_file() else 1.0
    device = torch.device(os.environ.get("TRAIN_DEVICE", "cpu"))
    loop = Loop(TokenModel().to(device), args.steps, pause=args.pause)
    for step in range(1, args.steps + 1):
        loop.optimizer.param_groups[0]["lr"] = rate(step, args.schedule_steps or args.steps + 1)
        batch = batch_of(cache, step, args.steps)
        logits = loop.model(batch[:, :-1].to(device))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()) * scale
        if not math.isfinite(loss.item()):
            log.info("loss is %s, stopping training", loss.item())
            sys.exit(1)
        loop.step(loss)
        if rank == 0 and step == args.inspect_at:
            breakpoint()
        if rank == 0 and args.save and step % args.save_interval == 0:
            save(loop.model, args.save, step)
        if rank == 0 and args.sample_interval and step % args.sample_interval == 0:
            log.info("generating %d tokens for the validation report", args.sample_tokens)
            generate(loop.model, args.sample_tokens)
        if args.gauges and step % 9 == 0:
            log.warning("gradient overflow, scale is halved to %.0f", 2.0 ** (16 - step // 9))
        if stop.is_set():
            torch.save(loop.model.state_dict(), f"resume-{rank}.pt")
            log.info("saved resume-%d.pt for a later resume", rank)
            break
    loop.end()


def main() -> None:
    args = parse()
    prepare(args)
    rank, _ = cluster.join()
    if args.gauges:
        threading.Thread(target=push_gauges, args=(args.gauges, rank), name="gauges", daemon=True).start()
    train(args, rank)


if __name__ == "__main__":
    main()
