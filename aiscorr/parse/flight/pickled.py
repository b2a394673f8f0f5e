"""Loads the data of a Flight Recorder dump, pickle or JSON, without executing anything that stands in it.

Before a pickle is loaded every opcode is looked at: only those that make plain data pass, and what they
claim (lengths, memo places, containers) must fit the file. The loader itself refuses every global.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import pickle
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NoReturn

#: A dump of 20 000 records with long stacks is 60 MB (1 to 3 kB a record, PyTorch 2.13).
MAX_BYTES = 256 * 1024 * 1024
#: Lists, tuples and dicts of one dump: a record is 10 of them, its frames one each.
MAX_CONTAINERS = 3_000_000
_CONTAINER_CODES = (b"}", b"]", b"\x85", b"\x86", b"\x87")
_GLOBAL_CODES = b"ci\x93oR\x81\x92b\x82\x83\x84PQ"
#: A memo place above 255 takes 5 bytes to name, and what it holds at least one.
_PUT_BYTES = 6
_LONG1 = rb"\x8a(?:\x08.{8}|" + b"|".join(b"\\x%02x.{%d}" % (n, n) for n in (4, 5, 0, 1, 2, 3, 6, 7, 9)) + b")"
_TEXT = b"X(?:" + b"|".join(b"\\x%02x\\0\\0\\0.{%d}" % (n, n) for n in range(100)) + b")"


class DumpError(ValueError):
    """A dump that cannot be used, and why in words."""


class _DataLoader(pickle.Unpickler):
    """An unpickler for plain data: whatever would import, call or refer to something outside is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Refuses every global."""
        raise DumpError(f"asks for {module_name}.{global_name}: refused, nothing was executed")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuses references to something outside of the file."""
        raise DumpError("refers to something outside of the file: refused")


@lru_cache(maxsize=8)
def _plain_run(top: int) -> re.Pattern[bytes]:
    """What matches a run of opcodes without long texts; memo places end at `top` times 65536.

    PyTorch 2.2 to 2.15 write protocol 2; longer pickles, with frames and implicit memo, come from tools.
    """
    place = b"r..[\\x00-" + re.escape(bytes([min(top, 255)])) + b"]\\x00"
    if top > 255:
        place = b"r...[\\x00-" + re.escape(bytes([top >> 8])) + b"]"
    codes = rb"[N\x88\x89(}\])suaet\x85\x86\x87\x94]|[Kqh].|M..|[Jj]....|[G\x95]........|\x80[\x02-\x05]|"
    return re.compile(b"(?:" + codes + place + b"|" + _TEXT + b"|" + _LONG1 + b")*+", re.DOTALL)


def check_pickle(data: bytes) -> None:
    """Raises DumpError where a pickle is more than plain data or claims more than the file can hold."""
    size = len(data)
    count = sum(data.count(code) for code in _CONTAINER_CODES)
    if count > min(MAX_CONTAINERS, 1000 + size // 3):
        raise DumpError(f"holds up to {count} lists and tuples: refused")
    run = _plain_run(size // _PUT_BYTES >> 16)
    place = 0
    while True:
        found = run.match(data, place)
        place = found.end() if found else place
        code = data[place : place + 1]
        if code == b"X":
            step = 5 + int.from_bytes(data[place + 1 : place + 5], "little")
        elif code == b"\x8c":
            step = 2 + int.from_bytes(data[place + 1 : place + 2], "little")
        elif code == b"\x8d":
            step = 9 + int.from_bytes(data[place + 1 : place + 9], "little")
        elif code == b".":
            return
        else:
            raise DumpError(_refusal(code, data, place))
        if place + step > size:
            raise DumpError(f"claims a text of {step} bytes at byte {place}, the file ends at {size}")
        place += step


def _refusal(code: bytes, data: bytes, place: int) -> str:
    if not code:
        return f"ends in the middle, after {len(data)} bytes"
    if code in _GLOBAL_CODES:
        names = data[place + 1 : place + 80].split(b"\n")[:2] if code in b"ci" else []
        words = b".".join(names).decode("ascii", "replace").replace("\0", "")[:60] or "something to be called"
        return f"asks for {words} at byte {place}: refused, nothing was executed"
    if code == b"r":
        index = int.from_bytes(data[place + 1 : place + 5], "little")
        return f"claims memo place {index} at byte {place}, more than the file can fill: refused"
    return f"is no pickle of plain data: opcode {code!r} at byte {place}"


def _load_pickle(data: bytes) -> Any:
    check_pickle(data)
    try:
        return _DataLoader(io.BytesIO(data)).load()
    except DumpError:
        raise
    except (pickle.UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError) as error:
        raise DumpError(f"cannot be read as a pickle: {error}") from None
    except (MemoryError, RecursionError, OverflowError) as error:
        raise DumpError(f"cannot be read as a pickle: {type(error).__name__}") from None


def _load_json(data: bytes) -> Any:
    count = data.count(b"[") + data.count(b"{")
    if count > MAX_CONTAINERS:
        raise DumpError(f"holds up to {count} lists and objects: refused")
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except ValueError as error:
        raise DumpError(f"cannot be read as JSON: {error}") from None
    except (RecursionError, MemoryError):
        raise DumpError("cannot be read as JSON: too deep") from None


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Nothing looks for cycles meanwhile: a dump is a million small objects that all live until it is read.

    Afterwards the collector is as it was, whatever happened.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def load_dump(data: bytes) -> Any:
    """The content of a dump as plain Python data. Raises DumpError with the reason in words."""
    if not data.strip():
        return _fail("is empty")
    if len(data) > MAX_BYTES:
        return _fail(f"is larger than {MAX_BYTES >> 20} MiB")
    if data[:1] == b"\x80":
        return _load_pickle(data)
    if data.lstrip()[:1] in (b"{", b"["):
        return _load_json(data)
    return _fail("is neither a pickle nor JSON")


def _fail(reason: str) -> NoReturn:
    raise DumpError(reason)
