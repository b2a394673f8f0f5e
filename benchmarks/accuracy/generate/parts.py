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
                *("fairchem", "fastpitch", "ultralytics", "guided", "stylegan"),
            )
            if name in self.styles
        )


_KNOWN_AIS = ("3.31", "4.2", "4.4", "4.7", "4.9")
_KNOWN_TORCH = ("2.3", "2.8", "2.14", "2.15")
_SECOND_AIS = ("4.2.rc1", "4.6.rc2", "5.1")
_SECOND_TORCH = ("2.0", "2.5-glog", "2.7-ngc")
_THIRD_AIS = ("4.0.rc3", "4.4.rc1", "4.8.rc2", "5.0.rc4")
_THIRD_TORCH = ("1.13", "2.4-ngc", "2.10-glog", "2.15-nccl")
_FOURTH_AIS = ("4.1.rc2", "4.3.rc2", "4.7.rc1", "5.2")
_FOURTH_TORCH = ("2.2-ngc", "2.6-conda", "2.9-glog", "2.13-ngc")
_FIFTH_AIS = ("4.0.rc1", "4.2.rc3", "4.9.rc1", "5.1.rc2")
_FIFTH_TORCH = ("2.1-ngc", "2.8-ngc", "2.12-conda", "2.14-glog")
_SIXTH_AIS = ("4.1.rc1", "4.5.rc2", "5.0.rc2", "5.3.rc1")
_SIXTH_TORCH = ("2.3-ngc", "2.5-conda", "2.11-rocm", "2.16-nightly")
_SEVENTH_AIS = ("4.3.rc1", "4.6.rc1", "4.8.rc1", "5.3")
_SEVENTH_TORCH = ("2.4-conda", "2.6-rocm", "2.9-ngc", "2.13-glog")
_EIGHTH_AIS = ("4.2.rc2", "4.4.rc2", "4.9.rc2", "5.2.rc1")
_EIGHTH_TORCH = ("2.3-conda", "2.7-rocm", "2.10-ngc", "2.14-conda")
_NINTH_AIS = ("4.1.rc3", "4.5.rc1", "4.7.rc2", "5.2.rc2")
_NINTH_TORCH = ("2.2-conda", "2.8-rocm", "2.11-glog", "2.15-conda")
_TENTH_AIS = ("4.0.rc2", "4.3.rc3", "4.6.rc3", "5.1.rc1")
_TENTH_TORCH = ("2.1-conda", "2.9-rocm", "2.12-glog", "2.14-ngc")
_ELEVENTH_AIS = ("4.2.rc4", "4.4.rc3", "5.0.rc3", "5.3.rc2")
_ELEVENTH_TORCH = ("2.5-ngc", "2.6-glog", "2.10-conda", "2.12-ngc")
_TWELFTH_AIS = ("4.0.rc4", "4.5.rc3", "4.8.rc3", "5.2.rc3")
_TWELFTH_TORCH = ("2.3-glog", "2.7-conda", "2.11-ngc", "2.13-rocm")
_THIRTEENTH_AIS = ("4.1.rc4", "4.7.rc3", "5.0.rc1", "5.1.rc3")
_THIRTEENTH_TORCH = ("2.4-glog", "2.6-ngc", "2.9-conda", "2.12-rocm")
_FOURTEENTH_AIS = ("4.3.rc4", "4.6.rc4", "4.9.rc3", "5.3.rc3")
_FOURTEENTH_TORCH = ("2.5-rocm", "2.8-glog", "2.11-conda", "2.14-rocm")
_FIFTEENTH_AIS = ("3.31.rc2", "4.4.rc4", "4.8.rc4", "5.2.rc4")
_FIFTEENTH_TORCH = ("2.4-rocm", "2.7-glog", "2.10-rocm", "2.13-conda")
_SIXTEENTH_AIS = ("3.31.rc3", "4.1.rc5", "4.7.rc4", "5.0.rc5")
_SIXTEENTH_TORCH = ("2.2-glog", "2.3-rocm", "2.8-conda", "2.15-glog")
_SEVENTEENTH_AIS = ("3.31.rc1", "4.2.rc5", "4.9.rc4", "5.1.rc4")
_SEVENTEENTH_TORCH = ("2.2-rocm", "2.7-spack", "2.12-nix", "2.15-ngc")
_EIGHTEENTH_AIS = ("4.0.rc5", "4.5.rc4", "5.0.rc6", "5.3.rc4")
_EIGHTEENTH_TORCH = ("2.1-rocm", "2.6-spack", "2.9-nix", "2.13-spack")
_NINETEENTH_AIS = ("4.3.rc5", "4.6.rc5", "4.8.rc5", "5.1.rc5")
_NINETEENTH_TORCH = ("2.3-easybuild", "2.8-spack", "2.11-nix", "2.15-rocm")
_TWENTIETH_AIS = ("4.4.rc5", "4.7.rc5", "4.9.rc5", "5.2.rc5")
_TWENTIETH_TORCH = ("2.4-spack", "2.6-easybuild", "2.10-nix", "2.14-spack")
_TWENTY_FIRST_AIS = ("4.0.rc6", "4.2.rc6", "4.5.rc5", "5.3.rc5")
_TWENTY_FIRST_TORCH = ("2.5-spack", "2.7-nix", "2.9-easybuild", "2.12-spack")
_HELD_AIS = (
    *_KNOWN_AIS,
    *_SECOND_AIS,
    *_THIRD_AIS,
    *_FOURTH_AIS,
    *_FIFTH_AIS,
    *_SIXTH_AIS,
    *_SEVENTH_AIS,
    *_EIGHTH_AIS,
    *_NINTH_AIS,
    *_TENTH_AIS,
    *_ELEVENTH_AIS,
    *_TWELFTH_AIS,
    *_THIRTEENTH_AIS,
    *_FOURTEENTH_AIS,
    *_FIFTEENTH_AIS,
    *_SIXTEENTH_AIS,
    *_SEVENTEENTH_AIS,
    *_EIGHTEENTH_AIS,
    *_NINETEENTH_AIS,
    *_TWENTIETH_AIS,
    *_TWENTY_FIRST_AIS,
)
_HELD_TORCH = (
    *(*_KNOWN_TORCH, *_SECOND_TORCH, *_THIRD_TORCH, *_FOURTH_TORCH, *_FIFTH_TORCH),
    *(*_SIXTH_TORCH, *_SEVENTH_TORCH, *_EIGHTH_TORCH, *_NINTH_TORCH, *_TENTH_TORCH),
    *_ELEVENTH_TORCH,
    *_TWELFTH_TORCH,
    *_THIRTEENTH_TORCH,
    *_FOURTEENTH_TORCH,
    *_FIFTEENTH_TORCH,
    *_SIXTEENTH_TORCH,
    *_SEVENTEENTH_TORCH,
    *_EIGHTEENTH_TORCH,
    *_NINETEENTH_TORCH,
    *_TWENTIETH_TORCH,
    *_TWENTY_FIRST_TORCH,
)

