"""The faults that were held back as the ninth part."""
