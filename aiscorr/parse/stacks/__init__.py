"""Stacks and call traces to rows."""
