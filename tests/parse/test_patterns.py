"""Every error pattern matches its samples with their values, refuses its near misses, and is found by the search."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from lines import events, read_ais, read_worker
from sample_checks import sample_mismatch
from scenes import REPO

from aiscorr.catalog.explain import constants
from aiscorr.parse.ais.record import records_of
from aiscorr.parse.search import sieve
from aiscorr.parse.search.prefilter import Expression, LiteralPrefilter, Prefilter, build_prefilter, hyperscan
from aiscorr.parse.search.shortened import shorten
from aiscorr.parse.search.sieve import sieved
from aiscorr.parse.spec.checks import Sample
from aiscorr.parse.spec.files import read_folder
from aiscorr.parse.spec.pattern import FORMAT_TABLES, Pattern
from aiscorr.parse.spec.pattern_files import checked_pattern, pattern_set
from aiscorr.parse.worker.tail import TailPatterns

KINDS = tuple(FORMAT_TABLES)
FOLDER = REPO / "aiscorr" / "patterns"


@lru_cache(maxsize=1)
def every() -> tuple[Pattern, ...]:
    """All patterns of the package."""
    return tuple(checked_pattern(Path(path), raw) for path, raw in read_folder(FOLDER).items())


def samples() -> Iterator[tuple[Pattern, Sample]]:
    """Every sample with its pattern."""
    for pattern in every():
        for sample in pattern.samples:
            yield pattern, sample


#: Lines that a reader takes by itself, as headers, titles, panics, prefixes of a record or parts of a table.
TAKEN_OTHERWISE = {
    "ais_debug_panic", "ais_go_panic", "ais_line_before_flag", "ais_line_while_stopping", "ais_log_rotated",
    "ais_node_title", "ais_process_started", "ais_software_version", "python_traceback", "threads_of_process",
    "torchrun_table_failures", "torchrun_table_root", "torchrun_table_time",
}  # fmt: skip
#: A file whose frame is of a kind.
LABELLED = {
    "storage": "/opt/venv/lib/python3.11/site-packages/aistore/sdk/request_client.py",
    "manager_process": "/opt/venv/lib/python3.11/multiprocessing/managers.py",
    "helper_process": "/opt/venv/lib/python3.11/multiprocessing/connection.py",
    "data_wait": "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py",
    "log_upload": "/opt/venv/lib/python3.11/site-packages/wandb/sdk/lib/sock_client.py",
    "compiler": "/opt/venv/lib/python3.11/site-packages/triton/runtime/cache.py",
    "loader": "/opt/venv/lib/python3.11/site-packages/webdataset/tariterators.py",
    "reading": "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py",
    "transfer": "/opt/venv/lib/python3.11/site-packages/torch/distributed/checkpoint/filesystem.py",
}
ELSEWHERE = {
    "aistore/sdk": "torch/nn",
    "multiprocessing/connection": "torch/nn/parameter",
    "multiprocessing/managers": "torch/nn/parameter",
    "/queue": "/enum",
    "wandb/sdk": "torch/nn",
    "triton/runtime": "torch/nn",
    "torch/utils/data/_utils": "torch/nn",
    "webdataset": "torch",
    "torch/distributed/checkpoint": "torch/nn",
}
LAST_CALL = {
    "data_wait": "/opt/venv/lib/python3.11/queue.py",
    "compiler": "/opt/venv/lib/python3.11/json/decoder.py",
    "loader": "/opt/venv/lib/python3.11/tarfile.py",
}
CONTEXTS = [(b"", b"\n"), (b"plain text\n", b"\nplain text\n"), (b"x\n", b"\n"), (b"\r 1%| | 1/100\r", b"\r")]
Search = tuple[Prefilter, tuple[Pattern, ...]]


@pytest.fixture(
    scope="module", params=[(way, kind) for way in ("hyperscan", "literals", "sieve") for kind in KINDS], ids="-".join
)
def search(request: pytest.FixtureRequest) -> Search:
    """All ways to search, over the patterns of a format at once, as readers do."""
    way, kind = request.param
    if way == "hyperscan" and hyperscan is None:
        pytest.skip("there is no hyperscan wheel for this machine")
    patterns = pattern_set(kind)
    expressions = [Expression(p.regex_text, p.literals, p.prefilter) for p in patterns]
    found = build_prefilter(expressions, use_hyperscan=way == "hyperscan", patience_bytes=0)
    if way == "sieve" and sieved(found, expressions) is found:
        pytest.skip("no compiled part, no processor for the sieve, or a pattern for which case does not count")
    with patch.object(sieve, "WORTH_BYTES", 0):
        return sieved(found, expressions) if way == "sieve" else found, patterns


def lost(search: Search, names: set[str]) -> list[tuple[str, bytes, bytes]]:
    """Samples of the named patterns that the search does not find, with the text in front of them."""
    prefilter, patterns = search
    found = []
    for number, pattern in enumerate(patterns):
        for sample in pattern.samples if pattern.name in names else ():
            line = sample.line.encode()
            for before, after in CONTEXTS if pattern.regex.search(line) else ():
                if number not in {n for _, n in prefilter.find(memoryview(before + line + after))}:
                    found.append((pattern.name, before, line))
    return found


def test_ids_are_unique() -> None:
    """Every pattern has a file and a name of its own, whatever format it is for."""
    names = [path.stem for path in (REPO / "aiscorr").rglob("patterns/**/*.toml")]
    assert len(names) == len(set(names)) == len(every()) > 500
    queries = {path.stem for path in (REPO / "aiscorr" / "queries").glob("*.sql")}
    assert set(names) & {path.stem for path in (REPO / "aiscorr" / "formats").glob("*.toml")} == set()
    assert set(names) & queries == set()


def texts_of(pattern: Pattern, line: str) -> list[str]:
    """What a reader may hand to a pattern: the line, or the message of an AIStore record."""
    found, _ = records_of(line.encode()) if "ais" in pattern.formats else ([], None)
    return [line, *(record.message.decode() for record in found)]


def test_samples_match() -> None:
    """Every sample matches its pattern and gives the values it names."""
    problems = []
    for pattern, sample in samples():
        whole = replace(pattern, literals=(b"",))
        found = [sample_mismatch(whole, replace(sample, line=text)) for text in texts_of(pattern, sample.line)]
        problems += [found[-1]] if all(found) else []
    assert problems == []


def test_samples_hold_a_literal() -> None:
    """Every sample contains one of its pattern's literals."""
    wrong = [(p.name, s.line) for p, s in samples() if not any(literal in s.line.encode() for literal in p.literals)]
    assert wrong == []


