"""Jobs that are over before they have trained, of the twenty-sixth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as old_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, node_fails, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import agent_fails, are_there, others_go_with
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_sixth")

#: What torch.load says of a global that it does not allow, since 2.6.
REFUSED = (
    "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options, "
    "do those steps only if you trust the source of the checkpoint. \n"
    "\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.\n"
    "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
    "message.\n"
    "\tWeightsUnpickler error: Unsupported global: GLOBAL {module} was not an allowed global by default. Please use "
    "`torch.serialization.add_safe_globals([{short}])` or the `torch.serialization.safe_globals([{short}])` context "
    "manager to allowlist this global if you trust this class/function.\n\n"
    "Check the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


@kind(hangs=False, trains=False, torch_order=204)
def rendezvous_port_in_use(stage: Stage) -> Scenario:
    """A process of a former run holds the port of the rendezvous (torchrun, forum: EADDRINUSE 29500).

    To acquit: the first agent cannot listen on the port of its own store, which a process of the host holds; no rank
    has begun, and a target is killed when the job is over.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("port"), stage.job.job.build["site"]
    at, port = job.begin - seconds(4.4), draw.pick((29500, 29500, 29400, 12355))
    launchers.banners(stage, at - 900 * MS)
    holder = own.agent_pids[0] - draw.whole(300, 1_500)
    said = (
        f'ss -ltnp: LISTEN 0 4096 *:{port} *:* users:(("torchrun",pid={holder},fd=3)), up 2-{draw.whole(10, 23)}:07:31'
    )
    watched(stage, at - 1_200 * MS, 0, said)
    stage.mark(at - 10 * MS, f"port {port} of {own.hosts[0]} is in use")
    elastic = f"{site}/torch/distributed/elastic"
    head = "The server socket has failed to listen on any local network address. "
    is_v6 = "false" if own.torch.order >= 207 else "0"
    agent_fails(
        stage,
        at,
        0,
        sdk.Frame(f"{site}/torch/distributed/launcher/api.py", 264, "launch_agent", "result = agent.run()"),
        sdk.Frame(f"{elastic}/agent/server/api.py", 711, "run", "result = self._invoke_run(role)"),
        sdk.Frame(f"{elastic}/rendezvous/static_tcp_rendezvous.py", 66, "next_rendezvous", "self._store = TCPStore("),
        text=f"torch.distributed.DistNetworkError: {head}port: {port}, useIpv6: {is_v6}, code: -98, name: EADDRINUSE, "
        "message: address already in use",
    )
    others_go_with(stage, at + 2 * SEC, 0, have_ranks=False)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure", "network"))
    return stage.close("scancel had left the agent of an interactive session.", (of_all(made),))


@kind(hangs=False, trains=False)
def state_of_another_width(stage: Stage) -> Scenario:
    """A checkpoint of a wider model is loaded into this one (forum: Error(s) in loading state_dict, size mismatch).

    To acquit: the checkpoint was read whole from AIStore, as the log says, and its tensors have other sizes than the
    configuration asks for; a bucket that changes is another tenant's.
    """
    beside(stage, old_unrest.buckets_change_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("width"), stage.job.job.build["site"]
    at = job.begin - seconds(0.9)
    are_there(stage, at)
    have, want = draw.pick(((1024, 512), (768, 512), (1280, 1024)))
    name, vocabulary = f"ais://checkpoints/{own.task}/base-{draw.whole(2, 9)}00k.pt", draw.pick((1025, 4097, 5001))
    size = draw.whole(400, 3_900)
    told(stage, at - 880 * MS, 0, "config", f"d_model={want} n_layers=17 init_from={name}")
    told(
        stage, at - 210 * MS, 0, "checkpoint", f"{name}: {size}.{draw.whole(0, 9)} MiB read, sha256 matches its .sha256"
    )
    stage.mark(at - 10 * MS, "the checkpoint is of another model")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "load_initial(model, args.init_from)"),
        sdk.Frame(own.script, 84, "load_initial", 'model.load_state_dict(state["model"])'),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 2584, "load_state_dict", "raise RuntimeError("),
    )
    rows = ["RuntimeError: Error(s) in loading state_dict for EncoderModel:"]
    shapes = (("embed.weight", vocabulary), ("encoder.norm.weight", 0), ("head.weight", vocabulary))
    for tensor, first in shapes:
        old, new = (f"[{first}, {have}]", f"[{first}, {want}]") if first else (f"[{have}]", f"[{want}]")
        rows.append(
            f"\tsize mismatch for {tensor}: copying a param with shape torch.Size({old}) from checkpoint, the shape in "
            f"current model is torch.Size({new})."
        )
    last = all_raise(stage, at, sdk.Raised(without_carets(frames), "\n".join(rows)))
    all_exit(stage, last)
    made = stage.innocent("software", also=("data",))
    return stage.close("The recipe of the small model had the path of the large one.", (of_all(made),))


