from collections.abc import Callable
from typing import Any, Generic, TypeVar

VERSION: int
HAS_SIEVE: int
_Buffer = bytes | bytearray | memoryview
_Segment = TypeVar("_Segment")

class Sieve:
    def __new__(cls, texts: tuple[bytes, ...], statistics: int, /) -> Sieve: ...
    def lines(self, block: _Buffer, /) -> bytes: ...
    def placed(self, hits: list[tuple[int, int]], /) -> list[tuple[int, int]]: ...

class Stats:
    def __new__(cls) -> Stats: ...
    def aim(self, file_id: int, process_no: int, day_ns: int, last_ns: int, takes_info: bool, /) -> None: ...
    def told(self) -> tuple[int, int, int, int, bool] | None: ...
    def add(
        self,
        body: _Buffer,
        file_id: int,
        line_no: int,
        process_no: int,
        local_ns: int,
        byte_offset: int,
        is_complete: bool,
        /,
    ) -> int: ...
    def take(self) -> dict[str, bytes | list[str]]: ...
    def __len__(self) -> int: ...

class Walk(Generic[_Segment]):
    def __new__(
        cls,
        segment: Callable[[tuple[Any, ...]], _Segment],
        data: _Buffer,
        size: int,
        hits: list[tuple[int, int]],
        line_no: int,
        block_offset: int,
        /,
    ) -> Walk[_Segment]: ...
    def next(self, wants_every_line: bool, taker: Stats | Events | None = None, /) -> _Segment | None: ...
    def line_no(self) -> int: ...

class Prefixes:
    def __new__(
        cls,
        forms: tuple[tuple[object, ...], ...],
        wrapper_count: int,
        stamp_count: int,
        prefix_type: type,
        stamp_type: type,
        make: Callable[..., Any],
        /,
    ) -> Prefixes: ...
    def read(self, line: bytes, /) -> tuple[Any, int | None, int | None] | None: ...
    def stamps(self, line: bytes, /) -> tuple[Any, int | None, int | None] | None: ...
    def has_prefix(self, line: bytes, /) -> bool | None: ...
    def last_other(
        self,
        text: _Buffer,
        end: int,
        rank: int | None,
        known: set[tuple[int | None, int | None]],
        takes_nobody: bool,
        words: Words,
        /,
    ) -> tuple[int, int] | None: ...
    def last_stamp(
        self, text: _Buffer, low: int, end: int, known: int, /
    ) -> tuple[int, tuple[Any, int | None, int | None] | None] | None: ...
    def owner(self, line: bytes, /) -> tuple[tuple[int | None, int | None], int | None, int | None] | None: ...

class Events:
    def __new__(cls, prefixes: Prefixes, kinds: tuple[tuple[object, ...], ...], /) -> Events: ...
    def aim(
        self,
        file_id: int,
        attempt_no: int,
        path_rank: int | None,
        path_local_rank: int | None,
        stamp_ns: int | None,
        stamp_zone_s: int | None,
        stamp_offset: int,
        searched_offset: int,
        first_ns: int | None,
        last_ns: int | None,
        own_zone_ns: int | None,
        is_lone: bool,
        is_utc: bool,
        is_tail_taken: bool,
        is_attempt_over: bool,
        /,
    ) -> None: ...
    def told(self) -> tuple[Any, ...] | None: ...
    def take(self) -> dict[str, list[Any]]: ...
    def __len__(self) -> int: ...

class Search:
    def __new__(cls, code: bytes, sets: bytes, firsts: bytes, /) -> Search: ...
    def holds(self, text: bytes, /) -> bool | None: ...

class Words:
    def __new__(cls, words: tuple[bytes, ...], folds: bool, /) -> Words: ...
    def of(self, text: str | _Buffer, /) -> int: ...
    def first_place(self, text: _Buffer, start: int, end: int, /) -> int: ...
    def last_line(self, text: _Buffer, low: int, end: int, /) -> tuple[int, int] | None: ...

def iso_ns(raw: bytes, /) -> int | None: ...
def record_head(line: bytes, /) -> tuple[str, int, str | None, int] | None: ...
def count_newlines(buffer: _Buffer, start: int, end: int, /) -> int: ...
