"""The faults that were held back as the eighth part."""
