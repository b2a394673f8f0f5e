from collections.abc import Callable
from typing import Any, Generic, TypeVar

VERSION: int
_Buffer = bytes | bytearray | memoryview
_Segment = TypeVar("_Segment")

class Stats:
    def __new__(cls) -> Stats: ...
    def aim(self, file_id: int, process_no: int, day_ns: int, last_ns: int, /) -> None: ...
    def told(self) -> tuple[int, int, int, int]: ...
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

def columns(rows: list[dict[str, Any]], names: tuple[str, ...], /) -> list[list[Any] | None]: ...
def count_newlines(buffer: _Buffer, start: int, end: int, /) -> int: ...
