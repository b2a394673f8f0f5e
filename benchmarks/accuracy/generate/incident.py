"""Composes an incident from its plan and writes it with its truth.

The truth is that of a scenario (fixtures.generator.write) and a table `[accuracy]`: what the incident is made of, when
the first cause was, what may be unknown, and lines that must stand in the logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.accuracy.generate.hip import in_words_of_hip, on_rocm
from benchmarks.accuracy.generate.noise import around
from benchmarks.accuracy.generate.plan import Plan
from benchmarks.accuracy.generate.scene import Scene, describe
from benchmarks.accuracy.generate.taken import TAKEN, take
from fixtures.generator.draw import Draw
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import toml_time
from fixtures.generator.write import write


@dataclass(frozen=True)
class Witness:
    """A line of the logs that carries the truth."""

    path: str
    line_no: int
    text: str


@dataclass(frozen=True)
class Incident:
    """A composed incident: its logs, its truth, and the witnesses that are left."""

    plan: Plan
    scenario: Scenario
    cause_at: int
    witnesses: tuple[Witness, ...]

    def truth_tail(self) -> str:
        """What the truth says beyond that of a scenario."""
        plan, scenario = self.plan, self.scenario
        is_taken = plan.taken != "nothing"
        rows = [
            "[accuracy]",
            f'part = "{plan.part}"',
            f'kind = "{plan.kind.name}"',
            f'side = "{plan.kind.side}"',
            f'hardness = "{plan.hardness}"',
            f'taken = "{plan.taken}"',
            f"hides_failure = {str(is_taken and TAKEN[plan.taken].hides_failure).lower()}",
            f"may_be_undetermined = {str(plan.may_be_undetermined).lower()}",
            f"noise = {list(plan.setting.noise)}".replace("'", '"'),
            f"setting = '{describe(plan.setting)}'",
            f'ais = "{plan.params.ais}"',
            f'torch = "{plan.params.torch}"',
            f'style = "{plan.params.style}"',
            f"world = {scenario.params.ranks}",
            f"cause_utc = {toml_time(self.cause_at)}",
        ]
        for one in self.witnesses:
            text = one.text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
            rows += ["", "[[witness]]", f'path = "{one.path}"', f"line_no = {one.line_no}", f'text = "{text}"']
        return "\n".join(rows) + "\n"


def compose(plan: Plan) -> Incident:
    """Plays the incident and takes away what the plan says."""
    scene = Scene(plan.kind.name, plan.number, plan.params, plan.setting, around(plan.setting.noise))
    made = replace(plan.kind.build(scene), name=plan.name)
    made = replace(made, expects=tuple(_either_class(one) for one in made.expects))
    if plan.params.torch_release.is_rocm:
        made, scene.raised = on_rocm(made), [in_words_of_hip(text) for text in scene.raised]
    left = take(plan.taken, made, Draw(plan.params.seed, "taken"))
    return Incident(plan, left, scene.cause(), tuple(_witnesses(left, scene.raised)))


def _either_class(expect: Expect) -> Expect:
    """Guilty storage makes a rank fail or wait; what was printed last decides which of both a reader calls it."""
    if expect.storage_verdict != "guilty":
        return expect
    others = ("storage_io", "data_loading_stall", *expect.also_ok)
    return replace(expect, also_ok=tuple(name for name in dict.fromkeys(others) if name != expect.failure_class))


def _witnesses(scenario: Scenario, wanted: list[str]) -> Iterator[Witness]:
    """Where the exceptions stand, if their lines are left; the first one each."""
    for text in dict.fromkeys(wanted[:4]):
        needle = text.encode()
        for file in scenario.files:
            if needle in file.data:
                before = file.data[: file.data.index(needle)]
                yield Witness(file.path, before.count(b"\n") + 1, text[:300])
                break


def write_incident(plan: Plan, out: Path) -> Path:
    """Writes an incident below a folder; the folder of the incident."""
    incident = compose(plan)
    write(incident.scenario, out)
    folder = out / plan.name
    with (folder / "truth.toml").open("a", encoding="utf-8") as truth:
        truth.write("\n" + incident.truth_tail())
    return folder
