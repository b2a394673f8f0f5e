"""Logs and counters of a live AIStore cluster into a spool folder: how to reach it, one node, all nodes, the folder.

What a spool holds of a log is always the log's beginning, byte for byte; so a pull that died is gone on with.
"""
