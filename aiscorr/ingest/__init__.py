"""Ingest from start to end: which files are new, reading them in processes, storing, what is kept and for how long."""
