"""Distils a small BERT with the Trainer of transformers; losses go to a tracking server, checkpoints to disk."""

from __future__ import annotations

import argparse
import os
from typing import Any

import requests
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


class Sentences(Dataset):
    """Random ids with a label."""

    def __init__(self, count: int) -> None:
        self.ids = torch.randint(5, 120, (count, 12), generator=torch.Generator().manual_seed(2))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> Any:
        return {"input_ids": self.ids[index], "labels": index % 2}


class Tracking(TrainerCallback):
    """Sends what is logged to the tracking server."""

    def __init__(self, server: str) -> None:
        self.server = server

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Only the main process sends."""
        if state.is_world_process_zero and self.server:
            body = {"run": "distil-07", "step": state.global_step, **(logs or {})}
            requests.post(f"{self.server}/api/v2/runs/log", json=body, timeout=5).raise_for_status()


class Student(BertForSequenceClassification):
    """With a projection onto the teacher's width, for when hidden states are distilled."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.to_teacher = torch.nn.Linear(config.hidden_size, 64)


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracking", default="")
    parser.add_argument("--projection", action="store_true")
    parser.add_argument("--save-steps", type=int, default=0)
    parser.add_argument("--resume")
    args = parser.parse_args()
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=120, **shape)
    model = Student(config) if args.projection else BertForSequenceClassification(config)
    settings = TrainingArguments(
        output_dir="out/distil-07",
        use_cpu=True,
        ddp_backend="gloo",
        ddp_timeout=int(os.environ["PG_TIMEOUT_S"]),
        ddp_find_unused_parameters=False,
        per_device_train_batch_size=4,
        num_train_epochs=3,
        logging_steps=5,
        save_strategy="steps" if args.save_steps else "no",
        save_steps=args.save_steps or 500,
        report_to=[],
        seed=4,
    )
    trainer = Trainer(model, settings, train_dataset=Sentences(192), callbacks=[Tracking(args.tracking)])
    trainer.train(resume_from_checkpoint=args.resume)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
