"""`aiscorr explain` knows everything that has a name, says what it means, and knows what a mistyped name may mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import pytest
from commands import Command
from reports import report_of
from scenes import FIXTURES, Library

from aiscorr.analysis.spec import view_specs
from aiscorr.catalog import explain as module
from aiscorr.catalog.columns import column_meanings, describe
from aiscorr.catalog.explain import constants, explain
from aiscorr.catalog.glossary import words
from aiscorr.errors import UsageError
from aiscorr.parse.spec.pattern import FORMAT_TABLES, Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.query.named import named_queries
from aiscorr.report.blocks import Facts, Table
from aiscorr.report.layout import laid_out
from aiscorr.report.sections import sections
from aiscorr.schema.tables import TABLES

READ_PATTERNS = module._patterns
FINDINGS = [spec.name for spec in view_specs() if spec.name.startswith("finding_")]
#: They say something of a failure and are no hypothesis.
CLASSLESS = ("slowdown", "sync_point")
PUBLIC = [spec.name for spec in view_specs() if spec.is_public]
CONSTANTS = {
    "counter": "select counter, meaning from counter_kind",
    "failure class": "select failure_class, says from failure_class",
    "failure kind": "select failure_kind, says from failure_kind",
    "fault": "select fault_kind, advice from fault_kind",
    "role of a rank": "select role, meaning from rank_role",
    "activity of a rank": "select activity, meaning from activity",
    "step of a chain": "select step, meaning from chain_step_kind",
    "threshold": "select name, reason from threshold",
    "basis of a suspicion": "select basis, words from suspect_basis",
    "setting": "select variable, value from capture_setting",
    "trouble": "select trouble, fix from trouble",
    "rule of manuals": "select rule, but from manual_rule",
    "synchronisation point": "select sync_point, words from sync_point",
}


@lru_cache(maxsize=1)
def patterns() -> dict[str, Pattern]:
    """Every pattern."""
    return {pattern.name: pattern for kind in FORMAT_TABLES for pattern in pattern_set(kind)}


@pytest.fixture(scope="module", autouse=True)
def _read_once() -> object:
    """What defines the names is read once for all tests here, for there are hundreds of names."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_views", "_columns", "_rules"):
            found = tuple(getattr(module, name)())
            patch.setattr(module, name, _giving(found))
        for name in ("_patterns", "_constants", "_queries"):
            patch.setattr(module, name, _giving(tuple(getattr(module, name)(()))))
        yield


def _giving(found: tuple[tuple[str, str], ...]) -> Callable[..., tuple[tuple[str, str], ...]]:
    return lambda *_folders: found


def only(name: str, head: str) -> str:
    """The one paragraph on a name that begins with these words."""
    (text,) = [paragraph for paragraph in explain(name) if paragraph.startswith(head)]
    return text


def test_every_pattern() -> None:
    """Every pattern is explained: its meaning, where to look, what to do, what it matches, where the fact is from."""
    assert len(patterns()) > 200
    for pattern in patterns().values():
        texts = [text for text in explain(pattern.name) if text.startswith(f"pattern {pattern.name} (")]
        assert len(texts) == sum(pattern.name in {one.name for one in pattern_set(kind)} for kind in FORMAT_TABLES)
        for text in texts:
            for label, value in (("means", pattern.means), ("look at", pattern.look_at), ("do", pattern.fix)):
                assert f"\n  {label}: {value}" in text, pattern.name
            assert "\n  matches: " in text and f"\n  source: {pattern.source}" in text


@pytest.mark.parametrize("title", CONSTANTS)
def test_every_constant(title: str) -> None:
    """Every counter, failure class, fault, role, activity, step, threshold, basis and setting is explained."""
    connection = constants()
    found = connection.execute(CONSTANTS[title]).fetchall()
    connection.close()
    assert len(found) > 3
    for name, meaning in found:
        assert str(meaning) in "".join(part for part in explain(str(name)) if part.startswith(f"{title} {name}"))


