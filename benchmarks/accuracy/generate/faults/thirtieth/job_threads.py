"""Programs that wait for themselves or stumble over their own signals, and debuggers left on; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion, crewmates
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import FORK, script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirtieth")


def _joining(stage: Stage, place: str) -> tuple[Thread, Thread]:
    """A rank that joins its scorer, and the scorer that is at its end and hands its answers to a pipe."""
    own = stage.job.job
    main = standing_in(
        stage,
        203,
        ("poll", f"{PYTHON}/multiprocessing/popen_fork.py", 27),
        ("wait", f"{PYTHON}/multiprocessing/popen_fork.py", 43),
        ("join", f"{PYTHON}/multiprocessing/process.py", 149),
        ("score_all", place, 71),
        ("validate", own.script, 128),
    )
    child = (
        ("_wait_for_tstate_lock", f"{PYTHON}/threading.py", 1169),
        ("join", f"{PYTHON}/threading.py", 1149),
        ("_finalize_join", f"{PYTHON}/multiprocessing/queues.py", 199),
        ("__call__", f"{PYTHON}/multiprocessing/util.py", 224),
        ("_run_finalizers", f"{PYTHON}/multiprocessing/util.py", 300),
        ("_exit_function", f"{PYTHON}/multiprocessing/util.py", 360),
        *FORK,
        ("score_all", place, 64),
        ("validate", own.script, 128),
        ("main", own.script, 203),
        ("<module>", own.script, 212),
    )
    return main, Thread("MainThread", child)


@kind(culprit=0, lead_s=60.0)
def scorer_is_joined_before_its_answers_are_read(stage: Stage) -> Scenario:
    """A process is joined while what it has put into a queue still waits for a reader (Python docs, multiprocessing).

    To acquit: rank 0 says that all hypotheses are with its scorer, and stands in join; the scorer is through and
    waits in a pipe that nobody reads; no socket of theirs has bytes to go, and a target is restarted late.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (tunrest.withdrawn_left_out, commotion.throttled_in_window, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("scorer")
    pid, many = own.rank_pids[0] + draw.whole(600, 4_000), draw.whole(2_400, 9_000)
    queued, place = many * draw.whole(90, 240), f"{script_folder(stage)}/scorer.py"
    told(stage, at - 700 * MS, 0, "scorer", f"dev set: {many} of {many} recordings decoded, to process {pid}")
    began = stage.mark(at - 40 * MS, "rank 0 joins its scorer before it reads the answers")
    told(stage, began, 0, "scorer", f"waiting for process {pid} to be through with {many} hypotheses")
    main, child = _joining(stage, place)
    after = min(draw.between(19, 36), own.timeout_s - 13)
    py_spy(stage, after, (main,))
    py_spy_forked(stage, after + 0.8, child, pid)
    said = f"hang-watcher: /proc/{pid}: Threads 2, wchan pipe_write (QueueFeederThread), pipe 65536 of 65536 bytes, "
    said += f"about {queued} bytes to go; ss -tnp: Recv-Q 0 and Send-Q 0 on all sockets of {own.rank_pids[0]} and {pid}"
    job.agent(at + seconds(after + 1.5), own.node_of(0), said)
    stage.hang(at, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software",))
    return stage.close("The dev set was small enough for a pipe until this week.", (made,))


@kind(hangs=False, lead_s=60.0)
def handler_of_a_signal_prints_amid_a_print(stage: Stage) -> Scenario:
    """A handler prints while the same thread is printing: RuntimeError (submitit#1714, celery PR 9222, bpo-24283).

    To acquit: all ranks are asked by a signal to tell where they are, all tell it but one, whose traceback goes from
    its own print to the handler's; steps went on until then, and what reads were repeated had been served.
    """
    stage.open()
    beside(stage, crewmates.curl_pipes_try_again)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.turned_away_in_window, loud.neighbour_reads_slowly))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("handler")
    told(stage, job.begin - 500 * MS, 0, "train", "on SIGUSR1 each rank prints its step and its queue")
    sent = stage.mark(at - 3 * MS, "all ranks are asked by SIGUSR1 where they are")
    for node in range(len(own.hosts)):
        pids = " ".join(str(own.rank_pids[one]) for one in own.ranks_of(node))
        said = f"sudo: ml-oper : TTY=pts/{draw.whole(0, 9)} ; USER=root ; COMMAND=/bin/kill -USR1 {pids}"
        watched(stage, sent - draw.span(1, 9), node, said)
    for one in [one for one in speakers(stage) if one != rank][:24]:
        full = f"{draw.whole(5, 8)} of 8 batches ready"
        job.say(sent + draw.span(1, 30), one, f"[rank {one}] SIGUSR1: step {stage.step}, {full}")
    script = own.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 199, "main", 'print(f"[rank {rank}] {meter}", flush=True)'),
        sdk.Frame(script, 58, "on_usr1", 'print(f"[rank {rank}] SIGUSR1: {where()}", flush=True)'),
    )
    stream = draw.pick(("stdout", "stdout", "stderr"))
    text = f"RuntimeError: reentrant call inside <_io.BufferedWriter name='<{stream}>'>"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank)
    return stage.close("Somebody wanted to know whether the job still moves.", (made,))


def _amid_a_step(stage: Stage) -> tuple[tuple[tuple[str, str, int], ...], ...]:
    """The thread that reads ahead and the main thread, as they stand in any step."""
    own, site = stage.job.job, stage.job.job.build["site"]
    bootstrap = (
        ("run", f"{PYTHON}/threading.py", 982),
        ("_bootstrap_inner", f"{PYTHON}/threading.py", 1045),
        ("_bootstrap", f"{PYTHON}/threading.py", 1002),
    )
    reading = (
        ("readinto", f"{PYTHON}/socket.py", 706),
        ("_safe_read", f"{PYTHON}/http/client.py", 640),
        ("read", f"{site}/urllib3/response.py", 980),
        ("read_ahead", f"{script_folder(stage)}/reader.py", 77),
        *bootstrap,
    )
    main = (
        ("_engine_run_backward", f"{site}/torch/autograd/graph.py", 825),
        ("backward", f"{site}/torch/autograd/__init__.py", 347),
        ("backward", f"{site}/torch/_tensor.py", 581),
        ("main", own.script, 193),
        ("<module>", own.script, 212),
    )
    return reading, main


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def timer_of_a_debugging_session_ends_a_rank(stage: Stage) -> Scenario:
    """A timer of faulthandler was armed to exit, and nobody has cancelled it (Python docs, dump_traceback_later).

    To acquit: the rank says when it armed the timer and for how long, and it goes off to the second though steps go on
    and batches come; no exception is raised, and the thread that reads stands where it always does.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("timer")
    limit = draw.pick((30, 45, 60))
    armed = at - limit * SEC
    said = f"DEBUG_HANG_RANK={rank}: faulthandler.dump_traceback_later({limit}, exit=True) until the next validation"
    told(stage, armed, rank, "debug", said, "WARNING")
    for turn in range(1, 5):
        then = at - seconds(limit * turn / 5.5) + draw.span(1, 300)
        done = stage.step - round((at - then) / SEC / stage.params.step_s)
        told(stage, then, rank, "train", f"step {done} done, {draw.whole(5, 8)} of 8 batches ready")
    stage.mark(at, f"the timer that rank {rank} has armed goes off")
    crewmates.timer_goes_off(stage, at, rank, limit, _amid_a_step(stage))
    exits(stage, at - 600 * MS, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank)
    return stage.close("The hang that was looked for had been found the day before.", (made,))
