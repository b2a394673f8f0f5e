"""Records of several lines behind the stamps that a log collector puts before each line."""

from __future__ import annotations

from lines import read_worker, told

from aiscorr.parse.stamps import iso_ns


def test_a_traceback_behind_a_collectors_stamps() -> None:
    """The stamp that `kubectl logs --timestamps` puts before each line leaves the frames indented."""
    lines = (
        "Traceback (most recent call last):",
        '  File "/srv/train.py", line 9, in <module>',
        "    main()",
        "KeyError: 'pt'",
    )
    text = "".join(f"2026-03-07T14:15:59.52073{number}571Z {line}\n" for number, line in enumerate(lines))
    row = read_worker(text).only("python_exception")
    assert (row["exception"], row["block_line_no"], row["line_no"]) == ("KeyError", 1, 4)


def test_a_failure_table_behind_a_collectors_stamps() -> None:
    """An entry of torchrun's table has the time of the stamp before its line, and that stamp's zone."""
    table = ("Root Cause (first observed failure):", "[0]:", "  host      : gpu-1", "  rank      : 5 (local_rank: 1)")
    lines = (*table, "  exitcode  : -9 (pid: 77)", "=====")
    text = "".join(f"2026-03-07T14:15:5{number}.000000000Z {line}\n" for number, line in enumerate(lines))
    row = read_worker(text).only("torchrun_failure_entry")
    assert (row["rank"], row["exit_code"], row["zone_offset_s"]) == (5, -9, 0)
    assert row["local_ns"] == iso_ns("2026-03-07 14:15:54")


def test_a_traceback_behind_bare_times() -> None:
    """A time with nothing but a blank behind it, as `ts` puts it before each line, leaves a traceback one."""
    lines = (
        "Traceback (most recent call last):",
        '  File "/srv/train.py", line 9, in <module>',
        "    main()",
        "KeyError: 'pt'",
        "step 12 loss 2.0",
    )
    for day in ("2026/03/07", "2026-03-07"):
        text = "".join(f"{day} 14:15:5{number} {line}\n" for number, line in enumerate(lines))
        row = read_worker(text).only("python_exception")
        assert (row["exception"], row["block_line_no"], row["line_no"]) == ("KeyError", 1, 4)
        assert row["local_ns"] == iso_ns("2026-03-07 14:15:53")


def test_ts_stands_in_front_of_labels_of_srun() -> None:
    """Behind the time of moreutils' ts come srun's label and the program's own stamp, day first."""
    text = "".join(f"Nov 30 21:37:5{n} {n}: 30.11.2026 21:37:5{n},500 INFO rank {n} of 4 up\n" for n in range(4))
    found = read_worker(text + "Nov 30 21:38:17 1: RuntimeError: odd\n" + "Nov 30 21:38:17 srun: error: x\n")
    assert [row[0] for row in told(found, "task")][:5] == [0, 1, 2, 3, 1]
    assert told(found, "stamp_source")[0] == ("own",)
    assert told(found, "message_start")[4] == (len("Nov 30 21:38:17 1: "),)


def test_curl_names_an_address_by_host_and_port() -> None:
    """The host and the port that curl could not reach are an address as any other."""
    found = read_worker("curl: (7) Failed to connect to 10.0.0.1 port 51081 after 0 ms: Couldn't connect to server\n")
    assert told(found, "pattern", "endpoint") == [("http_connection_refused", "10.0.0.1:51081")]
