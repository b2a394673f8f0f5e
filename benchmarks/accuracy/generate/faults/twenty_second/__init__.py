"""The faults that were held back as the twenty-second part."""
