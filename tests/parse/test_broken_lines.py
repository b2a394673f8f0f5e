"""Texts whose lines a terminal broke or a post quotes are read as they were, and cited where they stand."""

from __future__ import annotations

import pytest
from lines import Reading, Row, RowSink, read_text, read_worker, told

from aiscorr.parse.mended import is_all_code, quote_depth
from aiscorr.parse.worker.reader import WorkerLogReader

pytestmark = pytest.mark.usefixtures("either_reader")

WATCHDOG = (
    "[rank{0}]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank {0}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=629, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000) ran for 60044"
    " milliseconds before timing out."
)
#: A job's output: progress, a traceback whose frames are long, a watchdog.
OUTPUT = [
    "2026-11-20 23:04:53,001 INFO train:79 - epoch 0 step 17 loss 2.5512 learning rate 0.00031 tokens 8812 norm 1.2",
    "2026-11-20 23:04:54,001 INFO train:79 - epoch 0 step 18 loss 2.5431 learning rate 0.00031 tokens 8634 norm 1.1",
    WATCHDOG.format(2),
    "Traceback (most recent call last):",
    '  File "/home/someone/projects/speech/recipes/librilight/train_with_a_long_name.py", line 412, in run_one_epoch',
    "    loss = model(batch)",
    "RuntimeError: the sizes of the tensors of this batch do not fit each other in dimension 1: 812 and 640",
    WATCHDOG.format(3),
]


def text_of(*lines: str) -> str:
    """The lines as a text."""
    return "".join(f"{line}\n" for line in lines)


def broken(lines: list[str], width: int) -> tuple[str, list[int]]:
    """The text as a terminal of this width shows it, and the number of the line with which each line begins."""
    shown: list[str] = []
    begins: list[int] = []
    for line in lines:
        begins.append(len(shown) + 1)
        shown += [line[place : place + width] for place in range(0, len(line), width)] or [""]
    return text_of(*shown), begins


def values(found: Reading) -> list[tuple[object, ...]]:
    """What was recognised, wherever it stands."""
    return told(found, "pattern", "rank", "seq_num", "ran_for_ms", "exception", "user_location", "text")


@pytest.mark.parametrize("width", [61, 80, 100, 116, 132, 177])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_that_a_terminal_broke(width: int, ending: str) -> None:
    """A text broken at a terminal's width tells the same, each event on the line where it begins."""
    text, begins = broken(OUTPUT, width)
    whole = read_worker(text_of(*OUTPUT))
    found = read_worker(text.replace("\n", ending))
    assert values(found) == values(whole)
    rows = zip(told(found, "line_no"), told(whole, "line_no"), strict=True)
    assert [number for (number,), _ in rows] == [begins[number - 1] for (number,) in told(whole, "line_no")]
    assert found.summary.line_count == text.count("\n")
    assert found.summary.byte_count == len(text.replace("\n", ending))


@pytest.mark.parametrize("label", ["t={0}.57 | stderr | ", "train-worker-3 pytorch ", "<{0}> out: "])
def test_lines_that_a_collector_labelled(label: str) -> None:
    """What stands before each line and is no prefix that is known is left out; the lines stay where they are."""
    text = text_of(*(label.format(number) + line for number, line in enumerate(OUTPUT)))
    whole = read_worker(text_of(*OUTPUT))
    found = read_worker(text)
    assert values(found) == values(whole)
    assert told(found, "line_no") == told(whole, "line_no")
    assert found.summary.byte_count == len(text)


@pytest.mark.parametrize(
    "line",
    [
        "iteration {0}/ 400 | consumed samples: {0}12 | lm loss: 3.1",
        "Epoch: [{0}] loss 2.4",
        "2026-11-20 23:04:53,00{0} INFO [rank{0}] epoch 0 step {0} loss 2.55",
        "[rank{0}]: loading shard {0}",
        "INFO 2026-11-20 23:04:53,00{0} epoch 0 step {0} loss 2.55",
    ],
)
def test_what_a_program_prints_alike_is_no_label(line: str) -> None:
    """Lines of one shape are a program's own where none that is known begins behind what they share."""
    lines = [line.format(number).encode() for number in range(9)]
    reader = WorkerLogReader(RowSink())
    assert reader.broken_lines.look(b"".join(line + b"\n" for line in lines)).label is None


def test_places_are_those_of_the_text_as_it_is() -> None:
    """The byte at which an event is said to begin is where its first line begins in the file."""
    text, _ = broken(OUTPUT, 80)
    places = [text.index(begin) for begin in ("[rank2]", "[rank3]")]
    found = [row for row in read_worker(text).worker_line if row["pattern"] == "nccl_watchdog_timeout"]
    assert [row["byte_offset"] for row in found] == places


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # in the middle of a word that the message needs
        ([WATCHDOG.format(1)[:140], WATCHDOG.format(1)[140:]], [("nccl_watchdog_timeout", 629)]),
        ([WATCHDOG.format(1)[:169], WATCHDOG.format(1)[169:]], [("nccl_watchdog_timeout", 629)]),
        # three parts, of any length
        (
            [WATCHDOG.format(1)[:118], WATCHDOG.format(1)[118:160], WATCHDOG.format(1)[160:]],
            [("nccl_watchdog_timeout", 629)],
        ),
        # a line with a prefix of its own is never the rest of another
        (
            [WATCHDOG.format(1)[:140], WATCHDOG.format(2)],
            [("nccl_watchdog_timeout", None), ("nccl_watchdog_timeout", 629)],
        ),
    ],
)
def test_single_lines_that_were_broken(lines: list[str], expected: list[tuple[object, ...]]) -> None:
    """Of a pasted text two lines are one where only both together are a known message, or more of it."""
    assert told(read_worker(text_of(*lines, "done")), "pattern", "seq_num") == expected


