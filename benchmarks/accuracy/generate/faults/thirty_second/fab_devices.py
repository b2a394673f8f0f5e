"""Devices that are lost or whose memory is bad, beside batches of AIStore; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.watchkeepers import controller, nccl_info
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds, slurm_stamp
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_second")

#: Where the devices of a host sit on its bus.
BUSES = ("1a", "2c", "3d", "5d", "9c", "ad", "bc", "dc")


def _bus(stage: Stage, rank: int) -> str:
    return BUSES[stage.job.job.local_rank(rank) % len(BUSES)]


@kind(reads=True, hosts=2, slurm=True, lead_s=64.0)
def lost_device_keeps_its_rank_from_dying(stage: Stage) -> Scenario:
    """A device is lost, its rank stands in the driver, where no SIGKILL reaches it (Slurm docs, UnkillableStepTimeout).

    To acquit: the silent rank has its batch; slurmstepd ends of that host's step alone for a job that does not end with
    signals, and nvidia-smi, asked by the epilog, names the lost device: the one of that rank by NCCL's own line.
    """
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("lost")
    node, slot = own.node_of(rank), f"0000:{_bus(stage, rank).upper()}:00.0"
    comm = f"commId 0x{draw.token(16, HEX)}"
    for one in range(own.world):
        local, handle = own.local_rank(one), f"comm 0x{draw.token(10, HEX)}"
        place = f"cudaDev {local} nvmlDev {local} busId {_bus(stage, one)}000"
        said = f"ncclCommInitRank {handle} rank {one} nranks {own.world} {place} {comm} - Init COMPLETE"
        nccl_info(stage, job.begin - draw.span(150, 400), one, said)
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, commotion.tenant_backend_fails))
    told(stage, at - 40 * MS, rank, "dataset", f"batch {stage.step}: 48 of 48 objects, first {utterance(draw)}")
    stage.mark(at - 20 * MS, f"the device of rank {rank} is lost")
    end = stage.hang(at, rank)
    ended = ("exitcode", "FAILED", "srun: error", "got signal: 15")
    job.lines = [
        line
        for line in job.lines
        if line.node != node or line.rank is not None or not any(word in line.text for word in ended)
    ]
    job.slurm(end + 60 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    killed = end + draw.span(32_100, 33_400)
    job.slurm(killed, node, f"srun: error: {own.hosts[node]}: task {node}: Killed")
    over = killed + draw.span(60_100, 61_500)
    stamp = slurm_stamp(over, own.zone)
    said = f"slurmstepd: error: *** STEP {own.job_id}.0 STEPD TERMINATED ON {own.hosts[node]} AT {stamp} "
    job.slurm(over, node, f"{said}DUE TO JOB NOT ENDING WITH SIGNALS ***")
    lost = f"Unable to determine the device handle for GPU {slot}: GPU is lost.  Reboot the system to recover this GPU"
    watched(stage, over + draw.span(800, 1_900), node, f"slurmd[1711]: epilog: nvidia-smi: {lost}")
    controller(
        stage, over + draw.span(2_000, 2_900), f"update_node: node {own.hosts[node]} reason set to: Kill task failed"
    )
    job.ended_at = over + seconds(3)
    made = stage.innocent("gpu", rank, also=("infrastructure", "rank_hang"))
    return stage.close("The device drew more power than its riser was made for.", (made,))


@kind(reads=True, lead_s=66.0)
def pin_memory_thread_meets_an_uncorrectable_error(stage: Stage) -> Scenario:
    """Memory of a device is bad, and the first call that is told so copies a batch (NVIDIA Xid 48; forum, pin memory).

    To acquit: the kernel of the host has Xid 48 for the rank's process before it raises, and the error is CUDA's; that
    it stands below DataLoader is where it was met. Batches that fell back to single reads before were read whole.
    """
    stage.open()
    beside(stage, tunrest.batches_fall_back)
    unrest.unsettled(stage, (tenth_unrest.repeated_until_now, commotion.reads_recover))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("memory")
    node, order, site = own.node_of(rank), own.torch.order, own.build["site"]
    hit = stage.mark(at - draw.span(60, 240), f"memory of rank {rank}'s device has an error")
    said = f"48, pid={own.rank_pids[rank]}, name=python3, An uncorrectable double bit error (DBE) has been detected on "
    said += f"GPU in the framebuffer at partition {draw.whole(0, 11)}, subpartition {draw.whole(0, 1)}."
    watched(stage, hit, node, f"kernel: NVRM: Xid (PCI:0000:{_bus(stage, rank)}:00): {said}")
    error, prefix = ("AcceleratorError", "torch.") if order >= 208 else ("RuntimeError", "")
    text = cuda_error(order, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable")
    module = f"{site}/torch/utils/data/_utils/pin_memory.py"
    inner = (
        sdk.Frame(module, 41, "do_one_step", "data = pin_memory(data, device)"),
        sdk.Frame(module, 80, "pin_memory", "clone[i] = pin_memory(item, device)"),
        sdk.Frame(module, 64, "pin_memory", "return data.pin_memory(device)"),
    )
    original = sdk.traceback(sdk.Raised(inner, f"{prefix}{error}: {text}"))
    where = f"{prefix}{error}: Caught {error} in pin memory thread for device {own.local_rank(rank)}."
    loader = f"{site}/torch/utils/data/dataloader.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 187, "main", "batch = next(batches)", True),
        sdk.Frame(loader, 708, "__next__", "data = self._next_data()", True),
        sdk.Frame(loader, 1480, "_next_data", "return self._process_data(data, worker_id)", True),
        sdk.Frame(loader, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{where}\nOriginal {original}")))
    stage.hang(at + 120 * MS, rank)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("Rows of that device had been remapped twice before.", (made,))