@pytest.mark.parametrize("view", sorted({*PUBLIC, *FINDINGS}))
def test_every_public_view_and_finding(view: str) -> None:
    """Every public view and every finding is explained by its sentence, its grain and what it reads."""
    spec = next(spec for spec in view_specs() if spec.name == view)
    text = only(view, f"view {view}: ")
    assert spec.sentence in text and f"\n  grain: {spec.grain}" in text
    assert not spec.reads or "\n  reads: " in text


@pytest.mark.parametrize("rule", [rule for spec in view_specs() for rule in spec.rules])
def test_every_rule(rule: str) -> None:
    """A rule is explained with its sentence and with what each of its terms weighs."""
    with closing(constants()) as connection:
        terms = connection.execute("select term, weight from rule_term where rule = ?", [rule]).fetchall()
    (text,) = [text for text in explain(rule) if text.startswith("rule ")]
    assert bool(terms) == (rule not in CLASSLESS) and all(f"{term}: {weight:+.2f}: " in text for term, weight in terms)
    assert ("link, wid: times 0.98" in text) == rule.startswith("storage_") * (rule != "storage_unlinked")


def test_every_view_and_table() -> None:
    """Views that are not public, and the tables that ingest fills, are explained too."""
    for spec in view_specs():
        assert only(spec.name, f"view {spec.name}: ")
    for table in TABLES:
        assert only(table.name, f"table {table.name}: ") == f"table {table.name}: {table.sentence}"


def test_every_column() -> None:
    """Every documented column is explained."""
    for name, meaning in column_meanings().items():
        assert only(name, f"column {name}: ").split("\n")[0] == f"column {name}: {meaning}"


def test_a_step_of_a_chain_names_the_lines_that_tell_it() -> None:
    """Whoever meets a step in a report learns which patterns stand behind it, and may go on to one of these."""
    text = only("stream_break", "step of a chain stream_break")
    told = re.findall(r"told by: (\w+): ", text)
    assert "ais_stream_terminated" in told and "ais_disk_busy" not in told
    assert all(only(name, f"pattern {name} ") for name in told)


def test_columns_that_mean_something_else_in_a_view() -> None:
    """A name that two views use differently is explained for both, and each view describes its own."""
    assert "\n  in get_batch_chain_step: kind of step" in only("step", "column step: training step")
    assert re.search(
        r"^  step +VARCHAR +kind of step", describe("get_batch_chain_step", column_meanings()), re.MULTILINE
    )
    assert re.search(r"^  step +BIGINT +training step", describe("step_time", column_meanings()), re.MULTILINE)
    assert re.search(r"^  value +VARCHAR +the conclusion", describe("conclusion", column_meanings()), re.MULTILINE)
    assert "the conclusion" not in describe("counter_delta", column_meanings())


@pytest.mark.parametrize(
    "name",
    [
        "DT", "GFN", "Smap", "shared-dm", "wid", "kalive", "score", "~", "ALLREDUCE", "recv", "NCCL", "default_pg",
        "rank 3", "bcast abort",
    ],
)  # fmt: skip
def test_words(name: str) -> None:
    """The words of reports are explained, under each of their names and without regard to case."""
    (text,) = [part for part in explain(name) if part.startswith("word ")]
    assert explain(name.lower())[0] == explain(name)[0] == text and len(text) > 30


@pytest.mark.parametrize("name", ["target_killed_short_batch", "two_jobs", "collective_of_other_size"])
def test_what_a_report_prints_is_explained(name: str, library: Library) -> None:
    """Every section, heading, label, kind of event, role, tier and verdict of a report is a name `explain` knows."""
    known = {called.lower() for word in words() for called in word.names}
    for failure in report_of(library.database(name)).failures:
        page = laid_out(failure, "full").sections
        said = {title for title, _ in page} | {failure.storage_verdict, "high", "medium", "low"}
        said |= {item.text.partition(": ")[0] for item in failure.timeline if item.source == "worker"}
        said |= {step.step.replace("_", " ") for chain in failure.chains for step in chain.steps}
        said |= {item.state for item in failure.coverage} | {line.tier.replace("_", " ") for line in failure.triage}
        for block in (block for _, blocks in page for block in blocks):
            if isinstance(block, Table):
                said.update(block.columns)
                telling = [no for no, name in enumerate(block.columns) if name in ("role", "doing", "checked", "")]
                said.update(row[no] for row in block.rows for no in telling)
            elif isinstance(block, Facts):
                said.update(label for label, _ in block.pairs)
        assert [text for text in sorted(said) if text and text.lower() not in known and not explain(text)] == []


