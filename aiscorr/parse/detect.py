"""Tells what a file is from its first bytes: which kind, and why. Names are hints for nothing here.

A document that quotes log lines (README, TOML, another tool's output) is `unknown` and never evidence.
Text that is neither clearly a log nor clearly a document, and lines that begin with no more than a date, are
tried as a worker log and kept only if a line of it is recognised (`is_tentative`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import islice

from aiscorr.parse.ais.node_status import RECORD_HEAD
from aiscorr.parse.mended import is_fence, outside_code
from aiscorr.parse.spec.formats import LineFormat, load_formats

HEAD_BYTES = 64 * 1024
_MAX_LINES = 400
#: A log of packages has one of its lines among so many of its last.
_LAST_LINES = 5
_LABEL = re.compile(rb" {0,4}(?:(\d{1,5})|([\w.-]+)): ")
_NODE_STATUS = re.compile(rb'"(?:snode|tracker)"\s*:')
#: Control bytes that no log holds: all but tab, line ends, form feed and escape.
_ODD_BYTES = bytes(value for value in range(32) if value < 9 or 13 < value < 27 or value > 27)
_DEBUG_STACKS = re.compile(rb"/handler/(?:dump_traceback|pyspy_dump)\b")
#: A setting of YAML with its depth and name, and the head of a table of TOML.
_SETTING = re.compile(rb"(\s*)([\w-]+):(?: |$)")
_TABLE = re.compile(rb"\[{1,2}[\w.\"-]+\]{1,2}\s*(?:#.*)?$")
#: What only a document has: a heading, a fence, the line below the head of a table, an address at its foot.
_MARKUP = re.compile(rb"#{1,6} \S|```|~~~|\|(?: ?:?-+:? ?\|)+\s*$|\[[^\]]+\]: https?://")
#: A row of a table and a rule, which programs print too.
_TABLED = re.compile(rb"\||[=-]{4,}\s*$")
#: A call of a traceback: its source lines look like those of a program, which holds none of these.
_CALL = re.compile(rb'\s*(?:\[rank\d+\]:\s*)?File "[^"]+", line \d+, in ')
#: An exception that ended a program, which neither settings nor lists of a text hold.
_RAISED = re.compile(rb"(?:\w+\.)*[A-Z]\w*(?:Error|Exception): \S")
_ENTERED = re.compile(rb"(?:\d+ )?(?: --- modulename: | {8}\S+:\d+ \S+\s*$)")
#: From this order on a format that is no log is told by marks that logs have too.
_LOOSE_ORDER = 30
_BINARY = {
    b"DUCK": "a DuckDB database",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\x7fELF": "a program",
    b"SQLite format": "an SQLite database",
}
#: Compressed files that are not read, and what makes them plain ones.
_UNREAD_COMPRESSION = {
    b"\xfd7zXZ\0": ("xz", "xz -dk"),
    b"BZh": ("bzip2", "bzip2 -dk"),
    b"7z\xbc\xaf\x27\x1c": ("7-Zip", "7z x"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -dk"),
    b"LZIP": ("lzip", "lzip -dk"),
    b"\x1f\x9d": ("compress", "gzip -dk"),
    b"Rar!\x1a\x07": ("RAR", "unrar x"),
}


@dataclass(frozen=True)
class Detected:
    """A file's kind and the reason in words."""

    kind: str
    reason: str
    is_tentative: bool = False


#: A text with more lines of a log than this share is a log in which stacks stand.
_LOG_SHARE = 0.05
#: A text is a log that holds blocks of code where so many of its other lines are of a log.
_PRINTED_SHARE = 0.6


