"""Checkpoints that are slow, refused, out of space, deleted twice, or cannot be read again."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Fault, Layout, Scenario, Start, Truth

SCENARIOS = (
    Scenario(
        "parts_of_a_checkpoint_go_up_slowly",
        "The store takes seconds for each part of rank 0's checkpoint; the others run out of time in the next step.",
        "upload_saves.py",
        Truth("storage_io", (0,), ("network", "rank_hang")),
        layout=Layout.TEE,
        needs=("boto3",),
        faults=(Fault(r"^put:/s3/checkpoints/.*/step-000016/", "late", delay_s=3.0),),
        group_timeout_s=16,
    ),
    Scenario(
        "upload_in_background_is_refused",
        "A thread of rank 0 uploads while training goes on; what it was answered, 503, is seen at the next checkpoint.",
        "upload_saves.py",
        Truth("storage_io", (0,), ("network",)),
        ("--background",),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=3,
        ranks_per_node=1,
        needs=("boto3",),
        faults=(Fault(r"^put:/s3/.*/step-000016/part-00003", "status", message="Please reduce your request rate."),),
        group_timeout_s=90,
    ),
    Scenario(
        "part_of_a_save_finds_no_space",
        "Rank 2 writes its part of a distributed checkpoint to a device that is full; all ranks are told of it.",
        "dcp_loop.py",
        Truth("infrastructure", (2,), ("storage_io", "software")),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        links={"ckpt/step-10/__2_0.distcp": "/dev/full"},
        group_timeout_s=90,
    ),
    Scenario(
        "old_checkpoint_is_deleted_twice",
        "The first rank of each node deletes old checkpoints of the shared folder; the second one finds them gone.",
        "keep_last.py",
        Truth("software", (2,), ("infrastructure",)),
        layout=Layout.FILES,
        nodes=2,
        ranks_per_node=2,
        group_timeout_s=90,
    ),
    Scenario(
        "checkpoint_holds_more_than_weights",
        "The checkpoint holds the options of its script, which torch.load does not unpickle: all ranks fail.",
        "keep_last.py",
        Truth("software", None, ("data",), "innocent"),
        ("--keep", "9", "--steps", "12"),
        layout=Layout.STREAM,
        ranks_per_node=3,
        group_timeout_s=90,
    ),
)
