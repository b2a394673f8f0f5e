"""Storage faults of the twentieth part of batches: a target that has come back far away from the others."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns, tells_what_is_late
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnights as nights
from fixtures.generator.model import Scenario
from fixtures.generator.moment import seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twentieth")


@kind(reads=True, hangs=False, slurm=True, lead_s=95.0, without=(*RESTARTS, "kalive_hiccup"))
def target_comes_back_in_another_hall(stage: Stage) -> Scenario:
    """A target with a volume of the network is scheduled far from the others (kubernetes docs, topology spread).

    To convict: a target was stopped and has joined again just before steps got slow; since then its reads take many
    seconds each with idle disks, whoever assembles batches waits for its entries, and ranks name its address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("hall")
    stage.open()
    down = stage.mark(at - draw.span(13_000, 17_000), f"SIGTERM {victim.name}, its pod gets another host")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, down + draw.span(7_000, 9_000))
    cluster.start_batches(joined + seconds(2.6), stage.other_target(victim))
    over, whose = crawls_in_turns(stage, draw.whole(9, 14), (5.0, 12.0))
    nights.serves_late(cluster, victim, joined, over + seconds(15), (5_000, 14_000), (300, 900), draw)
    tells_what_is_late(stage, draw, whose, over, (4.5, 11.5), joined, (10_000, 25_000))
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    return stage.close(
        "Between the halls are two links of ten gigabits, which everybody else uses as well.",
        (replace(made, culprit_ranks=None),),
    )
