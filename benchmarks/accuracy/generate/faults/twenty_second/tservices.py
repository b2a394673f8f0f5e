"""Services beside storage that a job needs, and what is between them, of the twenty-second part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_second")


@kind(culprit=0, lead_s=70.0)
def tracker_of_runs_is_not_reached(stage: Stage) -> Scenario:
    """Rank 0 waits until its tracker has an artifact, and the tracker is not reached (wandb#5550, #10044).

    To acquit: wandb says that it cannot connect, and rank 0 stands in its wait; the checkpoint itself was stored.
    """
    stage.open()
    beside(stage, past_unrest.neighbour_reads_cold)
    unrest.unsettled(stage, (commotion.reads_recover, disk_unrest.disk_lost_in_window, unrest.entries_missing))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("tracker")
    name, size = f"{own.task}/step={stage.step}.pt", draw.between(0.6, 5.0)
    spent, then = size * draw.between(0.4, 0.7), at - draw.span(120, 400)
    said = f"ais://checkpoints/{name} stored by its writer thread, {size:.2f} GiB in {spent:.1f} s, size as written"
    grown = {"put_n": 1, "put_ns_total": int(spent * SEC), "put_size": int(size * (1 << 30))}
    stage.cluster.count(stage.other_target(stage.victim), then - MS, **grown)
    reader_note(stage, then, 0, said)
    stage.mark(at, "rank 0 waits for its tracker")
    said = f"artifact {own.task}-weights of step {stage.step} logged by reference, waiting for its version"
    reader_note(stage, at + 5 * MS, 0, said)
    then = at + seconds(draw.between(10.2, 12.0))
    stage.job.say(then, 0, "wandb: Network error (ConnectTimeout), entering retry loop.")
    site = f"{own.build['site']}/wandb/sdk"
    main = standing_in(
        stage,
        203,
        ("wait", f"{PYTHON}/threading.py", 359),
        ("wait_or", f"{site}/mailbox/mailbox_handle.py", 122),
        ("wait", f"{site}/artifacts/artifact.py", 1058),
        ("publish", f"{script_folder(stage)}/tracking.py", 64),
    )
    py_spy(stage, min(draw.between(25, 45), own.timeout_s - 12), (main,))
    stage.hang(at + 40 * MS, 0)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("network", 0, also=("infrastructure", "software", "rank_hang"))
    return stage.close("A rule for the way out of the cluster was changed.", (made,))


def _through_a_proxy(stage: Stage, draw: Draw, rank: int, server: str) -> str:
    """What urllib3 says where it asks AIStore's own proxy through a server that refuses the connection."""
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
    handle = draw.whole(*HANDLES) // 16 * 16
    cause = f"ProxyError('Unable to connect to proxy', {sdk.refused(handle)})"
    return sdk.pool_error(server, 3128, url, cause)


@kind(reads=True, hangs=False, hosts=2, lead_s=75.0, min_timeout_s=120)
def reads_go_through_a_web_proxy(stage: Stage) -> Scenario:
    """One host has http_proxy in its environment, so its reads need a server that stops (requests docs).

    To acquit: the refused connection is that to port 3128 of the web proxy; ranks of other hosts read from the same
    cluster without it, and all of that host that read then are refused.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_fails)
    unrest.unsettled(stage, (commotion.throttled_in_window, past_unrest.turned_away_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("proxy")
    node, server = job.job.node_of(rank), draw.pick(("squid-out-1", "webproxy.int", "egress03"))
    elsewhere = [one for one in readers(stage) if job.job.node_of(one) != node][:3]
    here = [one for one in readers(stage) if job.job.node_of(one) == node][:3]
    for one in (rank, *here, *elsewhere):
        is_here = job.job.node_of(one) == node
        said = f"{{'http': 'http://{server}:3128'}} of the environment" if is_here else "none"
        reader_note(stage, job.begin - draw.span(100, 600), one, f"client: trust_env, proxies: {said}")
    stage.mark(at, f"{server} stops, through which {job.job.hosts[node]} reads")
    text = _through_a_proxy(stage, draw, rank, server)
    over = retries(stage, at, rank, draw, 0.02, text, at + seconds(50), "ProxyError")
    for turn, one in enumerate(elsewhere):
        target = stage.cluster.target(turn)
        said = f"prefetch goes on: {draw.whole(16, 64)} objects of {target.name} in {draw.between(0.1, 0.4):.1f} s"
        reader_note(stage, at + seconds(1.2 + 0.9 * turn), one, said)
    for one in here:
        own = draw.child("beside", one)
        said = _through_a_proxy(stage, own, one, server)
        retries(stage, at + own.span(900, 9_000), one, own, 0.02, said, over, "ProxyError")
    exhausted(stage, over, rank, text, "ProxyError", one_object(stage))
    exits(stage, over, rank)
    also = ("infrastructure", "software")
    made = stage.innocent("network", rank, also=also)
    return stage.close("That host was set up from an image for laptops.", (made,))


@kind(reads=True, lead_s=60.0)
def lock_of_a_cache_is_never_freed(stage: Stage) -> Scenario:
    """A rank waits for a file lock that a killed process of an earlier run has left (filelock docs, SoftFileLock).

    To acquit: the rank names the lock and polls it, its stack stands in filelock; its batch had come.
    """
    stage.open()
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("lock")
    lock = f"/scratch/shared/hf-cache/{own.task}/{draw.token(16, '0123456789abcdef')}.lock"
    reader_note(stage, at - 50 * MS, rank, f"step {stage.step}: batch here; next lexicon from the cache")
    stage.mark(at, f"rank {rank} waits for a lock")
    for turn, after in enumerate((10.0, 20.0, 30.0, 60.0)):
        if after < own.timeout_s - 4:
            who = 140_000_000_000_000 + rank * 4_096
            said = f"filelock: Lock {who} not acquired on {lock}, waiting 0.05 seconds ..."
            reader_note(stage, at + seconds(after) + turn * MS, rank, said)
    name = f"pid {own.rank_pids[rank] + draw.whole(100_000, 900_000)} of {draw.whole(2, 40)} h ago"
    watched(
        stage, at + seconds(13.0), own.node_of(rank), f"locks: {lock} SoftFileLock, held by {name}, no such process"
    )
    main = standing_in(
        stage,
        199,
        ("acquire", f"{own.build['site']}/filelock/_api.py", 344),
        ("__enter__", f"{own.build['site']}/filelock/_api.py", 376),
        ("lexicon", f"{script_folder(stage)}/lexica.py", 29),
    )
    py_spy(stage, min(draw.between(34, 45), own.timeout_s - 12), (main,))
    stage.hang(at + 40 * MS, rank)
    made = stage.innocent("software", rank, also=("rank_hang", "infrastructure"))
    return stage.close("A run was ended with kill -9 while it filled the cache.", (made,))
