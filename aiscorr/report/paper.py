"""Prints the page of a report to PDF with the Chromium that is installed: no window, no network, no profile."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from aiscorr.errors import UsageError

#: What Chromium and its kin are called.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_TIMEOUT_S = 120
_FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-sync", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer",
)  # fmt: skip


def browser_path() -> str | None:
    """The program of a Chromium on this machine."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def pdf_of(html: str) -> bytes:
    """The page as PDF. Raises UsageError where there is no Chromium, or where it does not print."""
    program = browser_path()
    if program is None:
        raise UsageError(
            "a PDF needs Chromium or Chrome, and none is installed here",
            where="aiscorr report",
            try_this="install chromium, or --format html, and print it to a file",
        )
    with tempfile.TemporaryDirectory(prefix="aiscorr-pdf-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(html, "utf-8")
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
        command = [program, *_FLAGS, *alone, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        environment = {**os.environ, "HOME": folder}
        try:
            done = subprocess.run(
                [*command, source.as_uri()], env=environment, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
            if target.is_file():
                return target.read_bytes()
            said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
    raise UsageError(
        f"{program} did not print: {said}", where="aiscorr report", try_this="--format html, and print it to a file"
    )
