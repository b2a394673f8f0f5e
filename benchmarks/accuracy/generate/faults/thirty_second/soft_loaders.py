"""Loader processes that cannot begin, or may not go on; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import firsts, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_second")
EXTERNAL, FROZEN = "<frozen importlib._bootstrap_external>", "<frozen importlib._bootstrap>"


def _imports(stage: Stage, folder: str) -> Thread:
    """The main thread of a spawned loader that imports what its script imports."""
    script, spawn = stage.job.job.script, f"{PYTHON}/multiprocessing/spawn.py"
    frames = (
        ("_path_stat", EXTERNAL, 147),
        ("find_spec", EXTERNAL, 1605),
        ("_get_spec", EXTERNAL, 1470),
        ("find_spec", EXTERNAL, 1502),
        ("_find_spec", FROZEN, 1080),
        ("_find_and_load_unlocked", FROZEN, 1140),
        ("_find_and_load", FROZEN, 1178),
        (
            "<module>",
            f"{folder}/{stage.draw.child('module').pick(('librosa/core', 'lhotse/cut', 'sox'))}/__init__.py",
            9,
        ),
        ("<module>", script, 14),
        ("_run_code", "<frozen runpy>", 88),
        ("_run_module_code", "<frozen runpy>", 98),
        ("run_path", "<frozen runpy>", 291),
        ("_fixup_main_from_path", spawn, 297),
        ("prepare", spawn, 246),
        ("_main", spawn, 131),
        ("spawn_main", spawn, 122),
        ("<module>", "<string>", 1),
    )
    return Thread("MainThread", frames)


@kind(reads=True, hosts=2, lead_s=72.0, without=("second_job",))
def loaders_of_an_epoch_import_from_a_slow_share(stage: Stage) -> Scenario:
    """Loaders are spawned anew at each epoch and import from a share, slow on one host (PyTorch, persistent_workers).

    To acquit: ranks of one host that read tell how few of their loaders have imported their modules, other hosts' that
    all have; a loader stands in an import below a mount that is no part of AIStore, and a stat there takes seconds.
    None of these loaders has asked for a batch. Other tenants' uploads fail, and a target restarts much later.
    """
    stage.open()
    beside(stage, upload_unrest.tenant_uploads_break_off)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing, tunrest.batches_fall_back))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("imports")
    node, over, many = own.node_of(rank), over_at(stage), draw.pick((8, 12, 16))
    folder = f"/mnt/{draw.pick(('beegfs', 'home', 'tools'))}/asr/site-packages"
    slow = sorted(one for one in {rank, *readers(stage)} if own.node_of(one) == node)
    said = f"num_workers={many}, multiprocessing_context=spawn, persistent_workers=False, PYTHONPATH={folder}"
    told(stage, job.begin - 430 * MS, 0, "data", said)
    epoch = draw.whole(1, 9)
    stage.mark(at, f"a share is slow on {own.hosts[node]}")
    for one in sorted({*speakers(stage)} & {*readers(stage)} | {*slow}):
        told(stage, at + draw.span(1, 30), one, "data", f"epoch {epoch}: {many} loaders are spawned")
        if one in slow:
            continue
        spent = draw.between(2.4, 3.6)
        said = f"epoch {epoch}: {many} of {many} loaders have imported their modules, {spent:.1f} s"
        told(stage, at + seconds(spent) + 40 * MS, one, "data", said)
    for one in slow:
        then, ready = at + seconds(10) + draw.span(40, 90), 0
        while then < over - SEC:
            ready = min(ready + draw.chance(0.3), many * 2 // 3)
            said = f"epoch {epoch}: {ready} of {many} loaders have imported their modules, {(then - at) / SEC:.0f} s"
            told(stage, then, one, "data", said, "WARNING")
            then += seconds(10) + draw.span(1, 6)
    after, pid = min(draw.between(20, 42), own.timeout_s - 12), own.rank_pids[rank] + draw.whole(300, 2_400)
    py_spy(stage, after, (_imports(stage, folder),), pid)
    said = f"hang-watcher: stat {folder}: {draw.between(2.1, 6.8):.2f} s, a second time {draw.between(2.1, 6.8):.2f} s"
    job.agent(at + seconds(after + 14), node, said)
    stage.hang(at + seconds(3.8), *slow)
    hang_unrest.restarted_in_the_hang(stage)
    made = replace(stage.innocent("rank_hang", *slow), also_ok=("infrastructure", "data_loading_stall", "software"))
    return stage.close("The client of that share had gone back to its slow network after an update.", (made,))


@kind(reads=True, hangs=False, hosts=2, lead_s=78.0, without=RESTARTS)
def loader_has_used_up_its_processor_time(stage: Stage) -> Scenario:
    """A host limits the processor time of a process, and a loader has used it: SIGXCPU (setrlimit(2), limits.conf).

    To acquit: one host alone has a limit of `ulimit -t`, a loader there tells of nearly as many seconds, and the signal
    that ends it is that of the limit; its batch was whole. A target was restarted before, and reads went on (the
    kernel's wording from memory).
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (tunrest.readers_resume, past_unrest.turned_away_in_window, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("processor time")
    node, worker, limit = own.node_of(rank), draw.whole(0, 5), draw.pick((240, 300, 360))
    pid = own.rank_pids[rank] + draw.whole(60, 400)
    for one in firsts(stage):
        has = f"{limit}" if own.node_of(one) == node else "unlimited"
        said = f"{own.hosts[own.node_of(one)]}: ulimit -t {has}, -n 1048576, -l unlimited"
        told(stage, job.begin - draw.span(380, 420), one, "env", said)
    for one in (rank, *readers(stage)[:3]):
        then = at - draw.span(9_000, 14_000)
        which = worker if one == rank else draw.whole(0, 5)
        who = pid if one == rank else own.rank_pids[one] + draw.whole(60, 400)
        spent = limit * ((then - job.begin) / (at - job.begin)) * (1.0 if one == rank else draw.between(0.86, 0.97))
        said = f"worker {which} (pid {who}): {spent:.0f} s of processor time, decoding with 8 threads"
        told(stage, then, one, "data", said)
    said = f"worker {worker} (pid {pid}): 48 of 48 recordings fetched in {draw.between(0.1, 0.4):.2f} s, decoding"
    told(stage, at - draw.span(90, 300), rank, "data", said)
    stage.mark(at - 8 * MS, f"a loader of rank {rank} has no processor time left")
    watched(stage, at - 6 * MS, node, f"kernel: CPU Watchdog Timeout (soft): {loader_name(stage)}[{pid}]")
    loader_killed(stage, at, rank, pid, "CPU time limit exceeded")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The host had been a login node, and had kept its limits.conf.", (made,))
