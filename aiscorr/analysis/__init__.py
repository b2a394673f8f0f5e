"""The views of sql/: what their files say, which are to be computed again, and what the analysis concluded."""
