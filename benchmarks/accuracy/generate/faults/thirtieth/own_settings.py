"""Clients whose retries, credentials or caches are set so that storage seems slow, closed or empty; it is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from base64 import b64encode

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion, launchers
from benchmarks.accuracy.generate.faults.words import householders as household
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, node_fails, speakers, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there, others_go_with
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import forked_loader, script_folder, waits_for_loaders
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aishouseholders, aisobjects, sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirtieth")

#: When urllib3 asks again with a back-off of 0.5 s and five repeats, in seconds since the first request.
ASKED_S = (0.0, 0.01, 1.02, 3.03, 7.04, 15.05)


def _asks_for_absent(stage: Stage, corpus: str, kind_of: str) -> None:
    """The culprit reads recordings, and asks six times each for what goes with them, until the job is over."""
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("absent")
    away = stage.bystander() if isinstance(stage, Scene) else None
    nodes = [one for one in stage.cluster.targets if one is not away]
    end, then = at + stage.job.job.timeout_s * SEC, at + draw.span(20, 90)
    while then + seconds(ASKED_S[-1]) < end - SEC:
        name = f"{corpus}/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}"
        node = draw.pick(nodes)
        household.served(stage, then, draw.whole(90_000, 900_000), 0.004)
        for turn in ASKED_S:
            aisobjects.not_there(stage.cluster, node, then + seconds(turn), f"{name}.{kind_of}")
        over = then + seconds(ASKED_S[-1]) + draw.span(4, 30)
        path = f"/v1/objects/{stage.bucket}/{name}.{kind_of}?provider=ais"
        why = sdk.pool_error(node.address, node.ports[0], path, sdk.too_many(404))
        told(stage, over, rank, "data", f"{name}: flac in 0.01 s, no {kind_of} after 15.1 s: {why}", "WARNING")
        then = over + draw.span(20, 90)


@kind(reads=True, without=RESTARTS)
def absent_companions_are_asked_for_six_times(stage: Stage) -> Scenario:
    """A client repeats 404 as well, and optional objects are absent from one corpus (urllib3 docs, status_forcelist).

    To acquit: each 404 is right, of an object that its speaker has not, and is there in milliseconds; the client's own
    settings name 404 among what is repeated, and the stack sleeps in urllib3; recordings themselves come at once.
    """
    stage.open()
    beside(stage, household.tenant_links_fail)
    unrest.unsettled(stage, (household.routines_are_many, unrest.entries_missing, eighth_unrest.memory_is_low))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("companions")
    corpus, kind_of = draw.pick(("radio", "court", "gov")), draw.pick(("words.json", "ctm", "speaker.npy"))
    said = "urllib3.Retry(total=5, backoff_factor=0.5, status_forcelist=[404, 429, 500, 502, 503, 504])"
    told(stage, job.begin - 380 * MS, 0, "data", f"Client(retry_config=RetryConfig(http_retry={said}))")
    for one in readers(stage)[:5]:
        name = f"{draw.pick(('mls', 'fleurs'))}/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}"
        then = at - draw.span(1_000, 12_000)
        household.served(stage, then, draw.whole(900, 9_000), 0.003)
        told(stage, then, one, "data", f"{name}: flac and {kind_of} in {draw.between(0.01, 0.05):.2f} s")
    stage.mark(at, f"rank {rank} asks again and again for what its samples do not have")
    _asks_for_absent(stage, corpus, kind_of)
    pid, site = own.rank_pids[rank] + draw.whole(600, 4_000), own.build["site"]
    inner = (
        ("sleep", f"{site}/urllib3/util/retry.py", 374),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 942),
        ("send", f"{site}/requests/adapters.py", 644),
        ("optional", f"{script_folder(stage)}/data.py", 77),
    )
    after = min(draw.between(20, 38), own.timeout_s - 12)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, forked_loader(stage, *inner), pid)
    stage.hang(at + 20 * MS, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang", "data"))
    return stage.close("404 was added against objects that were still being uploaded.", (made,))


@kind(hangs=False, trains=False)
def netrc_of_a_home_replaces_the_token(stage: Stage) -> Scenario:
    """requests takes what a .netrc has for any host, and drops the token it was given (psf/requests#3929, #6928).

    To acquit: what http.client prints of its own request is `Basic`, where the SDK was given a token, and the proxy
    says that this is no bearer; the exporter of that host is answered by the same proxy with the same token; tokens
    that are refused otherwise are another tenant's.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, (ninth_unrest.settings_change_early, denied_unrest.tenant_is_denied_early))
    job, own, draw = stage.job, stage.job.job, stage.draw.child("netrc")
    at, proxy, user = job.begin - seconds(1.0), stage.proxy_of(0), draw.pick(("asr-train", "mlin", "speech01"))
    are_there(stage, at)
    written = local(at - draw.span(1_800_000, 6_000_000), own.zone)
    said = f"prolog: /home/{user}/.netrc 600 {written:%b %e %H:%M}, 2 entries (machine git.corp.example, default)"
    watched(stage, at - draw.span(9_000, 14_000), 0, said)
    said = f"AIS_ENDPOINT={proxy.url(0)} AIS_AUTHN_TOKEN=eyJhbGciOiJI... (expires in {draw.whole(20, 160)} h)"
    told(stage, at - 410 * MS, 0, "env", said)
    asked = f"ais-exporter: GET {proxy.url(0)}/v1/cluster?what=smap with AIS_AUTHN_TOKEN: 200, "
    watched(stage, at - draw.span(500, 900), 0, f"{asked}{len(stage.cluster.targets)} targets")
    stage.mark(at - 12 * MS, "rank 0 sends another authorization than its token")
    path = f"/v1/buckets/{stage.bucket}"
    basic = b64encode(f"{user}:{draw.token(14)}".encode()).decode()
    sent = f"GET {path}?provider=ais HTTP/1.1\\r\\nHost: {proxy.endpoint(0)}\\r\\nAccept: */*"
    job.say(at - 10 * MS, 0, f"send: b'{sent}\\r\\nAuthorization: Basic {basic[:8]}...\\r\\n\\r\\n'")
    text = aishouseholders.no_bearer(stage.cluster, proxy, at - 8 * MS, f"GET {path}")
    job.say(at - 5 * MS, 0, "reply: 'HTTP/1.1 401 Unauthorized\\r\\n'")
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(own.script, 52, "make_dataset", "names = [one.name for one in bucket.list_all_objects()]"),
        *borrowers.list_frames(stage),
    )
    said = borrowers.answered(stage, proxy, (401, "Unauthorized"), "AISError", text, f"{path}?provider=ais", caller)
    job.raise_on(at, 0, said)
    node_fails(stage, at + 500 * MS, 0, 0)
    others_go_with(stage, at + 2 * SEC, 0)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", 0, also=("infrastructure", "storage_io"))
    return stage.close("A tool for packages has asked for a password and kept it for all hosts.", (of_all(made),))


