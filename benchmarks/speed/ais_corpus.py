"""Logs of a made-up AIStore cluster: 30 daemons with three rotations each.

0.11 % of the lines are warnings and errors, 0.8 % statistics lines of about 58 counters; one in 2000 of those is cut
at 2048 bytes, with the next record glued to it.
"""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

DAEMON_COUNT = 30
ROTATION_COUNT = 3
_EVENT_SHARE = 0.0011
_STATS_SHARE = 0.0082
_BATCH_LINES = 2000
_CUT_SHARE = 1 / 2000
_NLOG_LIMIT = 2048

_PLAIN = (
    "I {t} target:{n} GET ais://librispeech/utt-{n}.wav[12.4KiB] served in 1.2ms, cold 0, mp /ais/nvme1n1, {n} in all",
    "I {t} htrun:1211 msync Rx: Smap v18[BpQs,x=0]",
    "I {t} nvme0n1: 412MiB/s, 128KiB, 3MiB/s, 16KiB, 7%",
    "I {t} moss:{n} basewi {n}: {n} parts streamed, {n} to come, 48 in all, throttled 0, gfn 0",
    "I {t} dmover:221 recv obj ais://librispeech/shard-{n}.tar 2.1MiB from peer, {n} in flight",
    "I {t} lcache:87 evicted {n} of {n} lom entries in 3.1ms, 77% kept, next run in 5m0s",
)
_EVENTS = (
    "W {t} shared_dm:350 t[{id}] shared-dm shared-dm[AZq6Oo53<={id}] sbr_proto_hdr:[ctx: n=0 err: unexpected EOF]",
    "E {t} ErrSBR: shared-dm[AZq6Oo53<={id}] sbr_proto_hdr:[ctx: n=0 err: unexpected EOF]: PUT /v1/objstream/shared-dm"
    " (t[{id}]: recv.go:137])",
    "W {t} moss:1234 t[{id}] x-get-batch[gbt-iewsE9EYE] wid=uvb6zd6-1kcMU: timed out waiting for missing entry",
    "E {t} tgtobj:912 t[{id}]: failed to open ais://librispeech/utt-{n}.wav: input/output error",
)
COUNTERS = [
    "get.n",
    "get.ns",
    "get.ns.total",
    "get.size",
    "get.bps",
    "get.redir.ns",
    "put.n",
    "put.ns",
    "put.ns.total",
    "put.size",
    "put.bps",
    "put.redir.ns",
    "getbatch.n",
    "getbatch.ns",
    "getbatch.obj.n",
    "getbatch.obj.size",
    "getbatch.file.n",
    "getbatch.file.size",
    "getbatch.rxwait.ns",
    "getbatch.throttle.ns",
    "stream.in.n",
    "stream.in.size",
    "stream.out.n",
    "stream.out.size",
    "dl.n",
    "dl.size",
    "lst.n",
    "lst.ns",
    "kalive.ns",
    "state.flags",
    "err.get.n",
    "err.put.n",
    "err.head.n",
    "err.kalive.n",
    "err.getbatch.n",
    "lru.evict.n",
    "lru.evict.size",
    "remote.get.n",
    "remote.get.size",
    "remote.get.ns.total",
    "remote.e2e.get.ns.total",
    "up.ns.time",
    "cleanup.store.n",
    "cleanup.store.size",
    "ver.change.n",
    "ver.change.size",
]
DISK = ("read.bps", "avg.rsize", "write.bps", "avg.wsize", "util")


def write_ais_corpus(folder: Path, byte_count: int) -> None:
    """`<node id>/aistarget.<host>.INFO.<stamp>.1`, three a daemon, in the order of time."""
    per_file = byte_count // (DAEMON_COUNT * ROTATION_COUNT)
    for daemon in range(DAEMON_COUNT):
        draw = random.Random(daemon)
        node_id = f"tgt{daemon:02d}Qx{daemon % 10}"
        (folder / node_id).mkdir(parents=True, exist_ok=True)
        totals = {name: draw.randrange(10_000) for name in COUNTERS}
        for rotation in range(ROTATION_COUNT):
            hour = 2 + 6 * rotation
            name = f"aistarget.ais-target-{daemon}.INFO.1120-{hour:02d}0000.1"
            _write_file(folder / node_id / name, per_file, draw, daemon, node_id, hour, totals)


def write_archive(folder: Path, path: Path) -> None:
    """All files of a corpus as tar.gz."""
    with tarfile.open(path, "w:gz", compresslevel=5) as archive:
        archive.add(folder, arcname="ais")


def _write_file(
    path: Path, byte_count: int, draw: random.Random, daemon: int, node_id: str, hour: int, totals: dict[str, int]
) -> None:
    head = f"{'Started up' if hour == 2 else 'Rotated'} at 2026/11/20 {hour:02d}:00:00, host ais-target-{daemon}"
    micro = hour * 3_600_000_000
    with path.open("wb") as file:
        written = file.write(f"{head}, go1.26.6 for linux/amd64\n".encode())
        while written < byte_count:
            text, micro = _batch(draw, node_id, totals, micro)
            written += file.write(text.encode())


def _batch(draw: random.Random, node_id: str, totals: dict[str, int], micro: int) -> tuple[str, int]:
    parts: list[str] = []
    for _ in range(_BATCH_LINES):
        micro += 1 + draw.randrange(2000)
        seconds, rest = divmod(micro, 1_000_000)
        stamp = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:06d}"
        place, value = draw.random(), draw.randrange(100_000)
        if place < _STATS_SHARE:
            line = _stats_line(draw, totals, stamp)
            parts.append(line[:_NLOG_LIMIT] if len(line) > _NLOG_LIMIT else line + "\n")
        elif place < _STATS_SHARE + _EVENT_SHARE:
            parts.append(draw.choice(_EVENTS).format(t=stamp, n=value, id=node_id) + "\n")
        else:
            parts.append(draw.choice(_PLAIN).format(t=stamp, n=value) + "\n")
    return "".join(parts), micro


def _stats_line(draw: random.Random, totals: dict[str, int], stamp: str) -> str:
    for name in totals:
        totals[name] += draw.randrange(1_000_000)
    disks = 12 if draw.random() < _CUT_SHARE else draw.randrange(1, 4)
    names = [f"disk.nvme{disk}n1.{name}" for disk in range(disks) for name in DISK]
    pairs = [f"{name}:{draw.randrange(10_000_000)}" for name in names]
    return f"I {stamp} {{{','.join([f'{name}:{value}' for name, value in totals.items()] + pairs)}}}"
