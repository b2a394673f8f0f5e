"""The faults that were held back as the tenth part."""
