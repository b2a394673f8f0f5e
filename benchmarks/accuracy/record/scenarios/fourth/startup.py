"""Jobs that fail before their first step: variables, ports, ways to start them."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Layout, Scenario, Start, Truth

SCENARIOS = (
    Scenario(
        "variable_missing_on_one_node",
        "The second node's environment lacks a variable the script wants: KeyError on both its ranks.",
        "translate.py",
        Truth("software", (2, 3), ("infrastructure",)),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        node_environment={0: {"CORPUS_ROOT": "/mnt/corpora/wmt24"}},
        group_timeout_s=16,
    ),
    Scenario(
        "port_of_another_job",
        "The port of the group belongs to another job on the machine: rank 0 cannot listen there.",
        "vae_spawn.py",
        Truth("infrastructure", (0,), ("software", "network")),
        ("--coordinator", "{store}"),
        layout=Layout.STREAM,
        start=Start.SPAWN,
        group_timeout_s=22,
    ),
    Scenario(
        "started_without_a_launcher",
        "A script for torchrun is started by python: the environment has no ranks.",
        "fashion.py",
        Truth("software", None),
        layout=Layout.SRUN,
        start=Start.SPAWN,
        ranks_per_node=1,
    ),
    Scenario(
        "spawned_without_a_main_guard",
        "The script starts its processes at import, and so does every process it starts.",
        "quickstart.py",
        Truth("software", None),
        layout=Layout.STREAM,
        start=Start.SPAWN,
        ranks_per_node=2,
    ),
)