def traceback_of(kind: str, line: str) -> str:
    """A line as the exception of a traceback whose innermost known frame is of a kind."""
    label = line.partition(": ")[0] + ": " if line.startswith("[rank") else ""
    frames = (LABELLED[kind], LAST_CALL.get(kind, "/opt/venv/lib/python3.11/site-packages/tenacity/__init__.py"))
    return (
        "".join(
            label + text + "\n"
            for text in ("Traceback (most recent call last):", *(f'  File "{path}", line 7, in get' for path in frames))
        )
        + f"{line}\n"
    )


def test_samples_come_out_of_the_readers() -> None:
    """A sample read as a log of its format gives one event of its pattern with the values it names."""
    wrong = []
    for pattern, sample in samples():
        for kind in {"ais", "worker"} & set(pattern.formats) if pattern.name not in TAKEN_OTHERWISE else ():
            read = read_ais if kind == "ais" else read_worker
            text = traceback_of(pattern.inside, sample.line) if pattern.inside else sample.line + "\n"
            found = [row for row in events(read(text)) if row["pattern"] == pattern.name]
            values = {**found[0], **json.loads(found[0].get("capture") or "{}")} if found else {}
            if not found or any(values.get(key) != value for key, value in sample.expect.items()):
                wrong.append((pattern.name, sample.line))
    assert wrong == []


def test_a_pattern_for_frames_takes_no_other_line() -> None:
    """A pattern for the exceptions of one kind of frames takes its samples nowhere else."""
    kept = [(p, s) for p, s in samples() if p.inside]
    texts = [f"{s.line}\n" for _, s in kept]
    inside = [traceback_of(p.inside, s.line) for p, s in kept if p.inside]
    texts += [text.replace(place, other) for place, other in ELSEWHERE.items() for text in inside if place in text]
    assert len(kept) > 10
    assert {row["pattern"] for text in texts for row in events(read_worker(text))} & {p.name for p, _ in kept} == set()


def test_last_words_come_out_of_the_reader() -> None:
    """A sample of a pattern for last words tells the activity of that pattern, whatever other patterns say."""
    tail = pattern_set("tail")
    told = TailPatterns(tail)
    wrong = [(p.name, s.line) for p in tail for s in p.samples if told.activity_of(s.line) != p.activity]
    assert wrong == []


def test_near_misses_are_refused() -> None:
    """No near miss matches its pattern."""
    matched = [(p.name, line) for p in every() for line in p.near_misses if p.regex.search(line.encode())]
    assert matched == []


def test_values_are_understood() -> None:
    """No sample holds a value that its converter cannot take."""
    bad = []
    for pattern, sample in samples():
        for text in texts_of(pattern, sample.line):
            match = pattern.regex.search(text.encode())
            values = pattern.values(match) if match else {}
            bad += [(pattern.name, group) for group in pattern.regex.groupindex if f"bad_{group}" in values]
    assert bad == []


def test_search_finds_every_sample(search: Search) -> None:
    """Wherever a line stands that a pattern matches, the combined search finds it."""
    assert lost(search, {pattern.name for pattern in search[1]}) == []


