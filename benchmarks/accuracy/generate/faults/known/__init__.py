"""The faults that were held back first: those that are known from issues and post-mortems."""
