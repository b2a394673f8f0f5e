"""Faults of training hosts, their networks, daemons and pipes, of the nineteenth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.eighteenth.thosts import gives_up
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "nineteenth")


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def table_of_neighbours_overflows(stage: Stage) -> Scenario:
    """A training host knows more neighbours than its table holds: no new connection (kops#4533, e2b-dev/infra PR 3508).

    To acquit: the errno is that of the own kernel, which speaks of its table; ranks of that host alone fail, to proxies
    and targets alike, and its other services fail with the same words.
    """
    stage.open()
    beside(stage, own_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, tenth_unrest.tenant_batches_fail, unrest.entries_missing))
    own, draw, cluster = stage.job.job, stage.draw.child("neighbours"), stage.cluster
    node = own.node_of(stage.culprit)
    began = stage.mark(stage.at - draw.span(900, 5_000), f"the table of neighbours of {own.hosts[node]} is full")
    wheres = draw.shuffled([*cluster.proxies, *cluster.targets])

    def asked(rank: int) -> str:
        where = draw.pick(wheres)
        handle = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES):#x}>"
        why = "Failed to establish a new connection: [Errno 105] No buffer space available"
        path = object_path(stage, rank, utterance(draw))
        return sdk.pool_error(where.address, where.ports[0], path, f"NewConnectionError('{handle}: {why}')")

    over, then = gives_up(stage, "ConnectionError", 0.01, asked), began
    while then < over:
        for _ in range(draw.whole(2, 5)):
            watched(stage, then, node, "kernel: neighbour: arp_cache: neighbor table overflow!")
        then += draw.span(4_900, 5_300)
        watched(stage, then, node, f"kernel: net_ratelimit: {draw.whole(90, 420)} callbacks suppressed")
    post = 'Post "http://10.0.4.9:8086/api/v2/write": dial tcp 10.0.4.9:8086: connect: no buffer space available'
    said = f"telegraf: E! [agent] Error writing to outputs.influxdb_v2: {post}"
    watched(stage, began + draw.span(1_900, 3_900), node, said)
    made = stage.innocent("network", stage.culprit, also=("infrastructure",))
    return stage.close("Hundreds of pods of another partition share its network since today.", (made,))


@kind(reads=True, hosts=2, lead_s=60.0)
def large_packets_are_lost_at_a_host(stage: Stage) -> Scenario:
    """The network of a host is set up anew, with frames no switch of it passes (systemd.network docs, MTU).

    To acquit: answers begin at once and stop before their first full packet, from whichever target, on one host alone;
    a probe of that host loses large packets to everything and small ones to nothing.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(
        stage, (former_unrest.neighbour_reads_slowly, commotion.tenant_backend_fails, unrest.entries_missing)
    )
    own, at, draw, over = stage.job.job, stage.at, stage.draw.child("large packets"), over_at(stage)
    node = own.node_of(stage.culprit)
    absent = sorted(one for one in (stage.culprit, *readers(stage)) if own.node_of(one) == node)
    began = stage.mark(at - draw.span(300, 1_500), f"bond0 of {own.hosts[node]} sends frames of 9000 bytes")
    networkd = f"systemd-networkd[{draw.whole(700, 2_900)}]:"
    watched(stage, began, node, f"{networkd} bond0: Reconfiguring with /etc/systemd/network/20-bond0.network.")
    for one in [*absent, *[one for one in readers(stage) if one not in absent][:4]]:
        then, turn = at + draw.span(20_000, 20_900), 1
        target = stage.cluster.target(draw.whole(0, 99))
        url = f"{target.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        if one not in absent:
            size, spent = draw.whole(90, 700), draw.between(0.4, 2.1)
            then = min(at + draw.span(900, 9_000), over - SEC)
            reader_note(stage, then, one, f"{url}: 200 after 0.004 s, {size} MiB after {spent:.1f} s")
            stage.cluster.count(target, then, get_n=1, get_ns_total=seconds(spent), get_size=size << 20)
            continue
        while then < over - SEC:
            said = f"200 after 0.00{draw.whole(2, 6)} s, 0 bytes after 20.0 s, opened again ({turn})"
            reader_note(stage, then, one, f"{url}: {said}")
            then, turn = then + draw.span(20_010, 20_300), turn + 1
    probe = "net-probe: 5 of 5 lost with 8972 bytes, 0 of 5 with 1472 bytes"
    for turn, whom in enumerate(draw.shuffled(["10.0.4.9", "10.0.0.53", stage.cluster.targets[0].address])):
        watched(stage, at + seconds(24.2) + turn * draw.span(4_000, 4_900), node, f"{probe}, to {whom}")
    stage.hang(at + 60 * MS, *absent)
    former_unrest.killed_in_the_hang(stage)
    made = stage.innocent("network", also=("infrastructure", "data_loading_stall"))
    return stage.close(
        "A role for hosts of storage was rolled out here too.", (replace(made, culprit_ranks=tuple(absent)),)
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def curl_is_not_started(stage: Stage) -> Scenario:
    """A host promises no more memory than it has, a rank cannot fork for its pipe (FlowNetPytorch#85; Linux docs).

    To acquit: the stack ends in the fork of subprocess, before any request; the kernel of the host names the process.
    """
    stage.open()
    beside(stage, own_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_meets_bad_data, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("fork")
    node, site = job.job.node_of(rank), job.job.build["site"]
    pid, wanted = job.job.rank_pids[rank], draw.whole(40, 90) << 30
    stage.mark(at, f"rank {rank} cannot fork")
    short = f"pid: {pid}, comm: python3, bytes: {wanted} not enough memory for the allocation"
    watched(stage, at - MS, node, f"kernel: __vm_enough_memory: {short}")
    if draw.chance(0.6):
        limit = draw.whole(900_000_000, 1_056_000_000)
        meminfo = f"CommitLimit {limit} kB, Committed_AS {limit - draw.whole(9_000, 900_000)} kB, overcommit_memory 2"
        watched(stage, at + draw.span(2_000, 9_000), node, f"meminfo: {meminfo}")
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 108, "url_opener", "stream = gopen(url, **kw)"),
        sdk.Frame(f"{site}/webdataset/gopen.py", 441, "gopen", "return handler(url, mode, bufsize, **kw)"),
        sdk.Frame(f"{site}/webdataset/gopen.py", 228, "gopen_pipe", "return Pipe("),
        sdk.Frame(f"{site}/webdataset/gopen.py", 79, "open", "self.proc = Popen(*args, **kw)"),
        sdk.Frame(f"{PYTHON}/subprocess.py", 1026, "__init__", "self._execute_child(args, executable, preexec_fn,"),
        sdk.Frame(f"{PYTHON}/subprocess.py", 1885, "_execute_child", "self.pid = _fork_exec("),
    )
    raised = sdk.Raised(
        fetch_frames(stage, "sample = next(self.samples)", *inner), "OSError: [Errno 12] Cannot allocate memory"
    )
    job.raise_on(at, rank, sdk.traceback(raised))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    own_unrest.killed_when_all_is_over(stage)
    return stage.close(
        "Hosts of a new partition have the settings of databases.",
        (stage.innocent("infrastructure", rank, also=("software", "data_loading_stall")),),
    )


@kind(hangs=False, trains=False, hosts=2, slurm=True)
def home_is_not_mounted_on_a_host(stage: Stage) -> Scenario:
    """A host has not mounted the homes: SLURM goes to /tmp, Python finds no script (Slurm docs; FarmShare docs).

    To acquit: slurmstepd and Python name the folder and the host; no rank of it has begun, those of others wait there.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("home")
    folder = f"/home/{draw.pick(('mkraus', 'yliu', 'train', 'asr-dev'))}/asr"
    job.job = replace(job.job, script=f"{folder}/{job.job.script.rsplit('/', 1)[-1]}")
    own = job.job
    node = own.node_of(stage.culprit)
    at = stage.mark(job.begin - seconds(5.2), f"{own.hosts[node]} has not mounted the homes")
    lost = f"slurmstepd: error: couldn't chdir to `{folder}': No such file or directory: going to /tmp instead"
    for turn in range(2):
        job.slurm(at + turn * 30 * MS, node, lost)
    for host in range(len(own.hosts)):
        for text in torchrun.omp_banner(own, host, at + seconds(1.4)):
            job.agent(at + seconds(1.4), host, text)
    then = at + seconds(draw.between(2.1, 3.4))
    for rank in own.ranks_of(node):
        said = f"{own.build['python']}: can't open file '{own.script}': [Errno 2] No such file or directory"
        job.say(then + rank * 700_000, rank, said)
    over = job.agents_end([Exit(own.ranks_of(node)[0], then + 80 * MS, 2)], then + 90 * MS)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("It was reinstalled in the night.", (made,), until=over)


@kind(lead_s=70.0)
def pipe_of_the_log_is_full(stage: Stage) -> Scenario:
    """Who is to read what a rank prints has stopped to, and the rank waits in a write (LlamaFactory PR 10584; pipe(7)).

    To acquit: the rank stands in the handler of its own log, and its kernel says pipe_write; its last batch had come.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (own_unrest.disk_lost_in_window, commotion.throttled_in_window, unrest.entries_missing))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("pipe")
    node, module = own.node_of(rank), f"{PYTHON}/logging/__init__.py"
    stage.mark(at, f"rank {rank} waits in a write to its standard output")
    paused = "fluent-bit: [ warn] [input] stdin.0 paused (mem buf overlimit)"
    watched(stage, at - draw.span(3_000, 14_000), node, paused)
    after = min(draw.between(24, 44), own.timeout_s - 14)
    main = standing_in(
        stage,
        draw.pick((181, 188, 194)),
        ("emit", module, 1113),
        ("handle", module, 978),
        ("callHandlers", module, 1706),
        ("handle", module, 1644),
        ("_log", module, 1634),
        ("info", module, 1489),
    )
    py_spy(stage, after, (main,))
    stage.job.agent(
        stage.at + seconds(after + 0.9), node, f"hang-watcher: /proc/{own.rank_pids[rank]}/wchan: pipe_write"
    )
    stage.hang(at + 50 * MS, rank)
    former_unrest.killed_in_the_hang(stage)
    return stage.close(
        "The shipper of logs has a limit, and its server was upgraded.",
        (stage.innocent("infrastructure", rank, also=("software", "rank_hang")),),
    )


