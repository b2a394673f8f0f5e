"""Fine-tunes a tiny language model with the Trainer of transformers; a callback evaluates between the epochs."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Captions(Dataset):
    """Random ids in place of captions."""

    def __init__(self, count: int) -> None:
        self.ids = torch.randint(5, 90, (count, 10), generator=torch.Generator().manual_seed(count))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.03)
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


class EvaluateOften(TrainerCallback):
    """Evaluates every so many steps and prints perplexity."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.trainer: Any = None

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Once per report is enough."""
        if self.every and state.global_step % self.every == 0 and state.is_world_process_zero:
            loss = self.trainer.evaluate()["eval_loss"]
            print(f"step {state.global_step}: perplexity {torch.tensor(loss).exp():.2f}", flush=True)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=90, bos_token_id=1, eos_token_id=2, **shape))
    settings = TrainingArguments(
        output_dir="out/captions",
        use_cpu=True,
        ddp_backend="gloo",
        ddp_timeout=int(os.environ["PG_TIMEOUT_S"]),
        ddp_find_unused_parameters=False,
        per_device_train_batch_size=4,
        num_train_epochs=args.epochs,
        logging_steps=4,
        save_strategy="no",
        report_to=[],
    )
    callback = EvaluateOften(args.evaluate_every)
    trainer = Trainer(model, settings, train_dataset=Captions(256), eval_dataset=Captions(40), callbacks=[callback])
    callback.trainer = trainer
    trainer.train()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
