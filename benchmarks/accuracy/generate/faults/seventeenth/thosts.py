"""Faults of hosts, cards, disks and ways between hosts of the seventeenth part; storage is innocent and loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, cpp_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventeenth")
PORT = 29500


def banners(stage: Stage, at: int) -> None:
    """The launchers of all hosts begin."""
    for node in range(len(stage.job.job.hosts)):
        for text in torchrun.omp_banner(stage.job.job, node, at):
            stage.job.agent(at, node, text)


@kind(hangs=False, trains=False, hosts=2)
def driver_not_loaded_on_a_host(stage: Stage) -> Scenario:
    """A host has a new kernel and no driver for it: no device is found (NVIDIA/nccl#861, stanford_alpaca#258)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("driver")
    node, site, is_rocm = own.node_of(stage.culprit), own.build["site"], own.torch.is_rocm
    at = stage.mark(job.begin - seconds(1.3), f"{own.hosts[node]} has no driver for its devices")
    banners(stage, at - seconds(4.1))
    for rank in range(own.world):
        if own.node_of(rank) != node:
            job.greet(at - 90 * MS + rank * 170_000, rank)
    tool = "rocm-smi: ERROR:root:Driver not initialized (amdgpu not found in modules)"
    if not is_rocm:
        tool = (
            "nvidia-smi: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
        )
        tool += "the latest NVIDIA driver is installed and running."
    if draw.chance(0.7):
        watched(stage, job.begin - seconds(draw.between(9, 40)), node, tool)
    module = f"{site}/torch/distributed/distributed_c10d.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 158, "main", 'dist.init_process_group(backend="nccl", timeout=timeout)', True),
        sdk.Frame(module, 1736, "init_process_group", "default_pg, _ = _new_process_group_helper("),
        sdk.Frame(module, 1923, "_new_process_group_helper", "backend_class = ProcessGroupNCCL("),
    )
    raised = sdk.Raised(frames, "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
    ranks = own.ranks_of(node)
    for rank in ranks:
        job.raise_on(at + draw.span(1, 300), rank, sdk.traceback(raised))
    over = job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + 900 * MS)
    made = of_all(stage.innocent("infrastructure", also=("gpu", "software")))
    return stage.close("Hosts were updated in the night, and one was not finished.", (made,), until=over)