@kind(hangs=False, trains=False, torch_before=215)
def daemon_between_processes_and_devices_is_gone(stage: Stage) -> Scenario:
    """A host is set up for MPS, whose daemon was killed (NVIDIA's MPS docs; ApeRAG#120: error 805).

    To acquit: all ranks of the host fail to count devices before they know of each other; nobody has read a byte.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("mps"), stage.job.job.build["site"]
    node = own.node_of(stage.culprit)
    at = stage.mark(job.begin - seconds(1.3), f"the daemon of MPS does not run on {own.hosts[node]}")
    for host in range(len(own.hosts)):
        for text in torchrun.omp_banner(own, host, at - seconds(3.2)):
            job.agent(at - seconds(3.2), host, text)
    ended = "nvidia-mps.service: Main process exited, code=killed, status=9/KILL"
    watched(stage, at - draw.span(90_000, 400_000), node, f"systemd[1]: {ended}")
    asked = "Did you run some cuda functions before calling NumCudaDevices() that might have already set an error?"
    text = (
        f"RuntimeError: Unexpected error from cudaGetDeviceCount(). {asked} Error 805: MPS client failed to connect to "
    )
    text += "the MPS control daemon or the MPS server"
    frames = (
        *loss_frames(stage, "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"),
    )
    for rank in own.ranks_of(node):
        job.raise_on(at + rank * 1_300_000, rank, sdk.traceback(sdk.Raised(frames, text)))
    over = job.agents_end([Exit(own.ranks_of(node)[0], at + 500 * MS, 1)], at + 600 * MS)
    made = of_all(stage.innocent("gpu", also=("infrastructure", "software")))
    return stage.close("A guard of memory has ended it for the sake of a job.", (made,), until=over)
