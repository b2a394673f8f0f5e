"""From views to an incident report: read, check the cited lines again, lay out, print."""
