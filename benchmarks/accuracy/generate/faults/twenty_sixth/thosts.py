"""Hosts of a job that run short of something of their own, of the twenty-sixth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import no_descriptor_left
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.script import loss_frames, without_carets
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import (
    caught_in_loader,
    data_folder,
    loader_killed,
    loader_name,
    meter,
    script_folder,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_sixth")


@kind(reads=True, hangs=False, lead_s=60.0)
def scratch_of_cache_is_full(stage: Stage) -> Scenario:
    """Shards are kept on a host's own drive until it is full (WebDataset cache_dir, streaming cache_limit not set).

    To acquit: the shard is written below /scratch of the host, whose df runs up to 100 %; the target that is full too
    turns down another tenant's writes only.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("scratch")
    node, whole, part = job.job.node_of(rank), draw.pick((879, 1758, 3516)), draw.whole(0, 2047)
    folder = f"/scratch/{draw.pick(('wds', 'shards', 'stream'))}-cache/{stage.bucket}"
    told(stage, job.begin - 330 * MS, 0, "data", f"shards are cached below {folder}, no limit of size")
    then = job.begin + draw.span(2_000, 6_000)
    while then < at - 3 * SEC:
        free = 2 + int((at - then) / SEC * draw.between(0.36, 0.4))
        said = f"node-exporter: /dev/nvme1n1 on /scratch: {whole}G, avail {free}G, {100 - 100 * free // whole}%"
        watched(stage, then, node, said)
        then += draw.span(11_000, 16_000)
    stage.mark(at - 60 * MS, f"/scratch of {job.job.hosts[node]} is full")
    watched(stage, at - 60 * MS, node, f"node-exporter: /dev/nvme1n1 on /scratch: {whole}G, avail 0G, 100%")
    said = f"train-{part:06d}.tar not cached yet, fetching to {folder}/train-{part:06d}.tar.temp"
    told(stage, at - draw.span(900, 2_600), rank, "data", said)
    for one in [other for other in readers(stage) if job.job.node_of(other) == node][:1]:
        told(stage, at - draw.span(1, 40), one, "data", f"train-{draw.whole(0, 2047):06d}.tar fetched, writing", "INFO")
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        sdk.Frame(f"{script_folder(stage)}/shards.py", 71, "__iter__", "path = self.cached(url)", True),
        sdk.Frame(f"{script_folder(stage)}/shards.py", 52, "cached", "stream.write(chunk)"),
    )
    caught_in_loader(stage, at, rank, draw.whole(0, 3), frames, "OSError: [Errno 28] No space left on device")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Caches of three runs were on the drive.", (made,))


