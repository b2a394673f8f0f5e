"""The pages of the HTTP server: lists of failures, a failure, lines in their surroundings, SQL, jobs, and the feed."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from html_page import Parsed
from http_site import Site, site
from scenes import Library, column, read_in

from aiscorr.serve.ledger import ServiceRun, add_run, ledger_path

SCENARIO = "target_killed_short_batch"
HOSTILE = """<script>alert(1)</script>"onload='x'&amp;\u202e"""
KILLED = "4184269.0-20260914T102238"
PAGES = (
    "/", "/failures", "/failures?verdict=guilty", f"/failures/{KILLED}", "/overview?since=9000d", "/jobs", "/search",
    "/search?text=short", "/runs", "/queries", "/queries/files", "/sql", "/sql?sql=select+failure_id+from+failure",
    "/sql?query=evidence", "/explain/killed",
)  # fmt: skip


@pytest.fixture(scope="module")
def db(library: Library) -> str:
    """A database with the failures of several jobs."""
    return library.several()


@pytest.fixture(scope="module")
def served(db: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server over it."""
    with site(db, tmp_path_factory.mktemp("served")) as running:
        yield running


def shown(served: Site, address: str, given: Mapping[str, object] | None = None, **more: object) -> str:
    """A page that is well formed and is there; `given` and `more` go into the address."""
    asked = {**(given or {}), **more}
    answer = served.get(f"{address}?{urlencode(asked)}" if asked else address)
    assert answer.status == 200 and Parsed(answer.text).wrong == [], address
    return answer.text


def failures_on(html: str) -> list[str]:
    """The failures that a list shows, in its order."""
    return re.findall(r'<a href="/failures/[^"?]+">([\w.-]+-\d{8}T\d{6})</a></td></tr>', html)


def link_to(html: str, words: str) -> str:
    """Where the link with these words leads."""
    found = re.findall(rf'<a href="([^"]*)"[^>]*>{re.escape(words)}</a>', html)
    assert found, words
    return unescape(found[0])


@pytest.fixture(scope="module")
def followed() -> Counter[tuple[str, ...]]:
    """How many links of each kind were followed: to one page, with values for the same names."""
    return Counter()


def to_follow(links: Iterable[str], followed: Counter[tuple[str, ...]]) -> Iterator[str]:
    """Links of kinds of which fewer than three were followed."""
    for link in sorted(set(links)):
        parts = urlsplit(link)
        kind = (*parts.path.split("/")[:2], *sorted(name for name, _ in parse_qsl(parts.query)))
        if followed[kind] < 3:
            followed[kind] += 1
            yield link


@pytest.mark.parametrize("path", PAGES)
def test_pages(path: str, served: Site, followed: Counter[tuple[str, ...]]) -> None:
    """Pages are well formed, run the scripts that their policy names, and every kind of link leads to something."""
    answer = served.get(path)
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
    parsed = Parsed(answer.text)
    assert parsed.wrong == [] and not parsed.tags & {"iframe", "img"}
    scripts = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    sources = [f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts]
    policy = answer.headers["content-security-policy"]
    assert set(policy.partition("script-src ")[2].split()) == set(sources) and "unsafe" not in policy
    assert len(scripts) == 1 + (path == f"/failures/{KILLED}")
    assert not any(name.startswith("on") for name in parsed.attributes)
    links = (link for link in parsed.links if not link.startswith(("#", "/queries/", "/explain/", "/api/")))
    for link in to_follow(links, followed):
        assert served.get(link).status == 200, link


def test_a_page_says_what_is_wrong(served: Site) -> None:
    """A page that is not there, or a filter that is none, is answered with a page."""
    wrong = (
        ("/none", 404), ("/failures/none", 404), ("/failures?limit=x", 400), ("/failures?sort=rank", 400),
        ("/queries/none", 404), ("/sql?query=none", 404), ("/explain/qqqq", 404), ("/overview?since=soon", 400),
        ("/lines", 404), ("/lines?path=/etc/passwd&line=1", 404), ("/lines?line=x", 400),
    )  # fmt: skip
    for path, status in wrong:
        answer = served.get(path)
        assert answer.status == status and "It did not work" in answer.text and Parsed(answer.text).wrong == [], path


def test_facets(served: Site) -> None:
    """Each value of a facet leads to the failures that have it, as many as it says, and can be taken off again."""
    html = shown(served, "/failures")
    everything = failures_on(html)
    assert len(everything) >= 5 and KILLED in everything
    counts = re.findall(r'<li><a href="([^"]+)">([^<]+)</a> <span class="dim">(\d+)</span></li>', html)
    assert len(counts) > 20
    for address, value, count in counts[::4]:
        narrowed = shown(served, unescape(address))
        assert len(failures_on(narrowed)) == int(count), value
        assert f'aria-current="true">{value}</a>' in narrowed
        assert failures_on(shown(served, link_to(narrowed, "✕"))) == everything
    both = shown(served, "/failures", verdict="guilty", node="AZq6Oo53")
    assert failures_on(both) == [KILLED]
    assert set(failures_on(shown(served, link_to(both, "✕")))) == {KILLED}, "the node is left"
    none = shown(served, "/failures", verdict="innocent", node="AZq6Oo53")
    assert failures_on(none) == [] and "No failure." in none and link_to(none, "guilty")


def test_order_and_parts(served: Site) -> None:
    """A click on a column sorts by it, another turns the order round; long lists come in parts that keep the filter."""
    html = shown(served, "/failures")
    times = re.findall(r'<td class="t"><time datetime="([^"]+)">', html)
    assert times == sorted(times, reverse=True)
    by_class = shown(served, link_to(html, "class"))
    classes = re.findall(r'<td class="c">([^<]+)</td>', by_class)
    assert classes == sorted(classes) and len(set(classes)) > 1
    turned = shown(served, link_to(by_class, "class"))
    assert re.findall(r'<td class="c">([^<]+)</td>', turned) == classes[::-1]
    first = shown(served, "/failures", limit=1, verdict="guilty")
    further = link_to(first, "further")
    assert "verdict=guilty" in further and "offset=1" in further and "limit=1" in further
    assert len(failures_on(first)) == 1 and "1 to 1 of" in first
    assert not set(failures_on(first)) & set(failures_on(shown(served, further)))


def test_search(served: Site) -> None:
    """A text is found in statements, in timelines and in evidence; stored lines are found too, each with its place."""
    for text in ("5 of 48 ENTRIES", "abort broadcast uvb6zd6-1kcMU", "shared-dm[AZq6Oo53<=gREiOVxt]"):
        assert failures_on(shown(served, "/failures", q=text)) == [KILLED], text
    html = shown(served, "/search", text="failed to transmit GET response")
    found = re.findall(r'<a href="(/lines[^"]+)">([^<]+:\d+)</a>', html)
    assert found and 'class="here"' in shown(served, unescape(found[0][0]))
    assert KILLED in failures_on(shown(served, link_to(html, "failures that speak of it")))
    assert "no stored line holds the text" in shown(served, "/search", text="nobody wrote this")


def test_links_of_a_failure(served: Site) -> None:
    """A report links where it prints commands, places, nodes and jobs, and says what shares them."""
    html = shown(served, f"/failures/{KILLED}")
    assert "section class" in html and "Storage failed this job" in html
    commands = re.findall(r'<a href="([^"]+)">(aiscorr [^<]+)</a>', html)
    assert len(commands) >= 3
    for address, words in commands:
        page = shown(served, unescape(address))
        assert address.startswith(("/sql?", "/failures/", "/explain/")), words
        assert 'class="refused"' not in page and ("row" in page or not address.startswith("/sql")), words
    for address in re.findall(r'<a class="around" href="([^"]+)"', html):
        assert 'id="here"' in shown(served, unescape(address))
    assert KILLED in failures_on(shown(served, link_to(html, "AZq6Oo53")))
    assert failures_on(shown(served, link_to(html, "4184269"))) == [KILLED]
    assert KILLED in failures_on(shown(served, link_to(html, "ais://granary-en")))
    assert served.get(link_to(html, "one HTML file")).status == 200


def lines_of(html: str) -> dict[int, str]:
    """The lines of a file that a page shows."""
    found = re.findall(r'<td class="n">(\d+)</td><td>.*?</td><td class="line [^"]*">(.*?)</td>', html)
    return {int(number): unescape(text) for number, text in found}


def test_surroundings(served: Site, db: str, library: Library) -> None:
    """A line is shown with those around it as they stand in the file, and recognised ones with their meaning."""
    path = library.folder(SCENARIO) / "workers" / "error-4184269-1.out"
    texts = path.read_text().splitlines()
    html = shown(served, "/lines", {"path": path, "line": 32, "around": 3})
    assert lines_of(html) == {number: texts[number - 1] for number in range(29, 36)}
    assert "sdk_batch_short" in html and html.count('id="here"') == 1
    assert min(lines_of(shown(served, "/lines", {"path": path, "line": 2}))) == 1
    later = lines_of(shown(served, link_to(html, "↓ later lines")))
    assert min(later) == 36
    assert "It has no line 999" in shown(served, "/lines", {"path": path, "line": 999_999})
    for around in (501, -1):
        asked = urlencode({"path": path, "line": 1, "around": around})
        assert served.get(f"/lines?{asked}").status in (400, 404)
    asked = urlencode({"path": f"{path.parent}/../workers/{path.name}", "line": 1})
    assert served.get(f"/lines?{asked}").status == 404, "only as it is stored"


def test_surroundings_of_what_is_gone_or_secret(tmp_path: Path, library: Library) -> None:
    """Of a file that is gone the stored lines are shown; secrets, colours and turning characters never are."""
    log = tmp_path / "workers" / "error-7-0.out"
    log.parent.mkdir()
    text = (library.folder(SCENARIO) / "workers" / "error-4184269-1.out").read_text()
    secret = "AKIAIOSFODNN7EXAMPLE"
    log.write_text(f"\x1b[31mAWS_ACCESS_KEY_ID={secret} password=hunter2secret\x1b[0m \u202egnp\n{text}")
    db = str(tmp_path / "x.duckdb")
    read_in(db, log)
    with site(db, tmp_path) as served:
        whole = shown(served, "/lines", {"path": log, "line": 1})
        assert "hunter2secret" not in whole and "\x1b" not in whole and "\u202e" not in whole and "\\u202e" in whole
        log.unlink()
        stored = shown(served, "/lines", {"path": log, "line": 33, "around": 10})
        assert "cannot be read any more" in stored and "AISBatchLoaderError" in stored
        assert len(lines_of(stored)) < 21


def test_sql(served: Site) -> None:
    """The SQL page keeps the statement in its address, shows its rows, and gives them to take away."""
    sql = (
        "select f.failure_id, f.storage_verdict, s.path, f.line_no\nfrom failure as f\n"
        "join source_file as s on s.file_id = f.file_id\nwhere f.job_id = $job"
    )
    html = shown(served, "/sql", {"sql": sql, "p.job": "4184269"})
    assert sql in unescape(html) and 'name="p.job" value="4184269"' in html
    assert "1 row ·" in html and f'href="/failures/{KILLED}"' in html and "/lines?path=" in html
    csv = served.get(link_to(html, "CSV"))
    assert csv.text.splitlines()[1].startswith(f"{KILLED},guilty,")
    assert csv.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    for words, begin in (("Parquet", b"PAR1"), ("Arrow", b"\xff\xff\xff\xff"), ("JSON", b"{")):
        assert served.get(link_to(html, words)).body.startswith(begin), words
    named = shown(served, "/sql", {"query": "evidence", "p.failure": KILLED})
    assert "from evidence as e" in named and "/api/queries/evidence?" in link_to(named, "CSV")
    assert KILLED in shown(served, link_to(shown(served, "/sql"), "failure"))
    for wrong, said in (
        ("selec 1", "syntax error"), ("copy failure to '/tmp/x'", "COPY is not answered"),
        ("select 1; select 2", "expected one statement"),
        ("from read_text('/etc/passwd')", "disabled by configuration"),
    ):  # fmt: skip
        page = shown(served, "/sql", sql=wrong)
        assert said in page and 'class="refused"' in page and unescape(page).count(wrong) >= 1
    assert "the first 10,000 rows" in shown(served, "/sql", sql="from range(10001)")


def test_overview(served: Site) -> None:
    """The overview has the sums, an index that leads to each failure, and groups that lead to their failures."""
    html = shown(served, "/overview", since="9000d")
    total = len(failures_on(shown(served, "/failures")))
    assert f"{total} failures: storage is guilty in" in html
    index = re.findall(r'<a href="(/failures/[^"]+)">', html.partition("<h2>By class</h2>")[0])
    assert len(set(index)) == total and {served.get(unescape(one)).status for one in index[:3]} == {200}
    assert failures_on(shown(served, link_to(html, "AZq6Oo53"))) == [KILLED]
    assert KILLED in failures_on(shown(served, link_to(html, "storage_io")))
    assert "No failure from" in shown(served, "/overview", since="1s")


def test_jobs(tmp_path: Path, library: Library) -> None:
    """A job whose logs end without an end is one that runs, with its last line and how long ago that was."""
    for source in (library.folder("healthy_run") / "workers").rglob("*"):
        if source.is_file():
            lines = source.read_text().splitlines(keepends=True)
            target = tmp_path / "workers" / source.name
            target.parent.mkdir(exist_ok=True)
            target.write_text("".join(lines[: len(lines) // 2]))
    db = str(tmp_path / "x.duckdb")
    read_in(db, tmp_path / "workers")
    (job,) = column(db, "select job_id from job")
    with site(db, tmp_path) as served:
        html = shown(served, "/jobs")
        assert f">{job}</a>" in html and '<th class="n">ago</th>' in html and "No stack shows a job that hangs" in html
        assert "None wrote a line in the last day" in html, "its logs are older"
        assert served.get("/api/queries/running").json["rows"][0]["job_id"] == job


def test_feed(served: Site) -> None:
    """The newest failures come as an Atom feed, with the filters of the list."""
    answer = served.get("/failures.atom", verdict="guilty")
    assert answer.status == 200 and answer.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.text)
    name = {"a": "http://www.w3.org/2005/Atom"}
    titles = [entry.findtext("a:title", namespaces=name) or "" for entry in feed.findall("a:entry", name)]
    assert titles and all(title.startswith("storage guilty: ") for title in titles)
    ids = [entry.findtext("a:id", namespaces=name) for entry in feed.findall("a:entry", name)]
    assert len(set(ids)) == len(ids)
    assert {served.get(str(one).removeprefix(served.address)).status for one in ids} == {200}
    none = ElementTree.fromstring(served.get("/failures.atom", q="nobody wrote this").text)
    assert none.find("a:entry", name) is None


def test_text_of_logs_is_no_markup(tmp_path: Path, library: Library) -> None:
    """Log lines, paths, problems and what an address gives are shown as text on every page, and never turn it round."""
    logs = tmp_path / "<b>logs"
    logs.mkdir()
    for path in (library.folder(SCENARIO) / "workers").iterdir():
        text = path.read_text().replace("AISBatchLoaderError", "AISBatchLoaderError " + HOSTILE)
        (logs / path.name).write_text(text)
    db = str(tmp_path / "x.duckdb")
    read_in(db, logs)
    add_run(ledger_path(db), ServiceRun("once", "2026-09-15T07:00:00+00:00", "", "failed", problems=(HOSTILE,)))
    filters, text = urlencode({"job": HOSTILE, "q": HOSTILE}), urlencode({"text": HOSTILE})
    sql = urlencode({"sql": f"select '{HOSTILE.replace(chr(39), '')}' as x"})
    line = urlencode({"path": logs / "error-4184269-1.out", "line": 32})
    with site(db, tmp_path) as served:
        paths = (
            *PAGES, "/queries/triage", "/queries/timeline", f"/failures?{filters}", f"/failures/{quote(HOSTILE)}",
            f"/sql?{sql}", f"/lines?{line}", "/search?text=AISBatchLoaderError", f"/search?{text}", "/failures.atom",
        )  # fmt: skip
        seen = 0
        for path in paths:
            text = served.get(path).text
            if path != "/failures.atom":
                parsed = Parsed(text)
                assert parsed.wrong == [] and "img" not in parsed.tags and "onload" not in parsed.attributes, path
                seen += HOSTILE[:25] in parsed.text
            assert "<script>alert" not in text, path
            assert "\u202e" not in re.sub(r'<input type="hidden"[^>]*>', "", text), path
        assert seen >= 8
