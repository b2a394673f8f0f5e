"""Jobs that end before their first step, of the twenty-seventh part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, firsts, node_fails, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import agent_fails, are_there, others_go_with
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_seventh")


def _too_many(stage: Stage, url: str) -> sdk.Raised:
    """What requests makes of the hub's 429, before the hub's own client speaks of it."""
    site, text = stage.job.job.build["site"], "raise HTTPError(http_error_msg, response=self)"
    frames = (
        sdk.Frame(f"{site}/huggingface_hub/utils/_http.py", 409, "hf_raise_for_status", "response.raise_for_status()"),
        sdk.Frame(f"{site}/requests/models.py", 1024, "raise_for_status", text),
    )
    said = f"requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: {url}"
    return sdk.Raised(frames, said, sdk.DIRECT)


@kind(hangs=False, trains=False)
def hub_turns_job_away(stage: Stage) -> Scenario:
    """All ranks ask the Hugging Face Hub for a tokenizer, which answers 429 (transformers issues, Too Many Requests).

    To acquit: the 429 comes from huggingface.co and nobody else; nothing was read from AIStore, where the cloud denies
    another tenant's reads.
    """
    beside(stage, denied_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, unrest.EARLY)
    own, draw, at = stage.job.job, stage.draw.child("hub"), stage.job.begin - seconds(0.9)
    site, hub = own.build["site"], f"{own.build['site']}/huggingface_hub"
    are_there(stage, at - 3 * SEC)
    name = draw.pick(("meta-llama/Llama-3.2-1B", "openai/whisper-large-v3", "Qwen/Qwen2-Audio-7B", "google/byt5-large"))
    url = f"https://huggingface.co/{name}/resolve/main/tokenizer_config.json"
    for rank in firsts(stage):
        said = f"HTTP Error 429 thrown while requesting HEAD {url}, retrying in 2 s [Retry 1/2]."
        told(stage, at - seconds(2.2) + draw.span(1, 90), rank, "huggingface_hub.utils._http", said, "WARNING")
    stage.mark(at - seconds(2.2), "the hub turns the job away")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "tokenizer = AutoTokenizer.from_pretrained(args.tokenizer)"),
        sdk.Frame(f"{site}/transformers/utils/hub.py", 424, "cached_files", "hf_hub_download("),
        sdk.Frame(f"{hub}/file_download.py", 1543, "get_hf_file_metadata", "hf_raise_for_status(r)"),
        sdk.Frame(
            f"{hub}/utils/_http.py", 482, "hf_raise_for_status", "raise _format(HfHubHTTPError, str(e), response)"
        ),
    )
    text = f"huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: {url}\n\n"
    text += "We had to rate limit your IP. To continue using our service, create a HF account or login."
    last = all_raise(stage, at, _too_many(stage, url), sdk.Raised(frames, text))
    all_exit(stage, last)
    made = stage.innocent("software", also=("network", "infrastructure"))
    return stage.close("Every rank of every job of the site asks for it anew.", (of_all(made),))


@kind(hangs=False, trains=False)
def client_of_another_release(stage: Stage) -> Scenario:
    """A script uses an argument that the SDK of the image does not have (aistore SDK releases, TypeError).

    To acquit: Python refuses the call itself, before a request is sent; a bucket that changes is another tenant's.
    """
    beside(stage, eighth_unrest.buckets_change_early)
    unrest.unsettled(stage, unrest.EARLY)
    own, draw, at = stage.job.job, stage.draw.child("release"), stage.job.begin - seconds(1.1)
    are_there(stage, at)
    old, *what = draw.pick(
        (
            ("1.9.2", "self.client = Client(endpoint, retry_config=retries)", "Client.__init__()", "retry_config"),
            ("1.4.18", "self.client = Client(endpoint, max_pool_size=64)", "Client.__init__()", "max_pool_size"),
            ("1.16.0", "self.batch = self.client.batch(self.names, colocation=1)", "Client.batch()", "colocation"),
        )
    )
    told(stage, at - 310 * MS, 0, "env", f"aistore {old}, requests 2.32.3, urllib3 2.2.3, python 3.11.9")
    stage.mark(at - 10 * MS, "the client does not know an argument")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = AISShards(args.bucket, args.endpoint)"),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/shards.py", 38, "__init__", what[0], True),
    )
    text = f"TypeError: {what[1]} got an unexpected keyword argument '{what[2]}'"
    last = all_raise(stage, at, sdk.Raised(without_carets(frames), text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure",))
    return stage.close("The image was older than the script.", (of_all(made),))


@kind(hangs=False, trains=False)
def requests_pass_a_web_proxy(stage: Stage) -> Scenario:
    """http_proxy is set on a host and no_proxy lacks AIStore: Squid refuses what the SDK asks (requests docs, proxies).

    To acquit: the answer has the words and the name of Squid, which no AIStore node prints; no node has seen the
    request, and the one disk that is examined is found healthy.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("squid")
    began, site = stage.job.begin - seconds(2.6), own.build["site"]
    are_there(stage, began)
    squid = draw.pick(("squid.corp.internal:3128", "proxy-2.dc.lan:8080", "webcache.it.internal:3128"))
    told(stage, began - 420 * MS, 0, "env", f"http_proxy=http://{squid} https_proxy=http://{squid} no_proxy=localhost")
    stage.mark(began, "rank 0 asks a web proxy for the bucket")
    node = stage.proxy_of(0)
    url = f"{node.url(0)}/v1/buckets/{stage.bucket}?provider=ais"
    body = (
        f"<title>ERROR: The requested URL could not be retrieved</title> [...] Access Denied. [...] {squid} (squid/5.7)"
    )
    said = f"GET {url}: 403 Forbidden, Server: squid/5.7, X-Squid-Error: ERR_ACCESS_DENIED 0"
    told(stage, began + 30 * MS, 0, "data", said, "WARNING")
    at = began + draw.span(60, 200)
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = make_dataset(args)"),
        sdk.Frame(own.script, 52, "make_dataset", "names = [one.name for one in bucket.list_all_objects()]", True),
        sdk.Frame(f"{site}/aistore/sdk/response_handler.py", 45, "handle_response", "raise self.parse_error(r)"),
    )
    text = f"aistore.sdk.errors.AISError: STATUS:403, MESSAGE:{body}, REQ_URL:{url}"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    node_fails(stage, at + 500 * MS, 0, 0)
    others_go_with(stage, at + 2 * SEC, 0)
    made = stage.innocent("network", 0, also=("software", "infrastructure"))
    return stage.close("A new profile of the shell set the proxy for all.", (of_all(made),))


