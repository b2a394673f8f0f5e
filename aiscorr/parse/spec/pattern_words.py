"""The words that a pattern's file may use: what a message is, what it says of a rank or a node, what it opens."""

from __future__ import annotations

SEVERITIES = ("error", "warning", "info")
ROLES = (
    "cause",
    "symptom",
    "consequence",
    "retry",
    "recovery",
    "lifecycle",
    "identity",
    "context",
    "noise",
)
TIERS = (
    "process",
    "training",
    "data_io",
    "collective",
    "launcher",
    "gpu",
    "network",
    "storage",
    "membership",
    "capacity",
    "load",
    "get_batch",
    "lifecycle",
    "other",
)
BLOCKS = ("traceback", "torchrun_table", "collective_stack", "message", "oom_kill", "threads", "ignored")
#: What the frames of a traceback can tell that it was doing.
FRAME_KINDS = (
    "storage",
    "checkpoint",
    "data_loading",
    "decoding",
    "collective",
    "log_upload",
    "hub_wait",
    "another_service",
    "other",
)
#: What a pattern may ask of the traceback its line ends: a kind, that the last calls talked to a process beside, or
#: to a manager of shared objects, that it waited for data which the program itself was to get, that a compiler of
#: kernels or a library that reads data made it, or that it was after data, whatever library it used, or moved some at
#: all (a transfer: a read or a save).
INSIDES = (*FRAME_KINDS, "manager_process", "helper_process", "data_wait", "compiler", "loader", "reading", "transfer")
MARKS = ("attempt_start", "attempt_end", "job_success")
RANK_EFFECTS = ("timed_out", "notified", "reached_barrier", "names_peer", "killed", "lost_peer", "gives_up", "stopped")
SUBJECTS = ("self", "peer")
RECIPIENTS = ("storage", "client", "training")
FAILURE_CLASSES = (
    "storage_io",
    "data_loading_stall",
    "data",
    "network",
    "gpu",
    "gpu_fabric",
    "collective_mismatch",
    "rank_hang",
    "software",
    "infrastructure",
    "undetermined",
)