def detect(head: bytes, *, forced: str | None = None, format_folders: tuple[str, ...] = ()) -> Detected:
    """The kind of a file whose first bytes (64 KiB are enough) are given."""
    if forced is not None:
        return Detected(forced, "given with --kind")
    if not head:
        return Detected("unknown", "empty file")
    for magic, what in _BINARY.items():
        if head.startswith(magic) or head[8:12] == magic:
            return Detected("unknown", what)
    for magic, (name, command) in _UNREAD_COMPRESSION.items():
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] == b"1AY&SY"):
            why = f"compressed with {name}, which is not read: decompress it ({command} FILE) and ingest what comes out"
            return Detected("unknown", why)
    if head[:1] == b"\x80" and 2 <= head[1] <= 5:
        return _detect_pickle(head)
    text = head.replace(b"\0", b"")
    if not text.strip():
        return Detected("unknown", "nothing but NUL bytes or blanks in its beginning")
    if _binary_share(text) > 0.3:
        return Detected("unknown", "binary data")
    stripped = text.lstrip()
    if b"Torch Distributed Debug Server" in stripped and _DEBUG_STACKS.search(stripped):
        return Detected("stack_dump", "page of stacks of torch.distributed.debug")
    if stripped[:1] in b"{[":
        found = _detect_json(stripped, len(head) < HEAD_BYTES)
        if found is not None:
            return found
    return _detect_text(text, format_folders)


def _detect_pickle(head: bytes) -> Detected:
    if any(word in head for word in (b"entries", b"pg_config", b"profiling_name", b"collective_seq_id")):
        return Detected("flight_recorder", "pickle with Flight Recorder keys")
    return Detected("unknown", "a pickle without Flight Recorder keys")


def _binary_share(text: bytes) -> float:
    sample = text[:8192]
    return (len(sample) - len(sample.translate(None, _ODD_BYTES))) / max(1, len(sample))


def _detect_json(text: bytes, is_whole: bool) -> Detected | None:
    if b'"entries"' in text and (b'"pg_config"' in text or b'"collective_seq_id"' in text or b'"pg_status"' in text):
        return Detected("flight_recorder", "JSON with Flight Recorder keys")
    if b'"profiling_name"' in text and (b'seq_id"' in text or b'"pg_id"' in text):
        return Detected("flight_recorder", "JSON with Flight Recorder keys")
    if b'"pg_status"' in text and b'"pg_config"' in text:
        return Detected("flight_recorder", "JSON with Flight Recorder keys and no entries")
    if b'"thread_name"' in text and b'"frames"' in text:
        return Detected("stack_dump", "JSON of py-spy")
    if text.startswith(RECORD_HEAD):
        return Detected("node_status", "record of aiscorr pull")
    if b'"extraInfo"' in text and b'"py_callstack"' in text:
        return Detected("worker_log", "error.json of torch elastic")
    if _NODE_STATUS.search(text) and b'"daemon_id"' in text:
        return Detected("node_status", "JSON of AIStore node_status or node_stats")
    if not is_whole:
        return Detected("unknown", "JSON of no known kind") if text[:1] == b"{" and b'":' in text[:200] else None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return Detected("unknown", "JSON of no known kind")


def _without_labels(lines: list[bytes]) -> list[bytes]:
    """The lines without the task or host that `srun -l` and pdsh put before each; as they are where none does.

    Settings have a name before a colon too, but not a number, nor one and the same in nearly every line.
    """
    wanted = max(3.0, 0.8 * len(lines))
    found: list[re.Match[bytes] | None] = []
    bare_count = 0
    for line in lines:
        match = _LABEL.match(line)
        found.append(match)
        bare_count += match is None
        if len(lines) - bare_count < wanted:
            return lines
    names = Counter(match.group(2) for match in found if match is not None and match.group(2))
    task_count = sum(1 for match in found if match is not None and match.group(1))
    if max(names.values(), default=0) < wanted and task_count < wanted:
        return lines
    return [line[match.end() :] if match is not None else line for line, match in zip(lines, found, strict=True)]


