"""Worker logs of a made-up night: 64 files of training chatter with few events and the usual dirt between.

0.46 % of the lines are events, a mean line has 139 bytes; progress bars share lines by `\\r`, there are terminal
colours, latin-1 bytes, files with CRLF, a hole of NUL bytes, lines of megabytes and files without a last newline.
"""

from __future__ import annotations

import random
from pathlib import Path

FILE_COUNT = 64
EVENT_SHARE = 0.0046
_BATCH_LINES = 2000
_LONG_SHARE = 100

#: `{t}` a stamp, `{r}` a rank, `{n}` a number. No line of these is an event.
_PLAIN = (
    "[NeMo I {t} train_asr:175 rank:{r}] Training epoch 3, iteration {n}/2000000 | lr: 1.000e-04 | global_step: {n}"
    " | reduced_train_loss: 2.198 | train_step_timing in s: 0.571",
    "{t},417 INFO [rank {r}] train:204 - step {n} done, {n} tokens, allocated 61.2 GiB, reserved 71.9 GiB",
    "[default{r}]:[{t},083][loader][INFO] - batch {n}: 48 entries, 12.4 MiB, decoded in 0.081 s,"
    " queue depth 6 of 8, {n} bytes free",
    "\x1b[32m{t}\x1b[0m | \x1b[1mINFO\x1b[0m | data.loader:fetch:88 - shard-{n}.tar opened, 2048 samples to come",
    "    weight_norm={n} update_ratio=0.0012 clipped=0 scale=65536 skipped=0 elapsed={n} samples={n}",
    "gpu{r}: util 97 % mem 71.9 GiB power 612 W clock 1755 MHz temperature 61 C fan 44 % pcie 12.1 GB/s nvlink 211 GB/s"
    " sm 0.91 tensor 0.77 hbm 0.64",
    "{t} DEBUG sampler: bucket {n} of 131072 holds 48 cuts, longest 17.31 s, padding 3.1 %,"
    " {n} cuts drawn, {n} left, seed 17, epoch 3",
)
_BAR = "Epoch 3:  {p}%|######    | {n}/2000000 [1:02:11<2:11:04, 1.74it/s, loss=2.19]\r"
#: Events without a traceback, in the proportions of a night with retries.
_EVENTS = (
    *["{t},498 [rank{r}] WARNING root: Retrying aistore.sdk.request_client.RequestClient.request.<locals>.request_op"
      " in 1.57 seconds as it raised ConnectionError: HTTPConnectionPool(host='10.37.20.11', port=51080): Max retries"
      " exceeded with url: /v1/objects/librispeech/utt-{n}.wav?provider=ais"] * 6,
    *["[default{r}]:[{t},492][urllib3.connectionpool][WARNING] - Retrying (Retry(total=4, connect=None, read=None,"
      " redirect=None, status=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by"
      " peer')': /v1/objects/librispeech/utt-{n}.wav"] * 4,
    *["[NeMo W {t} train_asr:96 rank:{r}] get-batch failed (AISBatchLoaderError: Batch iterator exhausted prematurely:"
      " received 5 of 48 objects (bucket ais://librispeech)), retrying 3/5"] * 3,
    *["Corrupt JPEG data: {n} extraneous bytes before marker 0xd9"] * 4,
    *["{t},118 ERROR lhotse.ais.batch_loader: Failed to fetch object utt-{n}.wav from bucket ais://librispeech:"
      " HTTPConnectionPool(host='10.37.20.11', port=51082): Read timed out."] * 2,
    *["Connection pool is full, discarding connection: 10.37.20.{r}. Connection pool size: 10"] * 3,
    "[rank{r}]: RuntimeError: CUDA error: an illegal memory access was encountered",
    "[rank{r}]: OSError: [Errno 116] Stale file handle: '/lustre/data/shard-{n}.tar'",
    "[1234567.890123] NVRM: Xid (PCI:0000:44:00): 62, pid={n}, name=python3, 2027(2d50) 8503d428 00000000",
)  # fmt: skip
#: An exception that the program logs and survives.
_TRACEBACK = (
    "{t},511 ERROR [rank {r}] train:231 - batch {n} dropped",
    "Traceback (most recent call last):",
    '  File "/workspace/asr/train_asr.py", line 163, in fetch',
    "    batch = next(loader)",
    '  File "/opt/conda/lib/python3.11/site-packages/aistore/sdk/batch/batch_loader.py", line 88, in __next__',
    "    raise AISBatchLoaderError(text)",
    "AISBatchLoaderError: Batch iterator exhausted prematurely: received 0 of 48 objects (bucket ais://librispeech)",
    "{t},514 INFO [rank {r}] train:204 - going on with the next batch",
)
#: How a rank ends.
_FATAL = (
    "[rank{r}]: Traceback (most recent call last):",
    '[rank{r}]:   File "/workspace/asr/train_asr.py", line 163, in fetch',
    "[rank{r}]:     batch = next(loader)",
    "[rank{r}]: RuntimeError: DataLoader worker (pid {n}) is killed by signal: Killed.",
    "[rank{r}]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank {r}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn=827392, NumelOut=827392, Timeout(ms)=60000) ran for 60044"
    " milliseconds before timing out.",
    "[rank{r}]:[E1120 23:05:53.231259699 ProcessGroupNCCL.cpp:2395] [PG ID 0 PG GUID 0(default_pg) Rank {r}]  failure"
    " detected by watchdog at work sequence id: {n} PG status: last enqueued work: {n}, last completed work: {n}",
)


