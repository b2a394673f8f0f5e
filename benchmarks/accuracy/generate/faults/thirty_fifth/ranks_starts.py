"""Jobs whose ranks do not find each other as they start, beside a cluster in trouble of its own; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.thirty_fifth.ranks_beside import disk_given_up
from benchmarks.accuracy.generate.faults.thirty_fifth.ranks_devices import NCCL
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import speakers
from benchmarks.accuracy.generate.faults.words.watchkeepers import nccl_info, nccl_warns
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "thirty_fifth")
DISKS = ("mountpath_before", "disk_busy", "kill_after", "second_job")


def _no_route(stage: Stage, at: int, rank: int, address: str) -> None:
    """NCCL of a rank does not reach the root of its communicator: its warning and what PyTorch raises."""
    own, site = stage.job.job, stage.job.job.build["site"]
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 158, "main", "dist.barrier()"),
        sdk.Frame(f"{site}/torch/distributed/c10d_logger.py", 83, "wrapper", "return func(*args, **kwargs)", True),
        sdk.Frame(
            f"{site}/torch/distributed/distributed_c10d.py", 4818, "barrier", "work = group.barrier(opts=opts)", True
        ),
    )
    said = f"socketPollConnect: connect to {address} returned No route to host, exceeded error retry count "
    said += "after 35 attempts"
    nccl_warns(stage, at, rank, "misc/socket.cc:570", said)
    place = f"{own.torch.source_tree}torch/csrc/distributed/c10d/NCCLUtils.cpp:77"
    text = f"torch.distributed.DistBackendError: NCCL error in: {place}, unhandled system error (run with "
    text += f"NCCL_DEBUG=INFO for details), NCCL version {since(NCCL, own.torch.order)}\nncclSystemError: System call "
    text += "(e.g. socket, malloc) or external library call failed or device error. \nLast error:\n" + said
    stage.job.raise_on(at + 3 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))


@kind(culprit=0, hosts=2, hangs=False, trains=False, without=DISKS)
def nccl_takes_the_link_to_the_service_processor(stage: Stage) -> Scenario:
    """On the first host NCCL picks the USB network of its service processor (NCCL issues, NCCL_SOCKET_IFNAME, 169.254).

    To acquit: NCCL's own lines tell which interface each host uses, the first another than all others; ranks elsewhere
    find no route to the root of their communicator, which has that address. No rank has come to a step or asked for a
    batch; a target has given up a disk seconds before, and bad checksums are of a bucket of other tenants.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("interface")
    stage.at = at = job.begin + draw.span(200, 900)
    beside(stage, disk_given_up)
    beside(stage, commotion.tenant_meets_bad_data)
    node, version = own.node_of(stage.culprit), since(NCCL, own.torch.order)
    link, root = f"169.254.{draw.whole(2, 9)}.1", draw.whole(32_800, 60_900)
    job.start()
    stage.mark(at, f"NCCL takes the wrong interface on {own.hosts[node]}")
    for rank in speakers(stage):
        host = own.node_of(rank)
        name = f"usb0:{link}" if host == node else f"ens6f0:10.9.{host % 250}.17"
        nccl_info(stage, at + draw.span(1, 60), rank, f"Bootstrap : Using {name}<0>")
    nccl_info(stage, at + draw.span(61, 70), 0, f"NCCL version {version}+cuda12.8")
    exits: dict[int, Exit] = {}
    last = at
    for rank in [one for one in speakers(stage) if own.node_of(one) != node]:
        then, host = at + draw.span(3_100, 4_900), own.node_of(rank)
        _no_route(stage, then, rank, f"{link}<{root}>")
        if host not in exits or then < exits[host].at:
            exits[host] = Exit(rank, then + draw.span(500, 900), 1)
        last = max(last, then)
    job.agents_end(list(exits.values()), last + seconds(1.0))
    made = replace(stage.innocent("network", *own.ranks_of(node)), also_ok=("software", "infrastructure"))
    return stage.close("The firmware of that host had been updated, and its USB network was on by default.", (made,))
