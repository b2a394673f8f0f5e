"""Faults of programs that train already, of the eighteenth part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.eighteenth.tdevices import backward_frames
from benchmarks.accuracy.generate.faults.eighteenth.tlaunch import all_end, speakers
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "eighteenth")


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def gradient_is_nan_on_one_rank(stage: Stage) -> Scenario:
    """One rank finds NaN in its gradients before they are reduced, and says so (Megatron-LM#780, NeMo Speech#14348).

    The assertion names rank and device; batches came to this rank up to this step as to all others.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, unrest.entries_missing, commotion.throttled_in_window))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, site = stage.draw.child("gradient"), stage.job.job.build["site"]
    stage.mark(at, f"gradients of rank {rank} are no numbers")
    host, device = own.hosts[own.node_of(rank)], own.local_rank(rank)
    if own.torch.order < 207:
        text = f"AssertionError: Rank {rank}: found NaN in local grad norm in backward pass before data-parallel "
        text += f"communication collective. Device: {device}, node: {host}"
    else:
        text = (
            f"RuntimeError: Rank {rank}, node {host}, device {device}, iteration {stage.step}: Unexpected result nan "
        )
        text += f"(message='found NaN in local grad norm for bucket #{draw.whole(0, 3)} in backward pass before "
        text += "data-parallel communication collective')"
    module = f"{site}/megatron/core/distributed/param_and_grad_buffer.py"
    frames = (
        *backward_frames(stage),
        sdk.Frame(module, 115, "start_grad_sync", "self.check_grads(check_for_nan_or_inf=True)"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "The learning rate was raised for the longer warm-up of another model.",
        (stage.innocent("software", rank, also=("gpu", "data")),),
    )


@kind(hangs=False, lead_s=60.0, without=("low_space",))
def no_words_in_the_references(stage: Stage) -> Scenario:
    """The part of a validation that one rank has is without speech: WER by zero (distil-whisper#137, deepspeech#332).

    The stack ends in the division of a metric after the rank's part was decoded; its own line counts what it has read.
    """
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_meets_bad_data))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, many = stage.draw.child("words"), stage.draw.child("words").whole(18, 64)
    stage.mark(at, f"rank {rank} has no word to compare with")
    said = f"validation of step {stage.step}: {many} of {many} recordings of noise-only decoded"
    reader_note(stage, at - draw.span(40, 400), rank, f"{said}, {draw.between(2.1, 9.8):.1f} s")
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(own.script, 152, "validate", "return wer(hypotheses, references)", True),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/metrics.py", 31, "wer", "return wrong / total", True),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "ZeroDivisionError: division by zero")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Recordings of noise were added to the validation, and one part got nothing else.",
        (stage.innocent("software", rank, also=("data",)),),
    )


