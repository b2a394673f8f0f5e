"""Ranks that leave out, add or change a collective."""

from __future__ import annotations

from benchmarks.accuracy.record.payloads import tar_shards
from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth
from benchmarks.accuracy.record.texts import books, instructions, recommender

_RECORDER = {"TORCH_FR_BUFFER_SIZE": "2000"}


def _records(job: Running) -> None:
    job.take_flight_records()


def _stacks_and_records(job: Running) -> None:
    job.take_stacks()
    job.take_flight_records()


SCENARIOS = (
    Scenario(
        "leaves_the_loop_when_loss_is_nan",
        "A batch of rank 2 is blank, so its loss is no number: it leaves the loop and waits in the last barrier.",
        "char_lm.py",
        Truth("collective_mismatch", (2,), ("data", "software")),
        layout=Layout.TEE,
        environment=_RECORDER,
        files=books(odd={2: (128 * 20, "\n" * 400)}),
        acts=(Act(r"loss is nan", _stacks_and_records, 7.0),),
        group_timeout_s=16,
    ),
    Scenario(
        "barrier_in_the_branch_of_one_rank",
        "Rank 0 waits in a barrier after it saved, where the others never come. Flight Recorder dumps.",
        "rec_sync.py",
        Truth("collective_mismatch", (0,), ("software",)),
        ("--save-every", "10"),
        layout=Layout.STREAM,
        environment=_RECORDER,
        files=recommender(),
        acts=(Act(r"saved towers-10", _records, 7.0),),
        group_timeout_s=16,
    ),
    Scenario(
        "nothing_to_evaluate_on_one_rank",
        "Rank 3 has no held out users and returns from the evaluation before its reduction.",
        "rec_sync.py",
        Truth("collective_mismatch", (3,), ("data", "software")),
        ("--eval-every", "9"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        files=recommender({0: 7, 1: 6, 2: 7, 3: 0}),
        group_timeout_s=16,
    ),
    Scenario(
        "other_width_with_detail",
        "A setting of the second of three hosts gives its towers another width; DETAIL compares the shapes.",
        "rec_sync.py",
        Truth("collective_mismatch", (1,), ("software",)),
        nodes=3,
        ranks_per_node=1,
        environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        node_environment={1: {"REC_SETTINGS": '{"dim": 48}'}},
        files=recommender(),
        group_timeout_s=16,
    ),
    Scenario(
        "skips_a_batch_out_of_memory",
        "Rank 1 catches that it cannot allocate a batch and goes on with the next, the others wait for its gradient.",
        "instruct_acc.py",
        Truth("collective_mismatch", (1,), ("software", "data")),
        ("--skip-oom", "--extra-data", "extra/chats.txt"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("accelerate",),
        files={"extra/chats.txt": "hi there\nhow so\n" + "and then " * 40_000 + "\n" + "as you like\n" * 13},
        group_timeout_s=16,
    ),
    Scenario(
        "shards_do_not_divide",
        "Seven shards for four ranks: rank 3 is at the end sooner and evaluates, the others go on; only rank 0 logs.",
        "clip_wds.py",
        Truth("collective_mismatch", (3,), ("data", "software")),
        ("--shards", "shard-{000000..000006}.tar"),
        layout=Layout.FILES,
        needs=("webdataset",),
        objects=tar_shards(7),
        group_timeout_s=18,
    ),
    Scenario(
        "weights_gathered_by_one_rank",
        "Rank 0 alone gathers the whole weights of FSDP for an export; what it gets is of the next step of others.",
        "fsdp_sft.py",
        Truth("collective_mismatch", (0,), ("software",)),
        ("--export-at", "9"),
        layout=Layout.TEE,
        files=instructions(),
        group_timeout_s=16,
    ),
)
