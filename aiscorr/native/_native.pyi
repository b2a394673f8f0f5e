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
        segment: Callable[..., _Segment],
        data: _Buffer,
        size: int,
        hits: list[tuple[int, int]],
        line_no: int,
        block_offset: int,
        /,
    ) -> Walk[_Segment]: ...
    def next(self, wants_every_line: bool, stats: Stats | None = None, /) -> _Segment | None: ...
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
    def read(self, line: bytes, only_stamps: bool, /) -> tuple[Any, int | None, int | None] | None: ...

class Words:
    def __new__(cls, words: tuple[bytes, ...], folds: bool, /) -> Words: ...
    def of(self, text: str | _Buffer, /) -> int: ...

def columns(rows: list[dict[str, Any]], names: tuple[str, ...], /) -> list[list[Any] | None]: ...
def iso_ns(raw: bytes, /) -> int | None: ...
def count_newlines(buffer: _Buffer, start: int, end: int, /) -> int: ...
