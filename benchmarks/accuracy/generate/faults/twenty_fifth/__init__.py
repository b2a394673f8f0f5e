"""The faults that were held back as the twenty-fifth part."""
