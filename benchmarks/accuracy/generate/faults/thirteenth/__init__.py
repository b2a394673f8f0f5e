"""The faults that were held back as the thirteenth part."""
