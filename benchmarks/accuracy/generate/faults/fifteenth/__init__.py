"""The faults that were held back as the fifteenth part."""