@kind(hangs=False, trains=False, hosts=2, torch_order=204)
def host_is_late_for_rendezvous(stage: Stage) -> Scenario:
    """One host is still pulling its image when the others' store gives up (torchrun, DistStoreError, clients joined).

    To acquit: the store counts who has joined and one host is missing, whose log has nothing but the pull of an image;
    nobody has come so far as to read.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("late"), stage.job.job.build["site"]
    many, node, at = len(own.hosts), own.node_of(own.world - 1), job.begin - seconds(1.2)
    waited = draw.pick((25, 28))
    began = at - seconds(waited)
    job.agent(began, 0, f"launch.sh: {many} hosts, rendezvous on {own.hosts[0]}:29500, store timeout {waited} s")
    image, size = f"registry.lan/asr/train:{draw.whole(23, 26)}.{draw.whole(10, 12)}", draw.between(19.0, 31.0)
    for turn in range(4):
        then, done = began + (at - began) * turn // 4 + draw.span(1, 900), size * (0.42 + 0.07 * turn)
        said = f"containerd: pulling {image}: {done:.1f} of {size:.1f} GiB, {draw.between(9, 24):.1f} MiB/s"
        watched(stage, then, node, said)
    stage.mark(at, f"{own.hosts[node]} has not joined")
    elastic = f"{site}/torch/distributed/elastic"
    agent_fails(
        stage,
        at,
        0,
        sdk.Frame(f"{site}/torch/distributed/launcher/api.py", 264, "launch_agent", "result = agent.run()"),
        sdk.Frame(f"{elastic}/agent/server/api.py", 711, "run", "result = self._invoke_run(role)"),
        sdk.Frame(f"{elastic}/agent/server/api.py", 864, "_invoke_run", "self._initialize_workers(self._worker_group)"),
        sdk.Frame(f"{elastic}/rendezvous/static_tcp_rendezvous.py", 66, "next_rendezvous", "self._store = TCPStore("),
        text=f"torch.distributed.DistStoreError: Timed out after {waited} seconds waiting for clients. "
        f"{many - 1}/{many} clients joined.",
    )
    for host in range(1, many):
        then = at + 2 * SEC + draw.span(10, 180)
        signalled = torchrun.death_signal(own, host, then)
        for text in (signalled[0], signalled[-1]) if host != node else ():
            job.agent(then, host, text)
        job.slurm(then + draw.span(240, 520), host, f"srun: error: {own.hosts[host]}: task {host}: Terminated")
    job.ended_at = at + 4 * SEC
    made = stage.innocent("infrastructure", also=("network", "software"))
    return stage.close("The registry's cache had been emptied.", (of_all(made),))


@kind(hangs=False, trains=False, culprit=0)
def run_of_tracker_not_made(stage: Stage) -> Scenario:
    """Rank 0 cannot make its run at Weights & Biases, and ends (wandb issues, Run initialization has timed out).

    To acquit: the exception is wandb's own, whose server is elsewhere; its log says what it waited for; AIStore hands
    out no token to another tenant, and nothing of the job was read.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("tracker"), stage.job.job.build["site"]
    at, waits = job.begin - seconds(0.9), draw.pick((15.0, 20.0))
    began = at - seconds(waits) - 200 * MS
    are_there(stage, began)
    told(stage, began - 90 * MS, 0, "env", f"WANDB_INIT_TIMEOUT={waits:.0f} WANDB_MODE=online")
    handle = draw.whole(*HANDLES) // 16 * 16
    why = draw.pick(("[Errno 110] Connection timed out", "[Errno 101] Network is unreachable"))
    job.say(began + seconds(3.1), 0, "wandb: Network error (ConnectionError), entering retry loop.")
    lost = f"<urllib3.connection.HTTPSConnection object at {handle:#x}>: Failed to establish a new connection: {why}"
    said = f"POST https://api.wandb.ai/graphql: NewConnectionError('{lost}')"
    told(stage, began + seconds(3.2), 0, "wandb.retry", said, "WARNING")
    stage.mark(began, "the tracker of rank 0 is not reached")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "run = wandb.init(project=args.project, config=vars(args))"),
        sdk.Frame(f"{site}/wandb/sdk/wandb_init.py", 1482, "init", "wandb._sentry.reraise(e)"),
        sdk.Frame(f"{site}/wandb/sdk/wandb_init.py", 966, "init", "raise CommError("),
        line=141,
    )
    hint = "Please try increasing the timeout with the `init_timeout` setting: "
    hint += f"`wandb.init(settings=wandb.Settings(init_timeout={waits + 30:.0f}))`."
    text = f"wandb.errors.errors.CommError: Run initialization has timed out after {waits} sec. {hint}"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    node_fails(stage, at + 600 * MS, 0, 0)
    others_go_with(stage, at + 2 * SEC, 0)
    made = stage.innocent("network", 0, also=("software", "infrastructure"))
    return stage.close("The hosts of this partition have no way out.", (made,))


