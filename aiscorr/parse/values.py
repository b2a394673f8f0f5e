"""Converters from captured text to typed values, named from pattern and format files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from json.encoder import encode_basestring

Value = str | int | float | bool | None

_GO_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def to_int(text: str) -> int:
    """A decimal integer, with thousands separators allowed: `2,059` → 2059."""
    return int(text if text.isdigit() else text.replace(",", "").replace("_", ""))


def to_whole(text: str) -> int:
    """A whole number as counters and floats print it: `12,000` → 12000, `1.46e+02` → 146."""
    return round(float(text.replace(",", "")))


def to_float(text: str) -> float:
    """A decimal number: `1.57` → 1.57."""
    return float(text.replace(",", ""))


def to_text(text: str) -> str:
    """The text without terminal colours and surrounding blanks."""
    return (strip_ansi(text) if "\x1b" in text else text).strip()


def to_bool(text: str) -> bool:
    """`true` → True, anything else → False."""
    return text.strip().lower() == "true"


def to_upper(text: str) -> str:
    """The text in capitals, for operation names: `all_reduce` → `ALL_REDUCE`."""
    return text.strip().upper()


def go_duration_ns(text: str) -> int:
    """A Go duration in nanoseconds: `2m0.037703631s` → 120037703631, `5.225796ms` → 5225796.

    Source: Go's time.Duration.String, as AIStore 3.22 to 5.0 print ages.
    """
    total = 0
    for number, unit in _GO_PART.findall(text):
        whole, _, fraction = number.partition(".")
        scale = _GO_UNITS_NS[unit]
        total += int(whole) * scale
        if fraction:
            total += int(fraction) * scale // 10 ** len(fraction)
    return total


def base36_ns(text: str) -> int:
    """Unix nanoseconds written in base 36, the `utm` of AIStore's redirected addresses.

    `dn0dsa0c7clw` → 1795212684484634516 = 2026-11-20T22:11:24.484634516Z (seen with AIStore 5.0).
    """
    return int(text, 36)


def seconds_to_ms(text: str) -> int:
    """Seconds, possibly with a fraction, as milliseconds: `60.5` → 60500."""
    return round(float(text) * 1000)


def ms_to_s(text: str) -> float:
    """Milliseconds as seconds: `812.3` → 0.8123."""
    return to_float(text) / 1000


def clock_to_s(text: str) -> float:
    """A duration as progress bars print it, in seconds: `6:28:43` → 23323, `00:29` → 29 (tqdm adds days as hours)."""
    seconds = 0.0
    for part in text.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def last_name(text: str) -> str:
    """The last part of a dotted name: `aistore.sdk.errors.AISError` → `AISError`."""
    return to_text(text).rpartition(".")[2]


def without_query(text: str) -> str:
    """An address without its query string, which may hold a signature."""
    return text.partition("?")[0]


def op_name(text: str) -> str:
    """A collective's name in one spelling: `all_reduce`, `nccl:all_reduce` and `ALLREDUCE` → `ALLREDUCE`."""
    name = text.rpartition(":")[2].strip().lstrip("_")
    return name.replace("_", "").upper()


CONVERTERS: dict[str, Callable[[str], Value]] = {
    "int": to_int,
    "whole": to_whole,
    "float": to_float,
    "text": to_text,
    "bool": to_bool,
    "upper": to_upper,
    "go_duration_ns": go_duration_ns,
    "base36_ns": base36_ns,
    "seconds_to_ms": seconds_to_ms,
    "ms_to_s": ms_to_s,
    "clock_to_s": clock_to_s,
    "last_name": last_name,
    "without_query": without_query,
    "op_name": op_name,
}


_CAPTURES = json.JSONEncoder(ensure_ascii=False)


def add_values(row: dict[str, Value], values: dict[str, Value], columns: Collection[str]) -> None:
    """What a pattern captured, into a row: in the columns of its names, the rest as `capture`."""
    other: dict[str, Value] = {}
    for name, value in values.items():
        if name in columns:
            row[name] = value
        else:
            other[name] = value
    if other:
        row["capture"] = _capture_json(other)


def _capture_json(values: dict[str, Value]) -> str:
    pairs = (f"{_encoded(name)}: {_encoded(value)}" for name, value in sorted(values.items()))
    return f"{{{', '.join(pairs)}}}"


def _encoded(value: Value) -> str:
    if type(value) is int:  # not a bool
        return str(value)
    return encode_basestring(value) if isinstance(value, str) else _CAPTURES.encode(value)


def default_converter(column_type: str) -> str:
    """The converter a column of this DuckDB type takes where a pattern names none."""
    if column_type in ("INTEGER", "BIGINT"):
        return "int"
    if column_type == "DOUBLE":
        return "float"
    return "bool" if column_type == "BOOLEAN" else "text"


def strip_ansi(text: str) -> str:
    """The text without terminal colour codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def character_count(line: bytes, end: int) -> int:
    """The characters in front of a place of a line."""
    return min(end, len(line)) if line.isascii() else len(line[:end].decode("utf-8", "replace"))
