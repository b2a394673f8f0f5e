"""Jobs that never come to train: ports, names, interfaces and nodes."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Layout, Scenario, Start, Truth
from benchmarks.accuracy.record.texts import books

SCENARIOS = (
    Scenario(
        "port_of_the_launcher_is_taken",
        "torchrun is to listen at a port where another program does already; no rank is started.",
        "char_lm.py",
        Truth("infrastructure", (), ("software", "network")),
        layout=Layout.STREAM,
        launcher=("--master-port=51080",),
        files=books(),
    ),
    Scenario(
        "head_node_cannot_be_resolved",
        "The tasks of the second node do not know the name of the first one.",
        "char_lm.py",
        Truth("infrastructure", (2, 3), ("network", "software")),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        node_environment={1: {"MASTER_ADDR": "gpu-0.train.internal"}},
        files=books(),
        group_timeout_s=14,
    ),
    Scenario(
        "interface_does_not_exist",
        "The second node is told to talk over an interface it does not have.",
        "char_lm.py",
        Truth("software", (1,), ("infrastructure", "network")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=1,
        node_environment={1: {"GLOO_SOCKET_IFNAME": "ib0"}},
        files=books(),
        group_timeout_s=15,
    ),
)
