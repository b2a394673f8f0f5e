"""The faults that were held back as the fourteenth part."""
