"""What comes out of the log of an AIStore daemon: runs, statistics, records of several lines, damage of all kinds."""

from __future__ import annotations

import json

import pytest
from lines import AIS_HEADER, Row, events, read_ais, read_text

from aiscorr.model import IngestOptions
from aiscorr.parse.ais.counters import stats_body

pytestmark = pytest.mark.usefixtures("either_reader")

LINE = "W 23:04:52.80190{} shared_dm:350 t[UrJt8102] trouble {}\n"
STATS = "I 23:05:00.000001 {}\n"
COUNTERS = {
    "err.getbatch.n": 4,
    "err.gfn.getbatch.n": 2,
    "getbatch.rxwait.ns": 123_456_789_012,
    "getbatch.obj.size": 1_638_400,
    "put.ns.total": 9_223_372_036_854_775,
    "state.flags": 2_097_158,
    "disk.nvme7n1.read.bps": 54,
    "kalive.ns": -1,
}


def lines(*numbers: int) -> str:
    """Warnings that differ in their number."""
    return "".join(LINE.format(number, number) for number in numbers)


def told(row: Row) -> tuple[int, int, str]:
    """Line, run and pattern of an event."""
    return row["line_no"], row["process_no"], row["pattern"]


def rejects(reading: object) -> list[tuple[int, str]]:
    """Line and first words of what was rejected."""
    return [(row["line_no"], row["reason"].split(":")[0]) for row in reading.rejected_line]  # type: ignore[attr-defined]


# --- runs and rotations --------------------------------------------------------------------------------------------


def test_a_restart_begins_another_run() -> None:
    """Each `Started up at` in a stream begins a run; what stands before the first belongs to run 0."""
    text = lines(1) + AIS_HEADER + lines(2) + AIS_HEADER.replace("23:02:57", "23:30:00") + lines(3)
    found = read_text(text, options=IngestOptions(kind="ais_log"))
    assert [told(row) for row in events(found)] == [
        (1, 0, "other_warning"),
        (2, 1, "ais_process_started"),
        (3, 1, "other_warning"),
        (4, 2, "ais_process_started"),
        (5, 2, "other_warning"),
    ]


@pytest.mark.parametrize("date", ["2026/00/20 23:02:57", "2026/11/31 23:02:57"])
def test_a_damaged_header_costs_its_line(date: str) -> None:
    """A header with a date that does not exist is rejected and begins no run; the lines around it are read."""
    text = AIS_HEADER + lines(1) + AIS_HEADER.replace("2026/11/20 23:02:57", date) + lines(2)
    found = read_text(text)
    assert [told(row)[:2] for row in events(found)] == [(1, 1), (2, 1), (4, 1)]
    assert rejects(found) == [(3, "a header with a date that does not exist")]


def test_a_name_with_a_date_that_does_not_exist() -> None:
    """A log named after a day that does not exist is dated as one whose name has none."""
    found = read_text(lines(1), "aistarget.ais-target-3.INFO.1342-231705.1", options=IngestOptions(kind="ais_log"))
    assert found.summary.date_method == "mtime" and len(events(found)) == 1


@pytest.mark.parametrize("collector", ["", "2026-11-20T23:02:58.123456789Z "])
def test_a_pod_in_front_of_each_line(collector: str) -> None:
    """Behind a pod's name, however long, with a collector's time or without, a log is read as without it."""
    text = AIS_HEADER + lines(1, 2) + "I 23:04:00.000001 {err.get.n:1,get.n:7}\n"
    prefix = f"[pod/ais-target-12-of-the-training-cluster/ais-node] {collector}"
    found, plain = read_text("".join(prefix + line for line in text.splitlines(keepends=True))), read_text(text)
    assert [told(row) for row in events(found)] == [told(row) for row in events(plain)] and len(events(plain)) == 3
    assert [(row["name"], row["value"]) for row in found.counter_sample] == [("err.get.n", 1), ("get.n", 7)]
    assert rejects(found) == []