@kind(hosts=2, min_timeout_s=90, lead_s=80.0)
def port_of_a_card_goes_down(stage: Stage) -> Scenario:
    """A cable fails for good, NCCL notes it and nothing comes to an end (NVIDIA/nccl#905, lit-llama#380)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("port")
    node, card = own.node_of(stage.culprit), draw.whole(0, 7)
    stage.mark(at, f"a port of {own.hosts[node]} goes down")
    address = f"{0x0C + 0x12 * card:02x}:00.0"
    watched(stage, at + 2 * MS, node, f"kernel: mlx5_core 0000:{address} ens{card + 3}np0: Link down")
    place = "transport/net_ib.cc:" + {202: "88", 207: "108"}.get(own.torch.order, "124")
    name = f" mlx5_{card}:1" if own.torch.order >= 207 else ""
    for rank in own.ranks_of(node):
        nccl_warned(stage, at + draw.span(5, 400), rank, place, f"NET/IB :{name} Got async event : port error")
    stage.hang(at + 40 * MS)
    made = of_all(stage.innocent("network", also=("gpu_fabric", "infrastructure", "rank_hang")))
    return stage.close("A transceiver is replaced, it was too warm for weeks.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def store_behind_a_firewall(stage: Stage) -> Scenario:
    """Hosts know each other and may not connect to the port of the store (pytorch#105782, #124380; CPPO#6)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("firewall")
    at, master, site = (
        stage.mark(job.begin, "nobody reaches the store of the first host"),
        own.hosts[0],
        own.build["site"],
    )
    banners(stage, at - seconds(4.4))
    spent, is_new = draw.pick((60, 300, 600)), own.torch.order >= 207
    waited = f"{spent * 1000}ms" if is_new else f"{spent}s"
    tried = f"The client socket has timed out after {waited} while trying to connect to ({master}, {PORT})."
    module = f"{site}/torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py"
    frames = (
        sdk.Frame(f"{own.build['bin']}/torchrun", 8, "<module>", "sys.exit(main())"),
        sdk.Frame(module, 67, "next_rendezvous", "self._store = TCPStore("),
    )
    for node in range(1, len(own.hosts)):
        then = at + seconds(spent) + draw.span(30, 900)
        stamp = cpp_stamp(then, own.zone) if own.torch.prints_time else ""
        job.agent(then, node, f"[E{stamp} socket.cpp:{1023 if is_new else 957}] [c10d] {tried}")
        if is_new:
            said = (
                f"TCP client failed to connect/validate to host {master}:{PORT} - timed out (try=1, timeout={waited})"
            )
            stamp = cpp_stamp(then + MS, own.zone)
            job.agent(then + MS, node, f"[E{stamp} TCPStore.cpp:318] [c10d] {said}: {tried}")
        raised = sdk.Raised(frames, f"torch.distributed.DistNetworkError: {tried}")
        job.agent(then + 4 * MS, node, sdk.traceback(raised))
        job.slurm(then + SEC, node, torchrun.srun_exit(own, node))
    over = at + seconds(spent + 3.1)
    job.agent_signalled(over, 0)
    job.slurm(over + 100 * MS, 0, torchrun.step_cancelled(own, over + 100 * MS))
    job.ended_at = over + SEC
    made = of_all(stage.innocent("network", also=("infrastructure",)))
    return stage.close("Rules of the new image open the range of another scheduler.", (made,), until=job.ended_at)


@kind(culprit=0, hangs=False, lead_s=70.0)
def busy_file_on_nfs(stage: Stage) -> Scenario:
    """A folder on NFS is to be removed while a file of it is open: EBUSY (Lightning#20828, RL-Compositionality#5)."""
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_meets_bad_data, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("busy")
    stage.mark(at, "an old checkpoint cannot be removed from NFS")
    folder = f"/nfs/experiments/{own.task}/checkpoint-{max(1, stage.step // 2)}"
    job.note(at - 300 * MS, 0, f"removing {folder}, the last two are kept", line=129)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 130, "save_checkpoint", "shutil.rmtree(oldest)", True),
        sdk.Frame(f"{PYTHON}/shutil.py", 763, "rmtree", "_rmtree_safe_fd(fd, path, onexc)"),
        sdk.Frame(f"{PYTHON}/shutil.py", 703, "_rmtree_safe_fd", "os.unlink(entry.name, dir_fd=topfd)"),
    )
    name = f".nfs{draw.token(16, HEX)}{draw.token(8, HEX)}"
    raised = sdk.Raised(frames, f"OSError: [Errno 16] Device or resource busy: '{name}'")
    job.raise_on(at, 0, sdk.traceback(raised))
    exits(stage, at, 0)
    unrest.hung_up_on(stage)
    return stage.close(
        "An evaluation on another host still reads from there.",
        (stage.innocent("infrastructure", 0, also=("software",)),),
    )


