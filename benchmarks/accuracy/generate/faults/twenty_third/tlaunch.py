"""Jobs that do not come to their first step, of the twenty-third part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import launchers as own
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_rejected
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_third")

#: What measures each step of an agent.
WRAPPER = ("metrics/api.py", 138, "wrapper", "result = f(*args, **kwargs)")

#: From torchrun's own main to the store that the agents meet in.
AGENT = (
    ("errors/__init__.py", 357, "wrapper", "return f(*args, **kwargs)"),
    ("run.py", 901, "main", "run(args)"),
    ("run.py", 892, "run", "elastic_launch("),
    ("launcher/api.py", 143, "__call__", "return launch_agent(self._config, self._entrypoint, list(args))"),
    ("launcher/api.py", 268, "launch_agent", "result = agent.run()"),
    WRAPPER,
    ("agent/server/api.py", 717, "run", "result = self._invoke_run(role)"),
    ("agent/server/api.py", 872, "_invoke_run", "self._initialize_workers(self._worker_group)"),
    WRAPPER,
    ("agent/server/api.py", 696, "_initialize_workers", "self._rendezvous(worker_group)"),
    WRAPPER,
    ("agent/server/api.py", 505, "_rendezvous", "rdzv_info = spec.rdzv_handler.next_rendezvous()"),
    ("rendezvous/static_tcp_rendezvous.py", 67, "next_rendezvous", "self._store = TCPStore("),
)
PLACES = {"run.py": "", "launcher/api.py": "", "errors/__init__.py": "elastic/multiprocessing/"}


def _agent_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """The frames of an agent that meets the others."""
    build = stage.job.job.build
    folder = f"{build['site']}/torch/distributed/"
    frames = [sdk.Frame(f"{build['bin']}/torchrun", 8, "<module>", "sys.exit(main())")]
    for file, line, function, code in AGENT:
        frames.append(sdk.Frame(f"{folder}{PLACES.get(file, 'elastic/')}{file}", line, function, code))
    return tuple(frames)


@kind(hangs=False, trains=False)
def rendezvous_port_taken(stage: Stage) -> Scenario:
    """A process of the job before still listens on the port of the agents (torchrun docs; pytorch forum).

    To acquit: torchrun's agent cannot listen on its port, and that host's sockets name who does; no rank was begun.
    """
    unrest.unsettled(stage, unrest.EARLY)
    late_unrest.killed_when_all_is_over(stage)
    job, draw = stage.job, stage.draw.child("port")
    at, port = job.begin - seconds(4.9), draw.pick((29500, 29500, 29400, 6000))
    stage.mark(at, f"port {port} of {job.job.hosts[0]} is taken")
    own.banners(stage, at - 500 * MS)
    head = "The server socket has failed to listen on any local network address."
    tail = f"port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    last = f"torch.distributed.DistNetworkError: {head} {tail}"
    job.agent(at + 30 * MS, 0, sdk.traceback(sdk.Raised(_agent_frames(stage), last)))
    pid, since = draw.whole(2_000, 90_000), draw.whole(3, 40)
    holder = f'ss -ltnp: LISTEN 0 2048 *:{port} users:(("python3",pid={pid},fd=41))'
    watched(stage, at + 2 * SEC, 0, f"{holder}, started {since} h ago, its job has ended")
    job.slurm(at + 3 * SEC, 0, torchrun.srun_exit(job.job, 0))
    for node in range(1, len(job.job.hosts)):
        job.slurm(at + 3 * SEC + node * MS, node, f"srun: error: {job.job.hosts[node]}: task {node}: Terminated")
    job.slurm(at + 4 * SEC, 0, torchrun.step_cancelled(job.job, at + 4 * SEC))
    job.ended_at = at + 5 * SEC
    made = stage.innocent("infrastructure", also=("network", "software"))
    return stage.close("The job before was ended with a signal that its launcher does not pass on.", (of_all(made),))


@kind(hangs=False, trains=False)
def weights_of_another_shape(stage: Stage) -> Scenario:
    """A checkpoint of a model with another vocabulary is resumed (pytorch forum; PyTorch docs, load_state_dict).

    To acquit: the checkpoint was read in full and its digest is that of the save; PyTorch names tensors of two shapes.
    """
    unrest.unsettled(stage, unrest.EARLY)
    late_unrest.killed_when_all_is_over(stage)
    job, draw = stage.job, stage.draw.child("weights")
    job.start()
    before, now = draw.pick(((1025, 4097), (1024, 2048), (5001, 1025), (257, 1025)))
    width = draw.pick((512, 640, 1024))
    name, size = f"{job.job.task}/step={draw.whole(4, 90)}000.pt", draw.whole(430, 2_900)
    digest, spent = draw.token(16, "0123456789abcdef"), size / draw.between(800, 1_600)
    at = job.begin + seconds(spent)
    stage.mark(at, "the checkpoint is of another model")
    read = f"ais://checkpoints/{name}: {size} MiB in {spent:.1f} s, xxhash {digest} as saved"
    reader_note(stage, at - 90 * MS, 0, f"resume from {read}; tokenizer has {now - 1} pieces")
    site = job.job.build["site"]
    said = ["RuntimeError: Error(s) in loading state_dict for AcousticModel:"]
    for key, shape in (("weight", f", {width}, 1"), ("bias", "")):
        old, new = f"torch.Size([{before}{shape}])", f"torch.Size([{now}{shape}])"
        where = f"size mismatch for decoder.decoder_layers.0.{key}: copying a param with shape {old} from checkpoint, "
        said.append(f"\t{where}the shape in current model is {new}.")
    frames = own.begins(
        stage,
        sdk.Frame(job.job.script, 171, "main", "start_step = load_checkpoint(model, optimizer)"),
        sdk.Frame(job.job.script, 112, "load_checkpoint", "model.load_state_dict(state['model'])"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 2593, "load_state_dict", "raise RuntimeError("),
        line=171,
    )
    text = sdk.traceback(sdk.Raised(frames, "\n".join(said)))
    step = 1 if job.job.world <= own.SPEAKERS else job.job.ranks_per_node
    ranks = list(range(0, job.job.world, step))
    for rank in ranks:
        job.raise_on(at + draw.span(1, 60), rank, text)
    own.all_leave(stage, at + 300 * MS, ranks)
    made = stage.innocent("software", also=("data",))
    return stage.close("The tokenizer was trained anew, and the run was to go on.", (of_all(made),))


@kind(hangs=False, trains=False, culprit=0, min_timeout_s=120)
def tracker_never_answers(stage: Stage) -> Scenario:
    """Rank 0 waits for the site's tracker of experiments, in vain (wandb docs; DeepResearcher#7).

    To acquit: wandb says that it cannot reach its server, and raises after its 90 s; no rank has asked for a batch.
    """
    beside(stage, tenant_rejected)
    unrest.unsettled(stage, unrest.EARLY)
    late_unrest.killed_when_all_is_over(stage)
    job, draw, began = stage.job, stage.draw.child("tracker"), stage.job.begin - 150 * MS
    job.start()
    stage.mark(began, "the tracker of experiments does not answer")
    site, host = job.job.build["site"], draw.pick(("wandb.ops.internal", "tracker.ml.internal", "api.wandb.ai"))
    reader_note(stage, began - 20 * MS, 0, f"experiment {job.job.task} is announced to https://{host}; others wait")
    job.say(began + seconds(draw.between(20.2, 24)), 0, "wandb: Network error (ConnectTimeout), entering retry loop.")
    job.say(began + seconds(draw.between(61, 66)), 0, "wandb: Network error (ConnectTimeout), entering retry loop.")
    raised, init = began + seconds(90.1) + draw.span(5, 300), f"{site}/wandb/sdk/wandb_init.py"
    advice = "Please try increasing the timeout with the `init_timeout` setting: "
    advice += "`wandb.init(settings=wandb.Settings(init_timeout=120))`."
    text = f"wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec. {advice}"
    frames = own.begins(
        stage,
        sdk.Frame(job.job.script, 152, "main", "run = wandb.init(project=args.project, config=vars(args))"),
        sdk.Frame(init, 1482, "init", "wandb._sentry.reraise(e)"),
        sdk.Frame(init, 1468, "init", "return wi.init(run_settings, run_config, run_printer)"),
        sdk.Frame(init, 972, "init", "raise CommError("),
        line=152,
    )
    job.raise_on(raised, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, raised, 0)
    made = stage.innocent("infrastructure", 0, also=("network", "software"))
    return stage.close("The way out of the hosts was closed on that day.", (made,))
