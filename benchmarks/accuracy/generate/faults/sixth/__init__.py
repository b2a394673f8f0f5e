"""The faults that were held back as the sixth part."""
