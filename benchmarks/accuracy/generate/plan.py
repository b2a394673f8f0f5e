"""Draws what an incident is made of: fault x noise x evidence taken away x topology, releases, frameworks and clocks.

What the parts may show is in parts.py; a part that is held back has fault kinds of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.accuracy.generate.faults import KINDS
from benchmarks.accuracy.generate.kinds import Kind
from benchmarks.accuracy.generate.noise import LAST, LOUD, OF_RANKS, OPENING, QUIET
from benchmarks.accuracy.generate.parts import PARTS, Part, drawn_for
from benchmarks.accuracy.generate.scene import RECORDS_BY_DEFAULT, Setting
from benchmarks.accuracy.generate.taken import TAKEN
from fixtures.generator.draw import Draw
from fixtures.generator.model import Params
from fixtures.generator.parallel import Mesh

SHARES = {"storage": 0.42, "training": 0.50, "none": 0.08}
ZONES = ("America/Los_Angeles", "Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "America/New_York", "Australia/Sydney")
WORLDS = (8, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32, 64, 64, 128)
LARGE = (512, 1024, 4096)
TARGETS = (3, 3, 3, 4, 4, 5, 6, 8, 10, 14, 20, 32, 60)
FAR_S = 4.0
#: Frameworks that print no rank in a message, and the first release whose watchdog names groups and global ranks.
NAMELESS = (
    "nemo_plain",
    "bar",
    "hf",
    "megatron",
    "titan",
    "colossal",
    "funasr",
    "fairseq",
    "returnn",
    "timm",
    "wenet",
    "speechbrain",
    "open_clip",
    "llamafactory",
    "torchtune",
    "mmengine",
    "dinov2",
    "detectron2",
    "litgpt",
    "flashy",
    "coqui",
    "swift",
    "ignite",
    "opennmt",
    "neox",
    "verl",
    "lavis",
    "lerobot",
    "dit",
    "monai",
    "physicsnemo",
    "vissl",
    "automodel",
    "yolox",
    "swin",
    "internevo",
    "mmcv",
    "slowfast",
    "sockeye",
    "basicsr",
    "openpcdet",
    "nanogpt",
    "fairchem",
    "fastpitch",
    "mae",
    "imagenet",
    "ultralytics",
    "guided",
    "diffusers",
    "stylegan",
    "hifigan",
    "dlrm",
    "maskrcnn",
    "wespeaker",
    "fms",
    "mlperf",
    "vits",
    "picotron",
    "colbert",
    "mace",
    "pwg",
    "llmc",
    "tacotron2",
    "txl",
    "kohya",
    "moshi",
    "flamingo",
    "styletts2",
    "sam2",
    "pointcept",
    "flair",
    "dpr",
    "kair",
    "prismatic",
    "mmf",
    "ostrack",
    "hrnet",
    "clip4clip",
    "kdiff",
    "opensora",
    "s3prl",
    "deit",
    "cosyvoice",
    "nnunet",
    "pixart",
    "dalle",
    "gluefactory",
    "rosettafold",
    "fastai",
)
#: Frameworks of which every rank prints progress: too much of it in a large world.
TALKATIVE = (
    *("pylog", "titan", "funasr", "icefall", "returnn", "olmo", "wenet", "lingua", "flashy", "xtuner"),
    *("mae", "imagenet", "mingpt", "parlai", "dpr"),
)
NAMES_GROUPS = 203
LARGEST_MESH, LARGEST_TORCHRUN, LARGEST_DUMPED = 256, 64, 64


@dataclass(frozen=True)
class Plan:
    """An incident before it is written."""

    name: str
    number: int
    part: str
    kind: Kind
    params: Params
    setting: Setting
    taken: str

    @property
    def may_be_undetermined(self) -> bool:
        """The logs cannot tell: evidence is gone, nothing was printed that names its rank, clocks are too far apart."""
        params, mesh = self.params, self.setting.mesh
        is_nameless = self.kind.words_only and params.style in NAMELESS and params.layout != "torchrun"
        names_ranks = params.torch_release.order >= NAMES_GROUPS and not params.torch_release.glog
        is_local = mesh is not None and mesh.tensor * mesh.pipeline > 1 and not names_ranks
        is_far = abs(self.setting.cluster_skew_s) > FAR_S or any(abs(ahead) > FAR_S for _, ahead in self.setting.skews)
        is_sizeless = self.kind.sizes_only and not params.torch_release.prints_sizes
        is_silent = self.kind.may_be_undetermined or is_nameless or is_sizeless
        return self.taken != "nothing" or is_silent or is_far or is_local

    @property
    def hardness(self) -> str:
        """Easy, middle or hard, by what stands between the logs and the truth."""
        setting, params = self.setting, self.params
        points = len(setting.noise) + sum(name in LOUD or name in OPENING or name in LAST for name in setting.noise)
        points += (
            bool(setting.mesh) + bool(setting.skews) + bool(setting.cluster_skew_s) + 2 * (self.taken != "nothing")
        )
        points += (params.worker_zone != params.ais_zone) + bool(params.node_zones)
        return "easy" if points <= 1 else "middle" if points <= 4 else "hard"


def draw_plan(seed: int, number: int, part: str) -> Plan:
    """The incident of this number; same seed, part and number, same plan."""
    shown = PARTS[part]
    draw = Draw(seed, "accuracy", shown.word, number)
    kind = _kind(draw, shown)
    params = _in_zones(_params(draw, kind, shown), draw.child("zones"))
    setting = _setting(draw, kind, params)
    if "restart_before" in setting.noise:
        params = replace(params, lead_s=max(params.lead_s, 125.0))
    return Plan(f"{part}-{number:04d}-{kind.name}", number, part, kind, params, setting, _taken(draw, kind, params))


def _kind(draw: Draw, part: Part) -> Kind:
    dice = draw.child("side").between(0, 1)
    side = "storage" if dice < SHARES["storage"] else "training" if dice < 1 - SHARES["none"] else "none"
    held = side != "none" and draw.child("held").chance(part.share)
    return draw.child("kind").pick([one for one in KINDS.values() if one.side == side and _shows(one, part, held)])


def _shows(kind: Kind, part: Part, held: bool) -> bool:
    """A kind of the part's own, or one that every part has."""
    return kind.held in part.held if held else not kind.held


