"""Holds what aiscorr and simpler tools say of incidents against the truth, and sums it up with intervals."""