@pytest.mark.parametrize(
    "name", ["complete", "last seen", "asked for", "tie", "the link", "GetBatch on", "not after", "Blind spots"]
)
def test_headings(name: str) -> None:
    """What a heading or label of a report means is explained, though the report's list of words leaves it out."""
    assert any(part.startswith("word ") for part in explain(name))


def test_every_section_is_a_word() -> None:
    """Each section of a report is explained under its title as a section."""
    means = {called: word.means for word in words() for called in word.names}
    assert [one.title for one in sections() if not means.get(one.title, "").startswith("section of a report: ")] == []


def test_faults_in_words() -> None:
    """A fault is explained in words: no flag is shown as one, and none that is not set."""
    text = only("killed", "fault killed")
    assert text.startswith("fault killed: an AIStore node was killed. It is enough to explain a rank")
    assert "\n  also: its objects are not there" in text and "weight" not in text
    assert "also: its" not in only("cpu_high", "fault cpu_high")
    assert not re.search(r"True|False|broke|stalled", text)


@pytest.mark.parametrize("text", ["2621446", "state.flags:2621446", '"state.flags":"2621446"', "0x280006"])
def test_value_of_state_flags(text: str) -> None:
    """A value of state.flags, alone or with its name, is told flag by flag."""
    told = ["ClusterStarted (bit 1)", "NodeStarted (bit 2)", "KeepAliveErrors (bit 19), an alert", "LowCPU (bit 21)"]
    head, *lines = explain(text)[0].splitlines()
    assert head == "value 2621446, as state.flags of an AIStore node: 4 flags set"
    assert [line.removeprefix("  set: ") for line in lines] == told


def test_odd_values_of_state_flags() -> None:
    """No flag and one that no name is known of are said too; a word with digits is no value."""
    assert explain("0") == ["value 0, as state.flags of an AIStore node: no flags set"]
    assert explain(str(1 << 40))[0].endswith("1 flag set\n  set: bit 40, of which aiscorr knows no name")
    alert = "flag of state.flags KeepAliveErrors\n  bit: 19\n  also: AIStore takes it for an alert"
    assert explain("keepaliveerrors") == [alert]
    with pytest.raises(UsageError, match="nothing is called '26214x'"):
        explain("26214x")


def test_every_query() -> None:
    """Every named query is explained, with and without its @, and its parameters are named."""
    for name, query in named_queries().items():
        assert explain(f"@{name}") == explain(name)
        text = only(name, f"query @{name}: {query.sentence}")
        assert not query.parameters or text.endswith("\n  parameters: " + ", ".join(query.parameters))


def test_a_name_of_several_things(run: Command) -> None:
    """A name that several things have is explained as each of them, a paragraph each."""
    parts = run("explain", "failure_class").out.split("\n\n")
    assert [part.split(" failure_class")[0] for part in parts] == ["view", "column"]


def test_any_case(run: Command) -> None:
    """Capitals do not matter."""
    assert run("explain", "Storage_IO").out == run("explain", "storage_io").out


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("sdk_batch_shrt", "sdk_batch_short"),
        ("storage_oi", "storage_io"),
        ("err.getbatch", "err.getbatch.n"),
        ("failur", "failure"),
        ("kiled", "killed"),
        ("@chans", "chains"),
        ("nccl_watchdog", "nccl_watchdog_timeout"),
    ],
)
def test_near_names(name: str, near: str, run: Command) -> None:
    """A name that nothing has ends with exit code 2 and the names that are near it or hold it."""
    outcome = run("explain", name)
    assert (outcome.code, outcome.out) == (2, "")
    what, where, advice = outcome.err.removesuffix("\n").split("\n")
    assert (what, where) == (f"error: nothing is called {name!r}", "  at: aiscorr explain")
    assert near in advice.removeprefix("  try: ").split(", ")


