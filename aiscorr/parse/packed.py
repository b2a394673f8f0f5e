"""The lines of a program in records of a collector: JSON of Docker, journald and Cloud Logging, CSV of CloudWatch."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

_SHARE = 0.8
_EPOCH, _NEW_LINE = datetime(1970, 1, 1), "\n"
#: What the name of a host or a program does not have.
_NO_NAME = re.compile(r"[^\w.-]")


def is_packed(lines: Sequence[bytes]) -> bool:
    """Whether a collector of containers or hosts wrote nearly all lines as records of its own."""
    filled = [line for line in lines if line.strip()]
    return sum(_record_of(line) is not None for line in filled) > _SHARE * len(filled)


def unpacked(line: bytes) -> bytes:
    """The line of a program in a collector's record, behind its time, as a CRI file or journalctl has it."""
    read = _record_of(line)
    try:
        return line if read is None else " ".join(read(line).split("\n")).encode("utf-8", "replace")
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, csv.Error):
        return line


def _record_of(line: bytes) -> Callable[[bytes], str] | None:
    return next((read for regex, read in _RECORDS if regex.match(line)), None)


def _of_docker(line: bytes) -> str:
    record = json.loads(line)
    return f"{record['time']} {record.get('stream', 'stdout')} F {record['log'].rstrip(_NEW_LINE)}"


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


#: One line of a program in each of its own: Docker's json-file driver; `journalctl -o json`; entries of Google's Cloud
#: Logging as JSON; events of CloudWatch as its console saves them.
_RECORDS = (
    (re.compile(rb'\{"log": ?"'), _of_docker),
    (re.compile(rb'\{(?=[^\n]*"__REALTIME_TIMESTAMP" ?: ?")[^\n]*"MESSAGE" ?:'), _of_journald),
    (re.compile(rb'\{(?=[^\n]*"timestamp" ?: ?")[^\n]*"(?:text|json)Payload" ?:'), _of_cloud_logging),
    (re.compile(rb"1[5-9]\d{11},[^\n]"), _of_cloudwatch),
)
