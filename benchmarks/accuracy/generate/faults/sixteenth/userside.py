"""Faults of programs, images and samples of the sixteenth part that users bring along; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixteenth")

TRUSTED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\x1b[1mdo those steps only if you trust the source of the checkpoint\x1b[0m. \n"
    "\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.\n"
    "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
    "message.\n"
)
MORE = (
    "Check the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


@kind(hangs=False, trains=False, torch_order=206)
def checkpoint_is_more_than_weights(stage: Stage) -> Scenario:
    """A checkpoint of an older PyTorch holds objects that are not loaded any more (PyTorch 2.6, release notes)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("more than weights")
    job.start()
    at, size = job.begin + draw.span(900, 3_900), draw.whole(400, 2_900) << 20
    stage.mark(at, "a checkpoint holds an object that is no weight")
    name = f"pretrained/{own.task}-{draw.whole(40, 200)}k.pt"
    job.note(at - 700 * MS, 0, f"loading ais://{stage.bucket}/{name}, {size} bytes", line=104)
    for _ in own.hosts:
        node, spent = stage.cluster.target(draw.whole(0, 99)), draw.span(300, 900)
        stage.cluster.count(node, at - draw.span(20, 90), get_n=1, get_ns_total=spent, get_size=size)
    what, short = draw.pick(
        (
            ("argparse.Namespace", "Namespace"),
            ("omegaconf.dictconfig.DictConfig", "DictConfig"),
            ("numpy.core.multiarray.scalar", "scalar"),
        )
    )
    refused = (
        f"\tWeightsUnpickler error: Unsupported global: GLOBAL {what} was not an allowed global by default. Please "
    )
    refused += (
        f"use `torch.serialization.add_safe_globals([{short}])` or the `torch.serialization.safe_globals([{short}"
    )
    refused += "])` context manager to allowlist this global if you trust this class/function.\n\n"
    module = f"{own.build['site']}/torch/serialization.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 107, "load_checkpoint", 'state = torch.load(io.BytesIO(blob), map_location="cpu")', True),
        sdk.Frame(module, 1524, "load", "raise pickle.UnpicklingError(_get_wo_message(str(e))) from None"),
    )
    over = each_raises(stage, at, f"_pickle.UnpicklingError: {TRUSTED}{refused}{MORE}", frames)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The image has a new PyTorch since yesterday.", (made,), until=over)


@kind(reads=True, hangs=False, lead_s=60.0)
def sample_is_none(stage: Stage) -> Scenario:
    """A data set gives nothing for what it cannot decode: not to be collated (YOLOX#1523, pytorch#52850)."""
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.tenant_backend_fails, unrest.entries_missing))
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, module = stage.draw.child("none"), f"{site}/torch/utils/data/_utils/collate.py"
    name = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
    stage.mark(at, f"a sample of rank {rank} is nothing")
    size = draw.whole(40_000, 900_000)
    stage.cluster.count(
        stage.cluster.target(draw.whole(0, 99)), at - 30 * MS, get_n=1, get_ns_total=draw.span(2, 9), get_size=size
    )
    why = draw.pick(("Format not recognised.", "File contains data in an unknown format.", "flac decoder lost sync."))
    stage.job.note(at - 20 * MS, rank, f"{name} left out ({size} bytes, as listed): {why}", "W", 91, "samples")
    what = (
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>"
    )
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 54, "fetch", "return self.collate_fn(data)"),
        sdk.Frame(module, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)"),
        sdk.Frame(module, 240, "collate", "raise TypeError(default_collate_err_msg_format.format(elem_type))"),
    )
    in_worker(stage, at, rank, "TypeError", what, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Some recordings of the new part are not what their names say.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, trains=False)
