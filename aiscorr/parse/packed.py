"""The lines of a program in records of a collector: JSON of Docker, journald and Cloud Logging, CSV of CloudWatch."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from aiscorr.parse.values import Value

_SHARE = 0.8
_EPOCH = datetime(1970, 1, 1)
#: What the name of a host or a program does not have.
_NO_NAME = re.compile(r"[^\w.-]")
#: What `Packing.line` puts in front of a program's line.
_HEAD = re.compile(r"\d{4}-\d\d-\d\dT\S+ (?:std(?:err|out) F |\S+ \S+\[\w+\]: )(?:\[rank \d{1,6}\] )?")


class Packing(NamedTuple):
    """A form of records: how one begins, the line in it behind its time, and how the record writes a text."""

    begins: re.Pattern[bytes]
    read: Callable[[bytes], str]
    written: Callable[[str], str]

    def line(self, raw: bytes) -> bytes:
        """The line of a program in a record, behind its time, as a CRI file or journalctl has it; else what it is."""
        if not self.begins.match(raw):
            return raw
        try:
            return " ".join(self.read(raw).rstrip("\n").split("\n")).encode("utf-8", "replace")
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, csv.Error):
            return raw

    def row(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """A row with its text as it stands in the record, without the head that `line` put in front."""
        text = values.get("text")
        if not isinstance(text, str):
            return dict(values)
        head = _HEAD.match(text)
        start = head.end() if head else 0
        found: dict[str, Value] = {**values, "text": self.written(text[start:])}
        for name in ("body_start", "message_start"):
            if isinstance(place := values.get(name), int):
                found[name] = len(self.written(text[start:place]))
        return found


def packing_of(lines: Sequence[bytes]) -> Packing | None:
    """The form of records in which a collector wrote nearly all lines; None where none did."""
    filled = [line for line in lines if line.strip()]
    return next(
        (one for one in _PACKINGS if sum(map(bool, map(one.begins.match, filled))) > _SHARE * len(filled)), None
    )


def _of_docker(line: bytes) -> str:
    record = json.loads(line)
    return f"{record['time']} {record.get('stream', 'stdout')} F {record['log']}"


def _of_journald(line: bytes) -> str:
    record = json.loads(line)
    said = record["MESSAGE"]
    text = said if isinstance(said, str) else bytes(said).decode("utf-8", "replace")
    moment, program = _utc(int(record["__REALTIME_TIMESTAMP"])), record.get("SYSLOG_IDENTIFIER") or "program"
    return f"{moment} {_head(record.get('_HOSTNAME'), program, record.get('_PID'))}{text}"


def _of_cloud_logging(line: bytes) -> str:
    record = json.loads(line)
    fields = record.get("jsonPayload") or {}
    text = record.get("textPayload") or fields.get("message") or fields["msg"]
    whose = f"[rank {fields['rank']}] " if "rank" in fields else ""
    values = "".join(f" {key}={one}" for key, one in fields.items() if key != "rank" and type(one) in (int, float))
    values = "" if re.search(r"\d", text) else values
    pod = record.get("resource", {}).get("labels", {}).get("pod_name")
    return f"{record['timestamp']} {_head(pod, 'container')}{whose}{text}{values}"


def _of_cloudwatch(line: bytes) -> str:
    moment, text, *stream = next(csv.reader([line.decode("utf-8", "replace")]))
    return f"{_utc(int(moment) * 1000)} {_head(stream[0].rpartition('/')[2] if stream else None, 'stream')}{text}"


def _head(host: str | None, program: str, process: str | None = None) -> str:
    """Host and program as journalctl prints them in front of a line; without a host what a CRI file has there."""
    if not host:
        return "stderr F "
    return f"{_NO_NAME.sub('_', host)} {_NO_NAME.sub('_', program)}[{process or 0}]: "


def _utc(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds") + "Z"


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _in_csv(text: str) -> str:
    return text.replace('"', '""')


#: Docker's json-file driver; `journalctl -o json`; entries of Cloud Logging as JSON; events of CloudWatch as CSV.
_PACKINGS = (
    Packing(re.compile(rb'\{"log": ?"'), _of_docker, _in_json),
    Packing(re.compile(rb'\{(?=[^\n]*"__REALTIME_TIMESTAMP" ?: ?")[^\n]*"MESSAGE" ?:'), _of_journald, _in_json),
    Packing(re.compile(rb'\{(?=[^\n]*"timestamp" ?: ?")[^\n]*"(?:text|json)Payload" ?:'), _of_cloud_logging, _in_json),
    Packing(re.compile(rb"1[5-9]\d{11},[^\n]"), _of_cloudwatch, _in_csv),
)
