"""The faults that were held back as the thirty-sixth part."""
