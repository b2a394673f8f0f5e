"""The page of a failure: its first screen, its picture on one time axis, and the links from places to their lines."""
