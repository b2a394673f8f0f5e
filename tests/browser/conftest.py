"""A real browser for the tests of pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from aiscorr.report.paper import browser_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (requirements/browser.txt)")
    found = browser_path()
    if found is None:
        pytest.skip("there is no Chromium here")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=alone)
        yield opened
        opened.close()
