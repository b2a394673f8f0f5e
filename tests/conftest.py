"""What all tests share: a home of their own, an odd time zone, scenarios ingested once, and the command line."""

from __future__ import annotations

import inspect
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from commands import Command
    from scenes import Library

_LEAKS = ("AISCORR_", "AIS_", "XDG_", "SLURM_")
_LEAKING = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "PAGER", "TERM", "LC_ALL", "LANG", "LANGUAGE")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the expected reports again instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="write fixtures/*/expected again; read the diff")


def pytest_configure(config: pytest.Config) -> None:
    """Where the slow tests are asked for, tests of drawn inputs draw many."""
    if config.option.markexpr == "slow":
        os.environ["TESTS_DRAW_MUCH"] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the slow tests are asked for, those of drawn inputs are among them."""
    if config.option.markexpr == "slow":
        for item in items:
            test = getattr(item, "function", None)
            if getattr(test, "is_hypothesis_test", False) or (test and "@given" in inspect.getsource(test)):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of one test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def own_home(shared_base: Path) -> Iterator[None]:
    """Nothing of this machine's settings is seen; local time is a zone that no log of the tests uses."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_LEAKS) or name in _LEAKING:
                patch.delenv(name)
        home = shared_base / "home"
        home.mkdir(exist_ok=True)
        patch.setenv("HOME", str(home))
        patch.setenv("AISCORR_PAGER", "cat")
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(home / "hypothesis"))
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def library(shared_base: Path, own_home: None) -> Library:
    """Scenarios and databases made of them."""
    from scenes import Library

    folder = shared_base / "library"
    folder.mkdir(exist_ok=True)
    return Library(folder)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The recorded incidents beside the repository."""
    from scenes import SHARED

    if not SHARED.is_dir():
        pytest.skip(f"recorded incidents are not available: {SHARED} is missing")
    return SHARED


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs a command of aiscorr in an empty folder, for its exit code, stdout and stderr without lines of progress."""
    from commands import command_in

    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("aiscorr.cli.progress.LINE_EVERY_S", 3600.0)
    before = signal.getsignal(signal.SIGINT)
    yield command_in(capsys.readouterr)
    assert signal.getsignal(signal.SIGINT) is before, "a command left its own handler of Ctrl-C behind"


@pytest.fixture(params=["compiled", "plain"])
def either_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs with the compiled part of the readers, where it was built, and without it."""
    from aiscorr import native

    if request.param == "plain":
        monkeypatch.setattr(native, "module", None)
    elif native.module is None:
        pytest.skip("the compiled part was not built here: no C compiler, or AISCORR_NO_NATIVE is set")
    return str(request.param)
