"""Disks and memory of training hosts, and a store beside AIStore, that a job depends on; AIStore is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words import householders as household
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.tellers import firsts, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there
from benchmarks.accuracy.generate.faults.words.workbenches import meter
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirtieth")


def _shards_come(stage: Stage, folder: str) -> None:
    """Copies come by drops on the host of the culprit and at once on others; what is fetched anew comes at once too."""
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("copies")
    node = own.node_of(rank)
    near = [one for one in readers(stage) if own.node_of(one) == node][:4]
    far = [one for one in readers(stage) if own.node_of(one) != node][:5]
    for one in (rank, *near, *far):
        is_near, size = own.node_of(one) == node, draw.whole(900, 2_900)
        then = at + (draw.span(17_000, 30_000) if is_near else draw.span(2_000, 20_000))
        name = f"train-{draw.whole(0, 4095):06d}.tar"
        if is_near:
            part, spent = size // draw.whole(3, 9), (then - at) / SEC
            said = f"{folder}/{name} (kept since {draw.whole(2, 9)} days): {part} of {size} MiB after {spent:.1f} s"
            told(stage, then, one, "cache", said, "WARNING")
        else:
            told(stage, then, one, "cache", f"{folder}/{name}: {size} MiB in {size / draw.between(1_900, 5_000):.1f} s")
    fetched, took = draw.whole(700, 1_900) << 20, draw.between(1.1, 2.9)
    household.served(stage, at + 9 * SEC, fetched, took)
    said = f"train-{draw.whole(0, 4095):06d}.tar is not kept: {fetched} of {fetched} bytes of AIStore in {took:.1f} s"
    told(stage, at + 9 * SEC, rank, "cache", said)


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def array_of_a_host_is_checked(stage: Stage) -> Scenario:
    """The array that keeps copies of shards on a host is scrubbed, and reads of it crawl (mdadm, checkarray; mdcheck).

    To acquit: the kernel of that host begins a check of its own array, and the shards that come late are copies on
    it, which were fetched days ago; other hosts read the same from their arrays at once, and what is fetched anew comes
    at once too; disks of a target are busy for milliseconds.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, household.routines_are_many, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("array")
    node, limit, array = own.node_of(rank), draw.pick((35, 40, 45)), draw.pick(("md0", "md127", "md1"))
    folder, blocks = draw.pick(("/local/shards", "/scratch/wds", "/data/cache")), draw.whole(3_000, 14_000) * 1_000_000
    told(stage, job.begin - 400 * MS, 0, "data", f"num_workers=6 timeout={limit} cache_dir={folder}")
    began = stage.mark(at - draw.span(2_000, 6_000), f"/dev/{array} of {own.hosts[node]} is checked")
    watched(stage, began - 40 * MS, node, "systemd[1]: Starting mdcheck_start.service - MD array scrubbing...")
    watched(stage, began, node, f"kernel: md: data-check of RAID array {array}")
    over, done = at + limit * SEC + draw.span(3, 40), draw.whole(1, 9) * 1_000_000
    for turn in range(4):
        then, speed = began + (over - began) * (turn * 2 + 1) // 9, draw.whole(180_000, 200_000)
        done += speed * 9
        said = (
            f"{array}: check = {100 * done / blocks:.1f}% ({done}/{blocks}) speed={speed}K/sec, sync_speed_min 180000"
        )
        watched(
            stage, then, node, f"mdstat: {said}; iostat {array}: r_await {draw.between(210, 900):.1f} ms, 100 %util"
        )
    _shards_come(stage, folder)
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    made = stage.innocent("infrastructure", rank, also=("data_loading_stall",))
    return stage.close("The lowest speed of a check was raised so that it ends within a night.", (made,))


