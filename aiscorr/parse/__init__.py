"""Bytes become typed rows: specs, scanning, record assembly, clocks, values."""
