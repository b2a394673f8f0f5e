"""Starts of jobs that fail of themselves, of the twentieth part; what storage has to give had come.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twentieth")


def _main(stage: Stage, line: int, code: str, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    script = stage.job.job.script
    return (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, line, "main", code, True),
        *inner,
    )


def _read(stage: Stage, at: int, what: str, files: int, size: int) -> None:
    """Rank 0 says that all files are here; targets have sent them."""
    draw = stage.draw.child("read")
    reader_note(stage, at, 0, f"{what}: {files} of {files} files here, {files * size >> 30} GiB")
    for _ in range(files):
        node, spent = stage.cluster.target(draw.whole(0, 99)), draw.span(900, 4_000)
        stage.cluster.count(node, at - draw.span(60, 900), get_n=1, get_ns_total=spent, get_size=size)


@kind(hangs=False, trains=False)
def states_of_random_numbers_on_devices(stage: Stage) -> Scenario:
    """A checkpoint is loaded onto devices as a whole, random numbers included (hippynn PR 12, ignite#2076).

    To acquit: the checkpoint was read as a whole; the exception is about where a tensor of it lies.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("random"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(6_000, 19_000), "states of random numbers are on devices")
    step = draw.whole(20, 400) * 500
    _read(stage, at - 700 * MS, f"ais://checkpoints/{own.task}/step-{step}", draw.whole(2, 9), draw.whole(1, 6) << 30)
    frames = _main(
        stage,
        177,
        "resume(state, optimizer, loader)",
        sdk.Frame(own.script, 96, "resume", 'torch.set_rng_state(state["rng"]["torch"])', True),
        sdk.Frame(f"{site}/torch/random.py", 18, "set_rng_state", "default_generator.set_state(new_state)"),
    )
    over = each_raises(stage, at, "TypeError: RNG state must be a torch.ByteTensor", frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The checkpoint is loaded with map_location since today.", (made,), until=over)


@kind(hangs=False, trains=False)
def weights_of_two_types_in_one_unit(stage: Stage) -> Scenario:
    """FSDP is to flatten weights of which some are halved (trl#1723, pytorch-lightning#20239, axolotl#1889).

    To acquit: all files of the weights are here; the exception names two types, on all ranks.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("flatten"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(9_000, 27_000), "a unit has weights of two types")
    model = draw.pick(("speech-lm-7b", "vlm-12b", "asr-moe-3b"))
    _read(stage, at - 1_900 * MS, f"models/{model}", draw.whole(4, 12), draw.whole(2, 5) << 30)
    fsdp = f"{site}/torch/distributed/fsdp"
    frames = _main(
        stage,
        169,
        "model = FSDP(model, auto_wrap_policy=policy, use_orig_params=True)",
        sdk.Frame(f"{fsdp}/fully_sharded_data_parallel.py", 509, "__init__", "_init_param_handle_from_module("),
        sdk.Frame(f"{fsdp}/_init_utils.py", 635, "_init_param_handle_from_module", "_init_param_handle_from_params("),
        sdk.Frame(f"{fsdp}/_init_utils.py", 647, "_init_param_handle_from_params", "handle = FlatParamHandle("),
        sdk.Frame(f"{fsdp}/_flat_param.py", 575, "__init__", "self._init_flat_param_and_metadata("),
        sdk.Frame(
            f"{fsdp}/_flat_param.py",
            625,
            "_init_flat_param_and_metadata",
            ") = self._validate_tensors_to_flatten(params)",
        ),
        sdk.Frame(f"{fsdp}/_flat_param.py", 770, "_validate_tensors_to_flatten", "raise ValueError("),
    )
    first, second = draw.shuffled(("torch.bfloat16", "torch.float32"))
    text = f"ValueError: Must flatten tensors with uniform dtype but got {first} and {second}"
    over = each_raises(stage, at, text, frames)
    return stage.close("New layers are made in single precision.", (of_all(stage.innocent("software")),), until=over)


@kind(hangs=False, trains=False)
def layers_to_adapt_are_not_there(stage: Stage) -> Scenario:
    """PEFT is to adapt layers of which the model has none of that name (peft#1206, LMFlow#125).

    To acquit: the exception lists names that were to be adapted; the model was read as a whole before.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("adapt"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(7_000, 22_000), "layers to adapt are not there")
    model = draw.pick(("phi-audio-4b", "whisper-like-1b", "mpt-speech-7b"))
    _read(stage, at - 900 * MS, f"models/{model}", draw.whole(2, 7), draw.whole(2, 5) << 30)
    tuners = f"{site}/peft/tuners/tuners_utils.py"
    frames = _main(
        stage,
        171,
        "model = get_peft_model(model, options.lora)",
        sdk.Frame(f"{site}/peft/mapping.py", 193, "get_peft_model", "return MODEL_TYPE_TO_PEFT_MODEL_MAPPING["),
        sdk.Frame(
            f"{site}/peft/peft_model.py",
            171,
            "__init__",
            "self.base_model = cls(model, {adapter_name: peft_config}, adapter_name)",
        ),
        sdk.Frame(tuners, 180, "__init__", "self.inject_adapter(self.model, adapter_name)"),
        sdk.Frame(tuners, 527, "inject_adapter", "raise ValueError(error_msg)"),
    )
    names = (
        "{" + ", ".join(f"'{name}'" for name in draw.shuffled(("q_proj", "k_proj", "v_proj"))[: draw.whole(2, 3)]) + "}"
    )
    text = f"ValueError: Target modules {names} not found in the base model. "
    text += "Please check the target modules and try again."
    over = each_raises(stage, at, text, frames)
    return stage.close(
        "This model has one projection for all three.", (of_all(stage.innocent("software")),), until=over
    )


@kind(hangs=False, trains=False, torch_before=209)
def rate_to_begin_with_is_not_in_the_state(stage: Stage) -> Scenario:
    """A schedule goes on whose optimizer has no first rate (torch/optim/lr_scheduler.py; 3DTrans#22).

    To acquit: the exception is about a key of the optimizer; the checkpoint it comes from is here as a whole.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("rate"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(6_000, 21_000), "a schedule goes on without a first rate")
    step = draw.whole(20, 400) * 500
    _read(stage, at - 600 * MS, f"ais://checkpoints/{own.task}/step-{step}", draw.whole(2, 9), draw.whole(1, 4) << 30)
    scheduler = f"{site}/torch/optim/lr_scheduler.py"
    frames = _main(
        stage,
        179,
        "schedule = LambdaLR(optimizer, warm_up, last_epoch=state.step)",
        sdk.Frame(scheduler, 286, "__init__", "super().__init__(optimizer, last_epoch)"),
        sdk.Frame(scheduler, 101, "__init__", "raise KeyError("),
    )
    text = "KeyError: \"param 'initial_lr' is not specified in param_groups[0] when resuming an optimizer\""
    over = each_raises(stage, at, text, frames)
    return stage.close(
        "The optimizer is made anew, since its states take too much room.",
        (of_all(stage.innocent("software")),),
        until=over,
    )
