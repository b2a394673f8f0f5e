"""Storage faults of the twenty-ninth part below AIStore's command line: put, get, a shard by a pipe, a wait."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.operators import (
    cli_failed,
    cli_reaches_nobody,
    command_failed,
    piped_by_ais_get,
)
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdeeds, aisdisk
from fixtures.generator import aisfaults as faults
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_ninth")
ALSO = ("infrastructure", "network", "data_loading_stall")
FULL = Space("3.5TiB", "182.6GiB", 95, "3.7TiB")


@kind(culprit=0, hangs=False, lead_s=62.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def put_by_the_cli_leaves_files_of_a_full_target_behind(stage: Stage) -> Scenario:
    """Rank 0 puts a folder by `ais put`, and some of its files belong to a full target (aistore docs, cli, oos).

    To convict: the command names the files that found no room and ends with 1; one target has turned down just these
    with 507, cleans up and has been out of space since the first of them; no other target turns anything down.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("put by the cli")
    stage.open()
    many, folder = draw.whole(24, 96), f"step-{stage.step:06d}"
    prefix = f"checkpoints/{stage.job.job.task}/{folder}"
    told(stage, at, 0, "ckpt", f"ais put /dev/shm/{folder} ais://{prefix}/ --recursive --yes")
    size = many * draw.whole(1, 2)
    text = f"Files to upload:\nEXTENSION\t COUNT\t SIZE\n.distcp\t\t {many}\t {size}.00GiB"
    text += f"\nTOTAL\t\t {many}\t {size}.00GiB"
    stage.job.say(at + 40 * MS, 0, text)
    first = stage.mark(at + draw.span(2_500, 6_000), f"{victim.name} has no room for a checkpoint")
    over = first + draw.span(3_000, 9_000)
    for node in cluster.up(at):
        put = many // len(cluster.targets)
        cluster.count(node, first if node is not victim else at + SEC, put_n=put, put_size=put << 30)
    aisdisk.out_of_space(cluster, victim, first, over + seconds(40), FULL)
    failed = sorted(draw.shuffled(list(range(many)))[: draw.whole(3, 7)])
    for turn, number in enumerate(failed):
        name, then = f"__{number}_0.distcp", first + (over - first) * turn // len(failed)
        aisdisk.put_rejected(cluster, victim, then, f"/v1/objects/{prefix}/{name}", FULL)
        stage.job.say(
            then + 3 * MS, 0, f"Failed to PUT /dev/shm/{folder}/{name} => ais://{prefix}/{name}: {FULL.error}"
        )
    log = f'"/tmp/.ais-put-failures.{draw.whole(2_000, 99_000)}.log"'
    cli_failed(stage, over, 0, f"failed to PUT {len(failed)} files ({log})")
    command = f"ais put /dev/shm/{folder} ais://{prefix}/ --recursive --yes"
    frames = (
        (203, "main", "save_checkpoint(model, optimizer, step)"),
        (131, "save_checkpoint", "subprocess.run(command, check=True)"),
    )
    command_failed(stage, over + 8 * MS, 0, command, frames)
    leaves(stage, over + 14 * MS, 0)
    return stage.close(
        "The target had got smaller drives than the others, after a repair.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=over + seconds(40),
    )


