"""Writes incidents whose truth is known; it knows AIStore and PyTorch, and nothing of who will read the logs."""
