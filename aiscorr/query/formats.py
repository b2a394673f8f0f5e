"""Rows of a statement as text: a table, csv, json, jsonl, markdown; and what a terminal or JSON may hold of a text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from aiscorr.query.tables import Shape, table_text

_CSV_MARK = re.compile(r'[",\r\n]')
_MARKDOWN_MARK = re.compile(r"[\\|<`*]")
_LATE_CONTROL = re.compile(r"[\x7f-\x9f]")
#: Controls of a terminal, and characters that turn the direction of a text or are not seen at all.
_UNSEEN = (
    r"\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0001\U000e0020-\U000e007f"
)
_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f{_UNSEEN}]")


@dataclass(frozen=True)
class Rows:
    """A result: column names and rows of Python values; `is_cut` where there are more rows than these."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_cut: bool = False


def write_text(rows: Rows, form: str, *, width: int | None = None, shape: Shape = "auto") -> str:
    """The rows in a text format. A table has the `width` of the terminal in columns, where one is given."""
    if form == "csv":
        return _csv(rows)
    if form in ("json", "jsonl"):
        names = _unique(rows.columns)
        objects = [_object(names, row) for row in rows.rows]
        if form == "json":
            return json_text(objects, indent=1) + "\n"
        return "".join(json_text(item) + "\n" for item in objects)
    if form == "markdown":
        return _markdown(rows)
    if not rows.columns:
        return ""
    cells = [[printable(_text(value)) for value in row] for row in rows.rows]
    return table_text(rows.columns, cells, [_is_numeric(rows, no) for no in range(len(rows.columns))], width, shape)


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON; letters stay letters, every control character is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _LATE_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str) -> str:
    """The text as people may be shown it: a line break as `⏎`, control, invisible and turning characters by codes."""

    def shown(match: re.Match[str]) -> str:
        code = ord(match[0])
        return {"\n": "⏎", "\t": " "}.get(match[0], f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _CONTROL.sub(shown, text)


def _unique(columns: Sequence[str]) -> list[str]:
    """The names, a second `a` called `a_1`: an object holds a name once, and no value may be lost."""
    names: list[str] = []
    for name in columns:
        number, wanted = 0, name
        while wanted in names:
            number += 1
            wanted = f"{name}_{number}"
        names.append(wanted)
    return names


def _object(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in zip(columns, row, strict=True)}


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")
    if isinstance(value, list | tuple | dict):
        return json.dumps(_json_value(value), ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _csv(rows: Rows) -> str:
    """NULL is nothing at all, an empty text is `""`; a lone NULL is quoted too, for an empty line is no row."""

    def cell(value: Any, is_alone: bool) -> str:
        if value is None and not is_alone:
            return ""
        text = _text(value)
        is_plain = text and not _CSV_MARK.search(text)
        return text if is_plain else '"' + text.replace('"', '""') + '"'

    lines: list[Sequence[Any]] = [rows.columns, *rows.rows] if rows.columns else []
    return "".join(",".join(cell(value, len(line) == 1) for value in line) + "\n" for line in lines)


def _markdown(rows: Rows) -> str:
    def cells(values: Iterable[str]) -> str:
        return "| " + " | ".join(_MARKDOWN_MARK.sub(r"\\\g<0>", printable(value)) for value in values) + " |\n"

    head = (
        cells(rows.columns)
        + "|"
        + "|".join(" ---: " if _is_numeric(rows, index) else " --- " for index in range(len(rows.columns)))
    )
    return f"{head}|\n" + "".join(cells(_text(value) for value in row) for row in rows.rows)


def _is_numeric(rows: Rows, index: int) -> bool:
    values = [row[index] for row in rows.rows if row[index] is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )
