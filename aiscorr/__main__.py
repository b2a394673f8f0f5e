"""Runs the command line: `python -m aiscorr`."""

from aiscorr.cli import main

if __name__ == "__main__":
    main()
