"""What is kept between runs may be lost or damaged at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import REPO

from aiscorr.analysis.spec import view_specs
from aiscorr.cache import cache_folder
from aiscorr.parse.search.prefilter import Expression, HyperscanPrefilter, hyperscan
from aiscorr.parse.spec import files as spec_files
from aiscorr.parse.spec import formats


def _kept() -> tuple[object, ...]:
    """What is read by way of the cache, as a new process reads it."""
    for function in (view_specs, formats.load_formats, formats._all_formats, spec_files._content):
        function.cache_clear()
    read = (spec_files.read_folder(REPO / "aiscorr" / "formats"), formats.load_formats("wrapper"), view_specs())
    return tuple(map(repr, read))


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"a": 3}', "7"])
def test_damaged_entries_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """An entry that is cut, empty or of another form changes nothing, and is replaced."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    right = _kept()
    entries = sorted(cache_folder().glob("*.json"))
    assert {entry.name.partition("-")[0] for entry in entries} == {"formats", "specs", "views"}
    for entry in entries:
        entry.write_text(damage)
    assert _kept() == right
    assert _kept() == right
    assert all(entry.read_text() != damage for entry in entries)


@pytest.mark.skipif(hyperscan is None, reason="there is no hyperscan wheel for this machine")
@pytest.mark.parametrize("damage", [b"", b"[0]\n", b"[0]\nno database", b"no numbers\n", b"\xff"])
def test_a_damaged_search_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    """A compiled search that is cut or of another form changes nothing, and is replaced."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = memoryview(b"a wheel is lost, a wheel is found")

    def find() -> list[tuple[int, int]]:
        return HyperscanPrefilter([Expression(rb"lost", (b"lost",)), Expression(rb"wheel is", (b"wheel",))], 0).find(
            text
        )

    right = find()
    assert sorted({number for _, number in right}) == [0, 1]
    (entry,) = cache_folder().glob("prefilter-*.hs")
    entry.write_bytes(damage)
    assert find() == right
    assert entry.read_bytes() != damage
    assert find() == right


@pytest.mark.skipif(hyperscan is None, reason="there is no hyperscan wheel for this machine")
def test_a_regex_that_hyperscan_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its literals are searched in its stead, and the other expressions as ever."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    odd = Expression(rb"lost (?=and)", (b"lost",), override="lost (?=and)")
    found = HyperscanPrefilter([odd, Expression(rb"found", (b"found",))], 0).find(memoryview(b"lost or found"))
    assert found == [(4, 0), (13, 1)]
