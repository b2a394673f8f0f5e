"""Gives libraries of worker logs names that nobody knows, as those of a site have them.

In: the lines of a log. Out: the same, but packages below site-packages and the classes of exceptions that are neither
Python's nor PyTorch's own have made-up names, the same ones everywhere.
"""

from __future__ import annotations

import builtins
import re
from hashlib import md5

_SYLLABLES = ("bra", "klo", "mun", "tev", "ris", "dop", "sal", "ghe", "win", "fur", "zor", "pel")
_KNOWN = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type)) | {
    *("DistBackendError", "DistNetworkError", "DistStoreError", "OutOfMemoryError", "AcceleratorError"),
    *("ChildFailedError", "JSONDecodeError", "IncompleteRead", "SignalException", "RendezvousTimeoutError"),
}
_CLASS = re.compile(r"(?<![\w./])((?:[a-zA-Z_]\w*\.)*)([A-Z]\w*?)(Error|Exception|Failure)(?=: |\(|\s*$)", re.MULTILINE)
_PACKAGE = re.compile(r"(?<=site-packages/)(?!torch\b|torchrun\b)([A-Za-z]\w*)")


def _made_up(name: str) -> str:
    digest = md5(name.lower().encode(), usedforsecurity=False).digest()
    return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[: max(2, len(name) // 4)])


def _class_of(found: re.Match[str]) -> str:
    module, name, suffix = found.groups()
    if name + suffix in _KNOWN or module.startswith("torch"):
        return found[0]
    return (_made_up(module) + "." if module else "") + _made_up(name).capitalize() + suffix


def renamed(line: str) -> str:
    """A line with made-up names of libraries and of their exceptions; what torchrun prints stays as it is."""
    if "torch.distributed" in line or "torchrun" in line:
        return line
    return _PACKAGE.sub(lambda found: _made_up(found[1]), _CLASS.sub(_class_of, line))
