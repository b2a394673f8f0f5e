"""The faults that were held back as the eighteenth part."""
