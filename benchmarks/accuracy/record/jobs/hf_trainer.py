"""Fine-tunes a tiny classifier with the Trainer of transformers."""

from __future__ import annotations

import argparse
import os
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, Trainer, TrainingArguments

WORDS = ["[PAD]", "[UNK]", *(f"w{number}" for number in range(60))]


class Reviews(Dataset):
    """Reviews with a label; a few came with a list of labels."""

    def __init__(self, tokenizer: Any, odd: int) -> None:
        self.tokenizer, self.odd = tokenizer, odd

    def __len__(self) -> int:
        return 128

    def __getitem__(self, index: int) -> Any:
        text = " ".join(f"w{(index * 7 + step) % 60}" for step in range(4 + index % 9))
        row = dict(self.tokenizer(text))
        row["labels"] = [index % 2, 1] if index == self.odd else index % 2
        return row


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--odd", type=int, default=-1)
    args = parser.parse_args()
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertForSequenceClassification(BertConfig(vocab_size=len(WORDS), **shape))
    settings = TrainingArguments(
        output_dir="out",
        use_cpu=True,
        ddp_backend="gloo",
        ddp_timeout=int(os.environ["PG_TIMEOUT_S"]),
        per_device_train_batch_size=4,
        num_train_epochs=1,
        logging_steps=2,
        save_strategy="no",
        report_to=[],
        dataloader_num_workers=1,
        disable_tqdm=False,
        seed=11,
    )
    torch.manual_seed(3)
    Trainer(model, settings, train_dataset=Reviews(tokenizer, args.odd), processing_class=tokenizer).train()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
