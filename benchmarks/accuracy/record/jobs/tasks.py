"""What can be learnt from rows: each task turns the rows of a batch into tensors and gives their loss."""

from __future__ import annotations

import math
import re
import string
from typing import Any

import torch
from torch import nn
from torch.nn import functional

CHARS = "\n" + string.ascii_letters + string.digits + string.punctuation + " "
STOI = {ch: i for i, ch in enumerate(CHARS)}
SLUG = re.compile(r"^(?:\w+[-_ ]?)+$")


class Chars(nn.Module):
    """Predicts the next character; padding is not predicted."""

    def __init__(self) -> None:
        super().__init__()
        self.wte, self.lm_head = nn.Embedding(len(CHARS), 24), nn.Linear(24, len(CHARS))

    @staticmethod
    def batch(rows: list[Any]) -> Any:
        return torch.tensor([[STOI[c] for c in row["text"][:33].ljust(33, "\n")] for row in rows])

    def forward(self, ids: Any) -> Any:
        logits = self.lm_head(torch.tanh(self.wte(ids[:, :-1])))
        return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=STOI["\n"])


class Titles(nn.Module):
    """Learns titles of pages, marked by their language and by whether they are only a slug."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(256, 8)

    @staticmethod
    def clean(page: dict[str, str]) -> str:
        title = page["title"].strip()
        kind = "slug" if SLUG.match(title) else "text"
        return f"{page['lang']}:{kind}:{title.lower()}"

    @classmethod
    def batch(cls, rows: list[Any]) -> Any:
        return torch.tensor([list(cls.clean(page).encode()[:24].ljust(24)) for page in rows])

    def forward(self, ids: Any) -> Any:
        return self.table(ids).square().mean()


class Churn(nn.Module):
    """Predicts who leaves, with batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    @staticmethod
    def batch(rows: list[Any]) -> Any:
        return torch.tensor([[*row["x"], float(row["y"])] for row in rows])

    def forward(self, table: Any) -> Any:
        return functional.binary_cross_entropy_with_logits(self.net(table[:, :-1]), table[:, -1:])


class Replay(nn.Module):
    """Learns of transitions, drawn by their priorities."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(6, 1)

    @staticmethod
    def batch(rows: list[Any]) -> Any:
        priority = torch.tensor([row["priority"] for row in rows]) ** 0.6
        chosen = torch.multinomial(priority / priority.sum(), 16, replacement=True)
        return torch.tensor([row["x"] for row in rows])[chosen]

    def forward(self, table: Any) -> Any:
        return functional.smooth_l1_loss(self.net(table).squeeze(1), table[:, 0])


class Documents(nn.Module):
    """Full attention over each document, written out."""

    def __init__(self, width: int = 16, heads: int = 8) -> None:
        super().__init__()
        self.embed, self.qkv, self.topic = nn.Embedding(256, width), nn.Linear(width, 3 * width), nn.Linear(width, 6)
        self.heads, self.width = heads, width

    @staticmethod
    def batch(rows: list[Any]) -> Any:
        return torch.tensor(list(rows[0]["text"].encode())), torch.tensor([rows[0]["topic"]])

    def forward(self, document: Any) -> Any:
        letters, topic = document
        parts = self.qkv(self.embed(letters)).chunk(3, -1)
        q, k, v = (one.view(len(letters), self.heads, -1).transpose(0, 1) for one in parts)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.width / self.heads)
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(letters), self.width)
        return functional.cross_entropy(self.topic(mixed.mean(0))[None], topic)


TASKS: dict[str, Any] = {"chars": Chars, "titles": Titles, "churn": Churn, "replay": Replay, "documents": Documents}
