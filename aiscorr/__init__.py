"""aiscorr: which rank, which AIStore node, which x-get-batch chain, and what speaks against it."""

__version__ = "0.1.0"
