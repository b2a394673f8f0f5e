"""The faults that were held back as the twenty-seventh part."""
