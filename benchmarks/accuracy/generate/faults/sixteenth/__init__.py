"""The faults that were held back as the sixteenth part."""
