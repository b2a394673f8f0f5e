"""Lines of the original files: one in its surroundings, or those of a failure from all its files in order of time."""