@kind(hangs=False, trains=False, torch_order=206)
def pickle_refused_by_default(stage: Stage) -> Scenario:
    """torch.load takes tensors only since 2.6, and a checkpoint has a configuration in it (pytorch, weights_only).

    To acquit: PyTorch says that weights_only is True by default now and which global it does not allow; the file was
    read whole; a disk of a target is examined and found healthy.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("pickle"), stage.job.job.build["site"]
    at = job.begin - seconds(0.8)
    are_there(stage, at)
    name = f"ais://checkpoints/{own.task}/epoch={draw.whole(3, 40)}-last.ckpt"
    told(stage, at - 300 * MS, 0, "checkpoint", f"resuming from {name}, {draw.whole(300, 4_800)} MiB read")
    stage.mark(at - 10 * MS, "the checkpoint is refused by torch.load")
    module = draw.pick(("omegaconf.listconfig.ListConfig", "argparse.Namespace", "numpy._core.multiarray.scalar"))
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "state = resume(args.resume)"),
        sdk.Frame(own.script, 71, "resume", 'return torch.load(buffer, map_location="cpu")', True),
        sdk.Frame(
            f"{site}/torch/serialization.py", 1529, "load", "raise pickle.UnpicklingError(_get_wo_message(str(e)))"
        ),
    )
    short = module.rsplit(".", 1)[-1]
    text = REFUSED.format(module=module, short=short)
    last = all_raise(stage, at, sdk.Raised(frames, text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("data",))
    return stage.close("The image got a newer PyTorch.", (of_all(made),))


@kind(hangs=False, trains=False)
def endpoint_is_localhost(stage: Stage) -> Scenario:
    """AIS_ENDPOINT is not set, and the default of a script asks the rank's own host (aistore SDK, first steps).

    To acquit: each error names localhost, where nothing of AIStore runs, and its answer is "refused" at once; no node
    of the cluster is asked, and what the cloud denies is another tenant's.
    """
    beside(stage, denied_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("localhost"), stage.job.job.build["site"]
    began, port = job.begin - seconds(3.0), draw.pick((8080, 51080))
    are_there(stage, began)
    told(stage, began - 320 * MS, 0, "data", f"AIS_ENDPOINT is not set, using http://localhost:{port}", "WARNING")
    stage.mark(began, "rank 0 asks its own host for AIStore")
    path = f"/v1/buckets/{stage.bucket}?provider=ais"
    text, then = sdk.pool_error("localhost", port, path, sdk.refused(draw.whole(*HANDLES) // 16 * 16)), began
    for attempt in range(draw.whole(5, 6)):
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.4)), 2)
        job.sdk_warning(then, 0, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(3, 20)
    job.sdk_warning(then, 0, "All retries exhausted; request failed", "ERROR")
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(job.job.script, 52, "make_dataset", "bucket.head()"),
        sdk.Frame(f"{site}/aistore/sdk/bucket.py", 291, "head", "return self.make_request("),
    )
    job.raise_on(then + 3 * MS, 0, sdk.exhausted(job.job, caller, "ConnectionError", text))
    node_fails(stage, then + 600 * MS, 0, 0)
    others_go_with(stage, then + 2 * SEC, 0)
    made = stage.innocent("software", 0, also=("network", "infrastructure", "storage_io"))
    return stage.close("The variable was in the profile of one user only.", (made,))


@kind(hangs=False, hosts=2, trains=False, torch_order=203)
def nccl_picks_docker_bridge(stage: Stage) -> Scenario:
    """NCCL meets over docker0, whose address no other host can reach (nccl issues, NCCL_SOCKET_IFNAME).

    To acquit: NCCL says which interface it uses and that it cannot connect to 172.17.0.1, an address of a bridge of
    Docker; nothing was read yet, and AIStore is quiet.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("bridge")
    at, port, site = job.begin - seconds(0.7), draw.whole(33_000, 60_000), own.build["site"]
    are_there(stage, at)
    near, far = own.ranks_of(0)[0], own.ranks_of(1)[0]
    for rank in (near, far):
        pid, host = own.rank_pids[rank], own.hosts[own.node_of(rank)]
        said = f"{host}:{pid}:{pid} [{own.local_rank(rank)}] NCCL INFO Bootstrap: Using docker0:172.17.0.1<0>"
        job.say(at - draw.span(350, 600), rank, said)
    stage.mark(at - 20 * MS, "ranks of another host cannot reach docker0")
    pid = own.rank_pids[far]
    last = f"socketStartConnect: Connect to 172.17.0.1<{port}> failed : Software caused connection abort"
    head = f"{own.hosts[1]}:{pid}:{pid + draw.whole(200, 700)} [{own.local_rank(far)}] misc/socket.cc:484 NCCL WARN"
    job.say(at - 9 * MS, far, f"\n{head} {last}")
    what = "unhandled system error (run with NCCL_DEBUG=INFO for details)"
    advice = "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. "
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dist.barrier()"),
        sdk.Frame(f"{site}/torch/distributed/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)", True),
        sdk.Frame(
            f"{site}/torch/distributed/distributed_c10d.py", 4159, "barrier", "work = group.barrier(opts=opts)", True
        ),
    )
    job.raise_on(
        at, far, sdk.traceback(sdk.Raised(without_carets(frames), nccl_error(stage, f"{what}\n{advice}", last)))
    )
    node_fails(stage, at + 600 * MS, 1, far)
    others_go_with(stage, at + 2 * SEC, 1)
    made = stage.innocent("network", far, also=("software", "infrastructure", "gpu_fabric"))
    return stage.close("Docker was installed on the hosts for somebody's tests.", (of_all(made),))
