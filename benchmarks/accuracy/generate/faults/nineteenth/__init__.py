"""The faults that were held back as the nineteenth part."""
