"""Gathers stacks and Flight Recorder dumps of a running job: what runs on a node, and what sends it there and reads it.

`processes`, `ranks`, `wire`, `stacks`, `dumps` and `node` need only the standard library and are sent to the nodes as
text; `fleet` and `gather` stay here.
"""
