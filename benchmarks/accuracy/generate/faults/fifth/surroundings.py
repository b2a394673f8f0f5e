"""Faults around a job, of the fifth part: drivers, checkpoints, a network, people; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, refused_get
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisobjects, sdk, torchrun
from fixtures.generator.model import Expect, Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fifth")


@kind(hangs=False, trains=False, hosts=2)
def driver_mismatch(stage: Stage) -> Scenario:
    """The GPU driver of one host was upgraded under a running system: no rank there can use its GPU."""
    job, site = stage.job, stage.job.job.build["site"]
    node, begin = job.job.node_of(stage.culprit), job.begin
    at = stage.mark(begin - seconds(1.3), f"the driver of {job.job.hosts[node]} does not fit its libraries")
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, begin - seconds(6.7)):
            job.agent(begin - seconds(6.7), host, text)
    for rank in range(job.job.world):
        if job.job.node_of(rank) != node:
            job.greet(at - 90 * MS + rank * 170_000, rank)
    asked = "Did you run some cuda functions before calling NumCudaDevices() that might have already set an error?"
    told = "Error 803: system has unsupported display driver / cuda driver combination"
    frames = (
        *loss_frames(stage, "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"),
    )
    raised = sdk.Raised(frames, f"RuntimeError: Unexpected error from cudaGetDeviceCount(). {asked} {told}")
    ranks = tuple(job.job.ranks_of(node))
    for rank in ranks:
        job.raise_on(at + rank * 1_700_000, rank, sdk.traceback(raised))
    job.agents_end([Exit(ranks[0], at + 600 * MS, 1)], at + 600 * MS)
    made = stage.innocent("infrastructure", *ranks, also=("gpu", "software"))
    if not job.job.torch.prints_rank:
        made = replace(made, culprit_ranks=None)
    return stage.close("Packages were upgraded over night, one host has not been rebooted since.", (made,))


@kind(hangs=False, trains=False)
def weights_do_not_fit(stage: Stage) -> Scenario:
    """A job goes on from a checkpoint of a model with another vocabulary: every rank is told so."""
    job, site = stage.job, stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + seconds(0.2), "a checkpoint of another model is loaded")
    old, new = stage.draw.child("words").pick(((1025, 2049), (5001, 5002), (4097, 8193)))
    name = "module.decoder.prediction.embed.weight"
    shapes = f"copying a param with shape torch.Size([{old}, 640]) from checkpoint, the shape in current model is"
    text = (
        "RuntimeError: Error(s) in loading state_dict for DistributedDataParallel:\n"
        f"\tsize mismatch for {name}: {shapes} torch.Size([{new}, 640])."
    )
    frames = (
        *loss_frames(stage, "model.load_state_dict(checkpoint['model'])"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 2593, "load_state_dict", "raise RuntimeError("),
    )
    for rank in range(job.job.world):
        job.raise_on(at + rank * 390_000, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("data",)), culprit_ranks=None)
    return stage.close("A tokenizer was trained anew.", (made,))


@kind(hangs=False, trains=False)
def checkpoint_cut_short(stage: Stage) -> Scenario:
    """The copy of a checkpoint on a host's own disk is not whole: the rank that reads it cannot go on."""
    job, site, rank = stage.job, stage.job.job.build["site"], stage.culprit
    job.start()
    at = stage.mark(job.begin + seconds(0.4), f"rank {rank} reads a checkpoint that is not whole")
    path = f"/raid/local/{job.job.task}/last/rank{rank:05d}.pt"
    job.note(at - 90 * MS, rank, f"resuming from {path}", "W", 141)
    frames = (
        *loss_frames(stage, f'state = torch.load("{path}", map_location="cpu")'),
        sdk.Frame(f"{site}/torch/serialization.py", 1432, "load", "with _open_zipfile_reader(opened_file) as zipfile:"),
        sdk.Frame(
            f"{site}/torch/serialization.py", 763, "__init__", "super().__init__(torch._C.PyTorchFileReader(name))"
        ),
    )
    text = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "infrastructure")
    return stage.close(
        "The job before was killed while it wrote; AIStore holds samples only.",
        (stage.innocent("data", rank, also=also),),
    )


@kind(reads=True, hosts=2)
def host_link_flaps(stage: Stage) -> Scenario:
    """The network card of a host of the job fails again and again: whatever that host asks, whomever, times out."""
    cluster, job, rank, at = stage.cluster, stage.job, stage.culprit, stage.at
    draw, node = stage.draw.child("host link"), stage.job.job.node_of(stage.culprit)
    stage.open()
    stage.mark(at - seconds(1.6), f"the network card of {job.job.hosts[node]} begins to fail")
    near = [one for one in readers(stage) if job.job.node_of(one) == node][:2]
    device = f"mlx5_bond_{draw.whole(0, 1)}"
    for one in (rank, *near):
        host, pid = job.job.hosts[node], job.job.rank_pids[one]
        head = f"\n{host}:{pid}:{pid + 88} [{job.job.local_rank(one)}] transport/net_ib.cc:124 NCCL WARN"
        then = at - seconds(1.5) + draw.span(1, 60)
        job.say(then, one, f"{head} NET/IB : {device}:1 Got async event : port error")
    wheres = [*cluster.proxies[:2], *(cluster.target(draw.whole(0, 99)) for _ in range(6))]
    for one in near:
        where = draw.pick(wheres)
        cause = sdk.connect_timeout(where.address, draw.whole(*HANDLES))
        text = sdk.pool_error(where.address, where.ports[0], object_path(stage, one, utterance(draw)), cause)
        job.sdk_warning(at + draw.span(900, 4_000), one, sdk.retrying(1.5, "ConnectTimeout", text))
    for target in (cluster.target(draw.whole(0, 99)), cluster.target(draw.whole(0, 99))):
        if cluster.xact is not None:
            gone = ev.broken_pipe(
                cluster.xact, target, f"10.9.{node % 250}.{draw.whole(2, 250)}:{draw.whole(40_000, 60_000)}"
            )
            cluster.say(target, at + draw.span(2_000, 9_000), gone)
            cluster.count(target, at + seconds(9), getbatch_n=1, err_getbatch_n=1)
    _times_out_everywhere(stage, wheres)
    stage.hang(at + 340 * MS, rank)
    also = ("infrastructure", "data_loading_stall")
    return stage.close(
        "A cable of a training host is loose; the other hosts read from the same nodes at the same time.",
        (stage.innocent("network", rank, also=also),),
    )