def test_nothing_near(run: Command) -> None:
    """A name that nothing resembles is answered with where all names stand."""
    outcome = run("explain", "qqqqqqqqqqqqq")
    assert outcome.code == 2 and outcome.err.endswith("  try: aiscorr query --list\n")


def test_every_explanation_says_something() -> None:
    """No explanation is a bare name, and none has an empty cell."""
    names = [*patterns(), *(spec.name for spec in view_specs()), *column_meanings()]
    for name in names:
        for text in explain(name):
            assert text.partition(": ")[2] not in ("", name), text
            assert not re.search(r"^  [a-z ]+: *$", text, re.MULTILINE), text


def test_describe_a_table() -> None:
    """A table that ingest fills is described like a view."""
    table = TABLES[0]
    text = describe(table.name, column_meanings())
    assert text.startswith(f"{table.name}: {table.sentence}\na table that ingest fills\n\n")
    assert len(text.splitlines()) == 3 + len(table.columns)
    with pytest.raises(UsageError, match="there is no view 'no_such_view'"):
        describe("no_such_view", {})


def test_pattern_of_the_user(tmp_path: Path, run: Command) -> None:
    """A pattern in a folder that aiscorr.toml names is explained like a bundled one."""
    source = FIXTURES / "bad" / "pattern_without_sample" / "patterns"
    text = (source / "site_disk_gone.toml").read_text("utf-8")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "site_disk_gone.toml").write_text(
        text + '\n[[sample]]\nline = "disk is gone: /a after 5s"\n', "utf-8"
    )
    config = tmp_path / "site.toml"
    config.write_text('patterns = ["site"]\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_patterns", READ_PATTERNS)
        outcome = run("--config", config, "explain", "site_disk_gone")
    assert outcome.out.startswith("pattern site_disk_gone (AIStore logs): A disk is gone\n"), outcome.err


def test_troubles_name_patterns_that_exist() -> None:
    """Every pattern that a trouble is said to show in exists; a trouble without one says what would show it."""
    known = set(patterns())
    for name, in_logs, would_show in constants().execute("select trouble, in_logs, would_show from trouble").fetchall():
        named = re.findall(
            r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", in_logs.replace("new_group", "").replace("static_graph", "")
        )
        kinds = known | {"host_out_of_memory", "world_changed"}
        assert [word for word in named if word not in kinds] == [], name
        assert would_show, name


def test_every_kind_of_lost_objects_is_explained() -> None:
    """Whatever the view of lost objects names as what took them is a failure kind that `explain` knows."""
    sql = next(spec.select for spec in view_specs() if spec.name == "object_loss")
    losses = set(re.findall(r"(?:then|else|,) '([a-z]+_?[a-z]+)'(?=\n| when| else| end)", sql))
    assert {"evicted", "disk_lost", "deleted", "joined_empty"} <= losses
    for loss in losses:
        assert any(text.startswith(f"failure kind {loss}: ") for text in explain(loss)), loss


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        (
            "W 23:04:52.800304 shared_dm:350 t[SEkt8105] shared-dm shared-dm[ddKt8104<=SEkt8105] sbr_proto_hdr:"
            "[ctx: n=0 err: unexpected EOF]",
            "ais_stream_broken_receive",
        ),
        ("[rank3]: RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.", "dataloader_worker_killed"),
    ],
)
def test_pasted_line(line: str, pattern: str, run: Command) -> None:
    """A line of a log is explained as the pattern that matches it."""
    outcome = run("explain", line)
    assert outcome.code == 0 and outcome.out.startswith(f"pattern {pattern} ")


@pytest.mark.parametrize(("word", "near"), [("ErrSBR", "ais_stream_broken_receive")])
def test_word_of_a_line(word: str, near: str, run: Command) -> None:
    """A word that stands in lines of patterns leads to these."""
    outcome = run("explain", word)
    assert outcome.code == 2 and near in outcome.err.rpartition("  try: ")[2].strip().split(", ")