def _stages_next(stage: Stage, at: int, rank: int, shard: str) -> None:
    """A rank's command for its next shard fails, and the script waits for it."""
    command = f"ais get ais://{stage.bucket}/{shard} /scratch/next/{shard}"
    frames = ((184, "main", "staging.result()"), (91, "stage_next", "subprocess.run(command, check=True)"))
    command_failed(stage, at, rank, command, frames)


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def cli_names_the_gateway_where_a_target_has_crashed(stage: Stage) -> Scenario:
    """`ais get` is sent on to a target that is not there any more, and says that its gateway is not (cmd/cli, err.go).

    To convict: the gateway that the command names serves on, and its log goes on; the log of one target breaks off in
    the moment before, its peers lose their streams to it, and the primary removes it half a minute later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("named the gateway")
    stage.open()
    died = stage.mark(at - draw.span(300, 2_400), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left, 2)
    pause = draw.whole(3, 5)
    for then, other in spread(stage, died + 40 * MS, at + seconds(pause), (2, 5), draw):
        cli_reaches_nobody(stage, then, other)
        said = f"ais get {shard_of(draw)}: exit 1, once more in {pause} s"
        told(stage, then + 5 * MS, other, "staging", said, "WARNING")
    shard = shard_of(draw)
    then = at
    for turn in range(3):
        cli_reaches_nobody(stage, then, rank)
        if turn < 2:
            said = f"ais get {shard}: exit 1, once more in {pause} s"
            told(stage, then + 5 * MS, rank, "staging", said, "WARNING")
            then += seconds(pause) + draw.span(20, 60)
    _stages_next(stage, then + 6 * MS, rank, shard)
    leaves(stage, then + 12 * MS, rank)
    return stage.close(
        "A cast in its code met a type that it had not been written for; its panic went to stderr.",
        (stage.guilty("storage_io", victim, also=("software", *ALSO)),),
        until=max(left, then) + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=66.0, without=RESTARTS)
def shard_through_ais_get_ends_early(stage: Stage) -> Scenario:
    """WebDataset reads ais:// by a pipe from `ais get`, and the target dies in the middle (webdataset, gopen; k8s).

    To convict: the command has an unexpected EOF, as have those of other ranks in the same moment; the streams of all
    peers to one target break then, whose log ends without a word and begins anew some seconds later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("pipe of ais get")
    stage.open()
    died = stage.mark(at + draw.span(900, 4_500), f"the probe of {victim.name} has failed, it is killed")
    killed_for_a_while(stage, died, (14_000, 22_000))
    cluster.count(victim, at - SEC, get_n=draw.whole(2, 9), get_size=draw.whole(2, 9) << 30)
    for then, other in spread(stage, died + 4 * MS, died + 260 * MS, (1, 4), draw):
        cli_failed(stage, then, other, "unexpected EOF")
        said = f"skipping ais://{stage.bucket}/{shard_of(draw)}: exit 1 (read), next shard"
        told(stage, then + 4 * MS, other, "shards", said, "WARNING")
    over = died + draw.span(5, 90)
    piped_by_ais_get(stage, over, rank, shard_of(draw), "unexpected EOF")
    leaves(stage, over + 9 * MS, rank)
    return stage.close(
        "It had been given no time to end in: its grace period was set to zero.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(60),
    )


@kind(culprit=0, hangs=False, min_timeout_s=60, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup"))
def wait_of_the_cli_for_a_copy_ends_with_a_rebalance(stage: Stage) -> Scenario:
    """A target comes back, the cluster rebalances, and a copy that rank 0 waits for is aborted (aistore docs, job).

    To convict: `ais wait` says that its job was aborted; all targets ended that copy as they began to rebalance, for a
    target had joined two seconds before that had been stopped for maintenance.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("aborted copy")
    stage.open()
    down = stage.mark(at - draw.span(17_000, 24_000), f"{victim.name} is stopped for maintenance")
    faults.terminate(cluster, victim, down)
    began = at - draw.span(7_000, 12_000)
    to = f"valid-{draw.token(5).lower()}"
    job = aisdeeds.copy_begins(cluster, began, to, draw)
    told(stage, began - 300 * MS, 0, "validate", f"ais cp ais://{stage.bucket} ais://{to} --prefix valid/")
    stage.job.say(
        began + 200 * MS,
        0,
        f"Copying ais://{stage.bucket} => ais://{to}. To monitor the progress, run 'ais show job {job}'",
    )
    stage.job.say(began + 400 * MS, 0, f"Waiting for job[{job}] ")
    joined = faults.start_again(cluster, victim, at - seconds(2) - 12 * MS)
    broke = joined + seconds(2) + 14 * MS
    up = [node for node in cluster.up(broke) if node is not victim]
    why = f"reason: starting x-rebalance[g{cluster.rebalances}]"
    aisdeeds.copy_ends(cluster, up, began, broke, to, job, draw, why)
    over = broke + draw.span(200, 1_100)
    cli_failed(stage, over, 0, f"job[{job}] was aborted")
    frames = (
        (194, "main", "validation = prepare_validation(step)"),
        (144, "prepare_validation", "subprocess.run(command, check=True)"),
    )
    command_failed(stage, over + 7 * MS, 0, f"ais wait {job}", frames)
    leaves(stage, over + 13 * MS, 0)
    also = ("infrastructure", "software", "data_loading_stall")
    return stage.close(
        "Maintenance was over sooner than announced, and nobody had told the team.",
        (of_all(stage.guilty("storage_io", victim, also=also)),),
        until=over + seconds(60),
    )
