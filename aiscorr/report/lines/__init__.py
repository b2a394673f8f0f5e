"""Lines of the original files: one with its surroundings, and those of a failure from all its files in order of time."""