@pytest.mark.parametrize(
    "prefix",
    [
        "Nov 20 23:02:57 gpu-store-1 aistarget[4711]: ",
        "Nov 20 23:02:57.345678 gpu-store-1 ais@target.service[4711]: ",
        "Fri 2026-11-20 23:02:57 UTC gpu-store-1 aistarget[4711]: ",
        "2026-11-20T23:02:57+0000 gpu-store-1 aistarget[4711]: ",
    ],
)
def test_a_journal_in_front_of_each_line(prefix: str) -> None:
    """What `journalctl` puts before each line, in any of its forms, leaves a log as it is."""
    text = AIS_HEADER + lines(1, 2)
    found, plain = read_text("".join(prefix + line for line in text.splitlines(keepends=True))), read_text(text)
    assert [told(row) for row in events(found)] == [told(row) for row in events(plain)]
    assert rejects(found) == []


def test_a_rotation_goes_on_with_the_run() -> None:
    """`Rotated at` and the title after it belong to the run that was; the title tells node and version."""
    title = (
        "Node t[UrJt8102], Version 5.0.6b7de2441, build 2026-11-20T21:50:14+0000, CPUs(2, runtime=2), container:x\n\n"
    )
    rotated = AIS_HEADER.replace("Started up", "Rotated")
    found = read_ais(lines(1) + rotated + title + lines(2))
    assert [told(row) for row in events(found)][2:] == [
        (3, 1, "ais_log_rotated"),
        (4, 1, "ais_node_title"),
        (6, 1, "other_warning"),
    ]
    summary = found.summary
    assert (summary.node_id, summary.node_role, summary.version) == ("UrJt8102", "target", "5.0.6b7de2441")
    assert (summary.host, summary.node_id_source) == ("ais-target-0", "title")
    assert found.only("ais_log_rotated")["text"] == rotated.rstrip()


def test_a_rotated_file_is_of_run_0() -> None:
    """The run of a file that begins with a rotation began in another file."""
    found = read_text(AIS_HEADER.replace("Started up", "Rotated") + lines(1))
    assert [row["process_no"] for row in events(found)] == [0, 0]


def test_a_sidecar_stream_with_collector_prefixes() -> None:
    """Headers, titles, records and statistics are read behind the time stamps of a collector as well."""
    text = (
        AIS_HEADER + "Node t[UrJt8102], Version 5.0.1, build x\n" + lines(1) + STATS.format("{a.n:1}") + "panic: boom\n"
    )
    prefixed = "".join(f"2026-11-20T23:04:53.000000001Z stdout F {line}\n" for line in text.splitlines())
    found = read_text(prefixed)
    assert found.patterns() == ["ais_process_started", "ais_node_title", "other_warning", "ais_go_panic"]
    assert found.counters() == {"a.n": 1}
    assert [row["text"][row["message_start"] :] for row in events(found)] == [
        AIS_HEADER.rstrip(),
        "Node t[UrJt8102], Version 5.0.1, build x",
        "t[UrJt8102] trouble 1",
        "panic: boom",
    ]
    assert found.summary.version == "5.0.1"


@pytest.mark.parametrize("prefix", ["[while stopping:] ", "Error: logging before flag.Parse: "])
def test_lines_of_stderr_are_records(prefix: str) -> None:
    """What a daemon writes to stderr while it starts or stops is read like the log."""
    (row,) = [row for row in events(read_ais(prefix + lines(1))) if row.get("severity")]
    assert (row["severity"], row["text"][row["message_start"] :]) == ("W", "t[UrJt8102] trouble 1")


# --- statistics ----------------------------------------------------------------------------------------------------


def body(counters: dict[str, int]) -> str:
    """A statistics body as nlog prints it."""
    return ",".join(f"{name}:{value}" for name, value in counters.items())