@kind(hangs=False, trains=False, lead_s=45.0)
def names_of_a_bucket_fill_a_host(stage: Stage) -> Scenario:
    """Each rank keeps an object of the SDK for each name of a large bucket till memory is full (AISMapDataset, list).

    To acquit: pages of the listing come in fractions of a second up to the end, the cgroup of the host fills with what
    the ranks make of them, and its kernel kills one; a target has too few processors for a while, and answers.
    """
    beside(stage, household.processors_are_used_early)
    unrest.unsettled(stage, (*unrest.EARLY, household.routines_are_many_early))
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("names")
    at, node = job.begin + seconds(draw.between(16, 26)), own.node_of(stage.culprit)
    limit = own.ranks_per_node * draw.pick((6.0, 7.0, 8.0))
    are_there(stage, job.begin - SEC)
    said = f"AISMapDataset(ais_source_list=client.bucket('{stage.bucket}')), no prefix, in each rank"
    told(stage, job.begin - 700 * MS, 0, "data", said)
    began = stage.mark(job.begin - 500 * MS, "all ranks list a bucket of single recordings into memory")
    rate = limit * 0.95 * (1 << 30) / own.ranks_per_node / draw.between(1_500, 1_900) / ((at - began) / SEC)
    for turn in range(1, 6):
        then = began + (at - began) * turn // 6
        for one in firsts(stage):
            named = rate * (then - began) / SEC * draw.between(0.97, 1.0)
            took, proxy = 10_000 / rate * draw.between(0.8, 1.2), stage.proxy_of(one)
            many = int(named) // 10_000 // 6
            stage.cluster.count(proxy, then - 60 * MS, lst_n=many, lst_ns_total=many * seconds(took))
            said = f"list_all_objects_iter: {named / 1e6:.2f} million names, last page of 10000 in {took:.3f} s"
            told(stage, then + draw.span(1, 40), one, "data", said)
        share = 0.06 + 0.91 * turn / 6
        watched(stage, then, node, f"{meter(stage)}: memory.current {limit * share:.1f}G, memory.max {limit:.1f}G")
    rss = int(limit * (1 << 20) / own.ranks_per_node * draw.between(0.9, 0.98))
    said = f"kernel: Memory cgroup out of memory: Killed process {own.rank_pids[rank]} (python3) "
    said += f"total-vm:{rss + 14_750_400}kB, anon-rss:{rss}kB, file-rss:98304kB, shmem-rss:0kB, UID:0"
    watched(stage, at - 14 * MS, node, said)
    job.agents_end([Exit(rank, at + 30 * MS, -9)], at + 30 * MS, {node: torchrun.oom_lines(own, node)})
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("The bucket has had shards until now, and has single recordings since.", (made,))


@kind(culprit=0, hangs=False, lead_s=60.0)
def new_checksums_are_nothing_for_another_store(stage: Stage) -> Scenario:
    """boto3 sends checksums behind its parts since 1.36, which another store does not know (boto3#4392, #4398).

    To acquit: the host that refuses is Ceph's gateway and none of AIStore, the version of boto3 is new, and the job
    before, with an older one, has uploaded there; AIStore is full for another tenant only and gives all batches.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(
        stage, (upload_unrest.tenant_uploads_break_off, tunrest.readers_resume, ninth_unrest.copies_are_made)
    )
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("checksums")
    site = draw.pick(("rgw.hpc.example", "s3.ceph.corp.example", "objects.site-b.example"))
    bucket, code = (
        draw.pick(("models", "keep", "runs")),
        draw.pick(("MissingContentLength", "XAmzContentSHA256Mismatch")),
    )
    new, old = f"1.36.{draw.whole(0, 26)}", f"1.35.{draw.whole(36, 99)}"
    ceph = draw.pick(("16.2.15", "17.2.7"))
    said = f"boto3 {new}, endpoint https://{site} (Ceph RGW {ceph}), request checksums when_supported"
    told(stage, job.begin - 340 * MS, 0, "keep", said)
    said = f"{bucket}/{own.task}-prev/last.pt: {draw.whole(2_000, 9_000) << 20} bytes, uploaded by boto3 {old}"
    told(stage, job.begin - 290 * MS, 0, "keep", said)
    key, size = f"{own.task}/step-{stage.step}.pt", draw.whole(2_000, 9_000) << 20
    told(
        stage, at - 900 * MS, 0, "keep", f"/local/ckpt/step-{stage.step}.pt: {size} bytes, uploading to {bucket}/{key}"
    )
    said = f'https://{site}:443 "PUT /{bucket}/{key}?partNumber=1&uploadId=2~{draw.token(31)} HTTP/1.1" '
    status = 411 if code == "MissingContentLength" else 400
    head = "Content-Encoding: aws-chunked, x-amz-trailer: x-amz-checksum-crc32"
    told(stage, at - 30 * MS, 0, "urllib3.connectionpool", f"{said}{status} {draw.whole(190, 260)}", "DEBUG")
    told(stage, at - 20 * MS, 0, "keep", f"part 1 was sent with {head}", "WARNING")
    stage.mark(at - 30 * MS, f"{site} does not take what a newer boto3 sends")
    household.not_for_boto(stage, at, key, bucket, code)
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", 0, also=("infrastructure", "storage_io"))
    return stage.close("Versions are not pinned in the image.", (made,))
