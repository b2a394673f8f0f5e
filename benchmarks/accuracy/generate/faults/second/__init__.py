"""The faults that were held back as the second part."""
