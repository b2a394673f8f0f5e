"""Exceptions of the training script itself and of CUDA: their words, where they are raised, how they end the job."""

from __future__ import annotations

import re
from dataclasses import replace

from fixtures.generator import sdk
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

ADVICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable "
    "device-side assertions.\n"
)
#: A statement in which an expression is only a part.
MARKED = re.compile(r"= |^return ")


def loss_frames(stage: Stage, code: str) -> tuple[sdk.Frame, ...]:
    script = stage.job.job.script
    return (sdk.Frame(script, 212, "<module>", "main()"), sdk.Frame(script, 191, "main", code, True))


def reducing_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to a gradient's collective, which NCCL refuses."""
    own = stage.job.job
    c10d = f"{own.build['site']}/torch/distributed/distributed_c10d.py"
    return (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 196, "main", "sync_gradients(model)"),
        sdk.Frame(own.script, 163, "sync_gradients", "dist.all_reduce(bucket)"),
        sdk.Frame(c10d, 83, "wrapper", "return func(*args, **kwargs)", True),
        sdk.Frame(c10d, 3252, "all_reduce", "work = group.allreduce([tensor], opts)", True),
    )


def without_carets(frames: tuple[sdk.Frame, ...]) -> tuple[sdk.Frame, ...]:
    """Frames as Python 3.11 prints them: no carets below a statement that is one call from its begin to its end."""
    return tuple(replace(one, marked=one.marked and bool(MARKED.search(one.code))) for one in frames)


def raise_and_exit(stage: Stage, at: int, rank: int, text: str, code: str) -> None:
    """An exception in the training code that ends the process, and with it the job."""
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, code), text)))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


def cuda_error(order: int, what: str, name: str) -> str:
    """An error of CUDA with PyTorch's advice; from 2.9 on it tells where to read about the name."""
    page = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
    search = f"Search for `{name}' in {page} for more information.\n" if order >= 209 else ""
    return f"CUDA error: {what}\n{search}{ADVICE}"
