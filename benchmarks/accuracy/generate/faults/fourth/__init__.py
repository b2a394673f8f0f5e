"""The faults that were held back as the fourth part."""
