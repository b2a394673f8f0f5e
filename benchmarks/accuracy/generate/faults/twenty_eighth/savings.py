"""Storage faults of the twenty-eighth part of checkpoints that the SDK appends, uploads in parts, puts and reads."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import append_frames, part_frames, write_refused
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdisk, aisnatives, aisobjects, aispassages, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_eighth")
ALSO = ("infrastructure", "network", "data_loading_stall")


def _key(stage: Stage, step: int) -> str:
    return f"{stage.job.job.task}/step-{step:06d}.pt"


@kind(culprit=0, hangs=False, min_timeout_s=120, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def appended_checkpoint_loses_its_target(stage: Stage) -> Scenario:
    """A checkpoint is appended piece by piece to one target, which is gone for good (SDK, ObjectFileWriter; NotReady).

    To convict: a proxy does not know the target that has the beginning, rank 0 is told; that one refused the pieces
    before, its log breaks off as they began to fail, and the primary removed it half a minute later.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, proxy = stage.draw.child("appended"), stage.proxy_of(0)
    stage.open()
    path, size = f"/v1/objects/checkpoints/{_key(stage, stage.step)}", draw.whole(3_000, 19_000)
    told(stage, at, 0, "ckpt", f"appending {size} MB to ais:/{path[11:]} at {victim.url(0)}")
    died = stage.mark(at + draw.span(2_500, 8_000), f"the host of {victim.name} is not ready any more")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left, 2)
    where = f"{path}?provider=ais&append_type=append"
    text = sdk.pool_error(victim.address, victim.ports[0], where, sdk.refused(draw.whole(*HANDLES)))
    over = max(retries(stage, died + draw.span(20, 400), 0, draw, 0.02, text, left), left + 40 * MS)
    told_text = aispassages.handle_of_nobody(cluster, proxy, over - 4 * MS, path, victim)
    write_refused(stage, over, proxy, path, 400, told_text, "&append_type=append", append_frames(stage))
    leaves(stage, over + 6 * MS, 0)
    return stage.close(
        "Its host had lost a power supply, and the other one was not connected.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(30),
    )


@kind(culprit=0, hangs=False, lead_s=64.0, without=RESTARTS)
def parts_go_to_whoever_never_began_the_upload(stage: Stage) -> Scenario:
    """A target restarts in the middle of an upload in parts, which the next one in line knows nothing of (SDK; probes).

    To convict: the target that knows no such upload never began it: another one gave it its id and took the first
    parts, ended on a signal a second before, and was back some seconds after.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("parts")
    stage.open()
    path, upload = f"/v1/objects/checkpoints/{_key(stage, stage.step)}", draw.token(9)
    many = draw.whole(40, 190)
    told(stage, at - 40 * MS, 0, "ckpt", f"upload {upload} of {many} parts to ais:/{path[11:]} begins")
    aisnatives.upload_begins(cluster, victim, at - 45 * MS, upload)
    down = at + draw.span(2_500, 7_500)
    for turn in range(part := draw.whole(3, 12)):
        then = at + (down - at) * (turn + 1) // (part + 1)
        spent = draw.span(300, 700)
        cluster.count(victim, then, put_n=1, put_ns_total=spent, put_size=64 << 20)
    comes_back(stage, down, "its probe has failed")
    over = down + draw.span(300, 1_400)
    other = stage.other_target(victim, draw.whole(0, 40))
    text = aisnatives.part_unknown(cluster, other, over - 4 * MS, path, upload)
    tail = f"&uploadId={upload}&partNumber={part + 1}"
    write_refused(stage, over, other, path, 404, text, tail, part_frames(stage))
    leaves(stage, over + 6 * MS, 0)
    return stage.close(
        "Its probe asks a port that waits for disks, and somebody had begun a scan of them.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(45),
    )


@kind(culprit=0, min_timeout_s=90, lead_s=62.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def save_stalls_behind_an_eviction(stage: Stage) -> Scenario:
    """A target above its watermark evicts, and has no time for what is written (aistore docs, space; NCCL, save).

    To convict: rank 0 has no answer to its checkpoint from one target while all others wait; that one has been evicting
    since some seconds before, its disks have no time left, and no other's have any load.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("evicts")
    stage.open()
    began = stage.mark(at - draw.span(3_000, 11_000), f"{victim.name} is above its watermark and evicts")
    aisobjects.evict(cluster, victim, began, over + seconds(25), draw.child("evict"))
    aisdisk.disk_pressure(cluster, victim, began, over + seconds(25), draw.child("busy"))
    path = f"/v1/objects/checkpoints/{_key(stage, stage.step)}"
    told(stage, at - 60 * MS, 0, "ckpt", f"putting {draw.whole(2, 40)} GB to ais:/{path[11:]}")
    where = f"{path}?provider=ais&pid={stage.proxy_of(0).node_id}"
    text = sdk.pool_error(victim.address, victim.ports[0], where, sdk.read_timeout(victim.address, victim.ports[0]))
    end = retries(stage, at, 0, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        stage.job.sdk_warning(end, 0, "All retries exhausted; request failed", "ERROR")
        raised = sdk.exhausted(stage.job.job, saving_frames(stage), "ConnectionError", text)
        stage.job.raise_on(end + 2 * MS, 0, raised)
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "The high watermark had been lowered to make room for another team's bucket.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "rank_hang")),),
        until=over + seconds(20),
    )


