"""Blocks of bytes to the lines that may matter: many expressions searched at once."""
