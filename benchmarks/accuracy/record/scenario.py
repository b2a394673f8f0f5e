"""What a recording is made of: the job, what hurts it, how its output is stored, and the truth of it.

A scenario file hands out a tuple of these; running them is `launch.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

CLASSES = frozenset(
    (
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
)
VERDICTS = frozenset(("guilty", "innocent", "undetermined"))


class Layout(Enum):
    """How the output of a job lies on disk."""

    TEE = "files per rank, and the launcher's stream with a prefix per local rank"
    FILES = "files per rank; the launcher's stream holds its own lines only"
    STREAM = "stdout and stderr of each launcher, as the ranks happened to write"
    SRUN = "one stream a node as srun stores it, without prefixes"
    SRUN_TEE = "one stream a node as srun stores it, with a prefix per local rank"
    TASKS = "one file a task, with its number in the name, as srun's %t makes it"
    LABELS = "one stream of all nodes in which every line begins with the number of its task, as `srun -l` writes it"

    @property
    def has_files(self) -> bool:
        """Whether the launcher writes files per rank."""
        return self in (Layout.TEE, Layout.FILES)

    @property
    def is_merged(self) -> bool:
        """Whether stdout and stderr of a node go to one file."""
        return self in (Layout.SRUN, Layout.SRUN_TEE, Layout.LABELS)


class Start(Enum):
    """Who starts the ranks."""

    TORCHRUN = "torchrun, one a node"
    TASKS = "a launcher a node that starts plain processes with the ranks in their environment, as srun does"
    SPAWN = "the script itself, with torch.multiprocessing"


SETS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Truth:
    """What a report must say; None is not judged."""

    failure_class: str
    culprit_ranks: tuple[int, ...] | None = None
    also_ok: tuple[str, ...] = ()
    storage_verdict: str | None = None


@dataclass(frozen=True)
class Fault:
    """How the object server treats requests whose path matches; `first` hurts so many of each object, 0 all of them."""

    path: str
    kind: str
    first: int = 0
    status: int = 503
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 3.0


class Running(Protocol):
    """What an act from outside may lay hands on."""

    def signal_rank(self, rank: int, number: int) -> None:
        """Sends a signal to a rank's main process."""

    def signal_loader(self, rank: int, number: int) -> None:
        """Sends a signal to a data loading process of a rank."""

    def signal_node(self, node: int, number: int) -> None:
        """Sends a signal to the launcher of a node and to all it started."""

    def signal_launcher(self, node: int, number: int) -> None:
        """Sends a signal to the launcher of a node alone."""

    def take_stacks(self) -> None:
        """Stores py-spy's stacks of all ranks, where py-spy may trace."""

    def take_flight_records(self) -> None:
        """Lets every rank that can still run write its Flight Recorder dump."""

    def cut_file(self, name: str) -> None:
        """Leaves the first half of a file the job wrote, where there is one."""

    def stop_store(self) -> None:
        """Takes the object server away, its open connections too."""

    def start_store(self) -> None:
        """Brings the object server back at the same ports."""


@dataclass(frozen=True)
class Act:
    """Something done from outside, `delay_s` after a line of the job has matched."""

    after: str
    do: Callable[[Running], None]
    delay_s: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A job, what hurts it, and the truth of it; `truth` is None where nothing fails.

    `is_completed` says that the job comes to its end all the same, which is looked at after the run. `held` names the
    set a scenario was held back with. `shared_memory_mib` gives a node a /dev/shm of its own, which needs root.
    """

    name: str
    what: str
    script: str
    truth: Truth | None
    arguments: tuple[str, ...] = ()
    layout: Layout = Layout.TEE
    nodes: int = 1
    ranks_per_node: int = 4
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    node_environment: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    node_limits: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    absent_nodes: tuple[int, ...] = ()
    wrong_port_nodes: tuple[int, ...] = ()
    launcher: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    objects: Callable[[], Mapping[str, bytes]] | None = None
    faults: tuple[Fault, ...] = ()
    acts: tuple[Act, ...] = ()
    group_timeout_s: int = 25
    is_completed: bool = False
    limit_s: float = 150.0
    start: Start = Start.TORCHRUN
    held: str = SETS[0]
    node_delays_s: Mapping[int, float] = field(default_factory=dict)
    shared_memory_mib: Mapping[int, int] = field(default_factory=dict)
