"""The patterns as the rows of the table `pattern`, so that SQL knows what each means."""

from __future__ import annotations

from pathlib import Path

from aiscorr.cache import key_of
from aiscorr.parse.spec.files import folder_key
from aiscorr.parse.spec.pattern import FORMAT_TABLES
from aiscorr.parse.spec.pattern_files import pattern_set

_OWN = str(Path(__file__).parents[1] / "patterns")
_COLUMNS = (
    "title", "means", "look_at", "fix", "fix_by", "source", "severity", "tier", "role", "activity",
    "failure_class", "chain_step", "node_effect", "subject", "rank_effect", "marks",
)  # fmt: skip


def pattern_rows(folders: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """Every pattern of the package and of these folders as a row."""
    return [
        {"pattern": pattern.name, "format": kind, **{name: getattr(pattern, name) for name in _COLUMNS}}
        for kind in FORMAT_TABLES
        for pattern in pattern_set(kind, folders)
    ]


def patterns_key(folders: tuple[str, ...] = ()) -> str:
    """What these rows are made from; a later folder replaces what an earlier one has."""
    return key_of(folder_key(Path(folder)) for folder in (_OWN, *folders))
