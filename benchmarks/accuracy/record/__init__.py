"""Runs real distributed jobs, hurts them in a known way and stores what they printed with its truth."""