PARTS: dict[str, Part] = {
    "tune": Part(
        "tune",
        (),
        0.0,
        tuple(name for name in AIS if name not in _HELD_AIS),
        tuple(name for name in TORCH if name not in _HELD_TORCH),
        ("nemo", "nemo", "nemo_plain", "bar", "pylog", "hf", "deepspeed"),
    ),
    "known": Part("untouched", ("known",), 0.6, _KNOWN_AIS, _KNOWN_TORCH, ("megatron", "titan")),
    "second": Part("held back again", ("second",), 0.65, _SECOND_AIS, _SECOND_TORCH, ("colossal", "funasr")),
    "third": Part(
        "held back for the third time", ("third",), 0.7, _THIRD_AIS, _THIRD_TORCH, ("icefall", "fairseq", "composer")
    ),
    "fourth": Part(
        "held back as the fourth", ("fourth",), 0.7, _FOURTH_AIS, _FOURTH_TORCH, ("returnn", "olmo", "timm")
    ),
    "fifth": Part(
        "held back as the fifth", ("fifth",), 0.7, _FIFTH_AIS, _FIFTH_TORCH, ("wenet", "speechbrain", "axolotl")
    ),
    "sixth": Part(
        "held back as the sixth", ("sixth",), 0.7, _SIXTH_AIS, _SIXTH_TORCH, ("espnet", "open_clip", "llamafactory")
    ),
    "seventh": Part(
        "held back as the seventh", ("seventh",), 0.8, _SEVENTH_AIS, _SEVENTH_TORCH, ("torchtune", "mmengine", "dinov2")
    ),
    "eighth": Part(
        "held back as the eighth", ("eighth",), 0.8, _EIGHTH_AIS, _EIGHTH_TORCH, ("detectron2", "lingua", "litgpt")
    ),
    "ninth": Part("held back as the ninth", ("ninth",), 0.8, _NINTH_AIS, _NINTH_TORCH, ("flashy", "coqui", "swift")),
    "tenth": Part(
        "held back as the tenth", ("tenth",), 0.8, _TENTH_AIS, _TENTH_TORCH, ("fairseq2", "ignite", "opennmt")
    ),
    "eleventh": Part(
        "held back as the eleventh", ("eleventh",), 0.8, _ELEVENTH_AIS, _ELEVENTH_TORCH, ("neox", "verl", "areal")
    ),
    "twelfth": Part(
        "held back as the twelfth", ("twelfth",), 0.8, _TWELFTH_AIS, _TWELFTH_TORCH, ("lavis", "lerobot", "xtuner")
    ),
    "thirteenth": Part(
        "held back as the thirteenth",
        ("thirteenth",),
        0.8,
        _THIRTEENTH_AIS,
        _THIRTEENTH_TORCH,
        ("primus", "dit", "monai"),
    ),
    "fourteenth": Part(
        "held back as the fourteenth",
        ("fourteenth",),
        0.8,
        _FOURTEENTH_AIS,
        _FOURTEENTH_TORCH,
        ("physicsnemo", "vissl", "automodel"),
    ),
    "fifteenth": Part(
        "held back as the fifteenth",
        ("fifteenth",),
        0.8,
        _FIFTEENTH_AIS,
        _FIFTEENTH_TORCH,
        ("yolox", "swin", "internevo"),
    ),
    "sixteenth": Part(
        "held back as the sixteenth",
        ("sixteenth",),
        0.8,
        _SIXTEENTH_AIS,
        _SIXTEENTH_TORCH,
        ("nanotron", "mmcv", "slowfast"),
    ),
    "seventeenth": Part(
        "held back as the seventeenth",
        ("seventeenth",),
        0.8,
        _SEVENTEENTH_AIS,
        _SEVENTEENTH_TORCH,
        ("sockeye", "basicsr", "openpcdet"),
    ),
    "eighteenth": Part(
        "held back as the eighteenth",
        ("eighteenth",),
        0.8,
        _EIGHTEENTH_AIS,
        _EIGHTEENTH_TORCH,
        ("nanogpt", "fairchem", "cosmos"),
    ),
    "nineteenth": Part(
        "held back as the nineteenth",
        ("nineteenth",),
        0.8,
        _NINETEENTH_AIS,
        _NINETEENTH_TORCH,
        ("fastpitch", "mae", "imagenet"),
    ),
    "twentieth": Part(
        "held back as the twentieth",
        ("twentieth",),
        0.8,
        _TWENTIETH_AIS,
        _TWENTIETH_TORCH,
        ("ultralytics", "guided", "diffusers"),
    ),
    "twenty_first": Part(
        "held back as the twenty-first",
        ("twenty_first",),
        0.8,
        _TWENTY_FIRST_AIS,
        _TWENTY_FIRST_TORCH,
        ("stylegan", "hifigan", "nemo_rl"),
    ),
}


def drawn_for(draw: Draw, part: Part, ais_from: int, torch: tuple[int, int]) -> tuple[str, str, str]:
    """AIStore, PyTorch and the framework of an incident; `torch` is its first release, and the first too new."""
    ais = [name for name in part.ais if AIS[name].order >= ais_from]
    builds = [name for name in part.torch if torch[0] <= TORCH[name].order < torch[1]]
    return draw.child("ais").pick(ais), draw.child("torch").pick(builds), draw.child("style").pick(part.styles)
