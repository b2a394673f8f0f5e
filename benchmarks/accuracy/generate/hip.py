"""PyTorch for ROCm says HIP where PyTorch for CUDA says CUDA, the kernel amdgpu: the same incident in their words."""

from __future__ import annotations

import re
from dataclasses import replace

from fixtures.generator.model import Scenario

_WORDS = (
    ("CUDA error:", "HIP error:"),
    ("CUDA kernel errors", "HIP kernel errors"),
    ("CUDA_LAUNCH_BLOCKING=1", "AMD_SERIALIZE_KERNEL=3"),
    ("TORCH_USE_CUDA_DSA", "TORCH_USE_HIP_DSA"),
    ("CUDA out of memory", "HIP out of memory"),
    ("libtorch_cuda.so", "libtorch_hip.so"),
    ("c10::cuda::c10_cuda_check_implementation", "c10::hip::c10_hip_check_implementation"),
    ("from c10_cuda_check_implementation", "from c10_hip_check_implementation"),
    ("c10/cuda/CUDAException.cpp", "c10/hip/HIPException.cpp"),
    ("Search for `cudaError", "Search for `hipError"),
    (
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/index.html",
    ),
)
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-f:]+)\): 48, .*")
_RAS = r"amdgpu \1.0: amdgpu: 1 uncorrectable hardware errors detected in umc block"


def in_words_of_hip(text: str) -> str:
    """A text of a rank as the build for ROCm prints it."""
    for cuda, hip in _WORDS:
        text = text.replace(cuda, hip)
    return _XID.sub(_RAS, text)


def on_rocm(made: Scenario) -> Scenario:
    """The logs of the job's side in these words; dumps of collectives name no device."""
    files = tuple(
        replace(one, data=in_words_of_hip(one.data.decode()).encode())
        if one.path.startswith("workers/") and "trace_rank_" not in one.path
        else one
        for one in made.files
    )
    return replace(made, files=files)
