"""Jobs that do not come to their first step, of the twenty-fourth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, node_fails, speakers, told
from benchmarks.accuracy.generate.faults.words.workbenches import in_pods
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fourth")

HUB = "https://huggingface.co"
#: Packages of kernels: a module, what a user imports, the library beneath it, the symbol that it lacks.
KERNELS = (
    ("flash_attn/flash_attn_interface", "flash_attn_func", "flash_attn_2_cuda", "_ZN3c104cuda9SetDeviceEab"),
    ("mamba_ssm/ops/selective_scan_interface", "Mamba", "selective_scan_cuda", "_ZN3c104cuda9SetDeviceEi"),
    (
        "causal_conv1d/causal_conv1d_interface",
        "causal_conv1d_fn",
        "causal_conv1d_cuda",
        "_ZN3c105ErrorC2ENS_14SourceLocationESs",
    ),
)
#: What a resolver says of a name.
GAI = ("-2 - Name or service not known", "-3 - Temporary failure in name resolution")


def _bare_of_all(stage: Stage, at: int, *chain: sdk.Raised) -> int:
    """All ranks meet the same before they know of each other: no rank stands in front; the last moment."""
    draw, last = stage.draw.child("bare of all"), at
    for rank in speakers(stage):
        then = at + draw.span(1, 900)
        for one in chain[:-1]:
            stage.job.say(then, rank, sdk.traceback(one))
        launchers.bare(stage, then, rank, chain[-1])
        last = max(last, then)
    return last


def _not_allowed(place: str) -> str:
    """What torch.load says of a class that it does not take."""
    text = "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two "
    text += "options, \x1b[1mdo those steps only if you trust the source of the checkpoint\x1b[0m. \n"
    text += "\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    text += "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it "
    text += "can result in arbitrary code execution. Do it only if you got the file from a trusted source.\n"
    text += "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
    text += (
        f"error message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL {place} was not an allowed global by "
    )
    text += f"default. Please use `torch.serialization.add_safe_globals([{place}])` or the "
    text += f"`torch.serialization.safe_globals([{place}])` context manager to allowlist this global if you trust this "
    text += "class/function.\n\nCheck the documentation of torch.load to learn more about types accepted by default "
    text += "with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
    return text


@kind(hangs=False, trains=False, torch_order=206)
def weights_only_refuses_a_config(stage: Stage) -> Scenario:
    """torch.load no more takes what else lies in a checkpoint since 2.6 (habitat-lab#2236, pytorch_tabular#548).

    To acquit: the checkpoint came in full and with its checksum; PyTorch says which class it does not take, and since
    which release.
    """
    beside(stage, denied_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("weights only"), stage.job.job.build["site"]
    at = job.begin - seconds(1.2)
    launchers.banners(stage, at - seconds(5.1))
    for rank in range(job.job.world):
        job.greet(at - seconds(2.4) + rank * 190_000, rank)
    size = draw.whole(400, 5_400) * (1 << 20) + draw.whole(0, 1 << 20)
    name, crc = f"ais://checkpoints/{job.job.task}/last.ckpt", draw.token(8, HEX)
    for rank in speakers(stage)[:4]:
        said = f"{name}: {size} of {size} bytes in {draw.between(1.1, 4.4):.1f} s, crc32c {crc} as in its metadata"
        told(stage, at - draw.span(40, 200), rank, "resume", said)
    stage.mark(at, "torch.load does not take the class of a config")
    place = "omegaconf." + draw.pick(("listconfig.ListConfig", "dictconfig.DictConfig", "base.ContainerMetadata"))
    text = _not_allowed(place)
    call = sdk.Frame("", 0, "", "state = load_state(args.resume)")
    frames = launchers.begins(
        stage,
        call,
        sdk.Frame(job.job.script, 129, "load_state", 'return torch.load(buffer, map_location="cpu")', True),
        sdk.Frame(
            f"{site}/torch/serialization.py", 1524, "load", "raise pickle.UnpicklingError(_get_wo_message(str(e)))"
        ),
    )
    last = all_raise(stage, at, sdk.Raised(frames, text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("data",))
    return stage.close("The image has a newer PyTorch since this morning.", (of_all(made),))


def _turned_away(stage: Stage, began: int, url: str) -> None:
    """Every rank asks the Hub six times and is told 429."""
    draw = stage.draw.child("turned away by the hub")
    for rank in speakers(stage):
        then = began + draw.span(1, 500)
        for attempt, wait in enumerate((1, 2, 4, 8, 8), 1):
            stage.job.say(then, rank, f"HTTP Error 429 thrown while requesting HEAD {url}")
            stage.job.say(then + MS, rank, f"Retrying in {wait}s [Retry {attempt}/5].")
            then += wait * SEC + draw.span(40, 130)


@kind(hangs=False, trains=False)
def hub_turns_all_ranks_away(stage: Stage) -> Scenario:
    """Every rank asks the Hub for a config at the same time, without a token: 429 (OLMo#550, datasets#7506).

    To acquit: the address that answers 429 is that of the Hub, in each line; no rank has asked AIStore for anything.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("hub"), stage.job.job.build["site"]
    model = draw.pick(("openai/whisper-large-v3", "Qwen/Qwen2.5-1.5B", "facebook/wav2vec2-xls-r-300m"))
    file = "preprocessor_config.json" if "Qwen" not in model else "tokenizer_config.json"
    url = f"{HUB}/{model}/resolve/main/{file}"
    at = job.begin + seconds(21)
    launchers.banners(stage, at - seconds(33))
    _turned_away(stage, stage.mark(at - seconds(24.6), "the Hub turns the ranks away"), url)
    amz = f"(Request ID: Root=1-{draw.token(8, HEX)}-{draw.token(24, HEX)};{draw.token(8, HEX)})"
    hub = f"{site}/huggingface_hub"
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/transformers/utils/hub.py", 479, "cached_files", "hf_hub_download("),
            sdk.Frame(f"{hub}/file_download.py", 1008, "hf_hub_download", "return _hf_hub_download_to_cache_dir("),
            sdk.Frame(f"{hub}/utils/_http.py", 482, "hf_raise_for_status", "raise _format(HfHubHTTPError, str(e), r)"),
        ),
        f"huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: {url} {amz}",
        sdk.DIRECT,
    )
    call = sdk.Frame("", 0, "", "frontend = load_frontend(args.pretrained)")
    frames = launchers.begins(
        stage,
        call,
        sdk.Frame(job.job.script, 73, "load_frontend", "return AutoProcessor.from_pretrained(name)", True),
        sdk.Frame(f"{site}/transformers/utils/hub.py", 553, "cached_files", "raise OSError("),
    )
    text = f"OSError: We couldn't connect to '{HUB}' to load the files, and couldn't find them in the cached files.\n"
    text += "Check your internet connection or see how to run the library in offline mode at "
    text += f"'{HUB}/docs/transformers/installation#offline-mode'."
    last = _bare_of_all(stage, at, first, sdk.Raised(frames, text))
    all_exit(stage, last)
    made = stage.innocent("network", also=("software", "infrastructure"))
    return stage.close("The cache of the site was emptied over the weekend.", (of_all(made),))


def _asks_for_a_name(stage: Stage, node: int, span: tuple[int, int], why: str) -> None:
    """The agent of a host resolves a name again and again, for both families of addresses."""
    own, draw = stage.job.job, stage.draw.child("asks for a name", node)
    number = 697 if own.torch.order < 205 else 759
    then, wait = span[0] + draw.span(100, 900), 0.9
    while then < span[1]:
        for turn, family in enumerate(("IPv6", "IPv4")):
            asked = then + turn * draw.span(0.4, 5)
            stamp = cpp_stamp(asked, own.zone) if own.torch.prints_time else ""
            said = f"[W{stamp} socket.cpp:{number}] [c10d] The {family} network addresses of {why}"
            stage.job.agent(asked, node, said)
        then += seconds(wait) + draw.span(10, 200)
        wait = min(wait * 1.9, 15)


@kind(hangs=False, trains=False, hosts=2)
def first_host_has_no_name(stage: Stage) -> Scenario:
    """Agents cannot resolve the name of the host that they are to meet at (torchx#540, pytorch#150532).

    To acquit: PyTorch's sockets say that the name of a worker is not known until they give up; no rank was begun.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("no name")
    limit, port = 60, draw.pick((29500, 29400, 29603))
    began = stage.mark(job.begin - seconds(6), f"{own.hosts[0]} is not known by its name")
    launchers.banners(stage, began - 300 * MS)
    where = draw.pick(("train", "jobs", "gang")) + ".svc.cluster.local"
    name = f"{own.hosts[0]}.{where if in_pods(stage) else draw.pick(('hpc.lan', 'cluster.internal', 'ib.site'))}"
    why = f"cannot be retrieved (gai error: {draw.pick(GAI)})."
    site = own.build["site"]
    for node in range(1, len(own.hosts)):
        _asks_for_a_name(stage, node, (began, began + (limit - 1) * SEC), f"({name}, {port}) {why}")
        over = began + limit * SEC + node * MS
        frames = (
            sdk.Frame(f"{own.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
            sdk.Frame(f"{site}/torch/distributed/run.py", 896, "run", "elastic_launch("),
            sdk.Frame(
                f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py",
                67,
                "next_rendezvous",
                "self._store = TCPStore(",
            ),
        )
        text = f"The client socket has timed out after {limit * 1000}ms while trying to connect to ({name}, {port})."
        job.agent(over, node, sdk.traceback(sdk.Raised(frames, f"torch.distributed.DistNetworkError: {text}")))
        job.slurm(over + draw.span(200, 900), node, torchrun.srun_exit(own, node))
    over = began + limit * SEC + draw.span(1_400, 2_600)
    for text in torchrun.death_signal(own, 0, over):
        if "closing signal" not in text:
            job.agent(over, 0, text)
    job.slurm(over + 300 * MS, 0, f"srun: error: {own.hosts[0]}: task 0: Terminated")
    job.ended_at = over + SEC
    made = stage.innocent("network", also=("infrastructure", "software"))
    return stage.close("The headless service of the job was not made.", (of_all(made),))


@kind(hangs=False, trains=False)
def kernels_built_for_another_torch(stage: Stage) -> Scenario:
    """A package of kernels was built against another PyTorch: a symbol is missing (flash-attention, issues).

    To acquit: all ranks end at an import, before they know of each other; the loader of libraries names the symbol.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("symbol"), stage.job.job.build["site"]
    at = job.begin - seconds(3.1)
    launchers.banners(stage, at - seconds(3.4))
    stage.mark(at, "all ranks lack a symbol")
    module, name, library, symbol = draw.pick(KERNELS)
    package, dotted = module.split("/")[0], module.replace("/", ".")
    frames = (
        sdk.Frame(job.job.script, 19, "<module>", "from model import build_model"),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/model.py", 11, "<module>", f"from {package} import {name}"),
        sdk.Frame(f"{site}/{package}/__init__.py", 3, "<module>", f"from {dotted} import ("),
        sdk.Frame(f"{site}/{module}.py", 15, "<module>", f"import {library}"),
    )
    text = f"ImportError: {site}/{library}.cpython-311-x86_64-linux-gnu.so: undefined symbol: {symbol}"
    last = _bare_of_all(stage, at, sdk.Raised(frames, text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure",))
    return stage.close("PyTorch came anew with a requirement of another package.", (of_all(made),))


def _not_resolved(host: str, path: str, draw: Draw) -> str:
    """urllib3 cannot resolve the name of a gateway."""
    cause = f"<urllib3.connection.HTTPConnection object at {draw.whole(*HANDLES) // 16 * 16:#x}>: Failed to resolve "
    cause = f"NameResolutionError(\"{cause}'{host}' ([Errno -2] Name or service not known)\")"
    return sdk.pool_error(host, 51080, path, cause)


@kind(hangs=False, trains=False)
def endpoint_of_a_former_site(stage: Stage) -> Scenario:
    """The config still names the gateway of a cluster that was moved away (AIStore docs, AIS_ENDPOINT).

    To acquit: the client cannot resolve the name that it was configured with; that is none of this cluster's nodes, all
    of which run and are asked for nothing by the job.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("former"), stage.job.job.build["site"]
    host = draw.pick(("ais-gw.dc1-old.internal", "aistore-proxy.ais-stage.svc.cluster.local", "ais-lb.hall2.lan"))
    began = job.begin - seconds(4)
    launchers.banners(stage, began - seconds(5))
    for rank in range(job.job.world):
        job.greet(began - seconds(2.1) + rank * 160_000, rank)
    file = draw.pick(("conf/cluster.yaml", "~/.config/ais/cli.json", "env.sh"))
    told(stage, began - 30 * MS, 0, "data", f"AIS_ENDPOINT=http://{host}:51080 ({file}), bucket ais://{stage.bucket}")
    stage.mark(began, "rank 0 asks a gateway that is not there any more")
    text = _not_resolved(host, f"/v1/buckets/{stage.bucket}?provider=ais", draw)
    then = began
    for attempt in range(6):
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        job.sdk_warning(then, 0, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(6, 60)
    job.sdk_warning(then, 0, "All retries exhausted; request failed", "ERROR")
    watched(stage, then + 2 * MS, 0, f"getent: hosts {host}: exit status 2")
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "names = list_shards(args)"),
        sdk.Frame(job.job.script, 41, "list_shards", "return [one.name for one in bucket.list_all_objects()]", True),
        sdk.Frame(f"{site}/aistore/sdk/bucket.py", 472, "list_all_objects", "resp = self.list_objects("),
    )
    job.raise_on(then + 4 * MS, 0, sdk.exhausted(job.job, caller, "ConnectionError", text))
    node_fails(stage, then + 700 * MS, 0, 0)
    last = then + seconds(1.8)
    for node in range(1, len(job.job.hosts)):
        job.agent_signalled(last, node)
        job.slurm(last + draw.span(200, 400), node, torchrun.srun_exit(job.job, node))
    job.ended_at = last + SEC
    made = stage.innocent("software", 0, also=("network", "infrastructure", "storage_io"))
    return stage.close("The new site has its own name.", (of_all(made),))
