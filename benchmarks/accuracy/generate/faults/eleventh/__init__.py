"""The faults that were held back as the eleventh part."""
