"""Faults of every part, beside those of the scenarios."""
