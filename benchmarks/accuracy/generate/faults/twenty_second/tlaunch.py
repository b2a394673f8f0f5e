"""Jobs that end before their first step, of the twenty-second part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_second")


def _some_of_each_host_raise(stage: Stage, at: int, text: str, draw: Draw) -> None:
    """All ranks meet the same; on each host some print it before the agent has ended them."""
    job, exits = stage.job, []
    for node in range(len(job.job.hosts)):
        ranks = draw.shuffled(job.job.ranks_of(node))[: draw.whole(1, 4)]
        then = at + draw.span(0, 60)
        for turn, rank in enumerate(ranks):
            job.raise_on(then + turn * draw.span(9, 50), rank, text)
        exits.append(Exit(ranks[0], then + 500 * MS, 1))
    job.agents_end(exits, max(one.at for one in exits))


def _agent_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From torchrun's main to the store that its rendezvous makes."""
    site = f"{stage.job.job.build['site']}/torch/distributed"
    agent, static = f"{site}/elastic/agent/server/api.py", "static_tcp_rendezvous.py"
    return (
        sdk.Frame(f"{stage.job.job.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(f"{site}/run.py", 883, "run", "elastic_launch("),
        sdk.Frame(f"{site}/launcher/api.py", 261, "launch_agent", "result = agent.run()", True),
        sdk.Frame(agent, 711, "run", "result = self._invoke_run(role)", True),
        sdk.Frame(agent, 683, "_initialize_workers", "self._rendezvous(worker_group)"),
        sdk.Frame(agent, 500, "_rendezvous", "rdzv_info = spec.rdzv_handler.next_rendezvous()", True),
        sdk.Frame(f"{site}/elastic/rendezvous/{static}", 67, "next_rendezvous", "self._store = TCPStore("),
    )


def _port_refused(stage: Stage, at: int, port: int) -> str:
    """What a store says that cannot listen, by release; up to 2.3 its sockets warn first."""
    job, order = stage.job, stage.job.job.torch.order
    told = "The server socket has failed to listen on any local network address."
    if order >= 206:
        tail = f"port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
        return f"torch.distributed.DistNetworkError: {told} {tail}"
    taken = "(errno: 98 - Address already in use)."
    stamp = f"{cpp_stamp(at, job.job.zone)} " if job.job.torch.prints_time else " "
    for turn, where in enumerate(("[::]", "0.0.0.0")):
        text = f"[c10d] The server socket has failed to bind to {where}:{port} {taken}"
        job.agent(at - (3 - turn) * MS, 0, f"[W{stamp}socket.cpp:464] {text}")
    job.agent(at - MS, 0, f"[E{stamp}socket.cpp:500] [c10d] {told}")
    bound = " ".join(f"The server socket has failed to bind to {one}:{port} {taken}" for one in ("[::]", "0.0.0.0"))
    return f"torch.distributed.DistNetworkError: {told} {bound}"


@kind(hangs=False, trains=False)
def port_of_the_rendezvous_is_taken(stage: Stage) -> Scenario:
    """A process left over from another run holds the port of torchrun's store (pytorch#73320, torchtune#1025).

    To acquit: the agent of the first host says that its address is in use before any rank exists, and that host's
    monitor shows who listens on it.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("taken")
    at, port = job.begin - seconds(4.4), draw.pick((29500, 29500, 29400, 12355))
    stage.mark(at, f"port {port} of {own.hosts[0]} is taken")
    for node in range(len(own.hosts)):
        for text in torchrun.omp_banner(own, node, at - draw.span(200, 500)):
            job.agent(at - draw.span(200, 210), node, text)
    said = _port_refused(stage, at, port)
    job.agent(at, 0, sdk.traceback(sdk.Raised(_agent_frames(stage), said)))
    holder = own.agent_pids[0] + draw.whole(30_000, 90_000)
    row = f'port-watch: LISTEN 0 2048 *:{port} users:(("python3",pid={holder},fd=17)) since {draw.whole(2, 60)} h'
    watched(stage, at + draw.span(300, 900), 0, row)
    job.slurm(at + seconds(1.1), 0, torchrun.srun_exit(own, 0))
    last = at + seconds(1.2)
    line = torchrun.since(torchrun.API_LINES, own.torch.order)[0] - 14
    for node in range(1, len(own.hosts)):
        then = last + draw.span(600, 1_500)
        text = "Received 15 death signal, shutting down workers"
        job.agent(then, node, torchrun.agent_line(own, node, then, "W", line, text))
        job.slurm(then + 200 * MS, node, torchrun.srun_exit(own, node))
    job.slurm(last + seconds(1.8), 0, torchrun.step_cancelled(own, last + seconds(1.8)))
    job.ended_at = last + seconds(2)
    made = stage.innocent("infrastructure", also=("software", "network"))
    return stage.close("A run of yesterday was stopped at its launcher only.", (of_all(made),))


@kind(hangs=False, trains=False)
def dataset_with_a_client_is_not_pickled(stage: Stage) -> Scenario:
    """Loaders are spawned, and their dataset holds a client of botocore (docs of boto3, multiprocessing).

    To acquit: every rank's traceback ends in pickle, before its loaders have read a byte; the bucket was listed well.
    """
    beside(stage, own_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("pickle")
    job.start()
    at = job.begin + draw.span(300, 700)
    shards = draw.whole(400, 9_000)
    said = f"s3://{stage.bucket} listed, {shards} shards, in {draw.between(0.2, 1.9):.1f} s; loaders by spawn"
    for one in (stage.proxy_of(0), *stage.cluster.targets):
        stage.cluster.count(one, at - 300 * MS, lst_n=shards // 1_000 + 1)
    reader_note(stage, at - draw.span(150, 250), 0, said)
    stage.mark(at, "datasets of all ranks cannot be pickled")
    several = f"{PYTHON}/multiprocessing"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 183, "main", "loader.start()"),
        sdk.Frame(own.script, 81, "start", "self.batches = iter(self.loader)", True),
        sdk.Frame(f"{data_folder(stage)}/dataloader.py", 493, "__iter__", "return self._get_iterator()", True),
        sdk.Frame(f"{data_folder(stage)}/dataloader.py", 1182, "__init__", "w.start()"),
        sdk.Frame(f"{several}/context.py", 288, "_Popen", "return Popen(process_obj)", True),
        sdk.Frame(f"{several}/popen_spawn_posix.py", 47, "_launch", "reduction.dump(process_obj, fp)"),
        sdk.Frame(f"{several}/reduction.py", 60, "dump", "ForkingPickler(file, protocol).dump(obj)"),
    )
    text = draw.pick(
        (
            "_pickle.PicklingError: Can't pickle <class 'botocore.client.S3'>: attribute lookup S3 on botocore.client "
            "failed",
            "TypeError: cannot pickle '_thread.lock' object",
        )
    )
    _some_of_each_host_raise(stage, at, sdk.traceback(sdk.Raised(frames, text)), draw)
    made = stage.innocent("software", also=("data_loading_stall",))
    return stage.close("The start method was changed to spawn because of CUDA in the loaders.", (of_all(made),))


@kind(hangs=False, trains=False, without=RESTARTS)
def weights_are_of_another_model(stage: Stage) -> Scenario:
    """A job resumes from a checkpoint of a model with another vocabulary (PyTorch forum).

    To acquit: the ranks have the checkpoint complete, with its checksum; load_state_dict names both shapes.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("weights")
    job.start()
    at, step = job.begin + seconds(draw.between(1.5, 3.0)), 100 * draw.whole(40, 900)
    size = draw.between(0.5, 1.3)
    for rank in range(0, own.world, own.ranks_per_node):
        spent, node = size * draw.between(0.7, 0.99), stage.cluster.target(step)
        said = f"resuming: ais://checkpoints/{own.task}/step={step}.pt, {size:.2f} GiB in {spent:.1f} s, md5 as written"
        then = at - draw.span(80, 300)
        grown = {"get_n": 1, "get_ns_total": int(spent * SEC), "get_size": int(size * (1 << 30))}
        stage.cluster.count(node, then - MS, **grown)
        reader_note(stage, then, rank, said)
    stage.mark(at, "the checkpoint is of another model")
    module = f"{own.build['site']}/torch/nn/modules/module.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "first = resume(model, optimizer, args.resume)", True),
        sdk.Frame(f"{script_folder(stage)}/resume.py", 44, "resume", 'model.load_state_dict(state["model"])'),
        sdk.Frame(module, 2581, "load_state_dict", "raise RuntimeError("),
    )
    old, new, width = draw.pick((1024, 5000, 8192)), draw.pick((1025, 4096, 16384)), draw.pick((512, 640, 1024))
    text = "RuntimeError: Error(s) in loading state_dict for DistributedDataParallel:"
    for name, tail in (("decoder.embed.weight", f", {width}"), ("out.weight", f", {width}"), ("out.bias", "")):
        text += f"\n\tsize mismatch for module.{name}: copying a param with shape torch.Size([{old}{tail}]) from "
        text += f"checkpoint, the shape in current model is torch.Size([{new}{tail}])."
    _some_of_each_host_raise(stage, at, sdk.traceback(sdk.Raised(frames, text)), draw)
    made = stage.innocent("software", also=("data",))
    return stage.close("The tokenizer was trained anew between two runs of one name.", (of_all(made),))
