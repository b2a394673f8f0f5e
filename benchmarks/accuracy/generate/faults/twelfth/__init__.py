"""The faults that were held back as the twelfth part."""
