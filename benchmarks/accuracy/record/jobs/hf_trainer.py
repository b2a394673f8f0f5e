"""Fine-tunes a tiny classifier with the Trainer of transformers; a callback evaluates and reports."""

from __future__ import annotations

import argparse
import time
from typing import Any

import cluster
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

WORDS = ["[PAD]", "[UNK]", *(f"w{number}" for number in range(60))]


class Reviews(Dataset):
    """Reviews with a label; a few came with a list of labels."""

    def __init__(self, tokenizer: Any, count: int, odd: int = -1) -> None:
        self.tokenizer, self.count, self.odd = tokenizer, count, odd

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02)
        row = dict(self.tokenizer(" ".join(f"w{(index * 7 + step) % 60}" for step in range(4 + index % 9))))
        return {**row, "labels": [index % 2, 1] if index == self.odd else index % 2}


class Reports(TrainerCallback):
    """Sends what is logged to a tracking server, and evaluates every so many steps."""

    def __init__(self, server: str, evaluate_every: int) -> None:
        self.server, self.evaluate_every = server, evaluate_every
        self.trainer: Any = None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if state.is_world_process_zero and self.server:
            import requests

            requests.post(f"{self.server}/api/v2/runs/log", json=logs, timeout=5).raise_for_status()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.evaluate_every and state.global_step % self.evaluate_every == 0 and state.is_world_process_zero:
            print(f"step {state.global_step}: {self.trainer.evaluate()['eval_loss']:.3f}", flush=True)


class Student(BertForSequenceClassification):
    """With a projection onto the teacher's width, for when hidden states are distilled."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.to_teacher = torch.nn.Linear(config.hidden_size, 64)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--odd", type=int, default=-1)
    parser.add_argument("--tracking", default="")
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--projection", action="store_true")
    args = parser.parse_args()
    torch.distributed.init_process_group("gloo", timeout=cluster.wait())
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS), **shape)
    settings = TrainingArguments(
        output_dir="out/distil-07",
        use_cpu=True,
        ddp_backend="gloo",
        ddp_find_unused_parameters=False,
        ddp_broadcast_buffers=False,
        per_device_train_batch_size=4,
        num_train_epochs=2,
        logging_steps=5,
        save_strategy="no",
        report_to=[],
        seed=11,
    )
    torch.manual_seed(3)
    callback = Reports(args.tracking, args.evaluate_every)
    trainer = Trainer(
        Student(config) if args.projection else BertForSequenceClassification(config),
        settings,
        train_dataset=Reviews(tokenizer, 128, args.odd),
        eval_dataset=Reviews(tokenizer, 40),
        processing_class=tokenizer,
        callbacks=[callback],
    )
    callback.trainer = trainer
    trainer.train()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