@kind(hangs=False, trains=False)
def memory_of_a_dead_run_is_left(stage: Stage) -> Scenario:
    """Shared memory of a run that was killed lies there still (MosaicML Streaming #717 and #767, File exists).

    To acquit: the error is of /dev/shm on the job's host, where the file is older than the job; no shard was asked for,
    and AIStore is quiet.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("left"), stage.job.job.build["site"]
    node, at = own.node_of(stage.culprit), job.begin - seconds(1.0)
    what = f"{draw.whole(0, 2):06d}_locals"
    rank = own.ranks_of(node)[0]
    are_there(stage, at)
    told(stage, at - 280 * MS, 0, "data", f"StreamingDataset(remote='s3://{stage.bucket}/mds', local='/tmp/mds')")
    said = f"ls -l /dev/shm: -rw------- 1 root root 4096 {draw.whole(2, 9)} days old {what}, no process has it open"
    watched(stage, at - 150 * MS, node, said)
    stage.mark(at - 10 * MS, f"{own.hosts[node]} has shared memory of a former run")
    streaming = f"{site}/streaming/base"
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = StreamingDataset(remote=args.remote, local=args.local, batch_size=args.batch)"),
        sdk.Frame(
            f"{streaming}/dataset.py", 529, "__init__", "self._shm_prefix_int, self._locals_shm = get_shm_prefix("
        ),
        sdk.Frame(
            f"{streaming}/shared/prefix.py", 192, "get_shm_prefix", "shm = SharedMemory(name, True, len(data))", True
        ),
        sdk.Frame(
            f"{streaming}/shared/memory.py", 41, "__init__", "shm = BuiltinSharedMemory(name, create, size)", True
        ),
        sdk.Frame(f"{PYTHON}/multiprocessing/shared_memory.py", 104, "__init__", "self._fd = _posixshmem.shm_open("),
    )
    text = f"FileExistsError: [Errno 17] File exists: '/{what}'"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(without_carets(frames), text)))
    node_fails(stage, at + 600 * MS, node, rank)
    others_go_with(stage, at + 2 * SEC, node)
    made = stage.innocent("software", rank, also=("infrastructure",))
    return stage.close("A job of the same user had been killed on that host.", (of_all(made),))