class _Clock:
    """Second after second of one night."""

    def __init__(self, start_s: int) -> None:
        self._now_s = start_s

    def next(self) -> str:
        self._now_s = (self._now_s + 1) % 86_400
        minutes, second = divmod(self._now_s, 60)
        return f"2026-11-20 {minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"


def write_worker_corpus(folder: Path, byte_count: int, event_share: float = EVENT_SHARE) -> None:
    """64 files `error-5120341-<n>.out` of about equal size."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILE_COUNT):
        draw = random.Random(number)
        _write_file(folder / f"error-5120341-{number}.out", byte_count // FILE_COUNT, draw, number, event_share)


def _write_file(path: Path, byte_count: int, draw: random.Random, number: int, event_share: float) -> None:
    clock = _Clock(draw.randrange(3600))
    ending = b"\r\n" if number % 16 == 5 else b"\n"
    written = 0
    with path.open("wb") as file:
        if number % 32 == 7:
            written += file.write(b"x" * (byte_count * FILE_COUNT // _LONG_SHARE) + ending)
        while written < byte_count:
            lines = _batch(draw, clock, event_share)
            data = ending.join(line.encode("latin-1" if number % 8 == 3 else "utf-8") for line in lines)
            written += file.write(data)
            if number % 16 == 9:
                written += file.write(b"\0" * 4096)
            written += file.write(ending)
        if number % 4 != 1:
            text = "\n".join(_FATAL) if number % 4 == 2 else _PLAIN[0]
            file.write(text.format(t=clock.next(), r=number % 8, n=written, p=0).encode() + ending)
        else:
            file.write(b"killed in the middle of a li")


def _batch(draw: random.Random, clock: _Clock, event_share: float) -> list[str]:
    lines: list[str] = []
    while len(lines) < _BATCH_LINES:
        stamp, rank, value = clock.next(), draw.randrange(8), draw.randrange(1_000_000)
        place = draw.random()
        if place < event_share * 0.02:
            lines += [line.format(t=stamp, r=rank, n=value) for line in _TRACEBACK]
        elif place < event_share:
            lines.append(draw.choice(_EVENTS).format(t=stamp, r=rank, n=value))
        elif place > 0.98:
            bars = "".join(_BAR.format(p=draw.randrange(100), n=value + step) for step in range(draw.randrange(2, 12)))
            lines.append(bars + f"Epoch 3: {value} é")
        else:
            lines.append(draw.choice(_PLAIN).format(t=stamp, r=rank, n=value))
    return lines
