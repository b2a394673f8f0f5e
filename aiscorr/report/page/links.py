"""Links the places that a report shows to the lines around them, which the page holds once each."""

from __future__ import annotations

from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places


class Links:
    """The excerpts of one failure: the first place that shows one holds it, the others lead there."""

    def __init__(self, failure: doc.FailureReport, places: Places, prefix: str) -> None:
        self._prefix = prefix
        self._numbers: dict[str, tuple[int, int]] = {}
        self._excerpts = failure.excerpts
        self._shown: set[int] = set()
        self._rows = 0
        self._row = ""
        for number, excerpt in enumerate(failure.excerpts):
            for line_no in excerpt.cited:
                self._numbers[places.line(excerpt.path, line_no)] = number, line_no

    def place(self, place: str) -> str:
        """A place as HTML: with its lines below it, or a link to where they are, or alone."""
        marker = ""
        if place.endswith("]") and " [" in place:
            place, _, marker = place.partition(" [")
            marker = f' <b class="open">[{escape(marker)}</b>'
        if self._row:
            marker += f'<a class="anchor" href="#{self._row}" aria-label="link to this row">#</a>'
            self._row = ""
        code = f'<code class="place">{escape(place)}</code>'
        found = self._numbers.get(place)
        if found is None:
            return code + marker
        number, line_no = found
        if number in self._shown:
            return f'<a class="to" href="#{self._name(number, line_no)}">{code}</a>{marker}'
        self._shown.add(number)
        return f"<details><summary>{code}{marker}</summary>{self._lines(number)}</details>"

    def row(self) -> str:
        """The name of the next row, unlike any other on the page."""
        self._rows += 1
        self._row = f"{self._prefix}r{self._rows}"
        return self._row

    def target(self, place: str) -> str:
        """The name that a place leads to; empty where the page does not hold its lines."""
        found = self._numbers.get(place)
        return self._name(*found) if found and found[0] in self._shown else ""

    def _name(self, number: int, line_no: int) -> str:
        return f"{self._prefix}x{number}-{line_no}"

    def _lines(self, number: int) -> str:
        excerpt = self._excerpts[number]
        rows = "".join(self._line(number, excerpt.first_line_no + i, text) for i, text in enumerate(excerpt.lines))
        return f'<ol class="excerpt" start="{excerpt.first_line_no}" tabindex="0" aria-label="lines">{rows}</ol>'

    def _line(self, number: int, line_no: int, text: str) -> str:
        mark = f' class="cited" id="{self._name(number, line_no)}"' if line_no in self._excerpts[number].cited else ""
        return f"<li{mark}>{escape(text)}</li>"
