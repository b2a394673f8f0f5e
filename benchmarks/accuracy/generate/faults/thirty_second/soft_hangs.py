"""Ranks that stand still in their own code, before a debugger or in an evaluation of their own; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_second")
#: What debugpy prints when Python has its own modules frozen in it, as 3.11 has.
FROZEN = (
    "0.00s - Debugger warning: It seems that frozen modules are being used, which may\n"
    "0.00s - make the debugger miss breakpoints. Please pass -Xfrozen_modules=off\n"
    "0.00s - to python to disable frozen modules.\n"
    "0.00s - Note: Debugging will proceed. Set PYDEVD_DISABLE_FILE_VALIDATION=1 to disable this validation."
)


@kind(reads=True, lead_s=66.0)
def finalizer_puts_into_a_queue_amid_a_put(stage: Stage) -> Scenario:
    """Python collects garbage within a put, and what it ends puts into the same queue (bpo-14976; docs, SimpleQueue).

    To acquit: one thread of the rank stands in a put() below another put() of one queue, with __del__ between them, and
    the writer of that queue waits for an item; the rank has said that its batch was whole, and that is the last of it.
    """
    stage.open()
    beside(stage, tenth_unrest.repeated_until_now)
    unrest.unsettled(
        stage, (unrest.entries_missing, past_unrest.turned_away_in_window, late_unrest.disk_lost_in_window)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("finalizer")
    said = "events of readers go into a queue.Queue, thread event-writer appends them to a file of each rank"
    told(stage, stage.job.begin - 410 * MS, 0, "events", said)
    for one in sorted({*speakers(stage)} & {*readers(stage)} | {rank}):
        said = f"step {stage.step}: 48 of 48 recordings in {draw.between(0.04, 0.2):.2f} s"
        told(stage, at - draw.span(90, 140), one, "data", said)
        if one != rank:
            told(stage, at - draw.span(4, 40), one, "events", f"step {stage.step}: {draw.whole(2, 9)} events written")
    stage.mark(at - 50 * MS, f"rank {rank} wants a lock that it holds itself")
    folder, threading, queue = script_folder(stage), f"{PYTHON}/threading.py", f"{PYTHON}/queue.py"
    main = standing_in(
        stage,
        158,
        ("__enter__", threading, 267),
        ("put", queue, 133),
        ("emit", f"{folder}/events.py", 41),
        ("__del__", f"{folder}/reader.py", 118),
        ("_put", queue, 221),
        ("put", queue, 150),
        ("emit", f"{folder}/events.py", 41),
        ("batch_used", f"{folder}/reader.py", 96),
    )
    inner = (("wait", threading, 327), ("get", queue, 171), ("_write", f"{folder}/events.py", 66))
    after = min(draw.between(19, 41), own.timeout_s - 12)
    py_spy(stage, after, (main, Thread("event-writer", (*inner, *BOOTSTRAP))))
    stage.hang(at, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("software",))
    return stage.close("Readers hold each other in a circle, so that only a collection ends them.", (made,))


@kind(lead_s=64.0)
def debugger_is_waited_for_since_gradients_leapt(stage: Stage) -> Scenario:
    """A rank opens a port for a debugger and waits for somebody to attach (debugpy docs, wait_for_client).

    To acquit: the rank says that its gradients are above a limit and that it waits for a client, rank 0 by which
    setting; its stack stands in debugpy, whose adapter listens and has nobody. A target dies when all wait already.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, unrest.entries_missing, loud.backup_until_now))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("debugger")
    site, limit, port = own.build["site"], draw.pick((50.0, 100.0, 200.0)), 5678 + own.local_rank(rank)
    said = f"DEBUG_ON_SPIKE={limit:.0f} (from the environment): a rank with a norm above it waits for a debugger"
    told(stage, job.begin - 430 * MS, 0, "guards", said)
    norm = limit * draw.between(1.2, 3.8)
    said = f"step {stage.step}: norm of the gradients {norm:.2f} before they are reduced, limit {limit:.1f}"
    told(stage, at - 320 * MS, rank, "guards", said, "WARNING")
    stage.mark(at - 310 * MS, f"rank {rank} waits for a debugger")
    job.say(at - 90 * MS, rank, FROZEN)
    told(stage, at - 40 * MS, rank, "guards", f"debugpy listens on 0.0.0.0:{port}, waiting for a client", "WARNING")
    main = standing_in(
        stage,
        171,
        ("_wait_for_attach", f"{site}/debugpy/_vendored/pydevd/pydevd.py", 2807),
        ("wait_for_client", f"{site}/debugpy/server/api.py", 327),
        ("wrapper", f"{site}/debugpy/public_api.py", 47),
        ("on_norm", f"{script_folder(stage)}/guards.py", 48),
    )
    after = min(draw.between(18, 40), own.timeout_s - 12)
    py_spy(stage, after, (main,))
    users = f'users:(("python3",pid={own.rank_pids[rank] + draw.whole(40, 900)},fd=6))'
    said = f"hang-watcher: ss -tlnp: LISTEN 0 128 0.0.0.0:{port} 0.0.0.0:* {users}; ss -tnp: nothing on :{port}"
    job.agent(at + seconds(after + 0.8), own.node_of(rank), said)
    stage.hang(at, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("rank_hang",))
    return stage.close(
        "Whoever had looked for a leap of the gradients last week left the setting in a script.", (made,)
    )