def _is_plausible(form: LineFormat, lines: list[bytes]) -> bool:
    """Stacks of faulthandler begin with one, else they are part of a log; a program's text holds no traceback; a trace
    enters functions, a log does not; settings raise nothing and have a name each, in lists too, while a log has many
    lines of one (`Epoch: [0][ 10/500]`, `INFO: step 1`); a document has markup that no program prints, or enough beside
    tables where nothing is raised: programs print lists too."""
    if form.name == "file_faulthandler":
        return form.regex.match(lines[0]) is not None
    if form.name == "file_package_log":
        return any(form.regex.match(line) for line in lines[-_LAST_LINES:])
    if form.name == "file_source_code":
        return not any(_CALL.match(line) for line in lines)
    if form.name == "file_markdown":
        if any(_MARKUP.match(line) for line in lines):
            return True
        marked = sum(form.regex.match(line) is not None and _TABLED.match(line) is None for line in lines)
        return marked >= max(form.min_count, form.share * len(lines)) and not any(map(_RAISED.match, lines))
    if form.name == "file_toml":
        if any(_RAISED.match(line) for line in lines):
            return False
        names = Counter(found.groups() for line in lines if (found := _SETTING.match(line)))
        tops = [count for (depth, _), count in names.items() if not depth]
        is_varied = 2 * len(tops) >= sum(tops) and 2 * max(names.values(), default=0) <= len(lines)
        return is_varied or any(_TABLE.match(line) for line in lines)
    return form.name != "file_python_trace" or any(_ENTERED.match(line) for line in lines)


def _match_count(form: LineFormat, lines: list[bytes], firsts: Counter[int], least: float) -> int:
    """How many lines are of a format; 0 where they turn out not to be `least` or more."""
    first = form.facts.first_bytes
    most = len(lines) if first is None else sum(count for byte, count in firsts.items() if byte in first)
    match, count, spare = form.regex.match, 0, len(lines) - least
    if most < least:
        return 0
    for line in lines:
        if match(line, 0, 512):
            count += 1
        else:
            spare -= 1
            if spare < 0:
                return 0
    return count


def _prints_code(lines: list[bytes], forms: tuple[LineFormat, ...]) -> bool:
    """Whether blocks of code stand in a log, as where a program prints what a model wrote: the lines of the log are
    outside of them, and those that a document quotes inside."""
    outside = outside_code(lines)
    known = sum(any(form.regex.match(line, 0, 512) for form in forms) for line in outside)
    return known >= _PRINTED_SHARE * max(1, len(outside))


def _detect_text(text: bytes, format_folders: tuple[str, ...]) -> Detected:
    pieces = text[:HEAD_BYTES].replace(b"\r", b"\n").split(b"\n")
    lines = list(islice((line for line in pieces if line.strip()), _MAX_LINES))
    if len(text) >= HEAD_BYTES and len(lines) > 1:
        lines.pop()
    bare = _without_labels(lines)
    is_labelled = bare is not lines
    lines = bare
    firsts = Counter(line[0] for line in lines if line)
    forms = load_formats("file", format_folders)
    own = {form.name: form for form in forms if form.name in ("file_worker", "file_dated")}
    worker, dated = own["file_worker"], own["file_dated"]

    @cache
    def share(name: str) -> float:
        return _match_count(own[name], lines, firsts, 0) / len(lines)

    is_fenced = any(map(is_fence, lines))
    is_printing = is_fenced and _prints_code(lines, (worker, dated))
    for form in forms:
        least = max(form.min_count, form.share * len(lines))
        if form.name in own or _match_count(form, lines, firsts, least) < least:
            continue
        is_loose = form.kind == "unknown" and form.order >= _LOOSE_ORDER and form.name != "file_torchfrtrace"
        if is_loose and (is_labelled or is_printing or share(worker.name) + share(dated.name) >= 0.6):
            continue
        if form.name == "file_py_spy" and share(worker.name) + share(dated.name) > _LOG_SHARE:
            continue
        if not _is_plausible(form, lines) or (form.name == "file_toml" and dated.regex.match(lines[0])):
            continue
        return Detected(form.kind or "unknown", form.title)
    if share(worker.name) >= worker.share and (is_printing or not is_fenced):
        return Detected("worker_log", worker.title)
    if share(worker.name) + share(dated.name) >= dated.share and (is_printing or not is_fenced):
        return Detected("worker_log", dated.title, is_tentative=True)
    if is_fenced or re.match(rb"#{1,3} \w", lines[0]):
        return Detected("unknown", "a document: it has a heading or fenced text")
    return Detected("worker_log", "text, kept if a line is recognised", is_tentative=True)