@kind(culprit=0, words_only=True, min_timeout_s=90, lead_s=70.0)
def old_checkpoints_removed_one_by_one(stage: Stage) -> Scenario:
    """Rank 0 removes old shards from Lustre, one by one, while all wait (Megatron-Bridge#332, Lustre manual)."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("one by one")
    stage.mark(at, "rank 0 removes old checkpoints")
    folder, many = f"/lustre/experiments/{own.task}", draw.whole(9_000, 60_000)
    job.note(
        at, 0, f"Deleting older checkpoint [{folder}/checkpoint-{max(1, stage.step // 2)}], {many} files", line=129
    )
    if draw.chance(0.7):
        main = standing_in(
            stage,
            203,
            ("_rmtree_safe_fd", f"{PYTHON}/shutil.py", 703),
            ("rmtree", f"{PYTHON}/shutil.py", 763),
            ("save_checkpoint", own.script, 130),
        )
        pinning = Thread("Thread-3 (_pin_memory_loop)", (("wait", f"{PYTHON}/threading.py", 331),))
        py_spy(stage, min(draw.between(30, 60), own.timeout_s - 12), (main, pinning))
    stage.hang(at + 30 * MS, 0)
    return stage.close(
        "The server of metadata serves a backup at the same time.",
        (stage.innocent("rank_hang", 0, also=("infrastructure", "software")),),
    )


@kind(hangs=False, hosts=2, lead_s=70.0, without=("low_space",))
def system_disk_turns_read_only(stage: Stage) -> Scenario:
    """The disk of a host of training fails, its kernel allows no more writes (ext4 docs; pytorch, inductor's cache)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_meets_bad_data, unrest.entries_missing))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, node, site = stage.draw.child("read-only"), own.node_of(stage.culprit), own.build["site"]
    began = stage.mark(at - draw.span(900, 9_000), f"the system disk of {own.hosts[node]} fails")
    disk = draw.pick(("nvme0n1p2", "sda2"))
    sector = draw.whole(9_000_000, 900_000_000) // 8 * 8
    said = f"kernel: I/O error, dev {disk.removesuffix('p2').removesuffix('2')}, sector {sector} op 0x1:(WRITE) flags "
    watched(stage, began, node, f"{said}0x800 phys_seg 1 prio class 2")
    watched(
        stage,
        began + 40 * MS,
        node,
        f"kernel: EXT4-fs error (device {disk}): ext4_journal_check_start:83: comm python3: Detected aborted journal",
    )
    watched(stage, began + 41 * MS, node, f"kernel: EXT4-fs ({disk}): Remounting filesystem read-only")
    path = f"/tmp/torchinductor_train/{draw.token(2, HEX)}/c{draw.token(50)}.py"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/_inductor/codecache.py", 459, "write_atomic", "with tmp_path.open(write_mode) as f:"),
        sdk.Frame(f"{PYTHON}/pathlib.py", 1044, "open", "return io.open(self, mode, buffering, encoding, errors,"),
    )
    text = f"OSError: [Errno 30] Read-only file system: '{path}'"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close("The host is sent to its maker.", (stage.innocent("infrastructure", rank, also=("software",)),))


@kind(hangs=False, trains=False, without=RESTARTS)
def backbone_not_downloaded(stage: Stage) -> Scenario:
    """Hosts have no way out, and torch.hub is to fetch a backbone (pytorch docs, torch.hub; BasicSR, VGG)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("backbone"), stage.job.job.build["site"]
    job.start()
    began = stage.mark(job.begin + draw.span(900, 2_400), "hosts cannot reach download.pytorch.org")
    name = draw.pick(("vgg19-dcbb9e9d.pth", "resnet50-11ad3fa6.pth", "resnet34-b627a593.pth"))
    url = f"https://download.pytorch.org/models/{name}"
    for rank in range(0, own.world, own.ranks_per_node):
        said = f'Downloading: "{url}" to /root/.cache/torch/hub/checkpoints/{name}'
        job.say(began + draw.span(1, 300), rank, said)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 164, "main", "model = build_model(options)", True),
        sdk.Frame(f"{site}/torchvision/models/_api.py", 90, "get_state_dict", "return load_state_dict_from_url("),
        sdk.Frame(f"{site}/torch/hub.py", 766, "load_state_dict_from_url", "download_url_to_file(url, cached_file,"),
        sdk.Frame(f"{site}/torch/hub.py", 620, "download_url_to_file", "u = urlopen(req)"),
        sdk.Frame(f"{PYTHON}/urllib/request.py", 1351, "do_open", "raise URLError(err)"),
    )
    why = draw.pick(("[Errno 110] Connection timed out", "[Errno 101] Network is unreachable"))
    at = began + seconds(131.2 if "110" in why else 0.4)
    over = each_raises(stage, at, f"urllib.error.URLError: <urlopen error {why}>", frames)
    made = of_all(stage.innocent("network", also=("infrastructure", "software")))
    return stage.close("The new partition has no proxy.", (replace(made),), until=over)
