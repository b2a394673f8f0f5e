"""Makes links of what a report prints: commands lead to the page that shows the same, places to their surroundings.

Only text between tags is changed, and neither that of scripts, of drawings, nor of links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from html import escape, unescape
from urllib.parse import quote, urlencode

from aiscorr.serve.web.frame import failure_address, line_address

_TAG = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"</?([a-z0-9]+)", re.IGNORECASE)
#: Elements whose text is left as it is.
_CLOSED = {"a", "script", "style", "svg", "title", "button", "textarea"}
_COMMAND = re.compile(
    r"aiscorr (?:"
    r"query @(?P<name>\w+)(?P<given>(?: -p \w+=[^\s;,)]*[^\s;,.:)])*)"
    r"|query (?P<quote>[\"'])(?P<sql>(?:select|from|with)\b.+?)(?P=quote)(?=$|[\s.,;:)])"
    r"|report (?P<failure>[\w.:-]*\d[\w.:-]*\w)"
    r"|explain (?P<word>\w+)"
    r")"
)
_GIVEN = re.compile(r" -p (\w+)=(\S+)")
_PLACE = re.compile(r'(<code class="place">)([^<]+):(\d+)(</code>)')


def with_links(html: str, root: str, paths: Collection[str], names: Mapping[str, str] | None = None) -> str:
    """A report with links; `paths` are the ingested files, places are below `root`.

    `names` are texts that lead to an address where one stands alone, such as in a cell: nodes, jobs, failures.
    """
    return "".join(_linked(_placed(html, root, paths), names or {}))


def shown_places(html: str, root: str) -> set[str]:
    """The paths of all places that a report shows."""
    return {_whole(unescape(path), root) for _, path, _, _ in _PLACE.findall(html)}


def query_address(sql: str) -> str:
    """The SQL page with a statement filled in."""
    return f"/sql?{urlencode({'sql': sql})}"


def named_address(name: str, given: Mapping[str, str]) -> str:
    """The SQL page with a named query filled in."""
    parameters = {f"p.{key}": value for key, value in given.items()}
    return f"/sql?{urlencode({'query': name, **parameters})}"


def _placed(html: str, root: str, paths: Collection[str]) -> str:
    def placed(match: re.Match[str]) -> str:
        path = _whole(unescape(match[2]), root)
        if path not in paths:
            return match[0]
        address = escape(line_address(path, match[3]))
        words = "the line in its surroundings"
        return f'{match[0]}<a class="around" href="{address}" title="{words}" aria-label="{words}">¶</a>'

    return _outside(html, _PLACE, placed, "a")


def _outside(html: str, pattern: re.Pattern[str], changed: Callable[[re.Match[str]], str], element: str) -> str:
    """The text with what matches changed, but inside of an element: no link may be within another."""
    parts, end, inside = [], 0, 0
    marks = re.compile(rf"<{element}\b|</{element}>|{pattern.pattern}")
    for match in marks.finditer(html):
        parts.append(html[end : match.start()])
        end = match.end()
        if match[0].startswith((f"<{element} ", f"<{element}>")) or match[0] == f"<{element}":
            inside += 1
            parts.append(match[0])
        elif match[0] == f"</{element}>":
            inside -= 1
            parts.append(match[0])
        else:
            parts.append(match[0] if inside else changed(match))
    return "".join([*parts, html[end:]])


def _whole(path: str, root: str) -> str:
    return path if path.startswith("/") or not root else f"{root}/{path}"


def _linked(html: str, names: Mapping[str, str]) -> Iterator[str]:
    """The parts of the text, commands and names between tags as links."""
    closed: list[str] = []
    for part in _TAG.split(html):
        if part.startswith("<"):
            name = _NAME.match(part)
            if name is not None and name[1].lower() in _CLOSED and not part.endswith("/>"):
                if not part.startswith("</"):
                    closed.append(name[1].lower())
                elif closed and closed[-1] == name[1].lower():
                    closed.pop()
            yield part
        elif not closed and (address := names.get(unescape(part))):
            yield f'<a href="{escape(address)}">{part}</a>'
        elif closed or "aiscorr " not in part:
            yield part
        else:
            yield _commands(unescape(part))


def _commands(text: str) -> str:
    parts, end = [], 0
    for match in _COMMAND.finditer(text):
        address = _address(match)
        parts += [escape(text[end : match.start()]), f'<a href="{escape(address)}">{escape(match[0])}</a>']
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _address(match: re.Match[str]) -> str:
    if match["name"]:
        return named_address(match["name"], dict(_GIVEN.findall(match["given"] or "")))
    if match["sql"]:
        return query_address(match["sql"])
    if match["failure"]:
        return failure_address(match["failure"])
    return f"/explain/{quote(match['word'])}"
