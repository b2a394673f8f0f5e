"""The style sheet and the script of a page, and what a browser may do with it: run these two, and nothing else."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet of reports and pages."""
    return _text("style.css") + _text("page/vendor/uPlot.min.css")


@lru_cache(maxsize=1)
def script() -> str:
    """The script of reports: uPlot, and what lays the picture out."""
    return _text("page/vendor/uPlot.iife.min.js") + "\n" + _text("page/page.js")


@lru_cache(maxsize=1)
def script_source() -> str:
    """What a Content-Security-Policy calls the script."""
    return _hash(script())


@lru_cache(maxsize=4)
def policy(*more_styles: str) -> str:
    """The Content-Security-Policy of a report that is one file, with other style sheets besides its own."""
    allowed = " ".join(f"'{_hash(one)}'" for one in (*more_styles, style()))
    return (
        f"default-src 'none'; style-src {allowed}; script-src '{script_source()}'; base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return files("aiscorr.report").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