@kind(hangs=False, lead_s=60.0)
def buffer_changed_in_its_place(stage: Stage) -> Scenario:
    """A teacher's weights are moved in place between forward and backward: all ranks are told (pytorch#62474, #96265).

    Every rank raises the same error of autograd at the step that rank 0 has announced; nothing failed to be read.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, tenth_unrest.tenant_batches_fail))
    at, draw = stage.at, stage.draw.child("in place")
    stage.mark(at, "a variable is changed in its place")
    reader_note(stage, at - 90 * MS, 0, f"step {stage.step}: the teacher follows from here")
    version = draw.whole(2, 9)
    text = "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
    text += f"operation: [torch.cuda.BFloat16Tensor [{draw.pick((256, 512, 1024))}]] is at version {version}; expected "
    text += (
        f"version {version - 1} instead. Hint: enable anomaly detection to find the operation that failed to compute "
    )
    text += "its gradient, with torch.autograd.set_detect_anomaly(True)."
    each_raises(stage, at, text, backward_frames(stage))
    unrest.hung_up_on(stage)
    return stage.close(
        "It went well on one device, where DDP hands out no buffers.", (of_all(stage.innocent("software")),)
    )


@kind(hangs=False, lead_s=60.0)
def metric_not_fetched_from_the_hub(stage: Stage) -> Scenario:
    """The first validation loads a metric from the hub, which hosts do not reach (evaluate docs, load; rllm#189).

    Every rank's error has the address of the hub and none of AIStore; batches came up to the validation.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_backend_fails, own_unrest.neighbour_reads_slowly))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("metric")
    site, metric = own.build["site"], draw.pick(("wer", "cer", "sacrebleu", "accuracy"))
    stage.mark(at, "hosts do not reach the hub, from which a metric is to come")
    reader_note(stage, at - draw.span(900, 2_400), 0, f"validation of step {stage.step}, metric {metric}")
    why = draw.pick(("[Errno 101] Network is unreachable", "[Errno 110] Connection timed out"))
    url = f"/spaces/evaluate-metric/{metric}/resolve/v0.4.{draw.whole(1, 6)}/{metric}.py"
    pool, last = "HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url:", at
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(own.script, 146, "validate", f'metric = evaluate.load("{metric}")', True),
        sdk.Frame(f"{site}/evaluate/loading.py", 748, "load", "evaluation_module = evaluation_module_factory("),
        sdk.Frame(
            f"{site}/huggingface_hub/utils/_http.py", 96, "send", "return super().send(request, *args, **kwargs)"
        ),
        sdk.Frame(f"{site}/requests/adapters.py", 677, "send", "raise ConnectionError(e, request=request)"),
    )
    for rank in speakers(stage):
        then = at + draw.span(1, 240)
        handle = f"<urllib3.connection.HTTPSConnection object at {draw.whole(*HANDLES):#x}>"
        cause = f"NewConnectionError('{handle}: Failed to establish a new connection: {why}')"
        asked = "-".join(draw.token(many, HEX) for many in (8, 4, 4, 4, 12))
        told = f"(MaxRetryError(\"{pool} {url} (Caused by {cause})\"), '(Request ID: {asked})')"
        raised = sdk.Raised(frames, f"requests.exceptions.ConnectionError: {told}")
        stage.job.raise_on(then, rank, sdk.traceback(raised))
        last = max(last, then)
    all_end(stage, last)
    made = of_all(stage.innocent("network", also=("infrastructure", "software")))
    return stage.close("It was in the cache of the hosts where this was tried.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0, without=RESTARTS)
def tracker_process_is_gone(stage: Stage) -> Scenario:
    """The process of a tracker dies beside rank 0, whose next line to it ends the job (wandb/wandb#6449, #6201).

    The broken pipe stands in a stack of wandb's own socket; those of AIStore's targets are younger than it.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window, commotion.tenant_backend_fails))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("tracker")
    module = f"{own.build['site']}/wandb/sdk"
    stage.mark(at, "the process of the tracker is gone")
    if draw.chance(0.6):
        job.say(at - draw.span(20_000, 41_000), 0, "wandb: Network error (HTTPError), entering retry loop.")
    frames = (
        *loss_frames(stage, 'wandb.log({"loss": loss.item()}, step=step)'),
        sdk.Frame(f"{module}/wandb_run.py", 2054, "log", "self._log(data=data, step=step, commit=commit)"),
        sdk.Frame(
            f"{module}/interface/interface_sock.py", 45, "_publish", "self._sock_client.send_record_publish(record)"
        ),
        sdk.Frame(f"{module}/lib/sock_client.py", 154, "_sendall_with_error_handle", "sent = self._sock.send(data)"),
    )
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, "BrokenPipeError: [Errno 32] Broken pipe")))
    exits(stage, at, 0)
    beside(stage, tenth_unrest.answers_into_nothing)
    return stage.close(
        "Its memory had grown with what it could not send.",
        (stage.innocent("software", 0, also=("infrastructure", "network")),),
    )


@kind(hangs=False, reads=True, lead_s=60.0, torch_before=215)
def epoch_shorter_by_a_shard(stage: Stage) -> Scenario:
    """One rank has a shard less, and begins its validation while others reduce gradients (Lightning#20832, LLaVA#447).

    Time-outs of one sequence number name another operation on one rank; its own line says that its epoch is complete.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, script, site = stage.draw.child("shorter"), stage.job.job.script, stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} is through with its epoch, the others are not")
    shards = draw.whole(5, 40)
    reader_note(stage, at - 30 * MS, rank, f"epoch 0 complete: {stage.step} batches of {shards} shards, validating")
    wait = job.work(stage.step)
    frames = (
        f"#0 broadcast from {site}/torch/distributed/distributed_c10d.py:2824",
        f"#1 sync_buffers from {script}:141",
        f"#2 validate from {script}:146",
        f"#3 main from {script}:201",
        f"#4 <module> from {script}:212",
    )
    stuck = dict.fromkeys(range(own.world), wait)
    size = draw.pick((5_164_000, 5_157_856, 26_560))
    stuck[rank] = replace(wait, op="BROADCAST", numel_in=size, numel_out=size, enqueued=wait.seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    return stage.close(
        f"{shards * own.world + own.world - 1} shards do not go into {own.world} equal parts.",
        (stage.innocent("data", rank, also=("collective_mismatch", "software", "rank_hang")),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, torch_before=215, sizes_only=True)
def barrier_inside_the_condition(stage: Stage) -> Scenario:
    """A barrier stands inside what only rank 0 does, the others go on to their gradients (Neuron_SP#197, nccl#257).

    Rank 0 alone waits with one element where all others wait with a bucket, at one sequence number; nobody reads then.
    """
    stage.open()
    beside(stage, own_unrest.backup_until_now)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, at = stage.job, stage.job.job, stage.at
    script, site = own.script, own.build["site"]
    stage.mark(at, "rank 0 waits in a barrier that no other rank comes to")
    reader_note(stage, at - 60 * MS, 0, f"step {stage.step}: samples are drawn, for the first time")
    wait = job.work(stage.step)
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4622",
        f"#1 draw_samples from {script}:131",
        f"#2 main from {script}:199",
        f"#3 <module> from {script}:212",
    )
    stuck = dict.fromkeys(range(own.world), wait)
    stuck[0] = replace(wait, numel_in=1, numel_out=1, enqueued=wait.seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    return stage.close(
        "It was moved there together with the lines around it.",
        (stage.innocent("collective_mismatch", 0, also=("software", "rank_hang")),),
    )


def _marked_dead(stage: Stage, over: int, address: str, rank: int) -> None:
    """Ray's driver is told that a node is dead, and that an actor died with it."""
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("marked dead")
    identity = draw.token(56, HEX)
    said = f"(raylet) The node with node id: {identity} and address: {address} and node name: {address} has been "
    said += "marked dead because the detector has missed too many heartbeats from it. This can happen when a \t(1) "
    said += "raylet crashes unexpectedly (OOM, etc.) \n\t(2) raylet has lagging heartbeats due to slow network or busy "
    job.agent(over, 0, f"{said}workload.")
    frames = (
        sdk.Frame(f"{site}/ray/train/_internal/worker_group.py", 264, "execute", "return ray.get(self.execute_async("),
        sdk.Frame(f"{site}/ray/_private/worker.py", 2771, "get", "values, debugger_breakpoint = worker.get_objects("),
        sdk.Frame(f"{site}/ray/_private/worker.py", 921, "get_objects", "raise value"),
    )
    text = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: "
    text += f"RayTrainWorker\n\tactor_id: {draw.token(32, HEX)}\n\tpid: {job.job.rank_pids[rank]}\n\tip: {address}\n"
    text += f"The actor died because its node has died. Node Id: {identity}\n\tthe actor's node was terminated "
    text += "unexpectedly: health check failed due to missing too many heartbeats"
    job.agent(over + 300 * MS, 0, sdk.traceback(sdk.Raised(frames, text)))


@kind(hangs=False, hosts=2, lead_s=60.0)
def ray_gives_a_host_up(stage: Stage) -> Scenario:
    """Ray hears nothing of a host and takes it for dead, with all its workers (ray#54035, #44680; kuberay#3827).

    The driver's log names the host's address and its health checks; that host's own log stops, no read had failed.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.throttled_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("ray")
    node = own.node_of(stage.culprit) or len(own.hosts) - 1
    stage.mark(at, f"{own.hosts[node]} is silent for Ray")
    over = at + seconds(draw.between(25, 31))
    _marked_dead(stage, over, f"10.16.{node % 250}.{draw.whole(2, 250)}", own.ranks_of(node)[0])
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(over + 900 * MS + other * 20 * MS, other)
    job.slurm(over + 2 * SEC, 0, torchrun.step_cancelled(own, over + 2 * SEC))
    job.ended_at = over + 3 * SEC
    made = of_all(stage.innocent("infrastructure", also=("network",)))
    return stage.close("The host has stood still since its kernel met a lock of its own.", (made,))