def _all_are_told(stage: Stage, node: Node, path: str, text: str, at: int) -> int:
    """Each rank reads the checkpoint and is told 404 by the same target; when the last of them has raised."""
    draw, own, last = stage.draw.child("all are told"), stage.job.job, at
    handler = f"{own.build['site']}/aistore/sdk/response_handler.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(
            own.script, 109, "load_checkpoint", "state = torch.load(obj.get_reader().as_file(), map_location='cpu')"
        ),
        sdk.Frame(handler, 45, "handle_response", "raise self.parse_error(r) from http_err"),
    )
    for rank in speakers(stage):
        then = at + draw.span(1, 170)
        stage.cluster.count(node, then, err_get_n=1)
        stage.cluster.say(node, then, ev.http_error(node, text, f"GET {path}", "htrun.go:1636"))
        url = node.url(0) + path + sdk.query(stage.proxy_of(rank), then - 3 * MS)
        body = sdk.answer(node, 404, text, "GET", path, stage.client(rank))
        error = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
        stage.job.raise_on(then + 5 * MS, rank, sdk.traceback(sdk.Raised(frames, error)))
        last = max(last, then + 5 * MS)
    return last


@kind(hangs=False, trains=False, uptime=True, without=(*RESTARTS, "tenant_errors"))
def last_checkpoint_is_on_a_target_in_maintenance(stage: Stage) -> Scenario:
    """A job goes on from a checkpoint whose target was taken out minutes ago (aistore docs, lifecycle_node; SDK, 404).

    To convict: all ranks are told by one target that a checkpoint is not there that was saved and checked an hour ago;
    another target has left the map on a signal since, the primary says, and nothing was moved before it went.
    """
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw = stage.draw.child("maintenance")
    gone = stage.mark(job.begin - draw.span(95_000, 170_000), f"{victim.name} is put into maintenance")
    faults.terminate(cluster, victim, gone)
    job.start()
    at, step = job.begin + seconds(0.5), draw.whole(4, 90) * 500
    path = f"/v1/objects/checkpoints/{_key(stage, step)}"
    ago = draw.whole(40, 130)
    told(stage, at, 0, "resume", f"latest is ais:/{path[11:]}, saved and read back {ago} min ago, loading on all ranks")
    node = stage.other_target(victim, draw.whole(0, 40))
    text = f"{node.name}: ais://checkpoints/{_key(stage, step)} does not exist"
    over = at + draw.span(200, 700)
    last = _all_are_told(stage, node, path, text, over)
    ended = all_exit(stage, last + 40 * MS)
    also = ("infrastructure", "data", "software", "data_loading_stall")
    made = replace(stage.guilty("storage_io", victim, also=also), culprit_ranks=None)
    return stage.close(
        "Maintenance was to take five minutes, and so rebalance had been switched off for it.",
        (made,),
        until=ended + seconds(30),
    )
