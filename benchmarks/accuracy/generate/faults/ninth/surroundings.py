"""Faults around a job, of the ninth part: limits, boards, processors, a database, a mesh; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.ninth import unrest
from benchmarks.accuracy.generate.faults.ninth.training import of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, one_object
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, local, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit, since
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "ninth")

#: NCCL that a PyTorch release brings, by the first one, and the line of its wrapper of verbs.
NCCL = {201: "2.18.1", 202: "2.19.3", 203: "2.20.5", 205: "2.21.5", 207: "2.26.2", 209: "2.27.5", 212: "2.28.9"}
VERBS = {201: 262, 203: 278, 207: 308, 209: 316}


def _kernel(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's kernel, as a monitor copies it into the log of the job."""
    stage.job.agent(at, node, f"node-monitor: [{local(at, stage.job.job.zone):%a %b %e %H:%M:%S %Y}] {text}")


@kind(hangs=False, trains=False, hosts=2)
def memory_not_locked(stage: Stage) -> Scenario:
    """On one host a process may lock 8 MB of memory: no card there can be used for what NCCL wants to send."""
    beside(stage, unrest.settings_change_early)
    job, torch, draw = stage.job, stage.params.torch_release, stage.draw.child("locked")
    job.start()
    node = job.job.node_of(stage.culprit)
    host, ranks = job.job.hosts[node], tuple(job.job.ranks_of(node))
    at = stage.mark(job.begin + seconds(0.4), f"processes on {host} may not lock memory")
    call = draw.pick(("ibv_reg_mr_iova2", "ibv_create_cq", "ibv_create_qp"))
    said = f"Call to {call} failed" + (" with error Cannot allocate memory" if call != "ibv_create_cq" else "")
    place = f"{torch.source_tree}torch/csrc/distributed/c10d/"
    place += "NCCLUtils.cpp:94" if torch.order > 206 else "ProcessGroupNCCL.cpp:1691"
    text = (
        f"torch.distributed.DistBackendError: NCCL error in: {place}, unhandled system error (run with NCCL_DEBUG=INFO"
    )
    text += (
        f" for details), NCCL version {since(NCCL, torch.order)}\nncclSystemError: System call (e.g. socket, malloc)"
    )
    text += f" or external library call failed or device error. \nLast error:\n{said}"
    if draw.chance(0.4):
        job.agent(at - seconds(1.1), node, f"prologue: {host}: max locked memory (ulimit -l) is 8192 kB")
    for rank in ranks:
        pid, then = job.job.rank_pids[rank], at + draw.span(900, 1_400)
        head = f"{host}:{pid}:{pid + 93} [{job.job.local_rank(rank)}] misc/ibvwrap.cc:{since(VERBS, torch.order)}"
        job.say(then, rank, f"\n{head} NCCL WARN {said}")
        raised = sdk.Raised(loss_frames(stage, "dist.all_reduce(ready)"), text)
        job.raise_on(then + 40 * MS, rank, sdk.traceback(raised))
    job.agents_end([Exit(ranks[0], at + seconds(1.9), 1)], at + seconds(1.9))
    made = of_all(stage.innocent("infrastructure", also=("network", "gpu_fabric", "software")))
    return stage.close("The daemon that starts jobs was started by hand, without its limits.", (made,))


@kind(hangs=False, trains=False)
def peers_blocked(stage: Stage) -> Scenario:
    """A board maps what devices send to each other: the first collective of all begins, and never ends for anybody."""
    beside(stage, unrest.keepalives_early)
    job, draw, order = stage.job, stage.draw.child("peers"), stage.params.torch_release.order
    job.start()
    node = job.job.node_of(stage.culprit)
    at = stage.mark(job.begin + seconds(0.8), f"devices of {job.job.hosts[node]} cannot reach each other")
    driver = "amdgpu" if job.job.torch.is_rocm else "nvidia"
    is_intel = driver == "nvidia" and draw.chance(0.5)
    for _ in range(draw.whole(1, 4)):
        pci, address = f"{draw.whole(16, 220):02x}:00.0", f"0x{draw.token(10, HEX)}00"
        text = f"{driver} 0000:{pci}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x{draw.whole(10, 99):04x} address="
        text += f"{address} flags=0x{draw.pick(('0020', '0030', '0070'))}]"
        if is_intel:
            text = f"DMAR: [DMA Write NO_PASID] Request device [{pci}] fault addr {address} "
            text += "[fault reason 0x05] PTE Write access is not set"
        _kernel(stage, at + draw.span(5, 900), node, text)
    if driver == "amdgpu":
        host, pid = job.job.hosts[node], job.job.rank_pids[node * job.job.ranks_per_node]
        said = 'Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'
        job.say(at - 90 * MS, node * job.job.ranks_per_node, f"{host}:{pid}:{pid} [0] NCCL WARN {said}")
    begun = Work(1, "ALLREDUCE", 1, 1, 1, -1 if order >= 204 else 0, job.frames())
    ended = job.hang(at, dict.fromkeys(range(job.job.world), begun))
    stage.mark(ended, f"job {job.job.job_id} has ended")
    made = of_all(stage.innocent("gpu_fabric", also=("gpu", "infrastructure")))
    return stage.close("Virtualisation was switched on in the settings of a new board.", (made,))


