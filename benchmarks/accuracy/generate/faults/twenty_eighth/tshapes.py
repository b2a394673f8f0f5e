"""Batches that do not fit together or do not fit on a card, and cards that fail, of the twenty-eighth part.

Storage is innocent. The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, without_carets
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_eighth")

#: Addresses on the bus of the eight cards of a host.
SLOTS = ("0000:17:00", "0000:3b:00", "0000:5e:00", "0000:6d:00", "0000:97:00", "0000:ba:00", "0000:cc:00", "0000:dd:00")


def _slot(stage: Stage, rank: int) -> str:
    return SLOTS[stage.job.job.local_rank(rank) % len(SLOTS)]


@kind(reads=True, hangs=False, lead_s=60.0)
def features_of_two_front_ends_meet(stage: Stage) -> Scenario:
    """Features of 80 and of 128 bins come into one batch (lhotse issues, collate_features; The expanded size).

    To acquit: all matrices of the batch are here, and PyTorch names their two widths; clips of a cloud that were waited
    for came in the end, and no read of the features failed.
    """
    stage.open()
    beside(stage, tunrest.cold_reads_polled)
    unrest.unsettled(stage, (commotion.throttled_in_window, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("bins")
    site, many, frames_of = own.build["site"], draw.pick((16, 24, 32)), draw.whole(400, 1_900)
    old, new = draw.pick(((80, 128), (64, 80), (80, 64)))
    said = f"features by get-batch (numpy_files): ais://{stage.bucket}/feats-a {old} bins, ais://{stage.bucket}/feats-b"
    told(stage, job.begin - 470 * MS, 0, "data", said)
    told(stage, at - 40 * MS, rank, "dataset", f"batch {stage.step}: {many} of {many} matrices loaded, collating")
    stage.mark(at - 30 * MS, f"rank {rank} has matrices of two widths in a batch")
    place = f"{site}/lhotse/dataset"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 54, "fetch", "data = self.dataset[possibly_batched_index]"),
        sdk.Frame(f"{place}/speech_recognition.py", 124, "__getitem__", "input_tpl = self.input_strategy(cuts)", True),
        sdk.Frame(f"{place}/input_strategies.py", 140, "__call__", "return collate_features(", True),
        sdk.Frame(f"{place}/collation.py", 184, "collate_features", "features[idx] = _read_features(cut)"),
    )
    text = (
        f"RuntimeError: The expanded size of the tensor ({old}) must match the existing size ({new}) at non-singleton "
    )
    text += f"dimension 1.  Target sizes: [{frames_of}, {old}].  Tensor sizes: [{frames_of}, {new}]"
    borrowers.caught(stage, at, rank, without_carets(frames), text)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("A second corpus was computed with the front end of another model.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def batch_by_bytes_is_hours_of_silence(stage: Stage) -> Scenario:
    """DynamicBatchSampler fills batches by bytes, and silence has few: decoded it does not fit (SDK; CUDA OOM).

    To acquit: the rank tells how long its batch is, all of whose bytes it has; the allocator wants more than the card
    has; batches of this rank that were turned away with 429 before were served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, reset_unrest.neighbour_is_reset, tunrest.withdrawn_left_out))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("silence")
    limit, order, local = draw.pick((8, 12, 16)) << 20, own.torch.order, own.local_rank(rank)
    told(stage, job.begin - 380 * MS, 0, "data", f"DynamicBatchSampler(max_batch_size={limit}, drop_last=True)")
    name, big = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac", limit + draw.whole(9_000, 900_000)
    said = f"Sample {name} cannot be processed as it is larger than the max batch size: {big} bytes > {limit} bytes"
    told(stage, at - draw.span(4_000, 9_000), rank, "aistore.pytorch.dynamic_sampler", said, "WARNING")
    many, hours = draw.whole(380, 900), draw.between(2.4, 4.9)
    said = f"batch {stage.step}: {many} objects, {limit - draw.whole(90, 4_000)} bytes, {hours:.2f} h of audio decoded"
    told(stage, at - 170 * MS, rank, "dataset", f"{said} (median {draw.between(0.05, 0.1):.2f} h)")
    stage.mark(at - 170 * MS, f"the batch of rank {rank} is hours long")
    whole, free, wanted = draw.pick((39.38, 44.34, 79.11)), draw.between(0.4, 2.2), draw.between(6.1, 21.9)
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    variable = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    idle = draw.between(0.2, 0.8)
    text = (
        f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {local} has a total capacity of "
        f"{whole:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
        f"{whole - free:.2f} GiB memory in use. Of the allocated memory {whole - free - idle - 0.7:.2f} GiB is "
        f"allocated by PyTorch, and {idle:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated "
        f"memory is large try setting {variable}=expandable_segments:True to avoid fragmentation.  See documentation "
        "for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "loss = criterion(model(batch), batch)"), text)))
    exits(stage, at, rank)
    made = stage.innocent("gpu", rank, also=("software", "data"))
    return stage.close("Recordings of nights were put into the set.", (made,))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def contained_memory_error_ends_a_rank(stage: Stage) -> Scenario:
    """A card has an error of its memory that is contained, and its process loses it (NVIDIA Xid 94 and 63).

    To acquit: the driver names the row and the process, whose next call of CUDA fails; the target that was killed half
    a minute before is back, and this rank has trained since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, tenth_unrest.tenant_batches_fail))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("row")
    node, slot, pid = own.node_of(rank), _slot(stage, rank), own.rank_pids[rank]
    head, who = f"kernel: NVRM: Xid (PCI:{slot})", f"pid={pid}, name=python3"
    hit = stage.mark(at - draw.span(90, 600), f"the card of rank {rank} has lost a row")
    watched(stage, hit, node, f"{head}: 94, {who}, Ch 0000000{draw.whole(1, 9)}")
    row = f"Row Remapper: New row (0x{draw.token(16, HEX)}) marked for remapping, reset gpu to activate."
    watched(stage, hit + 4 * MS, node, f"{head}: 63, {who}, {row}")
    said = f'dcgm-exporter: DCGM_FI_DEV_ROW_REMAP_PENDING{{gpu="{own.local_rank(rank)}"}} 1'
    watched(stage, at + 900 * MS, node, said)
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    error = cuda_error(own.torch.order, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable")
    frames = loss_frames(stage, "scaler.scale(loss).backward()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {error}")))
    job.agents_end([Exit(rank, at + 800 * MS, 1)], at + 800 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The card is to be reset at the next maintenance.", (made,))


@kind(lead_s=60.0, min_timeout_s=90)
def nvswitch_error_stops_all_ranks(stage: Stage) -> Scenario:
    """A switch between the cards of a host reports a fatal error of a link (NVIDIA Fabric Manager guide, SXid 20034).

    To acquit: all ranks have launched the same collective and none is behind; the switch had its error just before;
    ranks had their batches, those that are turned away are another job's, and a target is killed while all wait.
    """
    stage.open()
    beside(stage, launchers.throttled_neighbour)
    unrest.unsettled(stage, (unrest.entries_missing, tunrest.batches_fall_back))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("switch")
    node, link = own.node_of(stage.culprit), draw.whole(0, 35)
    switch = f"kernel: nvidia-nvswitch{draw.whole(0, 5)}: SXid (PCI:0000:{draw.pick(('05', '06', 'c1', 'c5'))}:00.0)"
    began = stage.mark(at - draw.span(10, 80), f"a switch of {own.hosts[node]} has lost a link")
    watched(stage, began, node, f"{switch}: 20034, Fatal, Link {link} LTSSM Fault Up")
    watched(
        stage, began + 2 * MS, node, f"{switch}: 20034, Severity 1 Engine instance {link:02d} Sub-engine instance 00"
    )
    rank = own.ranks_of(node)[draw.whole(0, len(own.ranks_of(node)) - 1)]
    said = f"NVLink: fatal error detected on link {draw.whole(0, 17)}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
    head = f"kernel: NVRM: Xid (PCI:{_slot(stage, rank)}): 74, pid='<unknown>', name=<unknown>"
    watched(stage, began + 30 * MS, node, f"{head}, {said}")
    late = at + seconds(draw.between(20, 34))
    watched(stage, late, node, f"nv-hostengine: Detected nvswitch fatal error, link {link}, job must be restarted")
    told(
        stage,
        at - SEC // 2,
        0,
        "loader",
        f"step {stage.step}: batches of the last 100 steps waited 0.0{draw.whole(1, 9)} s",
    )
    stage.hang(at)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("gpu_fabric", also=("network", "gpu", "infrastructure"))
    return stage.close("The baseboard is to be exchanged.", (of_all(made),))
