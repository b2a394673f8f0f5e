"""Logs of training workers to rows: what stands in front of a line, blocks of lines, steps, last words."""
