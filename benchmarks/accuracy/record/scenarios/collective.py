"""Ranks that call other collectives than the rest, in another order, of another size, or not at all."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Truth

_RECORDER = {"TORCH_FR_BUFFER_SIZE": "2000"}
_ALSO = ("software",)


def _records(job: Running) -> None:
    job.take_flight_records()


def _stacks_and_records(job: Running) -> None:
    job.take_stacks()
    job.take_flight_records()


SCENARIOS = (
    Scenario(
        "fewer_batches_then_barrier",
        "Rank 3 has fewer batches and waits in the barrier after the epoch, the others in the next reduction.",
        "manual_sync.py",
        Truth("collective_mismatch", (3,), ("data", "software")),
        ("--batches", "3:9"),
        environment=_RECORDER,
        acts=(Act(r"rank=3 epoch finished", _stacks_and_records, 8.0),),
    ),
    Scenario(
        "first_rank_reduces_once_more",
        "Rank 0 alone reduces a mean for its report; its own next collectives no longer fit those of the others.",
        "manual_sync.py",
        Truth("collective_mismatch", (0,), _ALSO),
        ("--report-every", "6"),
        layout=Layout.STREAM,
        environment=_RECORDER,
        acts=(Act(r"rank=0 step=6", _stacks_and_records, 8.0),),
    ),
    Scenario(
        "other_order_with_detail",
        "Rank 1 broadcasts before it reduces, where the others do it the other way round; DETAIL names both.",
        "manual_sync.py",
        Truth("collective_mismatch", (1,), _ALSO),
        ("--long-batches", "1:7"),
        environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
    ),
    Scenario(
        "other_size_without_detail",
        "The second node pads its vocabulary to another size, so ranks 2 and 3 reduce more numbers; only gloo notices.",
        "manual_sync.py",
        Truth("collective_mismatch", None, _ALSO),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        node_environment={1: {"PAD_VOCABULARY_TO": "64"}},
    ),
    Scenario(
        "other_model_on_one_rank",
        "The last node builds a model with one adapter more; DDP compares the models and says so.",
        "adapters.py",
        Truth("software", (2,), ("collective_mismatch",)),
        nodes=3,
        ranks_per_node=1,
        node_environment={2: {"ADAPTER_LANGUAGES": "4"}},
    ),
    Scenario(
        "parameters_unused_on_one_rank",
        "A batch of rank 1 skips the adapters; DDP of rank 1 finds parameters without a gradient.",
        "adapters.py",
        Truth("software", (1,), ("collective_mismatch", "data")),
        ("--unknown", "1:4"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
    ),
)
