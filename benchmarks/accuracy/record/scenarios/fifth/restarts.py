"""Jobs that wait for a node, and jobs that torchrun starts again."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Truth

_OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def _lose_node_1(job: Running) -> None:
    job.signal_node(1, signal.SIGKILL)


def _kill_loader_of_3(job: Running) -> None:
    job.signal_loader(3, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "third_node_never_joins",
        "Two of three launchers meet at the rendezvous and wait for the third, which is not there.",
        "sensors.py",
        Truth("infrastructure", (), ("network", "software")),
        layout=Layout.STREAM,
        nodes=3,
        ranks_per_node=2,
        absent_nodes=(2,),
        launcher=(
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=127.0.0.1:{port}",
            "--rdzv-id=sensors-11",
            "--rdzv-conf=join_timeout=18",
        ),
    ),
    Scenario(
        "node_is_lost_and_restart_waits_for_it",
        "The second node goes without a word; the first one is to start again and waits for it in vain.",
        "sensors.py",
        Truth("infrastructure", (2, 3), ("network",)),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        environment=_OWN_STORE,
        launcher=(
            "--max-restarts=2",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=127.0.0.1:{port}",
            "--rdzv-id=sensors-12",
            "--rdzv-conf=join_timeout=15,keep_alive_interval=2,keep_alive_max_attempt=2",
        ),
        node_delays_s={1: 2.0},
        acts=(Act(r"\|2\|INFO\|step 9 ", _lose_node_1),),
        group_timeout_s=14,
    ),
    Scenario(
        "loader_killed_then_second_start_completes",
        "The loader process of rank 3 is killed; both nodes start again from the last save, and the job is done.",
        "sensors.py",
        Truth("infrastructure", (3,), ("software", "data_loading_stall")),
        ("--steps", "24"),
        layout=Layout.FILES,
        nodes=2,
        ranks_per_node=2,
        environment=_OWN_STORE,
        launcher=(
            "--max-restarts=1",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=127.0.0.1:{port}",
            "--rdzv-id=sensors-13",
        ),
        is_completed=True,
        node_delays_s={1: 2.0},
        acts=(Act(r"\|3\|INFO\|step 10 ", _kill_loader_of_3),),
        group_timeout_s=20,
    ),
)