def test_lines_of_one_length_are_no_broken_ones() -> None:
    """Lines that all have one length are a program's, not a terminal's; nor is a message below a full line its rest."""
    steps = [
        f"step {number:05} of 99999 loss 2.5{number:03} rate 0.00031 tokens 8812 in the batch" for number in range(9)
    ]
    boom = "RuntimeError: NCCL communicator was aborted on rank 1 and nothing else is known about it"
    found = read_worker(
        text_of(*steps, boom, "Compile with TORCH_USE_CUDA_DSA to enable assertions", WATCHDOG.format(0))
    )
    assert told(found, "line_no") == [(10,), (12,)]


def test_lines_that_a_terminal_filled_up() -> None:
    """A line that ends before the edge, and is filled up with blanks to it, does not go on in the next."""
    text, _ = broken(OUTPUT, 100)
    filled = "".join(f"{line:<100}\n" for line in text.splitlines())
    assert [row[:-1] for row in values(read_worker(filled))] == [row[:-1] for row in values(read_worker(text))]


def test_a_terminal_that_broke_one_line_and_filled_up_the_others() -> None:
    """Blanks up to one column in several lines show where the edge is, so that a full line goes on in the next."""
    frame = '  File "/opt/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 308, in _worker_loop'
    lines = ["Traceback (most recent call last):", frame[:-1], frame[-1:], "    data = fetcher.fetch(index)"]
    found = read_worker("".join(f"{line:<{len(frame) - 1}}\n" for line in lines) + '  File "/w/train.py", li\n')
    assert told(found, "pattern", "frame_kind", "line_no") == [("python_traceback", "data_loading", 1)]


@pytest.mark.parametrize("mark", ["> ", ">", "> > ", "    ", "\t", ">     "])
def test_a_quoted_text(mark: str) -> None:
    """A text with the mark of a quotation, or the margin of code, before each line tells the same, line by line."""
    quoted = text_of(*(mark + line for line in OUTPUT))
    whole, found = read_text(text_of(*OUTPUT)), read_text(quoted)
    assert found.summary.kind == "worker_log"
    assert values(found) == values(whole)
    assert told(found, "line_no") == told(whole, "line_no")
    assert found.summary.byte_count == len(quoted)


def test_what_is_no_quotation() -> None:
    """Megatron's lines with a mark among others, and prompts of Python, are no quotation."""
    megatron = [
        "> initializing tensor model parallel with size 2",
        "using world size: 8",
        "> building indices",
        "step 1",
    ]
    assert quote_depth([line.encode() for line in megatron]) == 0
    assert quote_depth([b">>> import torch", b">>> torch.ones(3)"]) == 0
    assert quote_depth([b"> a", b">", b"> b", b""]) == 1


@pytest.mark.parametrize(
    ("above", "below"), [(["```"], ["```"]), (["", "```bash"], []), ([], ["```", ""]), (["~~~"], ["~~~"])]
)
def test_a_text_shown_as_code(above: list[str], below: list[str]) -> None:
    """A text between the marks of a block of code, one of which may be cut off, tells the same, line by line."""
    whole, found = read_text(text_of(*OUTPUT)), read_text(text_of(*above, *OUTPUT, *below))
    assert found.summary.kind == "worker_log"
    assert values(found) == values(whole)
    assert told(found, "line_no") == [(number + len(above),) for (number,) in told(whole, "line_no")]


def test_lines_between_backquotes() -> None:
    """A line, or a few, between backquotes tell the same as without them."""
    whole = read_text(text_of(*OUTPUT[2:7]))
    for shown in (text_of(*(f"`{line}`" for line in OUTPUT[2:7])), f"`{text_of(*OUTPUT[2:7])}`\n"):
        assert values(read_text(shown)) == values(whole)


def test_a_document_that_shows_code_is_none() -> None:
    """Prose outside of the code makes a document of a text, and nothing of it is read."""
    for text in (
        ["What I got:", "```", *OUTPUT, "```"],
        ["```", *OUTPUT, "```", "Is it the storage?"],
        ["## Log", "```", *OUTPUT],
    ):
        assert not is_all_code([line.encode() for line in text])
        assert read_text(text_of(*text)).summary.kind == "unknown"


def test_a_quoted_stack_dump() -> None:
    """A quoted dump of py-spy is one, with the numbers of its lines."""
    dump = [
        "Process 4242: python train.py",
        "Python v3.11.4 (/usr/bin/python3.11)",
        "",
        'Thread 4242 (idle): "MainThread"',
    ]
    dump += ["    wait (threading.py:320)", "    next_batch (loader.py:88)", "    main (train.py:12)"]
    found = read_text(text_of(*(f"> {line}" for line in dump)), "/logs/job7/rank0.txt")
    frames: list[Row] = found.stack_frame
    assert found.summary.kind == "stack_dump"
    assert [(row["function"], row["line_no"]) for row in frames] == [("wait", 5), ("next_batch", 6), ("main", 7)]