def _times_out_everywhere(stage: Stage, wheres: list[Node]) -> None:
    """The culprit asks one node after another, and none can be reached."""
    rank, draw = stage.culprit, stage.draw.child("everywhere")
    then, limit = stage.at + seconds(3.01), stage.at + seconds(min(stage.params.timeout_s - 6, 70))
    for attempt, where in enumerate(wheres):
        cause = sdk.connect_timeout(where.address, draw.whole(*HANDLES))
        path = object_path(stage, rank, utterance(draw))
        text = sdk.pool_error(where.address, where.ports[0], path, cause)
        if then >= limit:
            return
        if attempt == 6:
            inner = (sdk.Frame(stage.job.job.script, 77, "fetch", "content = self.bucket.object(name).get_reader()"),)
            exhausted(stage, then, rank, text, "ConnectTimeout", inner)
            return
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout", text))
        then += seconds(wait) + seconds(3.01)


@kind(hangs=False)
def interrupted_by_hand(stage: Stage) -> Scenario:
    """Somebody presses Ctrl-C in the window of the job; a target is full for others."""
    beside(stage, tenant_out_of_space)
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "somebody presses Ctrl-C")
    site, bin_ = job.job.build["site"], job.job.build["bin"]
    for rank in range(job.job.world):
        raised = sdk.Raised(loss_frames(stage, "loss = criterion(model(batch), batch)"), "KeyboardInterrupt")
        job.raise_on(at + 20 * MS + rank * 230_000, rank, sdk.traceback(raised))
    number = torchrun.since(torchrun.API_LINES, job.job.torch.order)[0]
    module = f"{site}/torch/distributed/elastic/multiprocessing/api.py"
    for node in range(len(job.job.hosts)):
        then = at + 40 * MS + node * MS
        said = "Received 2 death signal, shutting down workers"
        job.agent(then, node, torchrun.agent_line(job.job, node, then, "W", number - 14, said))
        for rank in job.job.ranks_of(node):
            text = f"Sending process {job.job.rank_pids[rank]} closing signal SIGINT"
            job.agent(then + MS, node, torchrun.agent_line(job.job, node, then + MS, "W", number, text))
        frames = (
            sdk.Frame(f"{bin_}/torchrun", 8, "<module>", "sys.exit(main())"),
            sdk.Frame(module, 84, "_terminate_process_handler", "raise SignalException("),
        )
        error = f"Process {job.job.agent_pids[node]} got signal: 2"
        raised = sdk.Raised(frames, f"torch.distributed.elastic.multiprocessing.api.SignalException: {error}")
        job.agent(then + 400 * MS, node, sdk.traceback(raised))
    job.ended_at = at + seconds(2)
    return stage.close("A user has found a mistake.", (stage.innocent("infrastructure"),))


@kind(reads=True, may_be_undetermined=True)
def samples_deleted(stage: Stage) -> Scenario:
    """Another job of the same people tidies up and deletes samples that this one still reads: 404 is the truth."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("deleted")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 24_000), f"another job begins to delete from ais://{stage.bucket}")
    then = began
    while then < at + seconds(40):
        for node in cluster.up(then):
            cluster.count(node, then, del_n=draw.whole(40, 260))
        cluster.count(cluster.proxy(0), then, del_n=draw.whole(300, 900))
        then += SEC
    name, node, then = utterance(draw), stage.victim, at
    for other in readers(stage)[:2]:
        lost, where = utterance(draw), cluster.target(draw.whole(0, 99))
        late = at + draw.span(100, 1_900)
        aisobjects.not_there(cluster, where, late, lost)
        stage.job.note(late + 5 * MS, other, f"sample {lost} is not there (STATUS:404), skipped", "W", 84)
    for attempt in range(2):
        aisobjects.not_there(cluster, node, then, name)
        stage.job.note(then + 6 * MS, rank, f"read of {name} failed (STATUS:404), retrying {attempt + 1}/2", "W", 79)
        then += seconds(1.5) + draw.span(1, 30)
    text = aisobjects.not_there(cluster, node, then, name)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, node, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    also = ("software", "data_loading_stall", "undetermined")
    return stage.close(
        "A pipeline removes what it takes for old; only counters of deleted objects tell.",
        (stage.innocent("data", rank, also=also),),
    )
