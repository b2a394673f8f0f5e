"""The faults that were held back as the thirtieth part."""
