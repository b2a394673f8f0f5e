"""Whether a sample holds: what it says of a pattern that does not match, as one who writes the pattern wants it."""

from __future__ import annotations

import re

from aiscorr.parse.spec.checks import Sample
from aiscorr.parse.spec.pattern import Pattern


def sample_mismatch(pattern: Pattern, sample: Sample) -> str | None:
    """Why a sample does not hold, or None. Shows the regex and how far it matched."""
    line = sample.line.encode()
    match = pattern.regex.search(line)
    if match is None:
        regex = pattern.regex.pattern.decode()
        return f"{pattern.path}: no match\n  line  {sample.line}\n  regex {regex}\n  {_how_far(pattern, line)}"
    if not any(literal in line for literal in pattern.literals):
        return f"{pattern.path}: the sample holds none of the literals {list(pattern.literals)}"
    values = pattern.values(match)
    for key, expected in sample.expect.items():
        if values.get(key) != expected:
            return f"{pattern.path}: {key} is {values.get(key)!r}, expected {expected!r}\n  line  {sample.line}"
    return None


def _how_far(pattern: Pattern, line: bytes) -> str:
    text = pattern.regex.pattern
    for end in range(len(text) - 1, 0, -1):
        try:
            part = re.compile(text[:end])
        except re.error:
            continue
        if part.search(line):
            return f"matches as far as {text[:end].decode()!r}"
    return "matches nothing of it"
