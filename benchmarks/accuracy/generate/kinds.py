"""The kinds of faults an incident may have, each with what it needs; new kinds register themselves here.

Those with a scenario of their own (fixtures.generator.scenarios) are taken from there, the others stand in the folder
faults, one folder for each part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fixtures.generator import scenarios
from fixtures.generator.model import Scenario
from fixtures.generator.stage import RECIPES, Stage

Build = Callable[[Stage], Scenario]


@dataclass(frozen=True)
class Kind:
    """A fault: its side (storage, training, none), what it needs, and the part it is held back for.

    `words_only`: nothing but a line of the rank's own log tells what it did. `sizes_only`: nothing but the sizes that a
    time-out names tells who it was. `trains`: the job comes to its first step. `without`: noise that contradicts it.
    `off_primary`: the culprit is the first rank of a host whose endpoint is not the primary proxy.
    """

    name: str
    side: str
    build: Build
    held: str = ""
    targets: int = 3
    proxies: int = 1
    hosts: int = 1
    ais_order: int = 330
    torch_order: int = 0
    torch_before: int = 999
    culprit: int | None = None
    reads: bool = False
    hangs: bool = True
    slurm: bool = False
    min_timeout_s: int = 60
    uptime: bool = False
    lead_s: float = 45.0
    may_be_undetermined: bool = False
    words_only: bool = False
    sizes_only: bool = False
    trains: bool = True
    without: tuple[str, ...] = ()
    off_primary: bool = False


KINDS: dict[str, Kind] = {}


#: Of the seventeenth, eleventh and twenty-second part, and taken over by the twenty-first and the twenty-third, which
#: were asked with these in the earlier ones' places of the draws.
_TAKEN_OVER = {"table_of_connections_is_full", "tracker_never_answers", "descriptors_of_a_rank_run_out"}


def kinds_of(side: str, held: str = "") -> Callable[..., Callable[[Build], Build]]:
    """The decorator of a module of faults: a function is a kind of its name, of this side, for this part."""

    def kind(**needs: object) -> Callable[[Build], Build]:
        def register(build: Build) -> Build:
            if build.__name__ in KINDS and build.__name__ not in _TAKEN_OVER:
                raise ValueError(f"two kinds are called {build.__name__}: rename the later one")
            KINDS[build.__name__] = Kind(build.__name__, side, build, held, **needs)  # type: ignore[arg-type]
            return build

        return register

    return kind


def _known(name: str, side: str, scenario: str | None = None, **needs: object) -> None:
    KINDS[name] = Kind(name, side, RECIPES[scenario or name].build, **needs)  # type: ignore[arg-type]


_known("target_killed_short_batch", "storage", reads=True)
_known("target_killed_designated", "storage", "clocks_new_year", reads=True)
_known("target_stopped_plain_get", "storage", reads=True)
_known("stale_membership_stall", "storage", ais_order=450, uptime=True, reads=True)
_known("checkpoint_out_of_space", "storage", culprit=0, hangs=False, lead_s=60.0)
_known("rejected_under_pressure", "storage", ais_order=410, reads=True)
_known("primary_proxy_killed", "storage", proxies=2, reads=True)
_known("mountpath_faulted", "storage", reads=True)
_known("slow_target_throttles", "storage", ais_order=410, reads=True)
_known("nobody_finishes", "training")
_known("collective_of_other_size", "training", torch_before=215, hangs=False, sizes_only=True)
_known("software_exception", "training", hangs=False)
_known("slow_checkpoint_rank0", "training", culprit=0, lead_s=60.0, words_only=True)
_known("broadcast_root_ahead", "training", torch_before=215, hangs=False, words_only=True)
_known("host_out_of_memory", "training", hosts=2, hangs=False, slurm=True, lead_s=84.0)
_known("gpu_ecc_error", "training", hangs=False)
_known("worker_node_cut_off", "training", hosts=2, min_timeout_s=90, hangs=False)
_known("corrupt_sample", "training", reads=True)
_known("object_of_wrong_name", "training", reads=True)
_known("noisy_storage_then_deadlock", "training", lead_s=200.0, words_only=True)
_known("second_attempt_completes", "storage", hangs=False, lead_s=58.0, reads=True)
_known("two_jobs", "storage", hangs=False, proxies=2, reads=True)
_known("healthy_run", "none", hangs=False, lead_s=110.0, targets=2)
_known("retry_storm_recovers", "none", hangs=False, lead_s=120.0)

SCENARIOS = scenarios
