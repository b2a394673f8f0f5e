"""Faults around a job, of the sixth part: clients, mounts, quotas, limits, services; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.script import loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, restart_before, tenant_out_of_space, tenant_rejected
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, watchdog
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixth")


def _everywhere(stage: Stage, at: int) -> None:
    """The first rank of each host has exited, and with it its host."""
    job = stage.job.job
    exits = [Exit(rank, at + rank * MS, 1) for rank in range(0, job.world, job.ranks_per_node)]
    stage.job.agents_end(exits, at + 100 * MS)


@kind(hangs=False, trains=False)
def redirect_not_followed(stage: Stage) -> Scenario:
    """A new image has boto3 without the patch for AIStore: it does not follow the redirect of a proxy to a target."""
    job = stage.job
    job.start()
    at = stage.mark(job.begin + seconds(0.4), "every rank reads over S3 and does not follow a redirect")
    for rank in range(job.job.world):
        s3_refused(stage, at + rank * 370_000, rank, "307", "GetObject", "Temporary Redirect")
    _everywhere(stage, at + 800 * MS)
    made: Expect = replace(stage.innocent("software", also=("data", "infrastructure")), culprit_ranks=None)
    return stage.close("An import was taken for unused and removed.", (made,))


@kind(hangs=False, reads=True, lead_s=75.0)
def mount_lost(stage: Stage) -> Scenario:
    """The FUSE process through which a host reads is killed: the folder is there, nothing in it can be opened."""
    beside(stage, mountpath_before)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, node = stage.draw.child("mount"), stage.job.job.node_of(stage.culprit)
    host = job.job.hosts[node]
    stage.mark(at - 700 * MS, f"the FUSE process of {host} is killed")
    why = "[Errno 107] Transport endpoint is not connected"
    for other in [one for one in readers(stage) if job.job.node_of(one) == node][:2]:
        path = f"/mnt/ais/{stage.bucket}/{utterance(draw)}"
        job.note(at - draw.span(50, 600), other, f"cannot open {path} on {host}: {why}, skipped", "W", 84)
    path = f"/mnt/ais/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
    inner = sdk.Frame(f"{job.job.build['site']}/webdataset/gopen.py", 217, "gopen", "return open(url, mode)", True)
    caller = fetch_frames(stage, "sample = next(self.samples)", inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"OSError: {why}: '{path}'")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "data_loading_stall")
    return stage.close(
        "The limit of memory of a side container is too low for its cache.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, reads=True, may_be_undetermined=True)
def idle_connection_reused(stage: Stage) -> Scenario:
    """A reader whose buffer was full for long finds its connection closed, and does not try again."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    idle = stage.draw.child("idle").between(33, 42)
    job.note(at - seconds(idle), rank, "shuffle buffer holds 20000 samples, the reader pauses", line=149)
    stage.mark(at, f"rank {rank} uses a connection that was idle for {idle:.0f} s")
    job.note(at - 20 * MS, rank, f"shuffle buffer below 5000 samples, the reader goes on after {idle:.1f} s", line=153)
    inner = (
        sdk.Frame("/opt/conda/lib/python3.11/http/client.py", 1390, "getresponse", "response.begin()"),
        sdk.Frame("/opt/conda/lib/python3.11/http/client.py", 294, "_read_status", "raise RemoteDisconnected("),
    )
    caller = fetch_frames(stage, "response = self.connection.getresponse()", *inner)
    text = "http.client.RemoteDisconnected: Remote end closed connection without response"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("data_loading_stall", "network", "undetermined")
    return stage.close(
        "AIStore closes what is idle for half a minute, as it says; the reader is written without a second attempt.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, lead_s=60.0)
def quota_exceeded(stage: Stage) -> Scenario:
    """A distributed checkpoint goes to a home folder whose quota is used up: all ranks are told which one failed."""
    beside(stage, tenant_out_of_space)
    stage.open()
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    stage.mark(at, f"the quota is used up when rank {rank} writes its part")
    folder = f"/home/{stage.draw.child('user').pick(('mkr', 'jlee', 'asr-ci'))}/ckpt/step-{stage.step}"
    saver = f"{site}/torch/distributed/checkpoint"
    own = sdk.Raised(
        (
            sdk.Frame(f"{saver}/utils.py", 259, "all_gather", "result = map_fun()"),
            sdk.Frame(f"{saver}/filesystem.py", 371, "_write_files_from_queue", "os.fsync(stream.fileno())"),
        ),
        f"OSError: [Errno 122] Disk quota exceeded: '{folder}/__{rank}_0.distcp'",
    )
    first = sdk.traceback(own).replace("(most recent call last):", f"(most recent call last): (RANK {rank})", 1)
    caller = (
        *loss_frames(stage, "dcp.save(state, checkpoint_id=path)"),
        sdk.Frame(f"{saver}/state_dict_saver.py", 164, "save", "return _save_state_dict("),
        sdk.Frame(f"{saver}/utils.py", 285, "all_reduce", "raise final_result"),
    )
    text = (
        f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{rank}])\n{first}"
    )
    for one in range(job.job.world):
        job.raise_on(at + 9 * MS + one * 290_000, one, sdk.traceback(sdk.Raised(caller, text)))
    _everywhere(stage, at + 800 * MS)
    also = ("software",)
    return stage.close(
        "Checkpoints of the last months lie in a home folder; AIStore is full as well, for another tenant.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False)
def no_more_threads(stage: Stage) -> Scenario:
    """A container may have no more threads: a library, then Python cannot start another one. Others are rejected."""
    beside(stage, tenant_rejected)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"the container of rank {rank} may have no more threads")
    for number in range(29, 32):
        said = f"pthread_create failed for thread {number} of 64: Resource temporarily unavailable"
        job.say(at - 40 * MS, rank, f"OpenBLAS blas_thread_init: {said}")
        job.say(at - 40 * MS, rank, "OpenBLAS blas_thread_init: RLIMIT_NPROC -1 current, -1 max")
    raise_and_exit(stage, at, rank, "RuntimeError: can't start new thread", "self.prefetcher.start()")
    also = ("software",)
    return stage.close("A limit of processes of the pod.", (stage.innocent("infrastructure", rank, also=also),))


