"""A value of AIStore's counter state.flags in words. The view state_flag holds what each bit says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: As a statistics line, JSON or a counter's table has it, and in hexadecimal as bits are often written.
_VALUE = re.compile(r"""(?:["']?state\.flags["']?\s*[:=]?\s*)?["']?(0x[0-9a-f]{1,16}|[0-9]{1,20})["']?""", re.I)


def flags_in(text: str) -> int | None:
    """The value, if the text is nothing but one."""
    found = _VALUE.fullmatch(text.strip())
    return None if found is None else int(found[1], 16 if found[1][1:2] in ("x", "X") else 10)


def flags_told(value: int, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The flags that are set, the lowest bit first: `KeepAliveErrors (bit 19), an alert`."""
    known = {
        bit: f"{flag} (bit {bit}){', an alert' if is_alert else ''}"
        for bit, flag, is_alert in connection.execute("select bit, flag, is_alert from state_flag").fetchall()
    }
    bits = [bit for bit in range(value.bit_length()) if value >> bit & 1]
    return [known.get(bit, f"bit {bit}, of which aiscorr knows no name") for bit in bits]
