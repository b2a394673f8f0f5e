"""How often aiscorr is right: incidents with known truth, and what it says of them beside simpler tools."""
