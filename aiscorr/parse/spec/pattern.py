"""A pattern: one recognised message, with the regex that finds it and the values it captures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from aiscorr.parse.spec.checks import Sample, compile_regex, require
from aiscorr.parse.values import CONVERTERS, Value, default_converter
from aiscorr.schema.tables import AIS_LINE, STEP_LINE, WORKER_LINE, WORKER_TAIL, Table

#: Where the rows of each format of lines go, whose columns a pattern's groups are called after.
FORMAT_TABLES: dict[str, Table] = {
    "ais": AIS_LINE,
    "worker": WORKER_LINE,
    "tail": WORKER_TAIL,
    "step": STEP_LINE,
    "repeated": STEP_LINE,
}


@dataclass(frozen=True)
class Pattern:
    """One recognised message. `literals`: every match contains at least one of them. `inside`: it is the exception
    of a traceback whose frames are of this kind, and nothing else.

    Regex and converters are made when they are first asked for: a run meets few of the many patterns.
    """

    name: str
    path: str
    title: str
    means: str
    look_at: str
    fix: str
    source: str
    severity: str
    tier: str
    role: str
    formats: tuple[str, ...]
    priority: int
    literals: tuple[bytes, ...]
    regex_text: bytes
    named_converters: Mapping[str, str]
    constant: Mapping[str, Value] = field(default_factory=dict)
    fix_by: str | None = None
    failure_class: str | None = None
    activity: str | None = None
    chain_step: str | None = None
    node_effect: str | None = None
    subject: str | None = None
    opens: str | None = None
    inside: str | None = None
    marks: str | None = None
    rank_effect: str | None = None
    prefilter: str | None = None
    samples: tuple[Sample, ...] = ()
    near_misses: tuple[str, ...] = ()

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The compiled regex. Raises SpecError."""
        return compile_regex(self.regex_text.decode(), where=self.path)

    @cached_property
    def convert(self) -> dict[str, str]:
        """The converter of each group. Raises SpecError."""
        return _converters(self.named_converters, self.regex, self.formats, Path(self.path))

    def check(self) -> None:
        """Makes regex and converters. Raises SpecError where one is wrong."""
        _ = self.convert

    @cached_property
    def _groups(self) -> tuple[tuple[str, Callable[[str], Value]] | None, ...]:
        """Name and converter of each group by its number; None for a group without a name."""
        named = {number: name for name, number in self.regex.groupindex.items()}
        chosen = (named.get(number) for number in range(1, self.regex.groups + 1))
        return tuple((name, CONVERTERS[self.convert[name]]) if name is not None else None for name in chosen)

    def values(self, match: re.Match[bytes]) -> dict[str, Value]:
        """The captured groups of a match, converted; empty groups are left out."""
        return self.converted([raw if raw is None else raw.decode("utf-8", "replace") for raw in match.groups()])

    def converted(self, groups: Sequence[str | None]) -> dict[str, Value]:
        """The values of captured groups; None is a group that took no part."""
        found: dict[str, Value] = dict(self.constant)
        for group, text in zip(self._groups, groups, strict=True):
            if text is None or group is None:
                continue
            name, convert = group
            try:
                found[name] = convert(text)
            except (ValueError, OverflowError):
                found[f"bad_{name}"] = text
        return found


def _converters(
    named: Mapping[str, str], regex: re.Pattern[bytes], formats: tuple[str, ...], path: Path
) -> dict[str, str]:
    types: dict[str, str] = {}
    for name in formats:
        types.update({column.name: column.type for column in FORMAT_TABLES[name].columns})
    chosen = {group: default_converter(types.get(group, "VARCHAR")) for group in regex.groupindex}
    for group, converter in named.items():
        require(group in chosen, f"convert.{group}: the regex has no such group", path, "name a group of the regex")
        require(
            converter in CONVERTERS,
            f"convert.{group} = {converter!r} is not known",
            path,
            f"one of {', '.join(sorted(CONVERTERS))}",
        )
        chosen[group] = converter
    return chosen
