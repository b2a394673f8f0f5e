"""A note on a failure: kept beside the database, shown on its page, and what the failure really was as a truth.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from html_page import Parsed
from http_site import TOKEN, Got, Site, site
from scenes import Library

from aiscorr.serve.notes import notes_path

SCENARIO = "target_killed_short_batch"
KILLED = "4184269.0-20260914T102238"
HOSTILE = "<script>alert(1)</script> \u202egnp 'x'"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def served(tmp_path: Path, library: Library) -> Iterator[Site]:
    """A server over a database of its own."""
    with site(str(library.own(SCENARIO, tmp_path / "x.duckdb")), tmp_path) as running:
        yield running


def key_of(served: Site, headers: dict[str, str] | None = None) -> str:
    """What the form of the failure's page holds to be known again."""
    found = re.search(r'name="key" value="([0-9a-f]{64})"', served.get(f"/failures/{KILLED}", headers).text)
    assert found
    return found[1]


def noted(served: Site, headers: dict[str, str] | None = None, failure: str = KILLED, **given: str) -> Got:
    """What sending the form gives."""
    given = given if "key" in given else {**given, "key": key_of(served)}
    return served.ask("POST", f"/notes/{failure}", {**FORM, **(headers or {})}, urlencode(given))


def test_note(served: Site, tmp_path: Path) -> None:
    """A note is kept in a file beside the database, is shown as text on the failure's page, and can be taken away."""
    done = noted(served, text=f"looked into it\n{HOSTILE}", owner=HOSTILE)
    assert done.status == 303 and done.headers["location"] == f"/failures/{KILLED}#note"
    html = served.get(f"/failures/{KILLED}").text
    assert Parsed(html).wrong == [] and "<script>alert" not in html and "\u202e" not in html
    assert "looked into it" in html and "\\u202e" in html
    assert HOSTILE[:25] in served.get("/failures").text.replace("&lt;", "<").replace("&gt;", ">"), "its owner is listed"
    assert (tmp_path / "x.duckdb.notes.json").exists() and not list(tmp_path.glob("*.notes.json.*[!k]"))
    assert noted(served).status == 303
    assert "looked into it" not in served.get(f"/failures/{KILLED}").text


def test_truth(served: Site, tmp_path: Path) -> None:
    """What a failure really was is a truth.toml as cases have it; what the note leaves open is as it was said."""
    assert tomllib.loads(served.get("/api/truth").text).get("expect", []) == []
    assert served.get(f"/api/truth/{KILLED}").status == 404
    text = 'the switch "s7"\nlost a port \\ again'
    noted(served, text=text, was_class="network", was_verdict="innocent", was_ranks="5, 6")
    for address in ("/api/truth", f"/api/truth/{KILLED}"):
        answer = served.get(address)
        (tmp_path / "truth.toml").write_text(answer.text)
        (expected,) = tomllib.loads(answer.text)["expect"]
        assert expected == {
            "job_id": "4184269", "culprit_ranks": [5, 6], "failure_class": "network", "storage_verdict": "innocent",
            "ais_nodes": [],
        }  # fmt: skip
        assert tomllib.loads(answer.text)["story"] == " ".join(text.split())
    noted(served, was_nodes="gREiOVxt")
    (expected,) = tomllib.loads(served.get("/api/truth").text)["expect"]
    assert (expected["failure_class"], expected["storage_verdict"]) == ("storage_io", "guilty")
    assert (expected["ais_nodes"], expected["culprit_ranks"]) == (["gREiOVxt"], [5])
    assert "as truth.toml" in served.get(f"/failures/{KILLED}").text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"was_class": "magic"}, "no class is called 'magic'"),
        ({"was_verdict": "perhaps"}, "'perhaps' is no verdict"),
        ({"was_nodes": "a b"}, "nodes are ids"),
        ({"was_ranks": "five"}, "ranks are numbers"),
        ({"owner": "x" * 101}, "owner is longer than 100 characters"),
        ({"text": "x" * 4001}, "text is longer than 4000 characters"),
        ({"key": "0" * 64}, "the form is not of this server"),
        ({"key": ""}, "the form is not of this server"),
    ],
)
def test_what_is_no_note(given: dict[str, str], said: str, served: Site, tmp_path: Path) -> None:
    """What is none of its kind or too long is refused with a page, and nothing is kept."""
    refused = noted(served, **given)
    assert refused.status == 400 and said in unescape(refused.text)
    assert not Path(notes_path(str(tmp_path / "x.duckdb"))).exists()


def test_who_may_note(served: Site, tmp_path: Path) -> None:
    """The page of another site can send no form, one of another failure is refused, and too much is not read."""
    key = key_of(served)
    for site_of_page in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site_of_page, "Sec-Fetch-Mode": "navigate"}
        assert noted(served, headers, text="x", key=key).status == 403
    assert noted(served, failure="another", text="x", key=key).status == 400
    assert noted(served, text="x" * 40_000, key=key).status == 413
    assert served.get(f"/notes/{KILLED}").status == 405
    assert not (tmp_path / "x.duckdb.notes.json").exists()


def test_a_note_needs_the_token(tmp_path: Path, library: Library) -> None:
    """Where a token is set, notes are read and written with it alone."""
    db = str(library.own(SCENARIO, tmp_path / "x.duckdb"))
    with site(db, tmp_path, environment={"AISCORR_HTTP_TOKEN": TOKEN}) as guarded:
        known = {"Authorization": f"Bearer {TOKEN}"}
        key = key_of(guarded, known)
        assert noted(guarded, text="x", key=key).status == 401 and guarded.get("/api/truth").status == 401
        assert noted(guarded, known, text="x", key=key).status == 303


def test_damaged_notes(served: Site, tmp_path: Path) -> None:
    """Where the file of notes is damaged, pages say so and show the rest; a note does not overwrite it."""
    key = key_of(served)
    path = tmp_path / "x.duckdb.notes.json"
    path.write_text("{")
    html = served.get(f"/failures/{KILLED}").text
    assert "the notes cannot be read" in html and "Storage failed this job" in html
    assert served.get("/failures").status == 200
    assert noted(served, text="x", key=key).status == 400 and path.read_text() == "{"