@kind(reads=True, lead_s=150.0, words_only=True)
def reward_server_down(stage: Stage) -> Scenario:
    """A rank asks a server for scores that was taken away: urllib3's words, another address. A target was restarted."""
    beside(stage, restart_before)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    draw = stage.draw.child("reward")
    host = f"reward-{draw.whole(0, 7)}.rl-serving.svc"
    stage.mark(at - 300 * MS, f"{host} is taken away")
    then, over = at, at + seconds(job.job.timeout_s) - seconds(2)
    for attempt in range(1, 9):
        where = f"<urllib3.connection.HTTPConnection object at {draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF):#x}>"
        cause = f"NewConnectionError('{where}: Failed to establish a new connection: [Errno 111] Connection refused')"
        text = sdk.pool_error(host, 8000, "/v1/score", cause)
        if then >= over:
            break
        job.note(then, rank, f"scoring of 256 answers failed, attempt {attempt}/12: {text}", "W", 143)
        then += seconds(min(60, 3 * 2**attempt)) + draw.span(1, 900)
    stage.hang(at + 20 * MS, rank)
    also = ("software", "network", "rank_hang")
    return stage.close(
        "A model server was scaled down; what it scores was read from AIStore long before.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, trains=False, hosts=2)
def mesh_not_connected(stage: Stage) -> Scenario:
    """gloo takes the address of a bridge of containers: the ranks of one host cannot reach those of another."""
    job, torch = stage.job, stage.params.torch_release
    job.start()
    at = stage.mark(job.begin + seconds(0.3), "every rank opens a group of gloo")
    tree = f"{torch.source_tree}third_party/gloo/gloo/transport/tcp"
    said = f"Gloo connectFullMesh failed with [{tree}/pair.cc:144] no error"
    for rank in range(job.job.world):
        then = at + seconds(0.9) + rank * 410_000
        line = watchdog.cpp(job.job, rank, then, 143, said, file="ProcessGroupGloo.cpp")
        job.say(then, rank, line)
        raised = sdk.Raised(loss_frames(stage, 'dist.new_group(backend="gloo")'), f"RuntimeError: {said}")
        job.raise_on(then + 3 * MS, rank, sdk.traceback(raised))
    _everywhere(stage, at + seconds(1.9))
    also = ("software", "infrastructure")
    made: Expect = replace(stage.innocent("network", also=also), culprit_ranks=None)
    return stage.close("Nobody has set GLOO_SOCKET_IFNAME.", (made,))
