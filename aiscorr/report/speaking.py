"""The part of a log line that speaks: without the stamp, rank, level and place in the source that stand before it."""

from __future__ import annotations

import re
from functools import lru_cache

from aiscorr.parse.stamps import YearContext
from aiscorr.parse.worker.prefixes import PrefixReader
from aiscorr.report.blocks import shorten

#: What stands before the words of a record of AIStore: level, time, place in the source.
RECORD_HEAD = re.compile(r"^[IWEF] \d\d:\d\d:\d\d\.\d+ (?:[\w.]+:\d+ )?")
#: Tags before the words of a worker's line: `[PG ID 0 PG GUID 0(default_pg) Rank 2]`, `[rank2]`, `:`.
_TAGS = re.compile(r"^(?:\s*(?:\[[^\][]{1,80}\]|:))+\s*(?=\w)")
_LEVELS = re.compile(r"^\s*(?:(?:INFO|WARNING|ERROR|CRITICAL|DEBUG)\b[\s:|-]*)+(?=\w)")
#: Members of a record of JSON or logfmt before its words; level, rank, logger and place in the source before others.
_PARTS = re.compile(
    r'''^(?:(?:, *"\w+": *(?:"[^"]*"|\{[^{}]*\}|[\w.]+))*, *"(?:msg|message)": *"'''
    r"|(?: *[|-] *|\]\[[\w.]+\]\[|\] +)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: *[|-]|\] -|) +"
    r"(?:rank \d+ *[|:-] +|[\w.<>:]+ - +)*"
    r'| *(?:[\w.]{1,40}=[^ "]{1,80} )*(?:event|msg|message)=")'
)


def said(text: str, limit: int) -> str:
    """What a line says, on one line, cut behind `limit` characters; its head is what gives way first.

    `[rank2]:[E1120 23:14:24.208 ProcessGroupNCCL.cpp:1987] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump
    signal` becomes `Received a dump signal`.
    """
    line = RECORD_HEAD.sub("", text)
    raw = line.encode("utf-8", "replace")
    rest = raw[_reader().read(raw, YearContext(0)).message_start :].decode("utf-8", "replace") if raw else ""
    for head in (_PARTS, _TAGS, _LEVELS, _TAGS):
        rest = head.sub("", rest)
    return shorten(rest if rest.strip() else text, limit)


@lru_cache(maxsize=1)
def _reader() -> PrefixReader:
    return PrefixReader()
