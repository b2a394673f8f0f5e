"""Starts of jobs that fail of themselves, of the eighteenth part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.seventeenth.thosts import PORT
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "eighteenth")
#: Where NCCL's sockets give up, by PyTorch's release.
SOCKET = {201: 484, 206: 533, 209: 569, 212: 571}


def speakers(stage: Stage) -> range:
    """All ranks, in a large world the first of each host."""
    own = stage.job.job
    return range(0, own.world, 1 if own.world <= ALL_SPEAK else own.ranks_per_node)


def all_end(stage: Stage, last: int) -> int:
    """The first rank of each host exits, and with it the job; when it is over."""
    own = stage.job.job
    firsts = range(0, own.world, own.ranks_per_node)
    return stage.job.agents_end([Exit(rank, last + 500 * MS + rank * MS, 1) for rank in firsts], last + 900 * MS)


@kind(hangs=False, trains=False, hosts=2)
def ports_of_nccl_filtered(stage: Stage) -> Scenario:
    """The port of the store is open between hosts, those that NCCL draws are not (sglang#3820, nccl#1105, #388).

    NCCL's error at the first collective has addresses of training hosts only; nobody has asked for a batch by then.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, order = stage.job, stage.job.job, stage.draw.child("filtered"), stage.job.job.torch.order
    job.start()
    began = stage.mark(job.begin + draw.span(200, 900), "hosts do not reach each other at the ports that NCCL draws")
    what = "unhandled system error (run with NCCL_DEBUG=INFO for details)\nncclSystemError: System call (e.g. socket, "
    what += "malloc) or external library call failed or device error."
    if order >= 209:
        what = (
            "remote process exited or there was a network error, NCCL_DEBUG=WARN tells more\nncclRemoteError: A call "
        )
        what += "failed possibly due to a network error or a remote process exiting prematurely."
    ends: list[Exit] = []
    for host in range(len(own.hosts)):
        rank = own.ranks_of(host)[-1]
        where = f"10.16.{(host + 1) % len(own.hosts)}.{draw.whole(2, 250)}<{draw.whole(32_800, 60_900)}>"
        last = f"socketStartConnect: Connect to {where} failed : No route to host"
        if order >= 209:
            last = (
                f"socketPollConnect: connect to {where} returned No route to host, exceeded error retry count after 35"
            )
            last += " attempts"
        elif order >= 206:
            last = f"socketPollConnect: Connect to {where} returned 113(No route to host) errno 115(Operation now in "
            last += "progress)"
        at = began + draw.span(3_100, 3_900) + (seconds(57.2) if order >= 209 else 0)
        nccl_warned(stage, at, rank, f"misc/socket.cc:{torchrun.since(SOCKET, order)}", last)
        raised = sdk.Raised(loss_frames(stage, "dist.barrier()"), nccl_error(stage, what, last))
        job.raise_on(at + 6 * MS, rank, sdk.traceback(raised))
        ends.append(Exit(rank, at + 900 * MS, 1))
    over = job.agents_end(ends, max(one.at for one in ends))
    made = of_all(stage.innocent("network", also=("infrastructure", "gpu_fabric", "software")))
    return stage.close("The hosts came up with the rules of another partition.", (made,), until=over)


def _waited_in_vain(stage: Stage, host: int, at: int, is_late: bool) -> None:
    """An agent has waited ten minutes for another, or comes when the store of the others is gone with its agent."""
    job, own = stage.job, stage.job.job
    module = f"{own.build['site']}/torch/distributed/elastic/rendezvous"
    error, torchrun_frame = "torch.distributed.elastic.rendezvous.api", f"{own.build['bin']}/torchrun"
    began = sdk.Frame(torchrun_frame, 8, "<module>", "sys.exit(main())")
    if not is_late:
        operation = "self._op_executor.run(join_op, deadline, self._get_deadline)"
        frames = (
            began,
            sdk.Frame(f"{module}/dynamic_rendezvous.py", 1140, "next_rendezvous", operation),
            sdk.Frame(f"{module}/dynamic_rendezvous.py", 674, "run", "raise RendezvousTimeoutError"),
        )
        job.agent(at, host, sdk.traceback(sdk.Raised(frames, f"{error}.RendezvousTimeoutError")))
        return
    waited = "60000ms" if own.torch.order >= 207 else "60s"
    store = (sdk.Frame(f"{module}/c10d_rendezvous_backend.py", 160, "_create_tcp_store", "store = TCPStore("),)
    lost = f"The client socket has timed out after {waited} while trying to connect to ({own.hosts[0]}, {PORT})."
    gone = (began, sdk.Frame(store[0].file, 180, "_create_tcp_store", "raise RendezvousConnectionError("))
    said = f"{error}.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for "
    first = sdk.Raised(store, f"torch.distributed.DistNetworkError: {lost}", sdk.DIRECT)
    job.agent(at, host, sdk.traceback(first, sdk.Raised(gone, f"{said}details.")))


@kind(hangs=False, trains=False, hosts=2)
def host_comes_too_late(stage: Stage) -> Scenario:
    """A host still pulls its image when the others have waited ten minutes for it (pytorch docs, elastic rendezvous).

    Agents end with a time-out of their rendezvous, the late one finds no store; no rank was started, nothing was read.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("late")
    late = own.node_of(stage.culprit) or len(own.hosts) - 1
    at = stage.mark(job.begin, f"{own.hosts[late]} still pulls its image")
    banner_at, joined = at - seconds(4.2), at + seconds(draw.between(611, 700))
    image = f"registry.corp.example/train/{own.task.replace('_', '-')}:{draw.whole(10, 99)}"
    begins, ends = f"pyxis: importing docker image: {image}", f"pyxis: imported docker image: {image}"
    if own.layout not in ("slurm", "srun-l"):
        begins, ends = (f'kubelet: "{word}" image="{image}"' for word in ("Pulling image", "Successfully pulled image"))
    watched(stage, at - draw.span(3_000, 9_000), late, begins)
    watched(stage, joined - draw.span(2_000, 5_000), late, ends)
    for host in range(len(own.hosts)):
        begun = joined if host == late else banner_at
        for text in torchrun.omp_banner(own, host, begun):
            job.agent(begun, host, text)
        over = begun + seconds(60.6 if host == late else 600.4) + draw.span(10, 900)
        _waited_in_vain(stage, host, over, host == late)
        job.slurm(over + SEC, host, torchrun.srun_exit(own, host))
    job.ended_at = joined + seconds(64)
    made = of_all(stage.innocent("infrastructure", also=("network", "software")))
    return stage.close("The image is new and forty gigabytes long.", (made,), until=job.ended_at)


@kind(hangs=False, trains=False)
def argument_renamed_by_library(stage: Stage) -> Scenario:
    """A new image has a library whose trainer does not take an argument any more (huggingface/trl#6168, unsloth#1285).

    All ranks raise the same TypeError in their own code and a library; it names no address and comes before any read.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("renamed"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(300, 1_900), "a library does not take an argument any more")
    who, argument, module, line = draw.pick(
        (
            ("Trainer.__init__()", "tokenizer", f"{site}/trl/trainer/sft_trainer.py", 401),
            ("TrainingArguments.__init__()", "evaluation_strategy", f"{own.script.rsplit('/', 1)[0]}/options.py", 88),
            ("Accelerator.__init__()", "dispatch_batches", f"{own.script.rsplit('/', 1)[0]}/engine.py", 41),
        )
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 169, "main", "trainer = build_trainer(model, options)", True),
        sdk.Frame(module, line, "__init__" if "trl" in module else "build_trainer", f"{argument}={argument},"),
    )
    over = each_raises(stage, at, f"TypeError: {who} got an unexpected keyword argument '{argument}'", frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The image is built anew each night, without versions.", (made,), until=over)


@kind(hangs=False, trains=False)
def container_without_shared_memory(stage: Stage) -> Scenario:
    """Containers have 64 MB of /dev/shm, no loader outlives its first batch (kubeflow/pipelines#6510, mars PR 1677).

    Workers and ranks name shared memory, a monitor shows it full; what was read has come, or no worker would copy it.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("shm"), stage.job.job.build["site"]
    job.start()
    at, last = stage.mark(job.begin + draw.span(1_900, 4_900), "shared memory of containers is full"), 0
    for node in stage.cluster.targets:
        reads, size = draw.whole(20, 90), draw.whole(90, 900) << 10
        stage.cluster.count(
            node, at - 90 * MS, get_n=reads, get_ns_total=reads * draw.span(2, 9), get_size=reads * size
        )
    module = f"{site}/torch/utils/data/dataloader.py"
    frames = (
        *loss_frames(stage, "for step, batch in enumerate(loader):"),
        sdk.Frame(module, 1146, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/signal_handling.py", 67, "handler", "_error_if_any_worker_fails()"),
    )
    for rank in speakers(stage):
        then, pid = at + draw.span(1, 700), own.rank_pids[rank] + draw.whole(120, 900)
        short = "This might be caused by insufficient shared memory (shm)."
        job.say(then - 4 * MS, rank, f"ERROR: Unexpected bus error encountered in worker. {short}\x07")
        text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. It is possible that "
        text += "dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        last = max(last, then)
    if draw.chance(0.6):
        watched(stage, last + 200 * MS, 0, "df: shm 65536 65536 0 100% /dev/shm")
    over = all_end(stage, last)
    made = of_all(stage.innocent("infrastructure", also=("software", "data_loading_stall")))
    return stage.close("A volume was left out of the new template of jobs.", (made,), until=over)


@kind(hangs=False, trains=False)
def groups_of_the_optimizer_differ(stage: Stage) -> Scenario:
    """A job goes on with other layers frozen than the one that saved: its optimizer refuses (pysot#92, GloRe#8).

    The checkpoint was read and unpickled before the optimizer compared its groups, which rank 0 says; all ranks raise.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("groups"), stage.job.job.build["site"]
    job.start()
    at, size = job.begin + draw.span(2_900, 9_900), draw.whole(300, 2_600) << 20
    stage.mark(at, "a checkpoint has other groups of parameters than the optimizer")
    step = draw.whole(20, 400) * 500
    job.note(at - 2_400 * MS, 0, f"resuming from ais://checkpoints/{own.task}/step={step}.pt", line=104)
    job.note(at - 300 * MS, 0, f"{size >> 20} MiB read, model of step {step} is loaded", line=108)
    for _ in own.hosts:
        node, spent = stage.cluster.target(draw.whole(0, 99)), draw.span(900, 2_100)
        stage.cluster.count(node, at - draw.span(300, 900), get_n=1, get_ns_total=spent, get_size=size)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", 'optimizer.load_state_dict(state["optimizer"])', True),
        sdk.Frame(f"{site}/torch/optim/optimizer.py", 854, "load_state_dict", "raise ValueError("),
    )
    text = "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The encoder is trained from here on.", (made,), until=over)


@kind(hangs=False, trains=False)
def provider_of_the_bucket_is_wrong(stage: Stage) -> Scenario:
    """A configuration says aws where the bucket is AIStore's own: 404 for all (aistore docs/bucket, providers).

    Proxies say of a cloud's bucket that it does not exist, at the first request of every rank; its line of the start
    names the same bucket as ais://.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("provider")
    job.start()
    at, last = stage.mark(job.begin + draw.span(300, 900), "the bucket is asked for at another provider"), 0
    scheme, provider = draw.pick((("s3", "aws"), ("s3", "aws"), ("gs", "gcp")))
    text = f'cloud bucket "{scheme}://{stage.bucket}" does not exist'
    for rank in speakers(stage):
        then, proxy, name = at + draw.span(1, 400), stage.proxy_of(rank), utterance(draw.child("name", rank))
        path = f"/v1/objects/{stage.bucket}/{name}"
        trace = "htrun.go:1636 <- bckinit.go:131 <- proxy.go:733"
        said = ev.http_error(proxy, text, f"GET {path}", trace, "ErrRemoteBckNotFound")
        stage.cluster.say(proxy, then - 2 * MS, said)
        stage.cluster.count(proxy, then - 2 * MS, err_get_n=1)
        body = sdk.answer(proxy, 404, text, "GET", path, stage.client(rank), "ErrRemoteBckNotFound")
        url = f"{proxy.url(0)}{path}?provider={provider}"
        error = "aistore.sdk.errors.ErrRemoteBckNotFound: " + sdk.request_error(404, body, url)
        read = sdk.Frame(own.script, 77, "fetch", "content = self.bucket.object(name).get_reader().read_all()", True)
        caller = sdk.main_frames(own, 0, read)
        job.raise_on(then, rank, sdk.http_failure(own, 404, "Not Found", url, error, caller))
        last = max(last, then)
    over = all_end(stage, last)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The settings were copied from a job that runs in the cloud.", (made,), until=over)


@kind(hangs=False, trains=False)
def half_of_a_kernels_description(stage: Stage) -> Scenario:
    """Ranks compile into one folder of a home and one reads what another still writes (pytorch#119698, LocalMamba#25).

    The stack of the one rank goes through the compiler to a JSON file of its cache; no frame of it reads a sample.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, rank = stage.job, stage.culprit
    draw, site = stage.draw.child("description"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(4_900, 21_000), f"rank {rank} reads a file of the kernels' cache too early")
    job.note(job.begin + 900 * MS, 0, "compiling the model, kernels are kept in /home/train/.triton/cache", line=166)
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            f"{site}/triton/compiler/compiler.py", 256, "compile", "metadata_group = fn_cache_manager.get_group("
        ),
        sdk.Frame(f"{site}/triton/runtime/cache.py", 91, "get_group", "grp_data = json.load(f)"),
        sdk.Frame("/opt/conda/lib/python3.11/json/decoder.py", 355, "raw_decode", "raise JSONDecodeError("),
    )
    error = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, error)))
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("infrastructure",))
    return stage.close("The home is on NFS, which shows a name before its content.", (made,), until=job.ended_at)
