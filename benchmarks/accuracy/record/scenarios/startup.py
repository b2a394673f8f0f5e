"""Jobs that never come to train: a node that does not come, a wrong port, a port in use, a module that is missing."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Layout, Scenario, Truth

_KERNELS = '"""Rotary kernels."""\n\n\ndef build() -> None:\n    """Nothing to build on a CPU."""\n'

SCENARIOS = (
    Scenario(
        "second_node_never_comes",
        "Only one of two launchers is started; it waits for the other in vain, and no rank exists.",
        "pretrain.py",
        Truth("infrastructure", (), ("network", "software")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        absent_nodes=(1,),
        launcher=("--rdzv-conf=timeout=25",),
    ),
    Scenario(
        "second_node_has_wrong_port",
        "The launcher of the second node is given another port than the first one listens at.",
        "pretrain.py",
        Truth("software", (), ("network", "infrastructure")),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        wrong_port_nodes=(1,),
        launcher=("--rdzv-conf=timeout=20",),
    ),
    Scenario(
        "own_store_port_is_taken",
        "The script's own store is to listen at a port where another server does already.",
        "own_store.py",
        Truth("infrastructure", (0,), ("software",)),
        environment={"OWN_PORT": "51080"},
        objects=dict,
    ),
    Scenario(
        "module_missing_on_one_node",
        "The second node lacks a module the script imports: both its ranks end, the first node waits for them.",
        "pretrain.py",
        Truth("software", (2, 3), ("infrastructure",)),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        environment={"USE_ROTARY_KERNELS": "1"},
        node_environment={0: {"PYTHONPATH": "extra"}},
        files={"extra/rotary_kernels.py": _KERNELS},
        group_timeout_s=25,
    ),
)
