"""Ranks that part ways with the others; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion, crewmates
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "thirtieth")


def _gathering(stage: Stage, work: Work, numel: int, *where: tuple[str, int]) -> Work:
    """A rank gathers a parameter that ZeRO has spread over all; `where` is who asked for it, the innermost first."""
    own, site = stage.job.job, stage.job.job.build["site"]
    numel += -numel % own.world
    frames = [
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:4013",
        f"#1 fetch_sub_module from {site}/deepspeed/runtime/zero/partitioned_param_coordinator.py:333",
        f"#2 pre_sub_module_forward_function from {site}/deepspeed/runtime/zero/parameter_offload.py:492",
    ]
    frames += [f"#{turn} forward from {file}:{line}" for turn, (file, line) in enumerate(where, 3)]
    frames += [f"#{3 + len(where)} main from {own.script}:191"]
    return replace(work, op="_ALLGATHER_BASE", numel_in=numel // own.world, numel_out=numel, frames=tuple(frames))


@kind(reads=True, hangs=False, torch_before=215, lead_s=60.0)
def last_expert_gets_no_token_on_a_rank(stage: Stage) -> Scenario:
    """ZeRO-3 gathers an expert only where a token goes to it, and one rank has none (DeepSpeed#4808, PR 4966).

    To acquit: each rank tells how many tokens its router gave to which expert, and one has none for the last; that one
    gathers for the layer behind while the others gather that expert; its batch had all of its recordings.
    """
    stage.open()
    beside(stage, crewmates.curl_pipes_try_again)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window, past_unrest.turned_away_in_window))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("expert")
    many, layer, top = draw.pick((8, 16)), draw.whole(2, 22), 2
    wide, inner = draw.pick(((1024, 3584), (2048, 5632), (4096, 14_336)))
    told(stage, stage.job.begin - 420 * MS, 0, "model", f"{many} experts, top {top}, ZeRO stage 3, no leaf modules")
    for one in (rank, *readers(stage)[:8]):
        tokens = draw.whole(900, 4_000)
        counts = [draw.whole(1, 2 * tokens // many) for _ in range(many - 1)]
        counts.append(0 if one == rank else draw.whole(1, 90))
        said = f"step {stage.step} layer {layer}: 32 of 32 recordings, tokens per expert {counts}"
        told(stage, at - draw.span(30, 140), one, "router", said)
    stage.mark(at, f"no token of rank {rank} goes to expert {many - 1}")
    place, stuck = script_folder(stage), {}
    for one, work in stage.everyone_else().items():
        expert = _gathering(stage, work, wide * inner, (f"{place}/experts.py", 61), (f"{place}/moe.py", 118))
        behind = _gathering(stage, work, wide * wide, (f"{place}/attention.py", 88), (f"{place}/decoder.py", 204))
        stuck[one] = behind if one == rank else expert
    stage.mark(stage.job.hang(at, stuck), f"job {own.job_id} has ended")
    also = ("software", "rank_hang", "data")
    made = stage.innocent("collective_mismatch", rank, also=also)
    return stage.close("The experts are not leaf modules of ZeRO, as they had to be.", (made,))


def _in_barrier(stage: Stage, work: Work) -> Work:
    """A rank waits in the barrier before a validation."""
    own, site = stage.job.job, stage.job.job.build["site"]
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4159",
        f"#1 validate from {own.script}:121",
        f"#2 main from {own.script}:203",
        f"#3 <module> from {own.script}:212",
    )
    return replace(work, numel_in=1, numel_out=1, enqueued=work.seq, frames=frames)


@kind(hangs=False, hosts=2, torch_before=215, lead_s=60.0)
def a_host_has_the_config_of_last_week(stage: Stage) -> Scenario:
    """Configs are copied to each host's disk, and one has the old file: it validates earlier (Lightning, Hydra docs).

    To acquit: the first rank of each host tells the digest of its config and when it validates; one host's differ, and
    all of its ranks are in the barrier before a validation while the others sum up gradients.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, tunrest.readers_resume, commotion.reads_recover))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("config")
    node = max(1, own.node_of(stage.culprit))
    new, old, path = draw.token(8, HEX), draw.token(8, HEX), draw.pick(("/etc/asr/train.yaml", "/opt/asr/conf.yaml"))
    later = stage.step + draw.pick((500, 1_000, 2_000))
    began = stage.job.begin - 900 * MS
    told(stage, began - 90 * MS, 0, "config", f"submitted with {path}, sha256 {new}")
    for first in firsts(stage):
        is_old = own.node_of(first) == node
        said = f"{path} of this host, sha256 {old if is_old else new}, first validation at step "
        told(stage, began + draw.span(1, 90), first, "config", f"{said}{stage.step if is_old else later}")
    stage.mark(at - 20 * MS, f"the ranks of {own.hosts[node]} begin a validation, as their config says")
    for one in own.ranks_of(node):
        told(
            stage,
            at - draw.span(4, 40),
            one,
            "validate",
            f"step {stage.step}: validation begins, all batches so far here",
        )
    stuck = stage.everyone_else()
    stuck |= {one: _in_barrier(stage, stuck[one]) for one in own.ranks_of(node)}
    stage.mark(stage.job.hang(at, stuck), f"job {own.job_id} has ended")
    also = ("software", "rank_hang", "infrastructure")
    made = stage.innocent("collective_mismatch", *own.ranks_of(node), also=also)
    return stage.close("The host was in repair when the new file was copied.", (made,))


@kind(hangs=False, torch_order=205, lead_s=60.0)
def group_of_scorers_is_made_by_scorers_only(stage: Stage) -> Scenario:
    """Communicators are split from the first one, and only the members of a new group call new_group (PyTorch docs).

    To acquit: the members say that they make a group, nobody else does, and the stack of one stands in the split, for
    which all ranks are needed; their batches were all here, and a target is restarted only while all wait.
    """
    stage.open(save_every=10_000)
    beside(stage, crewmates.tenants_batches_come_to_nothing)
    unrest.unsettled(
        stage, (loud.neighbour_reads_slowly, upload_unrest.tenant_uploads_break_off, unrest.entries_missing)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("group")
    others = draw.shuffled([one for one in range(own.world) if one != rank])
    members = sorted([rank, *others[: draw.whole(1, max(1, min(3, own.world // 4)))]])
    said = "init_process_group(backend='nccl', device_id=local device): new groups are split from the first"
    told(stage, stage.job.begin - 800 * MS, 0, "train", said)
    began = stage.mark(at - 30 * MS, f"ranks {members} alone make a group")
    for one in members:
        said = f"step {stage.step}: batch here and trained with, dist.new_group(ranks={members})"
        told(stage, began + draw.span(1, 20), one, "scoring", said)
    c10d = f"{own.build['site']}/torch/distributed/distributed_c10d.py"
    main = standing_in(
        stage,
        196,
        ("_new_process_group_helper", c10d, 2023),
        ("_new_group_with_tag", c10d, 5224),
        ("new_group", c10d, 5136),
        ("wrapper", f"{own.build['site']}/torch/distributed/c10d_logger.py", 95),
        ("make_scorers", f"{script_folder(stage)}/scoring.py", 38),
        state="active",
    )
    py_spy(stage, min(draw.between(18, 35), own.timeout_s - 12), (main,))
    stage.hang(at, *members)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", *members, also=("collective_mismatch", "software"))
    return stage.close("The call stands behind `if rank in scorers`.", (made,))
