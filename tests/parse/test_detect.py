"""What a file is, told from its content: labelled logs are logs, settings and documents are none."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable

import pytest

from aiscorr.parse.detect import detect

WATCHDOG = "[E ProcessGroupNCCL.cpp:828] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)"
TEXT = ["loading the manifest", "step 12 of 400 loss: 3.1", WATCHDOG, "reading shard 7", "step 13 of 400 loss: 3.0"]


@pytest.mark.parametrize("label", ["3: ", " 12: ", "gpu-a-07: "])
def test_labelled_lines_are_a_log(label: str) -> None:
    """The task of `srun -l` or the host of pdsh before every line does not make settings of a log."""
    text = "".join(f"{label}{line}\n" for line in TEXT * 4)
    assert detect(text.encode()).kind == "worker_log"


def test_tasks_that_alternate_are_a_log() -> None:
    """Lines of many tasks, interleaved, are a log too."""
    text = "".join(f"{number % 8}: {line}\n" for number, line in enumerate(TEXT * 8))
    assert detect(text.encode()).kind == "worker_log"


SETTINGS = """\
trainer:
  devices: 8
  strategy: ddp
model:
  name: conformer
  hidden: 512
data:
  path: ais://librispeech
  note: "Watchdog caught collective operation timeout"
"""


def test_settings_are_no_log() -> None:
    """A YAML file that quotes a line of a log stays unknown."""
    found = detect(SETTINGS.encode())
    assert (found.kind, found.reason) == ("unknown", "TOML, INI or YAML settings")


def test_a_list_of_numbered_keys_is_no_log() -> None:
    """Settings in which some keys are numbers are settings still."""
    text = SETTINGS + "seeds:\n  1: 17\n  2: 19\n"
    assert detect(text.encode()).kind == "unknown"


def test_lines_of_one_name_are_no_settings() -> None:
    """Settings have a name each; a log whose progress lines all begin with one and a colon is a log."""
    steps = "".join(f"Epoch: [0][{step:>5}/5004]\tTime  0.338 ( 0.351)\tLoss 6.9{step}e+00\n" for step in range(40))
    assert detect(f"Use GPU: 0 for training\n{steps}".encode()).kind == "worker_log"
    steps = "".join(f"\titers: {step}, speed: 0.43s/iter, left time: 1604.45s\n" for step in range(40))
    assert detect(f"{steps}trues shape: (9264, 96)\nKilled\n".encode()).kind == "worker_log"
    dumped = "[07/25 21:43:23] detectron2 INFO: Rank of current process: 0\n" + SETTINGS * 9
    assert detect(dumped.encode()).kind == "worker_log"
    tables = "".join(f"[[case]]\nname: {number}\n" for number in range(9))
    assert detect(tables.encode()).kind == "unknown"


def test_tables_that_a_program_prints_are_no_document() -> None:
    """Loggers print rows between rules too; a table of Markdown has a line below its head."""
    table = "---------------\n| loss | {0:.3g} |\n| step | {0}     |\n---------------\n"
    log = (
        "training...\n"
        + "".join(table.format(step) for step in range(30))
        + "[rank3]: Traceback (most recent call last):\n"
    )
    assert detect(log.encode()).kind == "worker_log"
    assert detect(("| node | change |\n|---|---|\n" + "| t1 | gone |\n" * 5).encode()).kind == "unknown"
    assert detect(("# Findings\n" + "| t1 | gone |\n" * 5).encode()).kind == "unknown"


def test_a_list_beside_an_exception_is_no_document() -> None:
    """Programs print lists, as of what they wait for; where one of them raises it is a log, and a heading decides."""
    items = "- Read->Map: 4 active, 360 queued\n\n- Read->Map: 4 active, 0 queued\n"
    raised = "OSError: AWS Error NETWORK_CONNECTION during GetObject operation\n"
    assert detect((items + raised).encode()).kind == "worker_log"
    assert detect((items + "so it waits.\n").encode()).kind == "unknown"
    assert detect(("## Findings\n" + items + raised).encode()).kind == "unknown"


def test_a_log_that_prints_code_is_a_log() -> None:
    """What a model wrote may hold blocks of code: the lines of the log are outside of them, unlike a document's."""
    sample = "```python\ndef f(x):\n    return x\n```\n- a list\n"
    steps = "".join(
        f"2026-11-20 23:04:{step:02},001 INFO train:79 - step {step} reward 0.5\n" * 5 + sample for step in range(9)
    )
    assert detect(steps.encode()).kind == "worker_log"
    quoted = "```\n" + "".join(f"{WATCHDOG}\n" for _ in range(9)) + "```\n"
    assert detect(f"The watchdog ended it:\n{quoted}so we asked.\n".encode()).kind == "unknown"


def test_a_job_that_installs_packages_first_is_a_log() -> None:
    """A log of packages ends as one; what goes on with something else is the output of a job."""
    installed = "".join(f"Collecting package-{n}\n" for n in range(40)) + "Successfully installed package-1 package-2\n"
    assert detect(installed.encode()).kind == "unknown"
    job = "".join(f"python3: can't open file 'part_{n}.py': [Errno 2] No such file or directory\n" for n in range(6))
    assert detect((installed + job).encode()).kind == "worker_log"


THREAD = """\
Exception in thread prefetch:
Traceback (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/usr/lib/python3.11/threading.py", line 982, in run
    self._target(*self._args, **self._kwargs)
  File "/srv/prefetch.py", line 33, in fill
    self.ready.put(values.reshape(8, 16))
RuntimeError: shape '[8, 16]' is invalid for input of size 120
"""


def test_a_traceback_alone_is_a_log() -> None:
    """The source lines of a traceback do not make a program's text of what a thread printed as it died."""
    assert detect(THREAD.encode()).kind == "worker_log"
    code = "".join(line + "\n" for line in THREAD.splitlines() if line.startswith("    self."))
    assert detect(f"import threading\n{code}".encode()).reason == "Program text"


@pytest.mark.parametrize(
    ("pack", "name", "command"), [(lzma.compress, "xz", "xz -dk"), (bz2.compress, "bzip2", "bzip2 -dk")]
)
def test_compression_that_is_not_read(pack: Callable[[bytes], bytes], name: str, command: str) -> None:
    """A file of a compression that is not read is no text: it is said which one, and how to make it plain."""
    found = detect(pack(b"I 10:00:00.000000 moss:1 a line\n" * 99))
    assert found.kind == "unknown"
    assert found.reason.startswith(f"compressed with {name}, which is not read: decompress it ({command} FILE)")
    assert detect(b"BZhello world, no line of a log\n" * 9).reason == "text, kept if a line is recognised"


def test_an_exception_with_fields_is_no_file_of_settings() -> None:
    """What Ray prints of an actor that died looks like settings below an exception, which no settings hold."""
    text = (
        "ray.exceptions.ActorDiedError: The actor died.\n\tclass_name: Trainer\n\tactor_id: 7f\npid: 77\nip: 10.0.0.7\n"
    )
    assert detect(text.encode()).kind == "worker_log"
    assert detect(b"class_name: Trainer\nactor_id: 7f\npid: 77\nip: 10.0.0.7\n").kind == "unknown"
