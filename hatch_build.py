"""Builds aiscorr's C part into the wheel, or beside its sources for an editable install, where there is a compiler.

Without one, or with AISCORR_NO_NATIVE=1, the package is pure Python and reads the same, slower.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "aiscorr/native"
FILE = "_native.abi3.so"
_TIMEOUT_S = 120


class NativeBuildHook(BuildHookInterface[Any]):
    """Compiles before the wheel is made, and tells hatchling what came of it."""

    _work: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """As hatchling calls it, with `standard` or `editable`."""
        if self.target_name != "wheel":
            return
        folder = Path(self.root, FOLDER)
        if version == "editable":
            (folder / FILE).unlink(missing_ok=True)
            built = folder / FILE
        else:
            self._work = tempfile.mkdtemp()
            built = Path(self._work, FILE)
        reason = "AISCORR_NO_NATIVE is set" if os.environ.get("AISCORR_NO_NATIVE") else compile_to(folder, built)
        if reason is not None:
            self.app.display_info(f"aiscorr's C part is left out: {reason}")
            return
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"
        if version != "editable":
            build_data["force_include"][str(built)] = f"{FOLDER}/{FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """As hatchling calls it when the wheel is there."""
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)


def compile_to(folder: Path, target: Path) -> str | None:
    """Compiles the C files of a folder into one module; None where that went well, else why not."""
    compiler = _compiler()
    if compiler is None:
        return "there is no C compiler"
    if sys.implementation.name != "cpython" or sys.platform == "win32":
        return "not made for this Python"
    include = sysconfig.get_paths()["include"]
    link = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    part = target.with_name(f"{target.name}.{os.getpid()}")
    sources = sorted(map(str, folder.glob("*.c")))
    command = [*compiler, "-O3", "-std=c11", "-fPIC", "-shared", *link, f"-I{include}", "-o", str(part), *sources]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)
        if done.returncode:
            return f"{' '.join(command[:1])} failed: {next(iter(done.stderr.splitlines()), '')}"
        os.replace(part, target)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        part.unlink(missing_ok=True)
    return None


def _compiler() -> list[str] | None:
    """The command of a C compiler: the one named by CC, else Python's own, else whichever is there."""
    for text in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        words = shlex.split(text or "")
        if words and shutil.which(words[0]):
            return words
    return None