def test_every_counter_of_a_statistics_line() -> None:
    """Each pair of a statistics line is a reading of its counter at the line's time, whatever its kind and sign."""
    found = read_ais(STATS.format("{" + body(COUNTERS) + "}"))
    assert found.counters() == COUNTERS
    assert {(row["line_no"], row["process_no"]) for row in found.counter_sample} == {(2, 1)}
    (line,) = found.stats_line
    assert (line["name_count"], line["is_complete"], line["line_no"]) == (len(COUNTERS), True, 2)
    assert len({row["local_ns"] for row in [*found.counter_sample, *found.stats_line]}) == 1
    assert (found.summary.counter_count, found.summary.reject_count) == (len(COUNTERS), 0)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"{a.n:1,b.n:2}", (b"a.n:1,b.n:2", True)),
        (b" {a.n:1} ", (b"a.n:1", True)),
        (b"{a.n:1,b.n:2", (b"a.n:1", False)),
        (b"{a.n:1,b.", (b"a.n:1", False)),
        (b"{a.n", (b"", False)),
        (b"{}", (b"", True)),
    ],
)
def test_a_cut_body_loses_its_last_pair(message: bytes, expected: tuple[bytes, bool]) -> None:
    """Without a closing brace the last pair may be half and is dropped."""
    assert stats_body(message) == expected


@pytest.mark.parametrize("size", range(1, len("{" + body(COUNTERS)), 7))
def test_a_statistics_line_cut_anywhere(size: int) -> None:
    """Wherever nlog cuts a statistics line, whole pairs count, no value is made up, and the line is in reject."""
    message = ("{" + body(COUNTERS))[:size]
    found = read_ais(STATS.format(message) + lines(1))
    assert found.counters().items() <= COUNTERS.items()
    assert len(found.counters()) == message.count(",")
    if len(message) > 1:
        assert rejects(found) == [(2, "statistics line cut")]
        assert (found.stats_line[0]["is_complete"], found.summary.reject_count) == (False, 1)


def test_a_cut_line_with_the_next_glued_to_it() -> None:
    """A line that nlog cut without newline gives its pairs, and the record glued to it is read as well."""
    found = read_ais("I 23:05:00.000001 {a.n:1,b.n:22" + lines(7))
    assert found.counters() == {"a.n": 1}
    (row,) = [row for row in events(found) if row.get("severity")]
    assert row["text"][row["message_start"] :] == "t[UrJt8102] trouble 7"
    assert {line_no for line_no, _ in rejects(found)} == {2}
    assert any("glued" in row["reason"] for row in found.rejected_line)
    assert found.summary.reject_count == len(found.rejected_line)


@pytest.mark.parametrize(
    ("pairs", "good"),
    [
        ("a.n:1,b.n:x,c.n:3", {"a.n": 1, "c.n": 3}),
        ("a.n:1,b.n,c.n:3", {"a.n": 1, "c.n": 3}),
        ("a.n:1,,c.n:3", {"a.n": 1, "c.n": 3}),
        ("a.n:1,b.n:99999999999999999999,c.n:3", {"a.n": 1, "c.n": 3}),
        ("a.n:1,b.n:1.5", {"a.n": 1}),
        ("x", {}),
        ("a.n:1,:2", {"a.n": 1}),
        ("a.n:1,b:c:2", {"a.n": 1}),
        ("a.n:1,b.n:", {"a.n": 1}),
    ],
)
def test_a_bad_pair_is_rejected_and_the_others_count(pairs: str, good: dict[str, int]) -> None:
    """A pair that is not name:integer puts the line into reject; all other pairs, of this line and others, count."""
    found = read_ais(STATS.format("{" + pairs + "}") + STATS.format("{z.n:9}"))
    assert found.counters() == {**good, "z.n": 9}
    assert rejects(found) == [(2, "statistics line with a pair that is not name")]
    assert found.summary.reject_count == 1
    assert found.summary.counter_count == len(found.counter_sample) == len(good) + 1
    assert [row["name_count"] for row in found.stats_line] == [len(good), 1]


