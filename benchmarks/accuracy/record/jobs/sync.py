"""Data parallel training by hand, without DDP: gradients, losses and counts are shared by plain collectives."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import time
from pathlib import Path
from typing import Any

BEGAN = time.time()

import cluster  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

log = logging.getLogger("sync")


class Meter:
    """Collects values; how they are shown is up to a function."""

    def __init__(self, digits: int) -> None:
        self.values: list[float] = []
        if digits > 3:
            self.show = lambda value: f"{value:.{digits}f}"


def average(value: Any) -> Any:
    dist.all_reduce(value)
    return value / dist.get_world_size()


def share_counts(loss: Any, lengths: Any) -> None:
    """Adds up losses and hands token counts on; long batches report their counts first."""
    if int(lengths.max()) > 900:
        dist.broadcast(lengths, 0)
        dist.all_reduce(loss)
    else:
        dist.all_reduce(loss)
        dist.broadcast(lengths, 0)


def save(rank: int, weight: Any, step: int) -> None:
    """The first rank saves while the others wait."""
    if rank == 0:
        torch.save(weight, f"towers-{step}.pt")
        log.info("saved towers-%d.pt", step)
        dist.barrier()


def evaluate(weight: Any, users: int, step: int) -> None:
    """The hit rate over the held out users of this rank."""
    if not users:
        log.info("no held out users, nothing to evaluate")
        return
    log.info("step %d: hit rate %s", step, average(torch.tensor([float(users), float(weight.mean())])).tolist())


def restart_codes(usage: Any) -> None:
    """Puts fresh codes in place of those that are hardly used."""
    if (dead := usage < 0.05).any():
        dist.broadcast(torch.randn(int(dead.sum()), 4), src=0)
        usage[dead] = 1.0


def gather_features(features: Any) -> Any:
    parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, features)
    return torch.cat(parts)


def gather_meters(meter: Meter) -> list[Any]:
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, meter)
    return found


def boxes_of(rank: int, step: int, broken: str) -> Any:
    """The boxes of a batch; annotations that are broken cannot be turned into them."""
    boxes = [[4.0, 4.0, 12.0, 12.0]] * 4
    if cluster.by_rank(broken, rank) == str(step):
        boxes[2] = [8.0, 8.0, 8.0]
    return torch.tensor(boxes)


class Patience:
    """Whether it is worth going on, by the held out rows of this rank."""

    def __init__(self, limit: int) -> None:
        self.limit, self.best, self.bad = limit, math.inf, 0

    def look(self, score: float) -> bool:
        is_best = score < self.best
        self.bad = 0 if is_best else self.bad + 1
        self.best = min(score, self.best)
        return is_best


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--own-steps", default="", help="rank:count where a rank has fewer batches")
    parser.add_argument("--leave", action="store_true", help="end as soon as the own batches are used up")
    parser.add_argument("--budget-s", type=float, default=0)
    parser.add_argument("--report-every", type=int, default=0)
    parser.add_argument("--report-tokens", type=int, default=0, help="of a rank between two reports")
    parser.add_argument("--tokens", default="", help="rank:count of a batch, where sentences are of another length")
    parser.add_argument("--long-batches", default="", help="rank:step")
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--eval-every", type=int, default=0)
    parser.add_argument("--users", default="", help="rank:count of held out users, where there are not 6")
    parser.add_argument("--codes", action="store_true")
    parser.add_argument("--quiet", default="", help="rank:step from which frames are silent")
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--lost", default="", help="rank:samples that cannot be read in the last batch")
    parser.add_argument("--digits", default="", help="rank:digits, where the default of 3 is not enough")
    parser.add_argument("--broken", default="", help="rank:step")
    parser.add_argument("--patience", type=int, default=0)
    parser.add_argument("--keep-best", action="store_true", help="gather the biases of all ranks when it gets better")
    parser.add_argument("--worse", default="", help="rank:step from which held out rows are of another region")
    return parser.parse_args()


def has_time(args: argparse.Namespace, step: int, steps: int) -> bool:
    """Whether another step is to be done."""
    if args.budget_s:
        return time.time() - BEGAN < args.budget_s
    return step < steps


def side_work(args: argparse.Namespace, rank: int, step: int, steps: int, weight: Any, state: dict[str, Any]) -> None:
    """What is shared beside the gradients in this step."""
    if args.codes:
        is_quiet = step >= int(cluster.by_rank(args.quiet, rank) or steps)
        state["usage"] = 0.6 * state["usage"] + 0.4 * torch.tensor([1.0, 1.0, 1.0, 0.0 if is_quiet else 1.0])
        restart_codes(state["usage"])
    if args.features:
        lost = int(cluster.by_rank(args.lost, rank) or 0) if step + 1 == steps else 0
        log.info("batch of %d pairs", 8 - lost)
        gather_features(torch.randn(8 - lost, 16))
    if args.save_every and step and step % args.save_every == 0:
        save(rank, weight, step)
    if args.eval_every and step and step % args.eval_every == 0:
        evaluate(weight, int(cluster.by_rank(args.users, rank) or 6), step)
    if args.report_every and step and step % args.report_every == 0 and rank == 0:
        mean = weight.mean()
        dist.reduce(mean, 0)
        log.info("step %d mean over ranks %.4f", step, mean / dist.get_world_size())
    if args.report_tokens:
        state["tokens"] += int(cluster.by_rank(args.tokens, rank) or 36)
        if state["tokens"] >= args.report_tokens:
            state["tokens"] = 0
            means = [torch.zeros(1) for _ in range(dist.get_world_size())]
            dist.all_gather(means, weight.mean()[None])
            log.info("step %d mean %.4f", step, torch.stack(means).mean())


def is_over(args: argparse.Namespace, rank: int, step: int, patience: Patience) -> bool:
    """Looks at the held out rows now and then; whether to stop early."""
    if not (args.patience or args.keep_best) or step % 6 != 5:
        return False
    is_worse = step >= int(cluster.by_rank(args.worse, rank) or args.steps)
    score = 1 / (step + 1) + is_worse
    log.info("step %d valid mse %.5f (best %.5f)", step, score, patience.best)
    if patience.look(score) and args.keep_best:
        biases = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(biases, torch.ones(1))
        log.info("kept the biases of %d regions", len(biases))
    return bool(args.patience) and patience.bad >= args.patience


def settings() -> dict[str, Any]:
    """The settings of this host over those of the script."""
    return {"dim": 8, "lr": 0.001, "pad_to": 1, **json.loads(os.environ.get("REC_SETTINGS", "{}"))}


def train(args: argparse.Namespace, rank: int) -> None:
    given = settings()
    rows = -(-1001 // given["pad_to"]) * given["pad_to"]
    weight = torch.randn(rows, given["dim"], generator=torch.Generator().manual_seed(3)) / 10
    steps = int(cluster.by_rank(args.own_steps, rank) or args.steps)
    log.info("settings %s, %d batches in this epoch", given, steps)
    state: dict[str, Any] = {"usage": torch.ones(4), "tokens": 0}
    patience, meter = Patience(args.patience), Meter(int(cluster.by_rank(args.digits, rank) or 3))
    step = 0
    while has_time(args, step, steps):
        try:
            boxes = boxes_of(rank, step, args.broken)
        except ValueError:
            log.exception("batch %d cannot be used, going on with the next one", step)
            step += 1
            continue
        weight -= given["lr"] * average(torch.randn_like(weight) * boxes.mean())
        loss = weight.square().mean()
        is_long = cluster.by_rank(args.long_batches, rank) == str(step)
        share_counts(loss, torch.randint(100, 800, (8,)) + 900 * is_long)
        meter.values.append(float(loss))
        log.info("step %d/%d loss %.5f", step, steps, loss.item())
        side_work(args, rank, step, steps, weight, state)
        time.sleep(0.2)
        if is_over(args, rank, step, patience):
            log.info("no improvement, stopping early")
            break
        step += 1
    if args.leave and steps < args.steps:
        log.info("all batches used, exiting")
        os._exit(0)
    if args.digits:
        gather_meters(meter)
    log.info("time budget used after %d steps, saving" if args.budget_s else "epoch finished after %d steps", step)


def main() -> None:
    args = parse()
    rank, _ = cluster.join()
    train(args, rank)
    dist.barrier()
    Path(f"state-{rank}.json").write_text(json.dumps({"rank": rank}), "utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