def _world(draw: Draw) -> tuple[int, int]:
    world = draw.pick(LARGE) if draw.chance(0.04) else draw.pick(WORLDS)
    return world, 8 if world > 16 else draw.pick((4, 8))


def _params(draw: Draw, kind: Kind, part: Part) -> Params:
    ais, torch, style = drawn_for(draw, part, kind.ais_order, (kind.torch_order, kind.torch_before))
    world, per_node = _world(draw.child("world"))
    per_node = per_node // 2 if kind.hosts > 1 and world <= per_node else per_node
    layouts = ("slurm", "srun-l") if kind.slurm else ("slurm", "slurm", "srun-l", "kubectl", "torchrun")
    layout = draw.child("layout").pick(layouts)
    if world > LARGEST_TORCHRUN and layout == "torchrun":
        layout = "slurm"
    if world > 128 and style in TALKATIVE:
        style = part.spare_style
    timeouts = [one for one in (60, 60, 90, 120, 180, 300, 600) if one >= kind.min_timeout_s]
    proxies = max(kind.proxies, draw.child("proxies").pick((1, 1, 2, 2, 3, 5)))
    times = draw.child("times")
    return Params(
        seed=draw.child("seed").whole(1, 1 << 30),
        ranks=world,
        ranks_per_node=per_node,
        targets=max(kind.targets, draw.child("targets").pick(TARGETS)),
        proxies=proxies,
        ais=ais,
        torch=torch,
        start=_start(times),
        lead_s=max(kind.lead_s, times.between(45, 130)),
        step_s=round(times.between(0.35, 1.1), 2),
        read_every=8 if world <= 128 else 8 * world // 128,
        timeout_s=times.pick(timeouts),
        culprit=_culprit(draw.child("culprit"), kind, world, per_node, proxies),
        victim=draw.child("victim").whole(0, 59),
        layout=layout,
        style=style,
        stats_time_s=times.pick((10, 30, 60, 60, 180)),
        flush_s=times.pick((10, 10, 20, 60)),
        uptime_h=round(times.between(6, 170), 1) if kind.uptime or times.chance(0.6) else 0.0,
        id_style=times.pick(("k8s", "k8s", "dev")),
        disks=times.pick((0, 0, 8, 12)),
    )