# --- records of several lines --------------------------------------------------------------------------------------


def test_continuation_lines_belong_to_the_record() -> None:
    """Unprefixed lines after a warning or an error are counted to it; a blank line ends it."""
    stack = (
        "goroutine 7 [running]:\nnet/http.(*conn).serve.func1()\n\t/usr/local/go/src/net/http/server.go:1903 +0xbe\n"
    )
    text = "E 23:04:52.801902 htcommon:361 net/http err: http: panic serving 10.0.0.1:5: boom\n" + stack + "\nmore\n"
    found = read_ais(text + lines(1))
    assert [(row["line_no"], row["follow_count"]) for row in events(found) if row.get("severity")] == [(2, 3), (8, 0)]


def test_an_info_line_ends_a_warning_and_tells_who_writes() -> None:
    """The line behind a warning is no part of it and moves the file's end; of a node not named yet it gives the id."""
    text = lines(1).replace("UrJt8102", "?") + "I 23:09:00.000001 memsys:9 t[UrJt8102] run: ready\n" + "more\n"
    found = read_text(text, options=IngestOptions(kind="ais_log"))
    assert [row["follow_count"] for row in events(found)] == [0]
    assert found.summary.node_id == "UrJt8102"
    known = read_ais(lines(1) + "I 23:09:00.000001 nvme0n1: 412MiB/s, 128KiB\nmore\n")
    assert [row["follow_count"] for row in events(known) if row.get("severity")] == [0]
    assert known.summary.last_ns - known.summary.first_ns == (6 * 60 + 3) * 10**9 + 1_000


@pytest.mark.parametrize("crash", ["panic: runtime error: index out of range [3]", "fatal error: out of memory"])
def test_a_panic_behind_an_error_is_an_event(crash: str) -> None:
    """The crash of a daemon is an event of its own where it follows the last error on stderr, as it does."""
    text = "E 23:04:52.801902 target:1 t[UrJt8102] last words\n" + crash + "\n\ngoroutine 1 [running]:\nmain.main()\n"
    found = read_text(text, "/logs/t1/stderr.log")
    assert [(row["line_no"], row["pattern"]) for row in events(found)][:2] == [(1, "other_error"), (2, "ais_go_panic")]
    assert found.only("other_error")["follow_count"] == 0


def test_a_proxy_that_repeats_an_error_of_a_target_is_no_target() -> None:
    """Errors of targets stand in a proxy's log as the targets wrote them; the name of the file says who wrote it."""
    text = AIS_HEADER + (
        'E 23:05:01.000001 t[IBnt8081]: different Smap version from elnp8080(p[elnp8080]): "12" vs local Smap v8[u1, '
        "p[elnp8080], t=3, p=2]: POST /v1/ml/moss/b/noxid/elnp808-5t2EC/3 (called by p[elnp8080]) "
        "(stack: [htrun.go:1636 <- ml.go:216 <- ml.go:53])\n"
    )
    of_target, of_proxy = (read_text(text, f"/in/{name}.vm.ERROR.1120-230257.7") for name in ("aistarget", "aisproxy"))
    assert (of_target.summary.node_id, of_target.summary.node_role) == ("IBnt8081", "target")
    assert (of_proxy.summary.node_id, of_proxy.summary.node_role) == (None, "proxy")


def test_an_endless_record_ends() -> None:
    """A record with hundreds of continuation lines is closed, and what follows is read."""
    text = "E 23:04:52.801902 x:1 t[UrJt8102] dump\n" + "filler\n" * 1000 + lines(1)
    found = read_ais(text, options=IngestOptions(kind="ais_log"))
    assert [row["line_no"] for row in events(found) if row.get("severity")] == [2, 1003]


def test_an_empty_file_of_headers() -> None:
    """A log of a header alone has one event and its node's host."""
    found = read_text(AIS_HEADER)
    assert (found.patterns(), found.summary.line_count, found.summary.event_count) == (["ais_process_started"], 1, 1)


