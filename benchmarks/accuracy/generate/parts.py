"""The parts incidents are drawn for: which kinds, releases and frameworks each of them may show.

No two parts share a release or a framework. Each but `tune` was held back once and asked when the rules were done;
what has been looked at since (`known`, `second` and so on) serves as a further tuned part, drawn as it was then. The
part of the highest number is the last that was asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from fixtures.generator.draw import Draw
from fixtures.generator.releases import AIS, TORCH


@dataclass(frozen=True)
class Part:
    """What a part is made of; `word` is what its draws begin with, `held` the parts whose kinds it has."""

    word: str
    held: tuple[str, ...]
    share: float
    ais: tuple[str, ...]
    torch: tuple[str, ...]
    styles: tuple[str, ...]

    @property
    def spare_style(self) -> str:
        """The framework of large worlds, where only one rank prints progress."""
        return next(
            name
            for name in (
                *("hf", "megatron", "colossal", "fairseq", "timm", "speechbrain", "llamafactory", "mmengine"),
                *("detectron2", "swift", "opennmt", "neox", "lavis", "dit", "automodel", "yolox", "mmcv", "basicsr"),
                *("fairchem", "fastpitch", "ultralytics", "guided", "stylegan", "dlrm", "fms", "picotron", "llmc"),
                *("nanochat", "txl", "kohya", "moshi", "sam2", "kair", "mmf", "hrnet", "opensora", "deit", "pixart"),
                "gluefactory",
            )
            if name in self.styles
        )


_HELD: dict[str, Part] = {
    "known": Part(
        "untouched",
        ("known",),
        0.6,
        ("3.31", "4.2", "4.4", "4.7", "4.9"),
        ("2.3", "2.8", "2.14", "2.15"),
        ("megatron", "titan"),
    ),
    "second": Part(
        "held back again",
        ("second",),
        0.65,
        ("4.2.rc1", "4.6.rc2", "5.1"),
        ("2.0", "2.5-glog", "2.7-ngc"),
        ("colossal", "funasr"),
    ),
    "third": Part(
        "held back for the third time",
        ("third",),
        0.7,
        ("4.0.rc3", "4.4.rc1", "4.8.rc2", "5.0.rc4"),
        ("1.13", "2.4-ngc", "2.10-glog", "2.15-nccl"),
        ("icefall", "fairseq", "composer"),
    ),
    "fourth": Part(
        "held back as the fourth",
        ("fourth",),
        0.7,
        ("4.1.rc2", "4.3.rc2", "4.7.rc1", "5.2"),
        ("2.2-ngc", "2.6-conda", "2.9-glog", "2.13-ngc"),
        ("returnn", "olmo", "timm"),
    ),
    "fifth": Part(
        "held back as the fifth",
        ("fifth",),
        0.7,
        ("4.0.rc1", "4.2.rc3", "4.9.rc1", "5.1.rc2"),
        ("2.1-ngc", "2.8-ngc", "2.12-conda", "2.14-glog"),
        ("wenet", "speechbrain", "axolotl"),
    ),
    "sixth": Part(
        "held back as the sixth",
        ("sixth",),
        0.7,
        ("4.1.rc1", "4.5.rc2", "5.0.rc2", "5.3.rc1"),
        ("2.3-ngc", "2.5-conda", "2.11-rocm", "2.16-nightly"),
        ("espnet", "open_clip", "llamafactory"),
    ),
    "seventh": Part(
        "held back as the seventh",
        ("seventh",),
        0.8,
        ("4.3.rc1", "4.6.rc1", "4.8.rc1", "5.3"),
        ("2.4-conda", "2.6-rocm", "2.9-ngc", "2.13-glog"),
        ("torchtune", "mmengine", "dinov2"),
    ),
    "eighth": Part(
        "held back as the eighth",
        ("eighth",),
        0.8,
        ("4.2.rc2", "4.4.rc2", "4.9.rc2", "5.2.rc1"),
        ("2.3-conda", "2.7-rocm", "2.10-ngc", "2.14-conda"),
        ("detectron2", "lingua", "litgpt"),
    ),
    "ninth": Part(
        "held back as the ninth",
        ("ninth",),
        0.8,
        ("4.1.rc3", "4.5.rc1", "4.7.rc2", "5.2.rc2"),
        ("2.2-conda", "2.8-rocm", "2.11-glog", "2.15-conda"),
        ("flashy", "coqui", "swift"),
    ),
    "tenth": Part(
        "held back as the tenth",
        ("tenth",),
        0.8,
        ("4.0.rc2", "4.3.rc3", "4.6.rc3", "5.1.rc1"),
        ("2.1-conda", "2.9-rocm", "2.12-glog", "2.14-ngc"),
        ("fairseq2", "ignite", "opennmt"),
    ),
    "eleventh": Part(
        "held back as the eleventh",
        ("eleventh",),
        0.8,
        ("4.2.rc4", "4.4.rc3", "5.0.rc3", "5.3.rc2"),
        ("2.5-ngc", "2.6-glog", "2.10-conda", "2.12-ngc"),
        ("neox", "verl", "areal"),
    ),
    "twelfth": Part(
        "held back as the twelfth",
        ("twelfth",),
        0.8,
        ("4.0.rc4", "4.5.rc3", "4.8.rc3", "5.2.rc3"),
        ("2.3-glog", "2.7-conda", "2.11-ngc", "2.13-rocm"),
        ("lavis", "lerobot", "xtuner"),
    ),
    "thirteenth": Part(
        "held back as the thirteenth",
        ("thirteenth",),
        0.8,
        ("4.1.rc4", "4.7.rc3", "5.0.rc1", "5.1.rc3"),
        ("2.4-glog", "2.6-ngc", "2.9-conda", "2.12-rocm"),
        ("primus", "dit", "monai"),
    ),
    "fourteenth": Part(
        "held back as the fourteenth",
        ("fourteenth",),
        0.8,
        ("4.3.rc4", "4.6.rc4", "4.9.rc3", "5.3.rc3"),
        ("2.5-rocm", "2.8-glog", "2.11-conda", "2.14-rocm"),
        ("physicsnemo", "vissl", "automodel"),
    ),
    "fifteenth": Part(
        "held back as the fifteenth",
        ("fifteenth",),
        0.8,
        ("3.31.rc2", "4.4.rc4", "4.8.rc4", "5.2.rc4"),
        ("2.4-rocm", "2.7-glog", "2.10-rocm", "2.13-conda"),
        ("yolox", "swin", "internevo"),
    ),
    "sixteenth": Part(
        "held back as the sixteenth",
        ("sixteenth",),
        0.8,
        ("3.31.rc3", "4.1.rc5", "4.7.rc4", "5.0.rc5"),
        ("2.2-glog", "2.3-rocm", "2.8-conda", "2.15-glog"),
        ("nanotron", "mmcv", "slowfast"),
    ),
    "seventeenth": Part(
        "held back as the seventeenth",
        ("seventeenth",),
        0.8,
        ("3.31.rc1", "4.2.rc5", "4.9.rc4", "5.1.rc4"),
        ("2.2-rocm", "2.7-spack", "2.12-nix", "2.15-ngc"),
        ("sockeye", "basicsr", "openpcdet"),
    ),
    "eighteenth": Part(
        "held back as the eighteenth",
        ("eighteenth",),
        0.8,
        ("4.0.rc5", "4.5.rc4", "5.0.rc6", "5.3.rc4"),
        ("2.1-rocm", "2.6-spack", "2.9-nix", "2.13-spack"),
        ("nanogpt", "fairchem", "cosmos"),
    ),
    "nineteenth": Part(
        "held back as the nineteenth",
        ("nineteenth",),
        0.8,
        ("4.3.rc5", "4.6.rc5", "4.8.rc5", "5.1.rc5"),
        ("2.3-easybuild", "2.8-spack", "2.11-nix", "2.15-rocm"),
        ("fastpitch", "mae", "imagenet"),
    ),
    "twentieth": Part(
        "held back as the twentieth",
        ("twentieth",),
        0.8,
        ("4.4.rc5", "4.7.rc5", "4.9.rc5", "5.2.rc5"),
        ("2.4-spack", "2.6-easybuild", "2.10-nix", "2.14-spack"),
        ("ultralytics", "guided", "diffusers"),
    ),
    "twenty_first": Part(
        "held back as the twenty-first",
        ("twenty_first",),
        0.8,
        ("4.0.rc6", "4.2.rc6", "4.5.rc5", "5.3.rc5"),
        ("2.5-spack", "2.7-nix", "2.9-easybuild", "2.12-spack"),
        ("stylegan", "hifigan", "nemo_rl"),
    ),
    "twenty_second": Part(
        "held back as the twenty-second",
        ("twenty_second",),
        0.8,
        ("4.1.rc6", "4.3.rc6", "4.7.rc6", "5.1.rc6"),
        ("2.3-spack", "2.6-nix", "2.11-spack", "2.14-nix"),
        ("dlrm", "maskrcnn", "sat"),
    ),
    "twenty_third": Part(
        "held back as the twenty-third",
        ("twenty_third",),
        0.8,
        ("4.4.rc6", "4.6.rc6", "4.8.rc6", "5.2.rc6"),
        ("2.4-easybuild", "2.8-nix", "2.10-spack", "2.13-easybuild"),
        ("wespeaker", "fms", "mlperf"),
    ),
    "twenty_fourth": Part(
        "held back as the twenty-fourth",
        ("twenty_fourth",),
        0.8,
        ("4.2.rc7", "4.5.rc6", "5.0.rc7", "5.3.rc6"),
        ("2.3-nix", "2.7-easybuild", "2.12-easybuild", "2.15-spack"),
        ("vits", "picotron", "colbert"),
    ),
    "twenty_fifth": Part(
        "held back as the twenty-fifth",
        ("twenty_fifth",),
        0.8,
        ("4.1.rc7", "4.4.rc7", "4.8.rc7", "5.2.rc7"),
        ("2.2-spack", "2.5-easybuild", "2.11-easybuild", "2.13-nix"),
        ("mace", "pwg", "llmc"),
    ),
    "twenty_sixth": Part(
        "held back as the twenty-sixth",
        ("twenty_sixth",),
        0.8,
        ("4.0.rc7", "4.5.rc7", "4.7.rc7", "5.3.rc7"),
        ("2.4-nix", "2.8-easybuild", "2.10-easybuild", "2.14-easybuild"),
        ("tacotron2", "mingpt", "nanochat"),
    ),
    "twenty_seventh": Part(
        "held back as the twenty-seventh",
        ("twenty_seventh",),
        0.8,
        ("4.3.rc7", "4.6.rc7", "4.9.rc6", "5.1.rc7"),
        ("2.2-nix", "2.5-nix", "2.9-spack", "2.15-easybuild"),
        ("parlai", "txl", "kohya"),
    ),
    "twenty_eighth": Part(
        "held back as the twenty-eighth",
        ("twenty_eighth",),
        0.8,
        ("4.2.rc8", "4.7.rc8", "5.0.rc8", "5.3.rc8"),
        ("2.4-guix", "2.7-guix", "2.11-guix", "2.15-nix"),
        ("moshi", "flamingo", "styletts2"),
    ),
    "twenty_ninth": Part(
        "held back as the twenty-ninth",
        ("twenty_ninth",),
        0.8,
        ("4.1.rc8", "4.5.rc8", "4.8.rc8", "5.2.rc8"),
        ("2.3-guix", "2.6-guix", "2.10-guix", "2.14-guix"),
        ("sam2", "pointcept", "flair"),
    ),
    "thirtieth": Part(
        "held back as the thirtieth",
        ("thirtieth",),
        0.8,
        ("4.0.rc8", "4.4.rc8", "4.9.rc7", "5.3.rc9"),
        ("2.5-guix", "2.8-guix", "2.12-guix", "2.15-guix"),
        ("dpr", "kair", "prismatic"),
    ),
    "thirty_first": Part(
        "held back as the thirty-first",
        ("thirty_first",),
        0.8,
        ("4.1.rc9", "4.3.rc8", "4.6.rc8", "5.1.rc8"),
        ("2.4-spack-opt", "2.7-spack-opt", "2.10-spack-opt", "2.14-spack-opt"),
        ("mmf", "allennlp", "ostrack"),
    ),
    "thirty_second": Part(
        "held back as the thirty-second",
        ("thirty_second",),
        0.8,
        ("4.2.rc9", "4.5.rc9", "4.8.rc9", "5.2.rc9"),
        ("2.3-pixi", "2.6-pixi", "2.9-pixi", "2.13-pixi"),
        ("hrnet", "clip4clip", "kdiff"),
    ),
    "thirty_third": Part(
        "held back as the thirty-third",
        ("thirty_third",),
        0.8,
        ("4.0.rc9", "4.3.rc9", "4.7.rc9", "5.0.rc9"),
        ("2.4-source", "2.8-source", "2.11-source", "2.14-source"),
        ("opensora", "s3prl", "matcha"),
    ),
    "thirty_fourth": Part(
        "held back as the thirty-fourth",
        ("thirty_fourth",),
        0.8,
        ("4.4.rc9", "4.6.rc9", "4.9.rc8", "5.1.rc9"),
        ("2.5-mamba", "2.7-mamba", "2.10-mamba", "2.13-mamba"),
        ("deit", "valle", "cosyvoice"),
    ),
    "thirty_fifth": Part(
        "held back as the thirty-fifth",
        ("thirty_fifth",),
        0.8,
        ("4.0.rc10", "4.5.rc10", "4.8.rc10", "5.2.rc10"),
        ("2.6-debian", "2.9-debian", "2.12-debian", "2.14-debian"),
        ("nnunet", "pixart", "dalle"),
    ),
    "thirty_sixth": Part(
        "held back as the thirty-sixth",
        ("thirty_sixth",),
        0.8,
        ("4.1.rc10", "4.4.rc10", "4.7.rc10", "5.1.rc10"),
        ("2.4-arch", "2.8-arch", "2.11-arch", "2.13-arch"),
        ("gluefactory", "rosettafold", "fastai"),
    ),
}

PARTS: dict[str, Part] = {
    "tune": Part(
        "tune",
        (),
        0.0,
        tuple(name for name in AIS if not any(name in part.ais for part in _HELD.values())),
        tuple(name for name in TORCH if not any(name in part.torch for part in _HELD.values())),
        ("nemo", "nemo", "nemo_plain", "bar", "pylog", "hf", "deepspeed"),
    ),
    **_HELD,
}


def drawn_for(draw: Draw, part: Part, ais_from: int, torch: tuple[int, int]) -> tuple[str, str, str]:
    """AIStore, PyTorch and the framework of an incident; `torch` is its first release, and the first too new."""
    ais = [name for name in part.ais if AIS[name].order >= ais_from]
    builds = [name for name in part.torch if torch[0] <= TORCH[name].order < torch[1]]
    return draw.child("ais").pick(ais), draw.child("torch").pick(builds), draw.child("style").pick(part.styles)
