"""Measures aiscorr: how fast it is, and how often it is right; nothing of it is installed."""
