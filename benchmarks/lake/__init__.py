"""Makes a month of a large site in a lake, and measures whole commands on it; nothing of it is installed."""