@kind(culprit=0, lead_s=70.0)
def judge_of_an_evaluation_turns_rank_zero_away(stage: Stage) -> Scenario:
    """Rank 0 alone evaluates and asks a model that others use as well: 429 (openai-python, max_retries; vLLM).

    To acquit: httpx names the judge's address in each line with 429, rank 0 counts its answers from the first to the
    last line, and all others wait for it. AIStore's own 429s, where there are some, are over and were served before.
    """
    stage.open(save_every=10_000)
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, late_unrest.tenant_full_in_window, loud.neighbour_reads_slowly))
    at, over, draw = stage.at, over_at(stage), stage.draw.child("judge")
    own, many = stage.job.job, draw.pick((200, 256, 400, 512))
    url = f"http://{draw.pick(('judge', 'llm-gw', 'scorer'))}.nlp.internal:8000/v1"
    said = f"rank 0 scores {many} transcripts at every {stage.step} steps, judge {url}, max_retries 50"
    told(stage, stage.job.begin - 440 * MS, 0, "evaluate", said)
    told(stage, at - 60 * MS, 0, "evaluate", f"step {stage.step}: {many} transcripts decoded, asking {url}")
    stage.mark(at - 50 * MS, "the judge of rank 0 has too many requests")
    then, got, refused = at - 40 * MS, 0, 0
    while then < over - 9 * SEC:
        is_turned_away = refused < 2 or draw.chance(0.85)
        status = "429 Too Many Requests" if is_turned_away else "200 OK"
        then += draw.span(300, 1_900)
        told(stage, then, 0, "httpx", f'HTTP Request: POST {url}/chat/completions "HTTP/1.1 {status}"')
        if is_turned_away:
            refused += 1
            wait = min(8.0, 0.5 * 2**refused) * draw.between(0.75, 1.0)
            said = f"Retrying request to /chat/completions in {wait:.6f} seconds"
            told(stage, then + MS, 0, "openai._base_client", said)
            then += seconds(wait)
        else:
            got, refused = got + 1, 0
            told(stage, then + 2 * MS, 0, "evaluate", f"step {stage.step}: {got} of {many} transcripts scored")
    place = f"{own.build['site']}/openai"
    main = standing_in(
        stage,
        207,
        ("_sleep_for_retry", f"{place}/_base_client.py", 1085),
        ("request", f"{place}/_base_client.py", 1029),
        ("post", f"{place}/_base_client.py", 1259),
        ("create", f"{place}/resources/chat/completions/completions.py", 1156),
        ("score", f"{script_folder(stage)}/evaluate.py", 74),
    )
    if draw.chance(0.6):
        py_spy(stage, min(draw.between(20, 44), own.timeout_s - 12), (main,))
    stage.hang(at, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("infrastructure", "software", "network"))
    return stage.close("Another team had begun to label its corpus with the same model.", (made,))
