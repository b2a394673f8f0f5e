"""Noise that a kind of fault brings along, whatever noise its incident has otherwise."""

from __future__ import annotations

from benchmarks.accuracy.generate.noise import OPENING
from benchmarks.accuracy.generate.scene import Noise, Scene
from fixtures.generator.stage import Stage


def beside(stage: Stage, noise: Noise) -> None:
    """Makes a noise once: at the opening if it needs a job that trains, else now."""
    if not isinstance(stage, Scene):
        return
    if noise.__name__ in OPENING:
        if noise not in stage.around.opening:
            stage.around.opening.append(noise)
    elif noise not in stage.around.first:
        stage.make_noise(noise)