@pytest.mark.parametrize("seed", range(3))
def test_search_finds_samples_in_any_order(search: Search, seed: int) -> None:
    """The search finds the lines of a block in which samples of all patterns stand in any order."""
    prefilter, patterns = search
    lines = [(n, s.line.encode()) for n, p in enumerate(patterns) for s in p.samples]
    lines = [(n, line) for n, line in lines if patterns[n].regex.search(line) and b"\n" not in line]
    Random(seed).shuffle(lines)
    hits = prefilter.find(memoryview(b"".join(line + b"\n" for _, line in lines)))
    found: dict[int, set[int]] = {}
    ends = list(accumulate(len(line) + 1 for _, line in lines))
    for end, number in hits:
        found.setdefault(bisect_left(ends, end), set()).add(number)
    missed = {patterns[n].name for index, (n, _) in enumerate(lines) if n not in found.get(index, set())}
    assert missed == set()


@pytest.mark.parametrize("third", [0, *(pytest.param(other, marks=pytest.mark.slow) for other in (1, 2))])
def test_every_match_holds_a_literal(third: int) -> None:
    """Whatever line of all samples a pattern matches, the line contains one of its literals."""
    wrong = []
    lines = [(line, line.lower()) for _, sample in samples() for line in [sample.line.encode()]]
    for number, pattern in enumerate(every()):
        caseless = [literal.lower() for literal in pattern.literals]
        for line, lowered in lines[(number + third) % 3 :: 3]:
            text = lowered if pattern.regex.flags & re.IGNORECASE else line
            literals = caseless if pattern.regex.flags & re.IGNORECASE else pattern.literals
            if not any(literal in text for literal in literals) and pattern.regex.search(line):
                wrong.append((pattern.name, line))
    assert wrong == []


def test_hits_are_ordered_and_end_in_the_block() -> None:
    """Candidates come in the order of their ends, and end inside the block."""
    block = "\n".join(sample.line for _, sample in samples()).encode()
    search = build_prefilter([Expression(p.regex_text, p.literals, p.prefilter) for p in every()], patience_bytes=0)
    ends = [end for end, _ in search.find(memoryview(block))]
    assert ends == sorted(ends)
    assert ends[0] > 0 and ends[-1] <= len(block)


def test_the_search_without_hyperscan_is_the_same_to_readers() -> None:
    """Without hyperscan the literals are searched, one candidate for each."""
    (pattern,) = (p for p in every() if p.name == "urllib3_retry")
    plain = LiteralPrefilter([Expression(pattern.regex_text, pattern.literals)])
    assert plain.find(memoryview(b"x after connection broken by y")) == [(28, 0)]
    assert plain.find(memoryview(b"nothing of it")) == []


@pytest.mark.parametrize(
    ("regex", "shortened"),
    [
        (rb"timed out after (\d+) ms.*$", rb"timed out after (?:(?:[\d]){1,}) ms"),
        (rb"^\s*killed by (?P<signal>\w+)", rb"killed by (?:(?:[\w]){1,1})"),
        (rb"(?<=x)abc(?=y)", rb"abc"),
        (rb"\d+", None),
        (rb"(?:abc|def)x*", rb"(?:abc|def)"),
        (rb"ab", None),
    ],
)
def test_shortened(regex: bytes, shortened: bytes | None) -> None:
    """A regex is searched without captures, look-around and variable ends; too little left means its literals serve."""
    assert shorten(re.compile(regex)) == shortened


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_of_one_format(kind: str) -> None:
    """The patterns of a format come by priority, then by name."""
    found = pattern_set(kind)
    assert found
    assert [p.name for p in found] == [p.name for p in sorted(found, key=lambda p: (p.priority, p.name))]
    assert {name for pattern in found for name in pattern.formats} <= set(KINDS)
    assert all(kind in pattern.formats for pattern in found)


def test_words_are_known_to_sql() -> None:
    """Chain steps, node effects and failure classes that patterns name are explained in sql/."""
    connection = constants()
    known = {
        name: {row[0] for row in connection.execute(f"select {key} from {view}").fetchall()}
        for name, view, key in (
            ("chain_step", "chain_step_kind", "step"),
            ("failure_class", "failure_class", "failure_class"),
        )
    }
    connection.close()
    for name, values in known.items():
        assert {value for p in every() if (value := getattr(p, name))} - values == set()


def test_tail_patterns_say_an_activity() -> None:
    """Every pattern for last words says what the rank was doing."""
    assert [pattern.name for pattern in pattern_set("tail") if not pattern.activity] == []


def test_mismatch_shows_how_far_it_came() -> None:
    """A sample that does not match is shown with the regex and how far it matched."""
    (pattern,) = (p for p in every() if p.name == "urllib3_retry")
    problem = sample_mismatch(pattern, Sample("Retrying (Retry(total=x", {}))
    assert problem is not None
    assert "no match\n  line  Retrying (Retry(total=x\n  regex Retrying" in problem
    assert problem.endswith("matches as far as 'Retrying \\\\(Retry\\\\(total='")
    good = pattern.samples[0]
    problem = sample_mismatch(pattern, Sample(good.line, {"retries_left": 5}))
    assert problem is not None and "retries_left is 4, expected 5" in problem
