"""Clocks that are wrong, and operators who come late: what AIStore says seems to belong to a failure and does not.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps, chains, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_first")


@kind(reads=True, hangs=False, lead_s=88.0, without=RESTARTS)
def clocks_of_the_cluster_move_a_crash_to_an_xid(stage: Stage) -> Scenario:
    """AIStore's clocks run ahead, so that a crash which was got over seems to fall on an Xid 31 (chrony docs; NVIDIA).

    To acquit: a proxy refuses the very work items that ranks have had refused most of a minute before, so the clocks
    are that far apart; those batches were served, and Xid 31 and CUDA's error are of the rank's own host.
    """
    cluster, job, own, rank, at = stage.cluster, stage.job, stage.job.job, stage.culprit, stage.at
    draw, victim = stage.draw.child("ahead"), stage.victim
    stage.open()
    ahead = draw.span(46_000, 64_000)
    down = stage.mark(at - ahead, f"kill -9 {victim.name}; clocks of the cluster are {ahead / SEC:.0f} s ahead")
    for node in cluster.nodes:
        cluster.skews[node.node_id] = ahead - draw.span(0, 25)
    faults.kill(cluster, victim, down)
    up = down + draw.span(4_200, 6_100)
    for who in (rank, *readers(stage)[: draw.whole(1, 3)]):
        then, turns = down + draw.span(30, 900), draw.whole(2, 3)
        began = then
        for turn in range(1, turns):
            failed = chains.dead_designated(stage, then, victim, who)
            said = f"get-batch failed ({failed.error}), retrying {turn}/5"
            told(stage, then + 6 * MS, who, "batches", said, "WARNING")
            then += seconds(1.0 + turn) + draw.span(3, 60)
        said = f"get-batch served after {turns} attempts, {(then - began) / SEC:.1f} s"
        told(stage, then, who, "batches", said, "WARNING")
    joined = faults.start_again(cluster, victim, up)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    host = own.node_of(rank)
    stage.mark(at - 40 * MS, f"a kernel of rank {rank} reads what is not mapped")
    address = f"0x7f{draw.token(2, HEX)}_{draw.token(5, HEX)}000"
    said = f"Ch {draw.whole(8, 31):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{draw.whole(0, 5)} "
    said += f"faulted @ {address}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    slot = f"0000:{draw.pick(('17', '3d', '61', 'ad'))}:00"
    watched(stage, at - 40 * MS, host, f"kernel: NVRM: Xid (PCI:{slot}): 31, pid={own.rank_pids[rank]}, {said}")
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    text = cuda_error(own.torch.order, "an illegal memory access was encountered", "cudaErrorIllegalAddress")
    frames = loss_frames(stage, "loss = model.loss(encoded, lengths, targets)")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("gpu",))
    return stage.close("The loss has a kernel of the site's own, and its last block is one too many.", (made,))


@kind(reads=True, min_timeout_s=120, lead_s=60.0, without=(*RESTARTS, "second_job"))
def cluster_is_restarted_when_a_decoder_hangs_already(stage: Stage) -> Scenario:
    """A transducer is decoded without a limit of symbols, and operators restart AIStore to help (NeMo, max_symbols).

    To acquit: the silent rank has its batch and says that it decodes, without a limit; by what their watchdogs count
    all others wait since that moment, and AIStore's daemons get their signal half a minute or more later.
    """
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("decodes")
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    told(stage, job.begin - 420 * MS, 0, "model", "decoding: strategy greedy, greedy.max_symbols null")
    told(stage, at - 70 * MS, rank, "dataset", f"batch {stage.step}: 48 of 48 objects, first {utterance(draw)}")
    told(stage, at - 30 * MS, rank, "wer", f"step {stage.step}: decoding 48 utterances for training_batch_wer")
    stage.mark(at - 30 * MS, f"rank {rank} decodes without end")
    end = stage.hang(at, rank)
    down = at + seconds(stage.params.timeout_s * draw.between(0.32, 0.42))
    up = down + draw.span(9_000, 13_000)
    ready = up + draw.span(14_000, 19_000)
    stage.mark(down, "operators restart the whole cluster")
    aismishaps.restart_all(stage.cluster, down, up, ready, draw.child("restart"))
    made = stage.innocent("rank_hang", rank, also=("software",))
    said = "Whoever saw that nobody read any more took the cluster for the cause."
    return stage.close(said, (made,), until=max(end, ready) + seconds(20))
