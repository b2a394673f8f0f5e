"""The built wheel holds what the program needs and nothing else, and works where nothing but it is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from scenes import FIXTURES, REPO

from aiscorr import __version__
from aiscorr.demo import SCENARIO

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as pip builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(REPO)).build(directory=str(folder), versions=["standard"])
    return Path(built)


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with nothing in it but the wheel."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def below(folder: Path, suffix: str) -> set[str]:
    """The files below a folder with a suffix, as paths from it."""
    return {str(path.relative_to(folder)) for path in folder.rglob(f"*{suffix}") if path.is_file()}


@pytest.mark.parametrize(
    ("folder", "suffix", "prefix"),
    [
        ("aiscorr", ".py", "aiscorr"),
        ("aiscorr/patterns", ".toml", "aiscorr/patterns"),
        ("aiscorr/formats", ".toml", "aiscorr/formats"),
        ("aiscorr/queries", ".sql", "aiscorr/queries"),
        ("aiscorr/report", ".css", "aiscorr/report"),
        ("aiscorr/report", ".js", "aiscorr/report"),
        ("aiscorr/report/page/vendor", "", "aiscorr/report/page/vendor"),
        ("aiscorr/serve/examples", "", "aiscorr/serve/examples"),
        ("sql", ".sql", "aiscorr/sql"),
        (f"fixtures/{SCENARIO}/ais", "", "aiscorr/demo_incident/ais"),
        (f"fixtures/{SCENARIO}/workers", "", "aiscorr/demo_incident/workers"),
    ],
)
def test_everything_is_in(folder: str, suffix: str, prefix: str, names: set[str]) -> None:
    """Modules, patterns, formats, queries, views and the incident of the demo are in the wheel, all of them."""
    expected = {f"{prefix}/{name}" for name in below(REPO / folder, suffix) if "__pycache__" not in name}
    assert expected and expected - names == set()


def test_columns_are_in(names: set[str]) -> None:
    """The meanings of the columns are in the wheel."""
    assert "aiscorr/catalog/columns.toml" in names


def test_nothing_else_is_in(names: set[str]) -> None:
    """Neither tests nor fixtures nor golden reports nor caches are in the wheel."""
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"aiscorr", f"aiscorr-{__version__}.dist-info"}
    parts = {part for name in names for part in name.split("/")}
    assert parts & {"tests", "fixtures", "expected", "generator", "bad", "__pycache__", ".ci", "truth.toml"} == set()


def test_metadata(wheel: Path) -> None:
    """The wheel names its command, its licence and its dependencies as pyproject.toml does."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["project"]
    info = f"aiscorr-{__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        assert archive.read(f"{info}/entry_points.txt").decode() == "[console_scripts]\naiscorr = aiscorr.cli:main\n"
        assert archive.read(f"{info}/licenses/LICENSE") == (REPO / "LICENSE").read_bytes()
    assert f"\nVersion: {__version__}\n" in metadata and project["version"] == __version__
    assert metadata.count("\nRequires-Dist: ") >= len(project["dependencies"])


def alone(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the unpacked wheel's command in a folder, without the repository in sight."""
    folder.mkdir(exist_ok=True)
    program = (
        "import sys\n"
        f"sys.path[:] = [{str(installed)!r}] + [p for p in sys.path if p not in ('', {str(REPO)!r})]\n"
        "from aiscorr.cli import main\nimport aiscorr\n"
        f"assert aiscorr.__file__.startswith({str(installed)!r}), aiscorr.__file__\n"
        "main(sys.argv[1:])\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_demo_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    """The demo works from the wheel alone and tells the bundled incident."""
    ended = alone(installed, tmp_path / "cwd", "demo")
    assert ended.returncode == 0, ended.stderr
    assert "Storage failed this job" in ended.stdout and f"{installed}/aiscorr/demo_incident" in ended.stderr
    assert list((tmp_path / "cwd").iterdir()) == []


def test_work_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Ingest, a named query and an explanation work from the wheel alone."""
    logs = str(FIXTURES / "worker_logs_only" / "workers")
    ended = alone(installed, tmp_path / "cwd", "ingest", logs)
    assert ended.returncode == 0 and "failure 845922" in ended.stdout, ended.stderr
    ended = alone(installed, tmp_path / "cwd", "query", "@failures", "--format", "csv")
    assert ended.returncode == 0 and "845922" in ended.stdout, ended.stderr
    ended = alone(installed, tmp_path / "cwd", "explain", "sdk_batch_short")
    assert ended.returncode == 0 and "A batch came back short" in ended.stdout, ended.stderr


def test_source_archive(tmp_path: Path) -> None:
    """The source archive holds what the tests and the demo need."""
    import tarfile

    (built,) = SdistBuilder(str(REPO)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"README.md", "LICENSE", "pyproject.toml", "sql/facts/threshold.csv", "tests/conftest.py"}
    needed |= {f"fixtures/{SCENARIO}/truth.toml", "fixtures/generator/__main__.py", "aiscorr/catalog/columns.toml"}
    needed |= {"benchmarks/accuracy/frozen/incidents.tar.xz", "docs/README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    needed |= {"hatch_build.py", "aiscorr/native/native.h", "aiscorr/native/stats.c"}
    assert needed - held == set() and not [name for name in held if name.endswith(".so")]
