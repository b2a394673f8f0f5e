"""Jobs that fail by what they read, not by how it is delivered."""

from __future__ import annotations

from benchmarks.accuracy.record.payloads import features, manifests, speech, tar_shards
from benchmarks.accuracy.record.scenario import Fault, Layout, Scenario, Truth

SCENARIOS = (
    Scenario(
        "manifest_names_no_object",
        "A line of rank 1's manifest has a name of another form than all others; the SDK is told it does not exist.",
        "train_sdk.py",
        Truth("data", (1,), ("storage_io",)),
        ("--attempts", "2"),
        nodes=2,
        ranks_per_node=2,
        layout=Layout.STREAM,
        needs=("aistore", "tenacity"),
        files=manifests(wrong={(1, 5): "/data/local/clips/1/clip-5.npy"}),
        objects=speech,
    ),
    Scenario(
        "tar_ends_early",
        "A shard of rank 3 was stored cut short; the tar reader meets its end in a member.",
        "train_tar.py",
        Truth("data", (3,), ("storage_io", "network")),
        ("--endpoint", "{store}", "--how", "tarfile"),
        layout=Layout.SRUN,
        needs=("webdataset",),
        objects=tar_shards(cut=(7,)),
    ),
    Scenario(
        "array_file_is_garbage",
        "An object of rank 0 has the right length and other bytes; numpy in a data loading process refuses it.",
        "train_http.py",
        Truth("data", (0,), ("storage_io", "software")),
        ("--endpoint", "{store}", "--workers", "1", "--timeout", "10"),
        layout=Layout.FILES,
        needs=("requests",),
        objects=features(spoil=("part-00-00006.npy",)),
    ),
    Scenario(
        "samples_of_unequal_size",
        "A sample of rank 3 is one frame shorter; the collate function in a data loading process cannot stack it.",
        "decoding.py",
        Truth("data", (3,), ("software",)),
        ("--workers", "2", "--bad", "3:77:short"),
    ),
    Scenario(
        "sample_lacks_transcript",
        "A sample of rank 1 has no text: KeyError in the dataset, in the rank itself.",
        "decoding.py",
        Truth("data", (1,), ("software",)),
        ("--bad", "1:90:transcript"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
    ),
    Scenario(
        "checkpoint_shard_is_garbage",
        "All ranks roll back to their shards of a checkpoint; torch.load of rank 2 cannot read what it got.",
        "resume_remote.py",
        Truth("data", (2,), ("storage_io", "software")),
        layout=Layout.STREAM,
        needs=("requests",),
        objects=dict,
        faults=(Fault(r"^/v1/.*/model_rank_2", "spoil"),),
    ),
)
