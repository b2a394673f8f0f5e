"""Innocent storage that was in trouble before or after the fault: restarts, slow steps, a target that dies too late.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, main_thread
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.natives import refused_at
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.sitters import stacks_in_folder
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisdisk, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.parallel import Mesh
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_fourth")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
BUSES = ("07", "0a", "47", "4d", "87", "8d", "c7", "ca")


def _flushes(stage: Stage) -> tuple[Thread, ...]:
    """A rank that flushes its TensorBoard writer, and the thread that writes the event file."""
    site = stage.job.job.build["site"]
    writer = f"{site}/tensorboard/summary/writer"
    return (
        main_thread(
            stage,
            ("wait", f"{PYTHON}/threading.py", 327),
            ("join", f"{PYTHON}/queue.py", 90),
            ("flush", f"{writer}/event_file_writer.py", 169),
            ("flush", f"{writer}/event_file_writer.py", 122),
            ("flush", f"{site}/torch/utils/tensorboard/writer.py", 143),
            ("log_metrics", stage.job.job.script, 172),
        ),
        Thread(
            "Thread-7",
            (
                ("flush", f"{site}/tensorboard/compat/tensorflow_stub/io/gfile.py", 667),
                ("flush", f"{writer}/record_writer.py", 43),
                ("_run", f"{writer}/event_file_writer.py", 244),
                *BOOTSTRAP,
            ),
        ),
    )


@kind(culprit=0, reads=True, torch_order=211, lead_s=80.0, without=RESTARTS)
def event_file_is_not_written_after_a_restart_got_over(stage: Stage) -> Scenario:
    """Rank 0 waits for its TensorBoard writer, whose write to NFS does not return (tensorboard issues; recorded 07).

    To acquit: the stack of rank 0 stands in SummaryWriter.flush, that of the writer's thread in the write of an event
    file; the stacks of all others stand in the collective, in dumps and watchdogs rank 0 has not come to it. A target
    was restarted a minute before: orderly, back in the map, and each batch that missed it was served.
    """
    rank, at, job = stage.culprit, stage.at, stage.job
    if isinstance(stage, Scene) and job.job.world <= 64:
        mesh = stage.setting.mesh or Mesh(job.job.world)
        stage.setting = replace(stage.setting, mesh=mesh, has_dumps=True)
    run = f"/results/{job.job.task}/{job.job.job_id}"
    stage.open()
    beside(stage, commotion.restart_survived)
    told(stage, job.begin - 380 * MS, rank, "tensorboard", f"events go to {run}/tb, flushed every 30 steps")
    told(stage, at - 30 * MS, rank, "tensorboard", f"flush at step {stage.step}")
    stage.mark(at, f"rank {rank} flushes its event file, and the NFS server of /results does not answer")
    stage.hang(at, rank)
    made = stage.innocent("rank_hang", rank, also=("software", "infrastructure"))
    closed = stage.close(
        "The NFS server of the results had been failed over, and its lease did not come back.", (made,)
    )
    return stacks_in_folder(stage, closed, _flushes(stage))


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "second_job"))
def shapes_differ_and_a_target_dies_while_all_wait(stage: Stage) -> Scenario:
    """A rank meets a tensor of another size and raises; a target is killed as all others wait (recorded 02, 08).

    To acquit: the exception is one of the model's own code, and the others have waited since then (the watchdog says
    for how long); the target's log breaks off and its peers miss it some seconds later. Loaders of other ranks that
    read ahead are refused there from then on, ranks that stand in the collective: none of them is missed by it.
    """
    cluster, victim, rank, at, job = stage.cluster, stage.victim, stage.culprit, stage.at, stage.job
    draw, script = stage.draw.child("shapes"), stage.job.job.script
    job.note(job.begin - 420 * MS, 0, "get-batch: 48 entries, streaming, 4 batches read ahead", line=49)
    stage.open()
    wide = draw.pick((256, 512, 1024))
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(script, 147, "criterion", 'scores = logits + batch["bias"]', True),
    )
    text = f"RuntimeError: The size of tensor a ({wide}) must match the size of tensor b ({wide + 1})"
    stage.mark(at, f"rank {rank} has a bias of another size")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{text} at non-singleton dimension 2")))
    died = stage.mark(at + draw.span(11_000, 21_000), f"kill -9 {victim.name}, while the job waits")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, gone - 400 * MS, 1)
    for other in readers(stage)[: draw.whole(1, 3)]:
        then, why = died + draw.span(40, 2_600), refused_at(stage, other, victim, draw)
        for turn in range(6):
            if then > min(gone, over_at(stage) - SEC):
                break
            wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
            job.sdk_warning(then, other, sdk.retrying(wait, "ConnectionError", why))
            then += seconds(wait) + draw.span(3, 9)
    stage.hang(at + 180 * MS, rank)
    joined = faults.start_again(cluster, victim, died + draw.span(43_000, 47_000))
    made = stage.innocent("software", rank, also=("data",))
    return stage.close(
        "A vocabulary had got one more token than the bias was made for; the target's host ran out of memory.",
        (made,),
        ALIVE,
        until=joined + seconds(50),
    )


def _off_its_bus(stage: Stage, at: int) -> None:
    """The kernel of the culprit's host cannot reach its device any more, and a monitor copies the line."""
    job, own, rank = stage.job, stage.job.job, stage.culprit
    pci = f"0000:{BUSES[own.local_rank(rank) % len(BUSES)]}:00"
    clock = f"{local(at, own.zone):%a %b %e %H:%M:%S %Y}"
    xid = f"NVRM: Xid (PCI:{pci}): 79, pid={own.rank_pids[rank]}, name=python3, GPU has fallen off the bus."
    if own.torch.is_rocm:
        xid = f"amdgpu {pci}.0: amdgpu: device lost from bus! (pid {own.rank_pids[rank]}, python3)"
    job.agent(at, own.node_of(rank), f"node-monitor: [{clock}] {xid}")