@kind(reads=True, hangs=False, lead_s=75.0)
def prefetch_beyond_the_cgroup(stage: Stage) -> Scenario:
    """Loaders fetch more batches ahead than the memory of the job can hold (forum: worker is killed by signal: Killed).

    To acquit: the memory of the job's cgroup reaches its limit, and the kernel kills a loader in that cgroup; batches
    come faster than they are used.
    """
    stage.open()
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, commotion.reads_recover))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("prefetch")
    node, limit = job.job.node_of(rank), draw.pick((128.0, 256.0, 480.0))
    workers, ahead = draw.pick((8, 12, 16)), draw.pick((16, 32, 64))
    pid = job.job.rank_pids[rank] + draw.whole(60, 300)
    told(stage, job.begin - 350 * MS, 0, "data", f"num_workers={workers} prefetch_factor={ahead} pin_memory=True")
    then, began = job.begin + draw.span(2_000, 5_000), job.begin
    while then < at - 2 * SEC:
        share = 0.3 + 0.68 * (then - began) / (at - began)
        watched(stage, then, node, f"{meter(stage)}: memory.current {limit * share:.1f}G, memory.max {limit:.1f}G")
        then += draw.span(8_000, 14_000)
    for one in (rank, *readers(stage)[:2]):
        said = f"queue holds {draw.whole(workers * ahead * 7 // 10, workers * ahead)} batches, next one after 0.00 s"
        told(stage, at - draw.span(1_500, 9_000), one, "data", said)
    stage.mark(at - 40 * MS, f"the kernel of {job.job.hosts[node]} kills a loader of rank {rank}")
    scope = f"/system.slice/slurmstepd.scope/job_{job.job.job_id}" if meter(stage)[:2] == "cg" else "/kubepods.slice"
    name = loader_name(stage)
    rss = int(limit * (1 << 20) / len(job.job.ranks_of(node)) / workers * draw.between(0.6, 0.8))
    said = f"kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg={scope},task={name},"
    watched(stage, at - 40 * MS, node, f"{said}pid={pid},uid=0")
    said = f"kernel: Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:{rss + 31_457_280}kB, "
    watched(stage, at - 38 * MS, node, f"{said}anon-rss:{rss}kB, file-rss:91648kB, shmem-rss:{rss // 3}kB, UID:0")
    loader_killed(stage, at, rank, pid, "Killed")
    exits(stage, at, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("prefetch_factor was doubled twice to hide slow decoding.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=120)
def connections_leak_descriptors(stage: Stage) -> Scenario:
    """A client is made for each sample and never closed (boto3#1670, requests sessions): no descriptor is left.

    To acquit: the connection fails in the process itself with Errno 24 before anything is sent, its open files had
    grown to the limit; ranks beside it read on; a target with busy disks serves all the same.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("leak")
    node, limit, pid = job.job.node_of(rank), draw.pick((1024, 4096)), job.job.rank_pids[rank]
    then, began = job.begin + draw.span(3_000, 6_000), job.begin
    while then < at - SEC:
        many = int(limit * (0.12 + 0.87 * (then - began) / (at - began)))
        said = f"lsof: pid {pid} (rank {rank}) {many} open, {many - draw.whole(70, 100)} of them TCP, limit {limit}"
        watched(stage, then, node, said)
        then += draw.span(8_000, 13_000)
    stage.mark(at - 10 * MS, f"rank {rank} has no descriptor left")
    proxy, handle = stage.proxy_of(rank), draw.whole(*HANDLES) // 16 * 16
    path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, no_descriptor_left(handle))
    over = retries(stage, at, rank, draw, 0.01, text, at + seconds(job.job.timeout_s - 8))
    exhausted(stage, over, rank, text, "ConnectionError", one_object(stage))
    exits(stage, over, rank)
    made = stage.innocent("software", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("The client moved into __getitem__.", (made,))


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0, min_timeout_s=120)
def names_not_resolved_on_a_host(stage: Stage) -> Scenario:
    """The resolver of one host has no answer any more (kubernetes, node-local-dns; Errno -3).

    To acquit: the error is of resolving a name, on one host only, whose resolver says that its own servers do not
    answer; ranks of other hosts read on, and AIStore is quiet.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("names")
    node, port = job.job.node_of(rank), stage.proxy_of(rank).ports[0]
    name = draw.pick(("ais-gateway.storage.svc.cluster.local", "aistore-proxy.ais.svc.cluster.local"))
    told(stage, job.begin - 610 * MS, 0, "data", f"AIS_READ_ENDPOINT=http://{name}:{port}")
    stage.mark(at - 2 * SEC, f"{job.job.hosts[node]} resolves no names")
    for turn in range(draw.whole(3, 6)):
        server = f"10.9.{node % 250}.{draw.whole(2, 9)}:{draw.whole(33_000, 60_000)}->10.96.0.10:53"
        said = f"node-cache: [ERROR] plugin/errors: 2 {name}. A: read udp {server}: i/o timeout"
        watched(stage, at - 2 * SEC + turn * draw.span(1_500, 6_000), node, said)
    last = at
    here = [rank, *[one for one in readers(stage) if job.job.node_of(one) == node][:2]]
    for one in reversed(here):
        path = object_path(stage, one, utterance(draw)).split("&")[0]
        why = f"Failed to resolve '{name}' ([Errno -3] Temporary failure in name resolution)"
        handle = f"{draw.whole(*HANDLES) // 16 * 16:#x}"
        cause = f'NameResolutionError("<urllib3.connection.HTTPConnection object at {handle}>: {why}")'
        text, limit = sdk.pool_error(name, port, path, cause), at + seconds(job.job.timeout_s - 12)
        begins = at if one == rank else at + draw.span(18_000, 24_000)
        over = retries(stage, begins, one, draw, 5.01, text, limit if one == rank else at + 30 * SEC)
        if one == rank:
            exhausted(stage, over, one, text, "ConnectionError", one_object(stage))
            last = over
    exits(stage, last, rank)
    made = stage.innocent("network", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("A policy of the network shut port 53 on that host.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def quota_of_home_reached(stage: Stage) -> Scenario:
    """Checkpoints go to a home folder of a filer, whose quota is reached (forum: inline_container.cc, Errno 122).

    To acquit: the path lies below /home on NFS and the quota of its user is told; no write of the job goes to AIStore,
    where a rebalance runs.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, unrest.entries_missing))
    job, at, draw = stage.job, stage.at, stage.draw.child("quota")
    site, user, quota = job.job.build["site"], draw.pick(("jweber", "asr-ci", "n.rossi", "hkim")), draw.pick((200, 500))
    target = f"/home/{user}/runs/{job.job.task}/step_{stage.step}.ckpt"
    told(stage, job.begin - 700 * MS, 0, "config", f"save_dir=/home/{user}/runs/{job.job.task} (nfs4, filer-2:/home)")
    told(stage, at - 1400 * MS, 0, "checkpoint", f"writing {target}")
    stage.mark(at - 50 * MS, f"the quota of {user} is reached")
    said = f"rpc.rquotad: {user} on filer-2:/home: {quota}.0G used, limit {quota}G, grace none"
    watched(stage, at - 50 * MS, 0, said)
    serialization = f"{site}/torch/serialization.py"
    first = sdk.Raised(
        (
            sdk.Frame(serialization, 944, "save", "_save("),
            sdk.Frame(serialization, 1216, "_save", "zip_file.write_record(name, storage, num_bytes)"),
        ),
        "OSError: [Errno 122] Disk quota exceeded",
        sdk.DURING,
    )
    written = draw.whole(90, 9_000) * 1_048_576
    frames = (
        *without_carets(loss_frames(stage, "save_checkpoint(args.save_dir, step)")),
        sdk.Frame(job.job.script, 119, "save_checkpoint", "torch.save(state, stream)"),
        sdk.Frame(serialization, 943, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
        sdk.Frame(serialization, 784, "__exit__", "self.file_like.write_end_of_file()"),
    )
    text = f"RuntimeError: [enforce fail at inline_container.cc:664] . unexpected pos {written + 64} vs {written - 42}"
    job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))
    exits(stage, at, 0)
    made = stage.innocent("infrastructure", 0, also=("software", "storage_io"))
    return stage.close("Checkpoints of last month were never removed.", (made,))
