"""The patterns of worker logs: what is searched for in every block, and which pattern a line found so is."""

from __future__ import annotations

from collections.abc import Iterable

from aiscorr.parse.search.prefilter import Expression, Prefilter, build_prefilter
from aiscorr.parse.search.sieve import sieved
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.parse.values import Value
from aiscorr.parse.worker.line import Line

Found = tuple[Pattern, dict[str, Value]]

#: Patterns from this priority on know the form of an exception and not what its message means.
_GENERIC = 89


class WorkerPatterns:
    """The patterns in their order; `prefilter` gives the numbers of those that a line may be."""

    def __init__(self, folders: tuple[str, ...] = ()) -> None:
        #: All of them, by number.
        self.all = pattern_set("worker", folders)
        self._generic = {pattern.name for pattern in self.all if pattern.priority >= _GENERIC}
        self._exact = {
            number
            for number, pattern in enumerate(self.all)
            if pattern.inside is None and not self.is_generic(pattern.name)
        }
        expressions = [Expression(p.regex_text, p.literals, p.prefilter) for p in self.all]
        self.prefilter: Prefilter = sieved(build_prefilter(expressions), expressions)
        #: What an exception is that no other pattern knows.
        self.fallback = next((p for p in self.all if p.name == "python_exception"), None)

    def find(self, line: Line, insides: tuple[str | None, ...] = (None,)) -> Found | None:
        """The first pattern that fits a line; `insides` is what the traceback tells whose exception the line is."""
        for number in line.segment.candidates:
            pattern = self.all[number]
            if pattern.inside not in insides:
                continue
            match = pattern.regex.search(line.text)
            if match is not None:
                return pattern, pattern.values(match)
        return None

    def exact(self, numbers: Iterable[int]) -> list[Pattern]:
        """Those of these patterns that know what a message means, and need no traceback around it."""
        return [self.all[number] for number in sorted(self._exact.intersection(numbers))]

    def is_generic(self, name: Value) -> bool:
        """Whether a pattern knows the form of an exception only."""
        return name in self._generic
