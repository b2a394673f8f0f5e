"""Fabrics, cards and names of training hosts that end a job; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.words import boarders, commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import firsts, speakers, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import stacks_of
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "thirty_second")


def _ras(stage: Stage, at: int) -> None:
    """An operator asks NCCL's RAS service on the first host: all ranks of the communicator have launched as much."""
    own = stage.job.job
    hosts, world = len(own.hosts), own.world
    here = world // hosts
    numbers = f"{hosts:7d}  {here:9d}  {1:11d}  {world:9d}  {world:7d}"
    group = f"{0:5d}  {1:8d}  {hosts:8d}  {here:8d}  {world:8d}  {world:8d}   RUNNING      OK"
    rows = [
        f"operator@{own.hosts[0]}:~$ ncclras",
        f"NCCL version {since(NCCL, own.torch.order)} compiled with CUDA 12.8",
        "CUDA runtime version 12080, driver version 12080",
        "",
        "Job summary",
        "===========",
        "",
        "  Nodes  Processes         GPUs  Processes     GPUs",
        "(total)   per node  per process    (total)  (total)",
        numbers,
        "",
        "Communicators... (0.00s)",
        "=============",
        "",
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors",
        "    #  in group  per comm  per node  per comm  in group",
        group,
        "",
    ]
    stage.job.agent(at, 0, "\n".join(rows))


