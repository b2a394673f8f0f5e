"""Switches, cards and devices of training hosts that end a job; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth.tunrest import killed_in_the_hang
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_first")

#: Where the devices of a host sit on its bus.
BUSES = ("0a", "18", "3b", "44", "87", "90", "b8", "c1")


def _event(stage: Stage, at: int, rank: int, card: str, event: str) -> None:
    """NCCL's thread for the events of a card warns of one."""
    own = stage.job.job
    head = (
        f"\n{own.hosts[own.node_of(rank)]}:{own.rank_pids[rank]}:{own.rank_pids[rank] + 173} [{own.local_rank(rank)}]"
    )
    port = f"{card}:1 " if own.torch.order >= 206 else ""
    stage.job.say(at, rank, f"{head} transport/net_ib.cc:101 NCCL WARN NET/IB : {port}Got async event : {event}")


@kind(hosts=2, lead_s=60.0, without=RESTARTS)
def leaf_switch_is_updated_under_all_hosts(stage: Stage) -> Scenario:
    """A switch of the fabric restarts, all hosts hang on it, no collective ends (NVIDIA/nccl#905; no straggler, 09).

    To acquit: ports of all hosts go down within a moment; all ranks have launched the same collective and none has
    completed it, so nobody is waited for; the target that is killed dies while all of them wait already.
    """
    stage.open()
    killed_in_the_hang(stage)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, past_unrest.turned_away_in_window))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("leaf")
    card, bus = f"mlx5_{draw.whole(0, 7)}", f"0000:{draw.pick(('1a', '4f', '9d', 'e2'))}:00.0"
    stage.mark(at - 70 * MS, "a switch of the fabric restarts, to which all hosts are connected")
    back = at + draw.span(21_000, 34_000)
    for rank in firsts(stage):
        down, up = at - draw.span(5, 60), back + draw.span(1, 900)
        for then, word, event in ((down, "DOWN", "port error"), (up, "ACTIVE", "port active")):
            watched(stage, then, own.node_of(rank), f"kernel: mlx5_core {bus} {card}: Port: 1 Link {word}")
            _event(stage, then + draw.span(1, 20), rank, card, event)
    stage.hang(at)
    made = stage.innocent("gpu_fabric", also=("network", "infrastructure"))
    return stage.close("The new software of the switch came outside of its window.", (made,))


@kind(hosts=2, reads=True, lead_s=75.0)
def card_of_a_host_flaps_under_reads_and_gradients(stage: Stage) -> Scenario:
    """A RoCE card flaps, gradients and reads pass it: reads are late, then nobody finishes (NVIDIA/nccl#1333, #1819).

    To acquit: the kernel of one host has the link down and up; slow reads are of that host's ranks alone, of whatever
    target, and come whole; then all ranks wait in one collective and none is missing. Kernel's wording from memory.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (tunrest.readers_resume, commotion.tenant_meets_bad_data))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("flaps")
    node = own.node_of(stage.culprit)
    card, name = f"mlx5_bond_{draw.whole(0, 1)}", draw.pick(("ens3f0np0", "eth2", "enp65s0f0np0"))
    head = f"kernel: mlx5_core 0000:{draw.pick(('41', '5e', 'a1'))}:00.0 {name}: Link"
    ranks = [stage.culprit, *(one for one in own.ranks_of(node) if one != stage.culprit)][:4]
    for before in (draw.between(24, 38), draw.between(6, 15)):
        down = at - seconds(before)
        stage.mark(down, f"the card of {own.hosts[node]} is down for some hundred milliseconds")
        up = down + draw.span(280, 700)
        watched(stage, down, node, f"{head} down")
        watched(stage, up, node, f"{head} up")
        for one in ranks:
            _event(stage, up + draw.span(2, 60), one, card, "GID table change")
            target, spent = draw.pick(stage.cluster.targets), draw.between(1.2, 2.4)
            said = f"get-batch: 48 of 48 objects in {spent:.1f} s by {target.url(0)} (median 0.{draw.whole(5, 9)} s)"
            told(stage, down + seconds(spent) + draw.span(1, 90), one, "dataset", said, "WARNING")
    stage.mark(at - 20 * MS, f"the card of {own.hosts[node]} is down for seconds")
    watched(stage, at - 20 * MS, node, f"{head} down")
    up = at + draw.span(7_000, 14_000)
    watched(stage, up, node, f"{head} up")
    for one in ranks:
        _event(stage, up + draw.span(2, 60), one, card, "GID table change")
    watched(stage, up + draw.span(900, 3_000), node, f"ethtool -S {name}: link_down_events_phy: {draw.whole(9, 60)}")
    stage.hang(at)
    made = of_all(stage.innocent("network", also=("gpu_fabric", "infrastructure")))
    return stage.close("The cable had been bent behind the door of the rack.", (made,))


@kind(reads=True, hangs=False, lead_s=70.0)
def poll_of_temperatures_meets_a_lost_device(stage: Stage) -> Scenario:
    """A device falls off the bus, the rank that polls all of them ends first (NVIDIA Xid 79; pynvml, GpuIsLost).

    To acquit: Xid 79 names the device that the silent rank took at its start, and the poll, which torchrun takes for
    the root, names it too; the rank's reads that were repeated had been served.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("lost")
    node, local = own.node_of(rank), own.local_rank(rank)
    here = list(own.ranks_of(node))
    poller = here[0] if rank != here[0] else here[-1]
    for one in here:
        place = f"0000:{BUSES[own.local_rank(one) % len(BUSES)]}:00.0"
        told(stage, job.begin - draw.span(300, 700), one, "train", f"cuda:{own.local_rank(one)} is {place}")
    for turn in range(1, 4):
        then = job.begin + (at - job.begin) * turn // 4
        heats = ", ".join(str(draw.whole(58, 71)) for _ in here)
        told(stage, then, poller, "health", f"temperatures of {own.hosts[node]}: {heats}")
    slot = f"0000:{BUSES[local % len(BUSES)]}:00"
    stage.mark(at, f"the device of rank {rank} falls off its bus")
    text = "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    watched(stage, at, node, f"kernel: NVRM: Xid (PCI:{slot}): {text}")
    watched(stage, at + MS, node, f"kernel: NVRM: GPU {slot}.0: GPU has fallen off the bus.")
    serial = f"{draw.whole(1_320_000_000_000, 1_329_999_999_999)}"
    watched(stage, at + 2 * MS, node, f"kernel: NVRM: GPU {slot}.0: GPU serial number is {serial}.")
    over = at + draw.span(2_100, 6_900)
    told(stage, over - 2 * MS, poller, "health", f"temperature of device {local} ({slot}.0) is not to be read", "ERROR")
    site = own.build["site"]
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 178, "main", "watch_devices(step)"),
        sdk.Frame(own.script, 149, "watch_devices", "heat = nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU)"),
        sdk.Frame(f"{site}/pynvml.py", 2901, "nvmlDeviceGetTemperature", "_nvmlCheckReturn(ret)"),
        sdk.Frame(f"{site}/pynvml.py", 1043, "_nvmlCheckReturn", "raise NVMLError(ret)"),
    )
    job.raise_on(over, poller, sdk.traceback(sdk.Raised(frames, "pynvml.NVMLError_GpuIsLost: GPU is lost")))
    exits(stage, over, poller)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The device had been seated anew a week before.", (made,))