# --- damage --------------------------------------------------------------------------------------------------------


def test_carriage_returns_change_nothing() -> None:
    """A log that was moved through Windows gives the rows of the log itself."""
    text = AIS_HEADER + lines(1) + "follow one\nfollow two\n\n" + STATS.format("{a.n:1,b.n:2}") + lines(2)
    plain, dos = read_text(text), read_text(text.replace("\n", "\r\n"))
    for name in ("ais_line", "stats_line", "counter_sample", "rejected_line"):
        different = {"byte_offset"}
        cleaned = [
            [{k: v for k, v in row.items() if k not in different} for row in getattr(r, name)] for r in (plain, dos)
        ]
        assert cleaned[0] == cleaned[1]
    assert dos.summary.line_count == plain.summary.line_count


def test_a_run_of_nul_bytes() -> None:
    """NUL bytes that a dead node left in a file cost no record before, behind or around them."""
    nul = "\0" * 700
    text = (
        lines(1) + nul + lines(2) + nul + "\n" + nul + AIS_HEADER + LINE.format(3, 3).rstrip() + nul + "\n" + lines(4)
    )
    found = read_ais(text)
    assert [row["text"][row["message_start"] :][-1] for row in events(found) if row.get("severity")] == [
        "1",
        "2",
        "3",
        "4",
    ]
    assert found.patterns().count("ais_process_started") == 2
    assert not any("\0" in row["text"] for row in events(found))


def test_bad_utf8_is_replaced() -> None:
    """Bytes that are no UTF-8 become the replacement character, and the message begins where it begins."""
    raw = b"W 23:04:52.801902 x:1 t[UrJt8102] object \xff\xfe.wav is odd \xe2\x80\x94 dropping\n"
    (row,) = [row for row in events(read_ais(raw)) if row.get("severity")]
    assert row["text"][row["message_start"] :] == "t[UrJt8102] object \ufffd\ufffd.wav is odd — dropping"


def test_a_very_long_line_is_read_and_named() -> None:
    """A line of many kilobytes is cut to what is stored; one of megabytes is searched in windows and named."""
    found = read_ais("W 23:04:52.801902 x:1 t[UrJt8102] " + "x" * 40_000 + "\n" + lines(1))
    assert [(row["line_no"], len(row["text"])) for row in events(found) if row.get("severity")] == [(2, 4096), (3, 53)]
    assert rejects(found) == [(2, "line longer than 64 KiB")]
    found = read_ais("W 23:04:52.801902 x:1 t[UrJt8102] " + "x" * 5_000_000 + "\n" + lines(1))
    assert [row["line_no"] for row in events(found) if row.get("severity")] == [2, 3]


def test_a_file_without_newline_at_its_end() -> None:
    """The last line counts and is read without its newline."""
    found = read_ais((lines(1) + lines(2)).rstrip("\n"))
    assert [row["line_no"] for row in events(found) if row.get("severity")] == [2, 3]
    assert found.summary.line_count == 3


def test_what_a_pattern_captures_is_kept() -> None:
    """Captures that have a column go there, others into one JSON column."""
    text = "I 23:06:00.000001 common:494 20 Nov 26 23:06 UTC =============\n"
    found = read_ais(
        text + "W 23:06:01.000001 moss:2020 x-get-batch[gbt-U-Xxty5BB]: 1 of 2 senders did not ack start within 33.3s\n"
    )
    row = events(found)[-1]
    assert row["xid"] == "gbt-U-Xxty5BB"
    assert row["pattern"] != "other_warning"
    assert row["capture"] is None or isinstance(json.loads(row["capture"]), dict)


def test_other_files_of_a_cluster_are_no_logs() -> None:
    """Configuration and status answers of a daemon are told from its log."""
    assert read_text('{"snode": {"daemon_id": "x"}, "tracker": {}}').summary.kind == "node_status"
    assert read_text(AIS_HEADER).summary.kind == "ais_log"
