"""The servers that a lake and a cluster need, on this machine and for as long as a block runs: PostgreSQL, S3 and Dask.

Nothing of them is installed by aiscorr. Each module says what is missing, and raises Missing where it is asked to start
all the same.
"""

from __future__ import annotations


class Missing(Exception):
    """What a server needs is not installed here; the text says what, and where it comes from."""
