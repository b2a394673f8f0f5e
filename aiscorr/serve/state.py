"""What the service remembers between runs, beside its reports: frozen objects by key, in a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from aiscorr.disk import replace_file

T = TypeVar("T")


def read_state(path: str, kind: type[T]) -> dict[str, T]:
    """The objects of a file, none where there is none. Raises ValueError, TypeError or AttributeError if damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            return {key: kind(**values) for key, values in json.load(file).items()}
    except FileNotFoundError:
        return {}


def write_state(path: str, state: Mapping[str, Any]) -> None:
    """Puts the objects, which are dataclasses, in the place of the file."""
    values = {key: asdict(item) for key, item in sorted(state.items())}
    replace_file(path, json.dumps(values, indent=1) + "\n")
