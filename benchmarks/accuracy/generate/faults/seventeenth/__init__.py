"""The faults that were held back as the seventeenth part."""
