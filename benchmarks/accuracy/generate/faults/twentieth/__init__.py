"""The faults that were held back as the twentieth part."""
