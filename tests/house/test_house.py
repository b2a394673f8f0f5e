"""The rules of the house that a program can check: modules, functions, docstrings, imports of danger, tracked files."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from scenes import REPO

PACKAGE = REPO / "aiscorr"
GENERATOR = REPO / "fixtures" / "generator"
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
# Put together here, so that this file does not hold what it looks for.
_MACHINE_PATH = re.compile("/" + r"(?:work/(?:main|shared|venv|notes)\b|Users/\w)")
_INDEX_HOST = re.compile(
    r"https?://[^\s\"')]*(?:py" + r"pi|python" + r"hosted|artifactory|nexus|/simple/)", re.IGNORECASE
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=1)
def modules() -> dict[str, ast.Module]:
    """Every Python file of the package, the generator and the tests, parsed."""
    paths = [path for folder in (PACKAGE, GENERATOR, REPO / "tests") for path in sorted(folder.rglob("*.py"))]
    return {str(path.relative_to(REPO)): ast.parse(path.read_text("utf-8")) for path in paths}


def package_modules() -> dict[str, ast.Module]:
    """Every Python file of the package, parsed."""
    return {name: tree for name, tree in modules().items() if name.startswith("aiscorr/")}


@lru_cache(maxsize=1)
def tracked_files() -> list[Path]:
    """The files under version control, or none where git is not at hand."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for name in listed.stdout.split("\0") if name and (path := REPO / name).is_file()]


def calls(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every call as (dotted name, line)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def imports(tree: ast.Module) -> Iterator[str]:
    """Every module that a file imports, at its top or inside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def places_of(names: set[str], allowed: str = "-") -> list[str]:
    """Where the package calls one of the names, outside of files that begin with `allowed`."""
    return [
        f"{path}:{line} {name}"
        for path, tree in package_modules().items()
        if not path.startswith(allowed)
        for name, line in calls(tree)
        if name in names
    ]


def test_files_are_small() -> None:
    """No Python file has more than 400 lines."""
    sizes = {name: len((REPO / name).read_text("utf-8").splitlines()) for name in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_FILE_LINES} == {}


def test_functions_are_small() -> None:
    """No function has more than 40 lines."""
    functions = [
        (name, node) for name, tree in modules().items() for node in ast.walk(tree) if isinstance(node, Function)
    ]
    sizes = {f"{name}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1 for name, node in functions}
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}


def test_modules_say_what_they_do() -> None:
    """Every module opens with one to three sentences."""
    texts = {name: ast.get_docstring(tree) or "" for name, tree in modules().items()}
    assert [name for name, text in texts.items() if not text.rstrip().endswith((".", ")"))] == []


def test_public_names_are_documented() -> None:
    """Every public class, function and method of the package has a docstring."""

    def undocumented(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
                if not ast.get_docstring(node):
                    yield prefix + node.name
                if isinstance(node, ast.ClassDef):
                    yield from undocumented(node.body, f"{prefix}{node.name}.")

    missing = [name for path, tree in package_modules().items() for name in undocumented(tree.body, f"{path}:")]
    assert missing == []


def test_tests_say_what_is_true() -> None:
    """Every test's docstring is one sentence."""
    wrong = []
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, Function) and node.name.startswith("test_") and path.startswith("tests/"):
                text = " ".join((ast.get_docstring(node) or "").split())
                if not text.endswith(".") or re.search(r"[.!?] [A-Z]", text):
                    wrong.append(f"{path}:{node.name}: {text}")
    assert wrong == []


def test_only_the_command_line_prints() -> None:
    """Nothing outside of cli/ prints or ends the process."""
    names = {"print", "click.echo", "sys.stdout.write", "sys.stderr.write", "exit", "quit", "sys.exit", "os._exit"}
    assert places_of(names, "aiscorr/cli/") == []


def test_only_the_store_opens_the_database() -> None:
    """Only store/database.py calls duckdb.connect."""
    assert places_of({"duckdb.connect"}, "aiscorr/store/database.py") == []


#: Which parts of the package may import a library, and no others.
LIBRARIES = {
    "duckdb": ("analysis", "catalog", "ingest", "lake", "query", "report", "sandbox", "serve", "store"),
    "pyarrow": ("analysis", "ingest", "lake", "parse", "query", "sandbox", "schema", "sources", "store"),
    "starlette": ("serve/web",),
    "uvicorn": ("serve/web",),
    "anyio": ("serve/web",),
    "mcp": ("serve/mcp.py",),
    "apscheduler": ("serve/service.py",),
    "aistore": ("pull",),
    "psycopg": ("lake/ledger.py",),
    "hyperscan": ("parse/search",),
    "prompt_toolkit": ("query/shell.py",),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_imported_in_its_rooms_alone(library: str) -> None:
    """What speaks HTTP, MCP or SQL, schedules, or searches with Hyperscan is in the rooms made for it."""
    rooms = tuple(f"aiscorr/{room}" for room in LIBRARIES[library])
    users = {
        path for path, tree in package_modules().items() if library in {n.partition(".")[0] for n in imports(tree)}
    }
    assert users and [path for path in users if not path.startswith(rooms)] == []


def test_nothing_dangerous_is_called() -> None:
    """The package evaluates no text as code and unpickles nothing."""
    assert places_of({"eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler", "os.system"}) == []


def test_no_assertions_in_the_package() -> None:
    """The package has no assert: it would vanish with -O."""
    found = [
        f"{p}:{n.lineno}" for p, tree in package_modules().items() for n in ast.walk(tree) if isinstance(n, ast.Assert)
    ]
    assert found == []


def test_functions_are_annotated() -> None:
    """Every parameter and every result is annotated."""
    missing = []
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, Function):
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bare = [arg.arg for arg in given if arg.annotation is None and arg.arg not in ("self", "cls")]
            if bare or node.returns is None:
                missing.append(f"{path}:{node.name} {bare}")
    assert missing == []


@pytest.mark.parametrize(
    "module",
    [
        "duckdb",
        "pyarrow",
        "aistore",
        "apscheduler",
        "rich",
        "prompt_toolkit",
        "hyperscan",
        "starlette",
        "uvicorn",
        "mcp",
    ],
)
def test_help_imports_nothing_heavy(module: str) -> None:
    """The command line's own modules import no heavy library at their top, so that --help is instant."""
    found = []
    for path, tree in package_modules().items():
        if path.startswith("aiscorr/cli/"):
            for node in tree.body:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                found += [f"{path}:{node.lineno}" for name in names if name.partition(".")[0] == module]
    assert found == []


def test_tracked_files_name_no_machine() -> None:
    """No tracked file holds a path of the machine it was written on, or the host of a package index."""
    if not tracked_files():
        pytest.skip("there is no git here to list tracked files")
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [
            f"{path.relative_to(REPO)}: {m.group()}" for r in (_MACHINE_PATH, _INDEX_HOST) for m in r.finditer(text)
        ]
    assert found == []


def test_no_second_lock_is_tracked() -> None:
    """The locks are those in requirements/; uv.lock is not tracked, nor is any database."""
    names = [path.name for path in tracked_files()]
    assert [name for name in names if name == "uv.lock" or name.endswith((".duckdb", ".pyc", ".whl"))] == []