def half_gradients_to_unscale(stage: Stage) -> Scenario:
    """A model was loaded in half precision and is trained with a scaler (Chinese-Vicuna#168, bitsandbytes#945)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("half"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(1_900, 5_200), "a scaler is to unscale gradients of half precision")
    module = f"{site}/torch/{'amp' if own.torch.order >= 203 else 'cuda/amp'}/grad_scaler.py"
    frames = (
        *loss_frames(stage, "scaler.unscale_(optimizer)"),
        sdk.Frame(module, 338, "unscale_", 'optimizer_state["found_inf_per_device"] = self._unscale_grads_('),
        sdk.Frame(module, 260, "_unscale_grads_", 'raise ValueError("Attempting to unscale FP16 gradients.")'),
    )
    over = each_raises(stage, at, "ValueError: Attempting to unscale FP16 gradients.", frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The weights of the start are stored in half precision.", (made,), until=over)


CODEC = (
    "Could not load libtorchcodec. Likely causes:\n"
    "          1. FFmpeg is not properly installed in your environment. We support\n"
    "             versions 4, 5, 6 and 7.\n"
    "          2. The PyTorch version ({version}) is not compatible with\n"
    "             this version of TorchCodec. Refer to the version compatibility\n"
    "             table:\n"
    "             https://github.com/pytorch/torchcodec?tab=readme-ov-file#installing-torchcodec.\n"
    "          3. Another runtime dependency; see exceptions below.\n"
    "        The following exceptions were raised as we tried to load libtorchcodec:\n"
    "        \n[start of libtorchcodec loading traceback]\n"
)


@kind(reads=True, hangs=False, trains=False, torch_order=206)
def codec_library_not_loaded(stage: Stage) -> Scenario:
    """An image lacks FFmpeg, and the first recording is decoded (torchcodec#1023, #1143; lerobot#3976)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("codec"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(900, 3_400), "no loader process finds FFmpeg")
    version = own.torch.name.split("-")[0]
    text = CODEC.replace("{version}", f"{version}.0")
    text += "\n".join(
        f"FFmpeg version {one}: libavutil.so.{one + 52}: cannot open shared object file: No such file or directory"
        for one in (7, 6, 5, 4)
    )
    frames = (
        sdk.Frame("/workspace/asr/samples.py", 64, "decode", "samples, rate = torchaudio.load_with_torchcodec(blob)"),
        sdk.Frame(f"{site}/torchcodec/__init__.py", 10, "<module>", "from . import decoders, samplers  # noqa"),
        sdk.Frame(f"{site}/torchcodec/_core/ops.py", 84, "load_torchcodec_shared_libraries", "raise RuntimeError("),
    )
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        in_worker(
            stage,
            at + draw.span(1, 300),
            rank,
            "RuntimeError",
            f"{text}\n[end of libtorchcodec loading traceback].",
            frames,
        )
    firsts = range(0, own.world, own.ranks_per_node)
    over = job.agents_end([Exit(rank, at + 800 * MS + rank * MS, 1) for rank in firsts], at + 900 * MS)
    made = of_all(stage.innocent("software", also=("infrastructure", "data")))
    return stage.close("The image was made smaller last week.", (made,), until=over)


@kind(hangs=False, trains=False)
def compiler_not_in_the_image(stage: Stage) -> Scenario:
    """A model is compiled where there is no compiler of C (nnUNet#2268, #2237; torch.compile, triton)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("compiler"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(9_000, 31_000), "there is no compiler of C in the image")
    what, advice = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable", "TORCH_LOGS"
    if own.torch.order >= 207:
        text = (
            f"torch._inductor.exc.InductorError: {what} or set triton.knobs.build.impl.\n\nSet TORCHDYNAMO_VERBOSE=1 "
        )
        text += (
            "for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). For even "
        )
        text += f'more developer context, set {advice}="+dynamo"\n'
    else:
        text = f"torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n{what}.\n\nSet {advice}="
        text += (
            '"+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n\n\nYou can suppress this exception and fall '
        )
        text += "back to eager by setting:\n    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True\n"
    module = f"{site}/torch/_dynamo/eval_frame.py"
    inner = (
        (sdk.Frame(module, 749, "compile_wrapper", "raise e.remove_dynamo_frames() from None"),)
        if own.torch.order >= 207
        else (
            sdk.Frame(module, 489, "_fn", "return fn(*args, **kwargs)"),
            sdk.Frame(
                f"{site}/torch/_dynamo/output_graph.py", 1146, "call_user_compiler", "raise BackendCompilerFailed("
            ),
        )
    )
    frames = (*loss_frames(stage, "loss = criterion(model(batch), batch)"), *inner)
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("The image is the one that is used to serve.", (made,), until=over)


@kind(hangs=False, lead_s=80.0, without=RESTARTS)
def wrapper_has_no_generate(stage: Stage) -> Scenario:
    """A first validation asks the wrapper for what its model can (accelerate#109, transformers#18974, trl#340)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, unrest.entries_missing, commotion.throttled_in_window))
    job, at, draw, site = stage.job, stage.at, stage.draw.child("wrapper"), stage.job.job.build["site"]
    stage.mark(at, "the wrapper of a model is asked for what it has not")
    job.note(at - draw.span(90, 900), 0, f"validation of step {stage.step}: {draw.whole(20, 90)} batches", line=190)
    missing = draw.pick(("generate", "generate", "transcribe", "config"))
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(job.job.script, 149, "validate", f"answers = model.{missing}(batch)", True),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1695, "__getattr__", "raise AttributeError("),
    )
    text = f"AttributeError: 'DistributedDataParallel' object has no attribute '{missing}'"
    each_raises(stage, at, text, frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close("It was tried on one device only, without a wrapper.", (made,))


@kind(hangs=False, lead_s=80.0)
def metric_to_save_by_is_absent(stage: Stage) -> Scenario:
    """The best checkpoint is chosen by a metric that nobody has logged (Lightning#20046, Mask3D#116, FFF#3)."""
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, commotion.rebalance_running, commotion.throttled_in_window))
    job, at, draw, site = stage.job, stage.at, stage.draw.child("monitored"), stage.job.job.build["site"]
    stage.mark(at, "a metric to save by was never logged")
    wanted, has = draw.pick((("val/wer", "val_wer"), ("val_loss", "validation/loss"), ("val/mAP", "val_map_50")))
    job.note(
        at - 60 * MS, 0, f"validation of step {stage.step} is done: {has} {draw.between(0.09, 0.61):.4f}", line=190
    )
    module = f"{site}/lightning/pytorch/callbacks/model_checkpoint.py"
    frames = (
        *loss_frames(stage, "trainer.fit(model, datamodule=data)"),
        sdk.Frame(module, 334, "on_validation_end", "self._save_topk_checkpoint(trainer, monitor_candidates)"),
        sdk.Frame(module, 382, "_save_topk_checkpoint", "raise MisconfigurationException(m)"),
    )
    text = (
        f"lightning.fabric.utilities.exceptions.MisconfigurationException: `ModelCheckpoint(monitor='{wanted}')` could "
    )
    text += (
        f"not find the monitored key in the returned metrics: ['train_loss', 'lr-AdamW', '{has}', 'epoch', 'step']. "
    )
    text += f"HINT: Did you call `log('{wanted}', value)` in the `LightningModule`?"
    each_raises(stage, at, text, frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close("Metrics were renamed, and the settings were not.", (made,))
