"""What a recording is made of: the job, what hurts it, how its output is stored, and the truth of it.

`catalog.py` reads these from `scenarios/*.toml`; running them is `launch.py`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

VERDICTS = frozenset(("guilty", "innocent", "undetermined"))
FAULTS = frozenset(("hang", "drip", "late", "reset", "close", "cut", "spoil", "status"))


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


@dataclass(frozen=True)
class Act:
    """Things done from outside, `delay_s` after a line of the job has matched.

    Each is one of: `SIGNAL rank|loader|node|launcher NUMBER`, `stacks`, `records`, `cut FILE`, `stop store`.
    """

    after: str
    do: tuple[str, ...]
    delay_s: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A job, what hurts it, and the truth of it; `truth` is None where nothing fails.

    `job` is the script and its arguments, `{store}` in it the object server. `style` names a format of
    `jobs/cluster.py`. `files`, a maker of `files.py` with its arguments each, and `texts` lie in the job's folder,
    `objects`, a maker of `objects.py`, in the store. `ends_well` says that the job comes to its end all the same, which
    is looked at after the run. `limits` are of the address space in MiB and of open files. `shared_memory_mib` gives a
    node a /dev/shm of its own, which needs root.
    """

    name: str
    subject: str
    what: str
    job: tuple[str, ...]
    truth: Truth | None = None
    style: str = "plain"
    layout: Layout = Layout.TEE
    start: Start = Start.TORCHRUN
    nodes: int = 1
    ranks_per_node: int = 4
    launcher: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    node_env: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    limits: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    shared_memory_mib: Mapping[int, int] = field(default_factory=dict)
    delays_s: Mapping[int, float] = field(default_factory=dict)
    absent_nodes: tuple[int, ...] = ()
    wrong_port_nodes: tuple[int, ...] = ()
    files: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    acts: tuple[Act, ...] = ()
    timeout_s: int = 25
    limit_s: float = 150.0
    ends_well: bool = False

    @property
    def script(self) -> str:
        """The script, below `jobs/`."""
        return self.job[0]
