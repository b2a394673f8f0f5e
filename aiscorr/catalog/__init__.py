"""What every name means: patterns, views, columns, counters, words of a report."""
