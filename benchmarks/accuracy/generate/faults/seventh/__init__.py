"""The faults that were held back as the seventh part."""