@kind(hosts=2, hangs=False, min_timeout_s=120, torch_order=207, lead_s=60.0, without=(*RESTARTS, "second_job"))
def ncclras_finds_no_rank_behind(stage: Stage) -> Scenario:
    """No collective ends from a step on, and targets are restarted in turn meanwhile (incident 09; NCCL docs, RAS).

    To acquit: all ranks time out in the same all_reduce, which all have launched and none completed; ncclras has no
    rank that launched less, and first ranks of all hosts stand in the same line; the first target gets its signal most
    of a minute after the last step.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    own, at, draw, cluster = stage.job.job, stage.at, stage.draw.child("fabric"), stage.cluster
    stage.mark(at - 10 * MS, "the fabric between hosts delivers nothing any more")
    asked = at + draw.span(31_000, 40_000)
    main: tuple[Thread, ...] = (
        standing_in(stage, 197, ("synchronize", f"{own.build['site']}/torch/cuda/__init__.py", 1040)),
    )
    for rank in firsts(stage)[:4]:
        stacks_of(stage, asked + draw.span(10, 900), rank, main)
    for turn in (0, 1):
        _ras(stage, asked + seconds(6.0 + 21.0 * turn) + draw.span(1, 900))
    end = stage.hang(at)
    down = asked + draw.span(9_000, 15_000)
    for node in (stage.victim, stage.other_target(stage.victim)):
        stage.mark(down, f"SIGTERM {node.name}, its turn in a restart of all targets")
        faults.terminate(cluster, node, down)
        joined = faults.start_again(cluster, node, down + draw.span(7_000, 10_000))
        down = joined + draw.span(52_000, 58_000)
    made = of_all(stage.innocent("gpu_fabric", also=("network", "infrastructure")))
    said = "Storage was restarted because it was the first to be suspected; the fabric was mended with a spine switch."
    return stage.close(said, (made,), until=max(end, down))


def _connects_in_vain(stage: Stage, at: int, rank: int, draw: Draw) -> None:
    """A loader of a rank cannot connect to AIStore and says so."""
    node = draw.pick(stage.cluster.targets)
    cause = sdk.connect_timeout(node.address, draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF) // 16 * 16)
    text = sdk.pool_error(node.address, node.ports[0], f"/v1/objects/{stage.bucket}", cause)
    stage.job.sdk_warning(at, rank, sdk.retrying(round(draw.between(1.0, 2.9), 2), "ConnectTimeout", text))


@kind(hosts=2, hangs=False, reads=True, lead_s=78.0)
def plan_of_a_save_needs_the_card_that_flaps(stage: Stage) -> Scenario:
    """Gradients go over InfiniBand, gloo and reads over a card whose link flaps (PyTorch docs, DCP, CPU group; ixgbe).

    To acquit: the kernel of one host has its link down three times; each time only that host's ranks cannot connect,
    to whatever target, and the first two times they are served; then all ranks wait in gloo for that host's plan.
    """
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("flaps")
    told(
        stage, job.begin - 510 * MS, 0, "launch", "NCCL_IB_HCA=mlx5 GLOO_SOCKET_IFNAME=eno1, ais:// and c10d over eno1"
    )
    stage.open()
    beside(stage, past_unrest.neighbour_reads_cold)
    unrest.unsettled(stage, (tunrest.withdrawn_left_out, commotion.tenant_meets_bad_data))
    node, limit = own.node_of(stage.culprit), stage.params.timeout_s
    ranks = [stage.culprit, *(one for one in own.ranks_of(node) if one != stage.culprit)][:4]
    head = f"kernel: ixgbe 0000:{draw.pick(('04', '18', '65'))}:00.0 eno1: NIC Link is"
    for before in (draw.between(38, 52), draw.between(14, 24)):
        down = at - seconds(before)
        up = down + draw.span(3_400, 5_200)
        stage.mark(down, f"eno1 of {own.hosts[node]} has no link for seconds")
        watched(stage, down, node, f"{head} Down")
        watched(stage, up, node, f"{head} Up 10 Gbps, Flow Control: None")
        for one in ranks:
            then = down + draw.span(3_020, 3_300)
            _connects_in_vain(stage, then, one, draw)
            late = max(then, up) + draw.span(1_900, 3_300)
            said = f"get-batch: 48 of 48 objects after 2 attempts, {(late - down) / SEC:.1f} s"
            told(stage, late, one, "dataset", said, "WARNING")
    stage.mark(at - 700 * MS, f"eno1 of {own.hosts[node]} has no link")
    watched(stage, at - 700 * MS, node, f"{head} Down")
    said = f"step {stage.step}: dcp.save to /lustre/ckpt/{own.task}, plan over gloo (timeout {limit} s)"
    told(stage, at, 0, "checkpoint", said)
    over, then = at + limit * SEC, at + draw.span(2_400, 2_900)
    while then < over - 4 * SEC:
        _connects_in_vain(stage, then, draw.pick(ranks), draw)
        then += draw.span(5_000, 13_000)
    end = boarders.plan_not_gathered(stage, over, speakers(stage), limit)
    made = of_all(stage.innocent("network", also=("infrastructure",)))
    return stage.close("A plug of the management network sat loosely in its port.", (made,), until=end)


@kind(hosts=2, hangs=False, trains=False)
def gloo_takes_the_loopback_of_a_host(stage: Stage) -> Scenario:
    """A host finds 127.0.1.1 for its own name, so gloo binds to the loopback (pytorch issues, GLOO_SOCKET_IFNAME).

    To acquit: ranks of one host warn that they use the loopback address as fallback, before gloo of all others fails
    to connect; no rank has come to a step or read anything; a target dies when all is over. Number of the warning's
    source line from memory.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("loopback")
    node, site, order = own.node_of(stage.culprit), own.build["site"], own.torch.order
    at = stage.mark(job.begin, "ranks open their groups of gloo and NCCL")
    are_there(stage, at)
    for host, name in enumerate(own.hosts):
        address = "127.0.1.1" if host == node else f"10.9.{host % 250}.17"
        job.agent(at - seconds(6.1), host, f"launch: getent hosts {name}: {address:<15} {name}")
    number = 684 if order < 201 else 721 if order < 204 else 715 if order < 208 else 524
    warned = (
        "Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually "
    )
    warned += "set the network interface to bind to with GLOO_SOCKET_IFNAME. (function operator())"
    for rank in own.ranks_of(node):
        then = at - draw.span(1_300, 1_700)
        stamp = cpp_stamp(then, own.zone) + " " if own.torch.prints_time else " "
        job.say(then, rank, f"[W{stamp}ProcessGroupGloo.cpp:{number}] {warned}")
    pair = f"{own.torch.source_tree}third_party/gloo/gloo/transport/tcp/pair.cc"
    text = f"Gloo connectFullMesh failed with [{pair}:144] no error"
    c10d = f"{site}/torch/distributed/distributed_c10d.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 152, "main", 'dist.init_process_group(backend="cpu:gloo,cuda:nccl")'),
        sdk.Frame(f"{site}/torch/distributed/c10d_logger.py", 97, "wrapper", "func_return = func(*args, **kwargs)"),
        sdk.Frame(c10d, 1714, "init_process_group", "default_pg, _ = _new_process_group_helper("),
        sdk.Frame(c10d, 1958, "_new_process_group_helper", "backend_class = ProcessGroupGloo("),
    )
    exits: dict[int, Exit] = {}
    for rank in speakers(stage):
        host = own.node_of(rank)
        if host == node:
            continue
        then = at + draw.span(20, 900)
        port = draw.whole(32_800, 60_900)
        if order < 201:
            text = f"[{pair}:799] connect [127.0.1.1]:{port}: Connection refused"
        else:
            stamp = cpp_stamp(then, own.zone) + " " if own.torch.prints_time else " "
            job.say(then - 2 * MS, rank, f"[E{stamp}ProcessGroupGloo.cpp:{144 if order < 204 else 143}] {text}")
        launchers.bare(stage, then, rank, sdk.Raised(frames, f"RuntimeError: {text}"))
        exits.setdefault(host, Exit(rank, then + 500 * MS, 1))
    end = job.agents_end(list(exits.values()), at + seconds(1.7))
    late_unrest.killed_when_all_is_over(stage)
    made = of_all(stage.innocent("network", also=("infrastructure", "software")))
    return stage.close("The image of one host has a line for its own name in /etc/hosts.", (made,), until=end)