def _culprit(draw: Draw, kind: Kind, world: int, per_node: int, proxies: int) -> int:
    if kind.culprit is not None:
        return kind.culprit
    if kind.off_primary:
        return draw.pick([node for node in range(-(-world // per_node)) if node % proxies]) * per_node
    if kind.name == "primary_proxy_killed":
        nodes = [node for node in range(-(-world // per_node)) if node % proxies == 0]
        return draw.pick(nodes) * per_node + draw.whole(0, per_node - 1)
    return draw.whole(1, world - 1)


def _start(draw: Draw) -> str:
    day = f"{draw.pick((2025, 2026, 2026))}-{draw.whole(1, 12):02d}-{draw.whole(1, 28):02d}"
    dice = draw.between(0, 1)
    if dice < 0.03:
        return "2025-12-31T23:58:10"
    hour, minute = (23, draw.whole(56, 58)) if dice < 0.15 else (draw.whole(0, 23), draw.whole(0, 59))
    return f"{day}T{hour:02d}:{minute:02d}:{draw.whole(0, 59):02d}"


def _in_zones(params: Params, draw: Draw) -> Params:
    """The same with zones: most sites have one, some two, a few a node that has its own."""
    ais = draw.pick(ZONES) if draw.chance(0.2) else "UTC"
    worker = draw.pick(ZONES) if draw.chance(0.3) else ais
    other = ((draw.whole(0, 2), draw.pick(ZONES)),) if draw.chance(0.12) else ()
    return replace(params, worker_zone=worker, ais_zone=ais, node_zones=other)


def _setting(draw: Draw, kind: Kind, params: Params) -> Setting:
    noise = tuple(name for name in _noise(draw.child("noise")) if name != "rotation" or kind.name != "healthy_run")
    noise = noise if kind.trains else tuple(name for name in noise if name not in OF_RANKS)
    noise = tuple(name for name in noise if name not in kind.without)
    mesh = _mesh(draw.child("mesh"), kind, params) if kind.hangs else None
    if mesh is None and kind.hangs and draw.child("plain mesh").chance(0.3) and params.ranks <= LARGEST_DUMPED:
        mesh = Mesh(params.ranks)
    records = params.torch_release.order >= RECORDS_BY_DEFAULT
    has_dumps = bool(mesh) and records and params.ranks <= LARGEST_DUMPED and draw.child("dumps").chance(0.6)
    lost = (params.culprit_rank,) if has_dumps and draw.child("lost dump").chance(0.25) else ()
    clocks = draw.child("clocks")
    skews = ((clocks.whole(0, 2), round(clocks.between(-40, 40), 3)),) if clocks.chance(0.1) else ()
    whole = round(clocks.between(-90, 90), 3) if clocks.chance(0.1) else 0.0
    return Setting(mesh, noise, has_dumps, lost, skews, whole)


def _noise(draw: Draw) -> tuple[str, ...]:
    quiet = [name for name in QUIET if draw.child(name).chance(0.22)]
    loud = [name for name in LOUD if draw.child(name).chance(0.1)]
    opening = [name for name in OPENING if draw.child(name).chance(0.14)]
    last = [name for name in LAST if draw.child(name).chance(0.12)]
    return () if draw.child("silence").chance(0.15) else (*quiet, *loud, *opening, *last)


def _mesh(draw: Draw, kind: Kind, params: Params) -> Mesh | None:
    """A split that the culprit may stand in: who reads is first in its tensor group and in the first stage."""
    if not draw.chance(0.4) or params.ranks > LARGEST_MESH:
        return None
    tensor, pipeline = draw.pick(((2, 1), (4, 1), (8, 1), (2, 2), (4, 2), (1, 2), (8, 2), (4, 4)))
    if params.ranks % (tensor * pipeline) or params.ranks < tensor * pipeline:
        return None
    mesh = Mesh(params.ranks, tensor, pipeline)
    place = mesh.place(params.culprit_rank)
    if kind.reads and (place[0] or place[2]):
        return None
    expert = 2 if mesh.data % 2 == 0 and draw.chance(0.3) else 1
    return replace(mesh, expert=expert)


def _taken(draw: Draw, kind: Kind, params: Params) -> str:
    names = [name for name, one in TAKEN.items() if one.fits(kind.side, params)]
    return draw.child("taken what").pick(names) if draw.child("taken").chance(0.3) else "nothing"
