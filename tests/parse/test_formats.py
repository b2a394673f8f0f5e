"""Every line format matches its samples with the values they name and refuses its near misses."""

from __future__ import annotations

from pathlib import Path

import pytest
from lines import NOW_NS
from scenes import REPO

from aiscorr.errors import SpecError
from aiscorr.parse.detect import detect
from aiscorr.parse.search.regex_facts import words_needed
from aiscorr.parse.spec.checks import Sample
from aiscorr.parse.spec.formats import KINDS, ROLES, LineFormat, load_formats
from aiscorr.parse.stamps import YearContext, format_values
from aiscorr.parse.worker.prefixes import PrefixReader

ALL = [form for role in ROLES for form in load_formats(role)]


def years() -> YearContext:
    """As for a file last written on 24 December 2026, in which a stamp of then was read."""
    return YearContext(NOW_NS, near_ns=NOW_NS)


def cases() -> list[tuple[LineFormat, Sample]]:
    """Every sample with its format."""
    return [(form, sample) for form in ALL for sample in form.samples]


def values_of(form: LineFormat, line: str) -> dict[str, object] | None:
    """What a format reads from a line; None where it does not match."""
    if form.role == "file":
        return {} if form.regex.match(line.encode()) else None
    return format_values(form, line, years())


def test_every_file_is_a_format() -> None:
    """Every file in formats/ is loaded, in one of four roles, in an order of its own."""
    assert sorted(form.name for form in ALL) == sorted(p.stem for p in (REPO / "aiscorr" / "formats").glob("*.toml"))
    for role in ROLES:
        orders = [form.order for form in load_formats(role)]
        assert orders == sorted(set(orders))
    assert {form.kind for form in ALL if form.role == "file"} <= set(KINDS)


@pytest.mark.parametrize(("form", "sample"), cases(), ids=[f"{form.name}-{n}" for n, (form, _) in enumerate(cases())])
def test_samples(form: LineFormat, sample: Sample) -> None:
    """A format's sample matches and gives the values it names."""
    values = values_of(form, sample.line)
    assert values is not None
    assert {key: values.get(key) for key in sample.expect} == dict(sample.expect)


@pytest.mark.parametrize("form", ALL, ids=[form.name for form in ALL])
def test_near_misses(form: LineFormat) -> None:
    """A format's near misses give nothing."""
    assert form.near_misses
    assert [line for line in form.near_misses if values_of(form, line) is not None] == []


@pytest.mark.parametrize("form", [form for form in ALL if form.role != "file"], ids=lambda form: str(form.name))
def test_a_format_that_tells_a_rank_needs_a_word(form: LineFormat) -> None:
    """Whose line it is can be asked without reading its stamp: only where a word of such a format stands in it."""
    assert words_needed(form.regex) is not None or not {"rank", "local_rank"} & set(form.regex.groupindex)


def test_prefixes_are_peeled_in_order() -> None:
    """Wrappers, rank tag and stamp are read one after the other, whatever collectors put in front."""
    line = (
        b"2026-11-20T23:05:53.3Z stderr F  3: [default1]:[rank5]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] x"
    )
    prefix = PrefixReader().read(line, years())
    assert (prefix.rank, prefix.rank_source, prefix.local_rank, prefix.task) == (5, "tag", 1, 3)
    assert prefix.stamp_source == "own"
    assert prefix.wrapper_stamp is not None and prefix.wrapper_stamp.zone_offset_s == 0
    assert line[prefix.message_start :] == b" x"
    assert line[prefix.body_start :].startswith(b"[E1120")


def test_the_rank_tag_beats_the_group_rank() -> None:
    """The rank tag is the global rank; the rank in a process-group tag is kept apart."""
    line = b"[rank4]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [PG ID 1 PG GUID 5(tp) Rank 0] Watchdog caught"
    prefix = PrefixReader().read(line, years())
    assert (prefix.rank, prefix.group_rank, prefix.process_group) == (4, 0, "5(tp)")


def test_a_kind_is_told_by_users_formats(tmp_path: Path) -> None:
    """A format in a user's folder joins those of the package."""
    (tmp_path / "file_site.toml").write_text(
        'title = "t"\nsource = "s"\nrole = "file"\nkind = "unknown"\norder = 5\nshare = 0.5\n'
        "regex = '^SITE: '\n[[sample]]\nline = 'SITE: x'\n"
    )
    text = b"SITE: a\nSITE: b\n"
    assert detect(text, format_folders=(str(tmp_path),)).reason == "t"
    assert detect(text).reason != "t"


def test_a_users_format_that_is_wrong_is_an_error(tmp_path: Path) -> None:
    """A wrong format in a user's folder is named with its file."""
    path = tmp_path / "stamp_mine.toml"
    path.write_text("title = 't'\n")
    with pytest.raises(SpecError, match=r"key 'source' is missing\n  at: .*stamp_mine\.toml"):
        load_formats("stamp", (str(tmp_path),))