def _wait_in_vain(stage: Stage, one: int, done: str, listed: int, limit: int) -> int:
    """A rank looks for a marker in what it has listed before, until it has waited long enough; when that is."""
    draw, at = stage.draw.child("wait in vain", one), stage.at
    then = at + draw.span(100, 900)
    for _ in range(3):
        age = (then - listed) / SEC
        said = f"fs.exists('s3://{done}'): False (dircache, listed {age:.0f} s ago), waiting"
        told(stage, then, one, "save", said)
        then += limit * SEC // 3 - draw.span(10, 400)
    over = at + limit * SEC + draw.span(920, 1_900)
    folder = script_folder(stage)
    frames = (
        *loss_frames(stage, "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(f"{folder}/save.py", 74, "save_checkpoint", "wait_for(fs, done, args.save_timeout)"),
        sdk.Frame(f"{folder}/save.py", 41, "wait_for", "raise TimeoutError("),
    )
    text = f"TimeoutError: s3://{done} is not there after {limit} s"
    stage.job.raise_on(over, one, sdk.traceback(sdk.Raised(frames, text)))
    return over


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def listing_kept_by_s3fs_hides_a_checkpoint(stage: Stage) -> Scenario:
    """s3fs answers from a listing that it has kept since before a checkpoint was put (fsspec/s3fs#851, #879, #253).

    To acquit: rank 0 has put the marker and its own head_object finds it, with the tag of its upload; the others look
    into a listing that is as old as the job, and s3fs, which logs each page that it asks for, has asked for none since;
    a target is full for another tenant.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, upload_unrest.tenant_uploads_break_off))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("listing")
    limit, folder = draw.pick((20, 30, 40)), f"checkpoints/{own.task}"
    name = f"{folder}/{own.job_id}-step-{stage.step}"
    others, listed = [one for one in speakers(stage) if one], job.begin - 400 * MS
    for one in others:
        then = listed + draw.span(1, 90)
        told(stage, then, one, "s3fs", f"Get directory listing page for {folder}", "DEBUG")
    told(stage, listed + 190 * MS, 0, "save", f"{draw.whole(4, 40)} names in s3://{folder}, --resume none")
    size, tag, node = draw.whole(900, 4_900) << 20, draw.token(32, HEX), draw.pick(stage.cluster.up(at))
    aishouseholders.puts_arrive(stage.cluster, node, at - 300 * MS, size, draw.span(900, 4_000))
    told(stage, at - 290 * MS, 0, "save", f"s3://{name}.pt: {size} bytes put")
    aishouseholders.puts_arrive(stage.cluster, node, at - 90 * MS, 2, 4 * MS)
    told(stage, at - 80 * MS, 0, "save", f's3://{name}.done put, ETag "{tag}"')
    told(stage, at - 40 * MS, 0, "save", f'head_object {name}.done: 200, 2 bytes, ETag "{tag}"')
    stage.mark(at, "all ranks but one look for a checkpoint in a listing that they have kept")
    all_exit(stage, max(_wait_in_vain(stage, one, f"{name}.done", listed, limit) for one in others))
    made = stage.innocent("software", also=("storage_io", "data", "rank_hang"))
    return stage.close("Markers were files on Lustre until the checkpoints were moved.", (of_all(made),))
