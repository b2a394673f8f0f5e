"""Evaluates with accelerate; predictions of all processes are gathered for the metric."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import InitProcessGroupKwargs

logger = get_logger(__name__)


def main() -> None:
    """Evaluates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", default="", help="process:step:length of predictions that are not padded")
    parser.add_argument("--steps", type=int, default=12)
    args = parser.parse_args()
    group = InitProcessGroupKwargs(backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"])))
    accelerator = Accelerator(cpu=True, kwargs_handlers=[group])
    longer = {one.rpartition(":")[0]: int(one.rpartition(":")[2]) for one in args.lengths.split(",") if one}
    model = accelerator.prepare(torch.nn.Linear(8, 4))
    accelerator.print(accelerator.state)
    for step in range(args.steps):
        length = longer.get(f"{accelerator.process_index}:{step}", 20)
        with torch.no_grad():
            scores = model(torch.randn(2, length, 8)).argmax(-1)
        gathered = accelerator.gather(scores)
        accelerator.print(
            f"{time.strftime('%H:%M:%S')} eval {step + 1}/{args.steps}: {tuple(gathered.shape)}", flush=True
        )
        time.sleep(0.2)
    accelerator.end_training()


if __name__ == "__main__":
    main()