@kind(hangs=False, hosts=2)
def instruction_unknown(stage: Stage) -> Scenario:
    """A wheel was compiled for newer processors than one host has: its ranks end at the first such instruction."""
    beside(stage, commotion.tenant_backend_fails)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("instruction")
    node, script = job.job.node_of(rank), job.job.script
    stage.mark(at, f"rank {rank} meets an instruction that its processor does not have")
    library, function = draw.pick(
        (
            ("libfbgemm.so", "augment"),
            ("_soxr_ext.cpython-311-x86_64-linux-gnu.so", "resample"),
            ("libpesq.so", "quality"),
        )
    )
    thread = f"0x00007f{draw.token(7, HEX)}{draw.pick('0246')}40"
    words = f"Fatal Python error: Illegal instruction\n\nCurrent thread {thread} (most recent call first):\n"
    job.say(at, rank, f'{words}  File "{script}", line 148 in {function}\n  File "{script}", line 191 in main')
    if draw.chance(0.7):
        where = f"ip:7f{draw.token(10, HEX)} sp:7ff{draw.token(9, HEX)} error:0 in {library}"
        _kernel(stage, at + 20 * MS, node, f"traps: python3[{job.job.rank_pids[rank]}] trap invalid opcode {where}")
    job.agents_end([Exit(rank, at + 300 * MS, -4)], at + 300 * MS)
    also = ("infrastructure",)
    return stage.close(
        "A spare host of an older generation stands in; it takes the branch that the others took long ago.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, reads=True)
def database_full(stage: Stage) -> Scenario:
    """Labels come from a database that has no connection left for a rank; reads of AIStore are hedged meanwhile."""
    stage.open()
    beside(stage, unrest.reads_are_hedged)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("database")
    server, site = f"10.{draw.whole(20, 60)}.{draw.whole(0, 9)}.{draw.whole(2, 250)}", job.job.build["site"]
    stage.mark(at - seconds(draw.between(5, 12)), "a database of labels has no connection left")
    why = draw.pick(
        (
            "FATAL:  sorry, too many clients already",
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "FATAL:  the database system is in recovery mode",
            'FATAL:  too many connections for role "labels_ro"',
        )
    )
    text = f'connection failed: connection to server at "{server}", port 5432 failed: {why}'
    for who in (*readers(stage)[: draw.whole(0, 3)], rank):
        for turn in range(draw.whole(1, 2)):
            said = f"labels of {utterance(draw)}: {text}; once more in {1 << turn} s"
            job.note(at - seconds(4.2 - 1.9 * turn) + draw.span(1, 900), who, said, "W", 66, "labels")
    frames = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(job.job.script, 80, "fetch", "labels = self.labels.of(names)", True),
        sdk.Frame("/workspace/asr/labels.py", 41, "of", "with psycopg.connect(self.where) as connection:"),
        sdk.Frame(f"{site}/psycopg/connection.py", 119, "connect", "raise last_ex.with_traceback(None)"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"psycopg.OperationalError: {text}")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "network", "data_loading_stall", "data")
    return stage.close(
        "A sweep of fifty small jobs asks the same database.", (stage.innocent("infrastructure", rank, also=also),)
    )


@kind(reads=True, hosts=2, min_timeout_s=90)
def sidecar_gone(stage: Stage) -> Scenario:
    """All traffic of a pod goes through a proxy beside it, which is killed: whatever it asks, it is refused."""
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("sidecar")
    node = job.job.node_of(rank)
    began = stage.mark(at - draw.span(800, 2_600), f"the mesh proxy of {job.job.hosts[node]} is gone")

    def refused(who: int) -> str:
        proxy, name = stage.proxy_of(who), utterance(draw.child("name", who))
        cause = sdk.refused(draw.whole(*HANDLES))
        return sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/objects/{stage.bucket}/{name}?provider=ais", cause)

    if draw.chance(0.6):
        memory = f"total-vm:{draw.whole(1_500_000, 2_900_000)}kB, anon-rss:{draw.whole(1_010_000, 1_048_000)}kB"
        said = f"Memory cgroup out of memory: Killed process {draw.whole(9_000, 90_000)} (envoy) {memory}"
        _kernel(stage, began + 60 * MS, node, said)
    beside_it = [one for one in readers(stage) if job.job.node_of(one) == node][:4]
    for who in beside_it:
        for turn in range(draw.whole(2, 4)):
            then = began + seconds(1.3 * turn) + draw.span(100, 900)
            job.sdk_warning(then, who, sdk.retrying(1.0 + turn, "ConnectionError", refused(who)))
    for who, service in ((rank, "tracker"), *((one, "metrics") for one in beside_it[:1])):
        where = f"10.{draw.whole(60, 90)}.{draw.whole(0, 9)}.{draw.whole(2, 250)}:{draw.pick((443, 4317, 8086))}"
        job.note(began + draw.span(900, 6_000), who, f"{service} at {where}: [Errno 111] Connection refused", "W", 52)
    then = at
    for attempt in range(5):
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", refused(rank)))
        then += seconds(wait) + draw.span(2, 8)
    exhausted(stage, then, rank, refused(rank), inner=one_object(stage))
    stage.hang(at + 340 * MS, rank)
    also = ("network", "data_loading_stall")
    return stage.close(
        "A sidecar has less memory than the lists of services it is sent; all targets serve all other hosts.",
        (stage.innocent("infrastructure", rank, also=also),),
    )
