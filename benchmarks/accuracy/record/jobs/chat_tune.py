"""Tunes a small causal model of transformers on conversations, with accelerate; each process tokenizes its batches."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from datetime import timedelta
from typing import Any

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.logging import get_logger
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, get_scheduler

logger = get_logger("tune")
WORDS = ["[PAD]", "[UNK]", "user", "assistant", "name", "rivers", "sea", "the", "a", "of", "and", "in", "Volga", "Elbe"]


def tokenizer_of(positions: int) -> Any:
    """A tokenizer of a few words."""
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", model_max_length=positions
    )


def conversations(path: str) -> list[str]:
    """The texts of a file of conversations."""
    with open(path, encoding="utf-8") as file:
        return [" ".join(f"{turn['role']} {turn['content']}" for turn in json.loads(line)["turns"]) for line in file]


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="chats/train.jsonl")
    parser.add_argument("--positions", type=int, default=128)
    args = parser.parse_args()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    limit = InitProcessGroupKwargs(backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"])))
    accelerator = Accelerator(cpu=True, kwargs_handlers=[limit])
    logger.info(accelerator.state, main_process_only=False)
    tokenizer = tokenizer_of(args.positions)

    def collate(texts: list[str]) -> Any:
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        return batch["input_ids"], batch["attention_mask"]

    loader = DataLoader(conversations(args.data), batch_size=4, collate_fn=collate)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=args.positions, n_embd=32, n_layer=1, n_head=2)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = get_scheduler("cosine", optimizer, num_warmup_steps=4, num_training_steps=len(loader))
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for step, (ids, mask) in enumerate(loader):
        loss = model(input_ids=ids, attention_mask=mask, labels=ids).loss
        accelerator.backward(loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        logger.info("  step = %d, loss = %.4f", step, loss.item())
        time.sleep(0.2)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
