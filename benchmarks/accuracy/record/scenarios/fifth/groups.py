"""Groups, objects and models that do not fit: what PyTorch itself refuses, on some ranks or on all."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.accuracy.record.scenario import Layout, Scenario, Start, Truth

_NAMES = "Ada Bela Carla Dora Edda Frida Greta Hella Ida Jana Karla Lene Mona Nina Olga Petra Rita Sara Tilda Ute"


def corpus(folder: str, more: str = "") -> Mapping[str, str]:
    """A text of names below a folder; words of `more` come a few times as well."""
    names = _NAMES.split()
    rows = [" ".join(names[(number * 7 + at) % len(names)] for at in range(8)) for number in range(80)]
    return {f"{folder}/names.txt": "\n".join([*rows, *([more] * 3)]) + "\n"}


SCENARIOS = (
    Scenario(
        "source_is_counted_within_the_group",
        "A broadcast within pairs has source 0, a rank of all: ranks 2 and 3 have no such rank in their group.",
        "two_towers.py",
        Truth("software", (2, 3), ("collective_mismatch",)),
        ("--rehash-every", "12"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        group_timeout_s=16,
    ),
    Scenario(
        "schedule_of_the_first_rank_cannot_be_pickled",
        "Rank 0 sends its schedule to all, which holds a writer of its table of epochs: pickle refuses it.",
        "tabular.py",
        Truth("software", (0,)),
        ("--run-dir", "runs"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        group_timeout_s=14,
    ),
    Scenario(
        "first_host_has_a_newer_corpus",
        "The corpus of the first host has words more, so its embedding is larger: DDP of all others says so.",
        "names_lm.py",
        Truth("software", (0,), ("collective_mismatch", "data")),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=4,
        ranks_per_node=1,
        node_environment={0: {"NAMES_CORPUS": "corpus.new"}},
        files={**corpus("corpus"), **corpus("corpus.new", "Vera Wilma Xenia")},
        group_timeout_s=20,
    ),
    Scenario(
        "shared_block_is_checkpointed",
        "A block is applied four times, each checkpointed by re-entering: DDP gets its gradients twice, on all ranks.",
        "recurrent_vit.py",
        Truth("software"),
        ("--activation-checkpointing",),
        layout=Layout.STREAM,
        start=Start.SPAWN,
        ranks_per_node=3,
        group_timeout_s=20,
    ),
)
