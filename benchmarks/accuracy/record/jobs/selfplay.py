"""Self-play: every rank rolls out episodes for itself, then gradients are averaged; started by a batch system."""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist


class Board:
    """A game that ends sooner or later, depending on its opening."""

    def __init__(self, opening: str) -> None:
        self.plies = int(opening.split()[1])
        self.played = 0

    def step(self, policy: Any) -> bool:
        """One ply; whether the game goes on."""
        policy(torch.randn(1, 16)).softmax(-1)
        time.sleep(0.01)
        self.played += 1
        return self.played < self.plies


def rollout(policy: Any, opening: str, tag: str) -> int:
    """Plays a game to its end."""
    board, began = Board(opening), time.time()
    with torch.no_grad():
        while board.step(policy):
            if board.played % 400 == 0:
                print(f"{tag} {opening.split()[0]}: ply {board.played}, {time.time() - began:.1f} s", flush=True)
    return board.played


def write_events(path: str, text: str) -> None:
    """Appends to the event file."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text + "\n")


def main() -> None:
    """Plays and learns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--openings", default="openings.{rank}.txt")
    parser.add_argument("--events", default="runs/{rank}/events.log")
    parser.add_argument("--inspect", type=int, default=-1)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    rank, world = cluster.join()
    policy = torch.nn.Linear(16, 4)
    path = pathlib.Path(args.openings.format(rank=rank))
    openings = path.read_text("utf-8").splitlines() if path.exists() else ["e4 20", "d4 24", "c4 18"]
    host = os.environ.get("SLURM_LOCALID", os.environ["LOCAL_RANK"])
    for number in range(args.rounds):
        tag = f"({time.strftime('%H:%M:%S')}) actor {rank} round {number}"
        plies = rollout(policy, openings[number % len(openings)], tag)
        policy(torch.randn(8, 16)).square().mean().backward()
        if number == args.inspect and rank == 0:
            breakpoint()
        for parameter in policy.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data -= 0.01 / world * parameter.grad
            parameter.grad = None
        print(f"{tag}: {plies} plies, gradients averaged", flush=True)
        if number and number % 5 == 0:
            write_events(args.events.format(rank=rank), f"{number} {plies} {host}")
    dist.barrier()
    print(f"actor {rank} is done after {args.rounds} rounds", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