@kind(hangs=False, reads=True, lead_s=90.0, without=(*RESTARTS, "disk_busy"))
def steps_were_slow_before_a_device_fell_off_its_bus(stage: Stage) -> Scenario:
    """Steps were slow for want of data, and a minute later a device is lost (NVIDIA Xid 79; slow disks as they happen).

    To acquit: the disks of a target are busy in the very steps that are slow, at their end both are over, and the steps
    take what they took before. The kernel of the rank's host tells of its device and process right before the rank's
    error of CUDA, and that rank alone has one.
    """
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, order = stage.draw.child("slow before"), stage.job.job.torch.order
    slow = range(stage.step // 3 // 10 * 10, stage.step // 3 // 10 * 10 + 30, 10)
    waits = {step: draw.between(4.0, 8.5) for step in slow}
    for step, wait in waits.items():
        job.delay(step, seconds(wait))
    late = sum(seconds(wait) for wait in waits.values())
    stage.at, at = at + late, at + late
    job.start()
    stage.mark(job.begin, f"job {own.job_id} starts training")
    job.train(0, stage.step, slow=waits)
    stage.cluster.start_batches(job.begin + 40 * MS, stage.victim)
    stage.load(job, job.begin + 60 * MS, job.step_at(stage.step))
    begin, until = job.step_at(slow[0]), job.step_at(slow[-1] + 1)
    aisdisk.disk_pressure(stage.cluster, stage.victim, begin - 3 * SEC, until + SEC, draw)
    for step, wait in waits.items():
        for other in [one for one in readers(stage) if one % 8 == step % 8][:2]:
            said = f"batch of step {step} came after {wait:.1f} s (48 of 48, first {utterance(draw)})"
            told(stage, job.step_at(step) + seconds(wait), other, "loader", said, "WARNING")
    hit = stage.mark(at - draw.span(90, 400), f"the device of rank {rank} falls off its bus")
    _off_its_bus(stage, hit)
    error, prefix = ("AcceleratorError", "torch.") if order >= 208 else ("RuntimeError", "")
    text = f"{prefix}{error}: {cuda_error(order, 'unspecified launch failure', 'cudaErrorLaunchFailure')}"
    frames = loss_frames(stage, "loss.backward()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 640 * MS, 1)], at + 640 * MS)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close(
        "A riser card had been seated badly; the disks were busy with a scrub that ended by itself.", (made,)
    )
