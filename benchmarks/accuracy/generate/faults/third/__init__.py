"""The faults that were held back as the third part."""
