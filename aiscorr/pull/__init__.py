"""Logs and counters of a live AIStore cluster, and worker logs of a login node, into spool folders.

What a spool holds of a log is always the log's beginning, byte for byte; so a pull that died is gone on with.
"""
