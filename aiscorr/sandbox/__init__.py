"""SQL from outside: each statement in a short-lived process of its own that can read the database, nothing else."""
