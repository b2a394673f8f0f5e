"""Where the incident is that `aiscorr demo` shows: in the installed package, else in fixtures/ of the repository."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from aiscorr.errors import AiscorrError

SCENARIO = "target_killed_short_batch"


def demo_folder() -> list[Path]:
    """The AIStore side and the worker side of the bundled incident."""
    package = Path(str(files("aiscorr")))
    for base in (package / "demo_incident", package.parent / "fixtures" / SCENARIO):
        if base.is_dir():
            return [base / "ais", base / "workers"]
    raise AiscorrError("the bundled incident is missing", where=str(package), try_this="install aiscorr again")
