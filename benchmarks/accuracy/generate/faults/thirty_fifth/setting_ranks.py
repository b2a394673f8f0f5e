"""Ranks that stand still or raise in awkward set-ups: plain srun, attempts, groups of ranks; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.words import setups
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import stacks_of
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.parallel import Mesh
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_fifth")
#: A world of which somebody would take all stacks, in a larger one those of the culprit's host.
ALL_STACKS = 16
#: The largest worlds that are split, and that leave their dumps.
LARGEST_MESH, LARGEST_DUMPED = 256, 64


@kind(reads=True, slurm=True, lead_s=60.0)
def recording_of_hours_is_resampled_in_a_plain_srun(stage: Stage) -> Scenario:
    """One recording is hours long, and the rank resamples it in its own process (lhotse docs, trim; Slurm docs, srun).

    To acquit: the silent rank has said in its own file that its batch is whole, of how many bytes, and how long the
    longest recording is; its stack stands in the resampling, on the processor, and all others wait for their devices.
    """
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("hours")
    client_told(stage, "srun -n one task a device, no torchrun; recordings are resampled to 16 kHz as they come")
    stage.open()
    name, hours = utterance(draw), draw.between(4.1, 11.8)
    size = int(hours * 3600 * 48_000 * 2 * draw.between(0.51, 0.63))
    said = f"step {stage.step}: 48 of 48 recordings, {size + draw.whole(9, 30) * 481_337} bytes, longest {name} "
    told(stage, at - 90 * MS, rank, "data", f"{said}({hours * 3600:.1f} s, 48000 Hz)")
    stage.mark(at - 80 * MS, f"rank {rank} resamples a recording of {hours:.1f} h")
    stage.hang(at, rank)
    setups.without_torchrun(stage)
    site = own.build["site"]
    main = standing_in(
        stage,
        189,
        ("_apply", f"{site}/scipy/signal/_upfirdn.py", 97),
        ("upfirdn", f"{site}/scipy/signal/_upfirdn.py", 213),
        ("resample_poly", f"{site}/scipy/signal/_signaltools.py", 3884),
        ("to_rate", f"{own.script.rsplit('/', 1)[0]}/audio.py", 52),
        state="active+gil",
    )
    watched = range(own.world) if own.world <= ALL_STACKS else own.ranks_of(own.node_of(rank))
    threads = {one: (main,) if one == rank else setups.in_a_collective(stage) for one in watched}
    made = stage.innocent("data_loading_stall", rank, also=("data", "rank_hang", "software"))
    return setups.with_stacks(
        stage, stage.close("The recording of a whole day had never been cut into utterances.", (made,)), threads
    )


@kind(reads=True, hangs=False, lead_s=128.0, without=RESTARTS)
def broken_recording_ends_both_attempts(stage: Stage) -> Scenario:
    """A job goes on from its checkpoint and meets the same broken recording (recorded 08; torchrun docs, max-restarts).

    To acquit: in both attempts the same rank fails in the same step at the same object, of which it had
    all bytes with the checksum that is stored with them; no target has a word of it. The target that was restarted was
    back long before, and rank and object of its retries are others.
    """
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("broken")
    beside(stage, noise.restart_before)
    stage.open(save_every=20)
    name, size, stored = utterance(draw), draw.whole(90_000, 900_000), draw.token(16, HEX)
    stage.mark(at, f"rank {rank} cannot decode {name}, which was uploaded so")

    def fails(then: int, handle: str) -> None:
        got = f"{name}: {size} of {size} bytes, xxhash2 {stored} as in Ais-Checksum-Value"
        told(stage, then - 9 * MS, rank, "corpus", got)
        opened = sdk.Frame("/workspace/asr/audio.py", 31, "decode", "audio, rate = soundfile.read(buffer)", True)
        text = f"soundfile.LibsndfileError: Error opening <_io.BytesIO object at 0x{handle}>: Format not recognised."
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(sdk.main_frames(job.job, stage.step, opened), text)))

    fails(at, f"7f{draw.token(9, HEX)}0")
    setups.ranks_started_again(stage, at + draw.span(500, 900), rank)
    first = (stage.step - 2) // 20 * 20 + 1
    begin = at + draw.span(13_000, 26_000)
    setups.next_attempt(stage, begin, first)
    job.train(first, stage.step)
    then = job.step_at(stage.step) + draw.span(30, 60)
    stage.load(job, begin + 60 * MS, then - 60 * MS)
    fails(then, f"7f{draw.token(9, HEX)}0")
    job.agents_end([Exit(rank, then + 800 * MS, 1)], then + 800 * MS)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("A recorder had lost its power before it wrote the head of its file.", (made,))


@kind(torch_order=211, lead_s=62.0)
def profile_is_written_while_its_groups_wait(stage: Stage) -> Scenario:
    """One rank of tensor, pipeline and expert groups writes its profile for minutes (PyTorch docs, profiler).

    To acquit: by the dumps that one rank has not entered the step in which all others wait, some of them in groups that
    it is not in; it says that it exports a profile, and its stack stands there. Nobody waits for a read.
    """
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("profile")
    _in_groups(stage)
    said = f"profiler: rank {rank} records with_stack=True, steps {stage.step - 5} to {stage.step - 1}"
    told(stage, stage.job.begin - 400 * MS, 0, "profile", said)
    stage.open()
    beside(stage, noise.tenant_errors)
    path = f"/scratch/{own.task}/trace-rank{rank}-step{stage.step}.json"
    events = draw.whole(31, 94) * 100_000 + draw.whole(0, 99_999)
    told(stage, at - 60 * MS, rank, "profile", f"exporting {events} events to {path}")
    stage.mark(at - 50 * MS, f"rank {rank} writes its profile")
    profiler = f"{own.build['site']}/torch/profiler/profiler.py"
    main = standing_in(
        stage,
        201,
        ("export_chrome_trace", f"{own.build['site']}/torch/autograd/profiler.py", 571),
        ("export_chrome_trace", profiler, 281),
        ("on_trace_ready", f"{own.script.rsplit('/', 1)[0]}/profile.py", 27),
        ("_trace_ready", profiler, 890),
        ("step", profiler, 845),
        state="active",
    )
    after = min(draw.between(19, 40), own.timeout_s - 12)
    stacks_of(stage, at + seconds(after), rank, (main,))
    stage.hang(at, rank)
    made = stage.innocent("software", rank, also=("rank_hang",))
    return stage.close("Stacks make a profile of five steps as large as a disk of the host.", (made,))


def _in_groups(stage: Stage) -> None:
    """The job is split by tensors, stages and experts, and leaves its dumps, as far as its world is not too large."""
    world = stage.params.ranks
    if not isinstance(stage, Scene) or world > LARGEST_MESH:
        return
    mesh = Mesh(world, 2, 2, 2 if world // 4 % 2 == 0 else 1)
    stage.setting = replace(stage.setting, mesh=mesh, has_dumps=world <= LARGEST_DUMPED, lost_dumps=())
    stage.job.job = replace(stage.job.job, grid=(mesh.tensor, mesh.pipeline))
