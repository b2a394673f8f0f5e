"""The service: reads what is new, nightly and at intervals, and writes the report of every failure it finds."""
