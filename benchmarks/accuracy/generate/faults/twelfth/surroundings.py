"""Faults of what a job needs to begin, of the twelfth part; storage is innocent, in most of them not at rest."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.tenth.training import nccl_error, of_all
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Job, Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, glog_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "twelfth")

PORT = 29500


def _banners(stage: Stage) -> None:
    """What every agent says before its ranks begin."""
    job, at = stage.job, stage.job.begin - seconds(6.7)
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, at):
            job.agent(at, host, text)


def _bar(done: int, everything: int, spent: float, processes: int) -> str:
    """A bar of datasets.map as tqdm draws it."""
    share, speed = done / everything, done / max(spent, 0.1)
    to_go = int((everything - done) / max(speed, 1))
    clock = f"{int(spent) // 60:02d}:{int(spent) % 60:02d}<{to_go // 60:02d}:{to_go % 60:02d}"
    full = "█" * int(share * 10)
    name = f"Running tokenizer on dataset (num_proc={processes})"
    return f"\r{name}: {share:4.0%}|{full:<10}| {done}/{everything} [{clock}, {speed:.2f} examples/s]"


@kind(hangs=False, trains=False, culprit=0, torch_order=203, torch_before=215)
def tokenized_by_rank_0(stage: Stage) -> Scenario:
    """Rank 0 tokenizes a corpus and the others wait in a barrier, for too long (nccl#865, LLaMA-Factory#2424)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("tokens"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(1_500, 3_900), "rank 0 begins to tokenize, the others wait for it")
    size, everything = draw.between(3, 40), draw.whole(2_900_000, 41_000_000)
    source, node = f"ais://{stage.bucket}/text/corpus.jsonl", stage.cluster.target(draw.whole(0, 99))
    spent = size / draw.between(1.1, 2.4)
    stage.cluster.count(node, at - 200 * MS, get_n=1, get_ns_total=seconds(spent), get_size=int(size * 1e9))
    job.note(at - 100 * MS, 0, f"{source}: {size:.1f} GB, {everything} rows", line=91)
    processes, over = draw.pick((1, 4, 8, 16)), stage.params.timeout_s
    speed, then = everything * draw.between(0.35, 0.8) / over, 2.0
    while then < over - 1:
        bar = _bar(int((then - 1) * speed / 1000) * 1000, everything, then, processes)
        job.say(at + seconds(then), 0, bar, newline=False)
        then += max(2.5, over / 24)
    frames = (
        f"#0 barrier from {site}/torch/distributed/distributed_c10d.py:4622",
        f"#1 main_process_first from {job.job.script}:74",
        f"#2 main from {job.job.script}:171",
        f"#3 <module> from {job.job.script}:212",
    )
    stuck = {rank: Work(2, "ALLREDUCE", 1, 1, 2, 1, frames) for rank in range(1, job.job.world)}
    stage.mark(job.hang(at, stuck, (0,), {0: 1}), f"job {job.job.job_id} has ended")
    also = ("software", "data_loading_stall", "collective_mismatch")
    return stage.close(
        "The corpus is new, and nobody has a copy of its tokens yet.", (stage.innocent("rank_hang", 0, also=also),)
    )


@kind(hangs=False, trains=False)
def hub_says_too_many(stage: Stage) -> Scenario:
    """Every rank asks the Hugging Face hub, which has had enough: 429, of the hub (huggingface/datasets#7506)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("hub"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(600, 2_400), "the Hugging Face hub answers 429 to the address of the site")
    model = draw.pick(("google-bert/bert-base-uncased", "Qwen/Qwen2.5-7B", "openai/clip-vit-large-patch14"))
    url = f"https://huggingface.co/{model}/resolve/main/{draw.pick(('config.json', 'tokenizer_config.json'))}"
    who = draw.shuffled(range(job.job.world))[: draw.whole(1, 4)]
    hub, last = f"{site}/huggingface_hub/utils/_http.py", at
    ip = f"{draw.whole(64, 190)}.{draw.whole(1, 250)}.{draw.whole(1, 250)}.{draw.whole(1, 250)}"
    for rank in sorted(who):
        then = at + draw.span(1, 700)
        if draw.chance(0.6):
            for turn, wait in enumerate((1, 2, 4), 1):
                job.say(then, rank, f"HTTP Error 429 thrown while requesting HEAD {url}")
                job.say(then + MS, rank, f"Retrying in {wait}s [Retry {turn}/5].")
                then += seconds(wait) + draw.span(20, 90)
        said = f"429 Client Error: Too Many Requests for url: {url}"
        first = sdk.Raised(
            (
                sdk.Frame(hub, 409, "hf_raise_for_status", "response.raise_for_status()"),
                sdk.Frame(f"{site}/requests/models.py", 1024, "raise_for_status", "raise HTTPError(http_error_msg,"),
            ),
            f"requests.exceptions.HTTPError: {said}",
            sdk.DIRECT,
        )
        frames = (
            *loss_frames(stage, "tokenizer = AutoTokenizer.from_pretrained(args.model)"),
            sdk.Frame(
                f"{site}/huggingface_hub/file_download.py", 1296, "get_hf_file_metadata", "r = _request_wrapper("
            ),
            sdk.Frame(hub, 482, "hf_raise_for_status", "raise _format(HfHubHTTPError, str(e), response) from e"),
        )
        root = f"Root=1-{draw.token(8, HEX)}-{draw.token(24, HEX)}"
        text = f"huggingface_hub.errors.HfHubHTTPError: {said} (Request ID: {root})\n\nWe had to rate limit your IP "
        text += f"({ip}). To continue using our service, create a HF account or login to your existing account, and "
        text += "make sure you pass a HF_TOKEN if you're using the API."
        job.raise_on(then, rank, sdk.traceback(first, sdk.Raised(frames, text)))
        last = max(last, then)
    nodes = {job.job.node_of(rank): rank for rank in who}
    job.agents_end([Exit(rank, last + 600 * MS, 1) for rank in nodes.values()], last + 700 * MS)
    also = ("network", "software")
    return stage.close(
        "All hosts of the site share one public address.", (of_all(stage.innocent("infrastructure", also=also)),)
    )


@kind(hangs=False, trains=False, hosts=2, torch_order=203, torch_before=215)
def interface_not_found(stage: Stage) -> Scenario:
    """NCCL_SOCKET_IFNAME names a card that one host does not have (pytorch#29482, NVIDIA/nccl#1837)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, order = stage.job, stage.draw.child("interface"), stage.params.torch_release.order
    job.start()
    node = job.job.node_of(stage.culprit)
    at = stage.mark(
        job.begin + draw.span(300, 1_400), f"{job.job.hosts[node]} has no interface of the name that is set"
    )
    name = draw.pick(("eth0", "bond0", "ens10f0np0", "ib0"))
    if draw.chance(0.4):
        job.note(job.begin - 700 * MS, 0, f"NCCL_SOCKET_IFNAME={name} NCCL_IB_DISABLE=0", line=52)
    for rank in job.job.ranks_of(node):
        then = at + draw.span(0, 90)
        if order < 209:
            last, place = "Bootstrap : no socket interface found", f"bootstrap.cc:{45 if order < 205 else 86}"
        else:
            family = draw.whole(1_000, 65_000)
            last = f"ncclSocketInit: connecting to address  with family {family} is neither AF_INET(2) nor AF_INET6(10)"
            place = "misc/socket.cc:824"
        nccl_warned(stage, then, rank, place, last)
        what = "internal error - please report this issue to the NCCL developers\nncclInternalError: Internal check "
        text = nccl_error(stage, f"{what}failed.", last)
        job.raise_on(then + 6 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))
    job.agents_end([Exit(job.job.ranks_of(node)[0], at + 900 * MS, 1)], at + SEC)
    also = ("infrastructure", "network", "gpu_fabric")
    return stage.close("New hosts have cards of another maker.", (of_all(stage.innocent("software", also=also)),))


def _socket_line(job: Job, node: int, at: int, level: str, number: int, text: str) -> str:
    """A line of c10d's sockets in an agent, which has no rank."""
    if job.torch.glog:
        return f"{level}{glog_stamp(at, job.zone)} {job.agent_pids[node]} socket.cpp:{number}] [c10d] {text}"
    stamp = cpp_stamp(at, job.zone) if job.torch.prints_time else ""
    return f"[{level}{stamp} socket.cpp:{number}] [c10d] {text}"


@kind(hangs=False, trains=False, hosts=2)
def rendezvous_name_unknown(stage: Stage) -> Scenario:
    """Hosts cannot resolve the name that MASTER_ADDR gives, and try for minutes (pytorch#131691, #105782)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("rendezvous"), stage.job.job.build["site"]
    _banners(stage)
    master, lines = job.job.hosts[0], (697, 752) if job.job.torch.order < 207 else (752, 755)
    at = stage.mark(job.begin, f"the name {master} is not known to the other hosts")
    why = draw.pick(("-2 - Name or service not known", "-3 - Temporary failure in name resolution"))
    spent = draw.pick((60.0, 120.0))
    module = f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py"
    frames = (
        sdk.Frame(f"{job.job.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(module, 67, "next_rendezvous", "self._store = TCPStore("),
    )
    tried = f"The client socket has timed out after {spent * 1000:.0f}ms while trying to connect to ({master}, {PORT})."
    for node in range(1, len(job.job.hosts)):
        then = at + draw.span(30, 900)
        limit, wait = then + seconds(spent), 1.0
        while then < limit:
            for turn, version in enumerate(("IPv6", "IPv4")):
                said = f"The {version} network addresses of ({master}, {PORT}) cannot be retrieved (gai error: {why})."
                moment = then + turn * draw.span(0.4, 5)
                job.agent(moment, node, _socket_line(job.job, node, moment, "W", lines[0], said))
            then += seconds(wait) + draw.span(2, 400)
            wait = min(wait * 2, 16)
        job.agent(limit, node, _socket_line(job.job, node, limit, "E", lines[1], tried))
        error = f"torch.distributed.DistNetworkError: {tried}"
        job.agent(limit + 4 * MS, node, sdk.traceback(sdk.Raised(frames, error)))
        job.slurm(limit + SEC, node, torchrun.srun_exit(job.job, node))
    over = at + seconds(spent + 2.6)
    job.agent_signalled(over, 0)
    job.slurm(over + 100 * MS, 0, torchrun.step_cancelled(job.job, over + 100 * MS))
    job.ended_at = over + SEC
    also = ("network", "software")
    return stage.close(
        "The resolver knows hosts by other names than the scheduler.",
        (of_all(stage.innocent("infrastructure", also=also)),),
    )
