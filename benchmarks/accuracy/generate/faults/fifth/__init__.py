"""The faults that were held back as the fifth part."""
