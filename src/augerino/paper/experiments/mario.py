"""Soft invariance: sprites that tell up from down (the paper's Section 4.2), with the released sprites and with our own."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

import augerino as ag
from augerino import plots
from augerino.data.synthetic.sprites import Sprites, figures, sprites
from augerino.paper.datasets.mario import mario_and_iggy
from augerino.paper.experiments.drawing import (
    draw_bounds_over_training,
    draw_orbits,
    draw_samples,
    draw_start_and_learned,
)
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import WIDE, curves, make_augmentation, train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

TRUE = math.pi / 4
ANGLES = torch.linspace(-math.pi, math.pi, 73)


@dataclass(frozen=True)
class Mario(ImageSettings):
    """Sprites upright or upside down: is the rotation learned up to ±45°, from any start?"""

    weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """the penalty's weights, one row each"""
    starts: tuple[float, ...] = (0.1, math.pi / 4, 2.0)
    """where the rotation starts in the rows that compare starts: too narrow, right, too wide"""
    coordinates: tuple[str, ...] = ("translate_x", "translate_y", "rotate", "scale")
    """what is learned"""
    train: int = 10_000
    """training pictures"""
    test: int = 1_000
    """test pictures"""


def rows(settings: Mario) -> list[Row]:
    """For our own sprites and the released ones: three weights, three starts, and the steerable baseline."""
    found = []
    for data in ("own", "released"):
        found += [
            Row(f"{data} sprites, λ = {w:g}", "learned", w, data=data) for w in settings.weights
        ]
        found += [
            Row(f"{data} sprites, rotation from {s:.2f}", "learned", 0.05, rotate=s, data=data)
            for s in settings.starts
        ]
        found += [Row(f"{data} sprites, released recipe", "released", 0.05, rotate=WIDE, data=data)]
        found += [Row(f"{data} sprites, steerable C8 network", "steerable", data=data)]
    return found


def upright_figures(row: Row, data: str | None) -> Tensor | None:
    """The two upright figures of a row; None where it wants the released ones and they are not there."""
    return mario_and_iggy(data) if row.data == "released" else figures()


def trial(settings: Mario, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row, measures its accuracy and turns the first figure once around."""
    upright = upright_figures(row, data)
    if upright is None:
        return {"absent": True}
    train, test = (make(settings, upright, 2 * seed + i) for i in range(2))
    start = make_augmentation(row, settings.coordinates).extent
    model, history = train_row(
        settings, row, seed, train.x, train.y, outputs=4, coordinates=settings.coordinates
    )
    torch.manual_seed(seed)
    score = ag.diagnostics.evaluate(
        model, F.nll_loss, ag.data.Batches(test.x, test.y, 500, shuffle=False)
    )
    curve = ag.diagnostics.orbit(model, upright[0], ag.Affine2d("rotate"), "rotate", ANGLES)
    return {
        "accuracy": score.accuracy,
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(p[0], 4) for p in curve.outputs],
    }


def make(settings: Mario, upright: Tensor, seed: int) -> Sprites:
    """Training pictures for even seeds, test pictures for odd ones."""
    return sprites(settings.test if seed % 2 else settings.train, seed=seed, figures=upright)


def table(settings: Mario, trials: list[Trial]) -> list[Line]:
    """The learned rotation against the true one, and the accuracy."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        if any(t.get("absent") for t in found):
            lines.append(Line(row.name, "not run: mario_iggy.npz is not there (--data DIR)"))
            continue
        text = f"accuracy {mean_sd([t['accuracy'] for t in found], 100, 1)} %"
        if row.kind != "steerable":
            degrees = [math.degrees(t["bounds"]["rotate"]) for t in found]
            worst = max(abs(d / 45 - 1) for d in degrees)
            text = f"rotation ±{mean_sd(degrees, 1, 1)}° (at most {worst:.0%} off), {text}"
        paper = (
            "±45°"
            if row.kind == "learned"
            else "cannot tell up from down"
            if row.kind == "steerable"
            else ""
        )
        lines.append(Line(row.name, text, paper))
    return lines


def draw(settings: Mario, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figures 4 and 6, once for each set of sprites that was there."""
    for name in ("own", "released"):
        chosen = [row for row in rows(settings) if row.data == name]
        upright = upright_figures(chosen[0], data)
        if upright is None:
            continue
        with plots.style():
            shown = make(settings, upright, 0)
            labels = [f"label {label}" for label in shown.y[:8].tolist()]
            draw_samples(
                folder / f"data-{name}.png",
                shown.x[:8],
                "Two figures, upright or upside down",
                labels,
            )
            weights = [row for row in chosen if "λ" in row.name]
            starts = [row for row in chosen if "rotation from" in row.name]
            draw_start_and_learned(
                folder / f"distributions-{name}.png",
                trials,
                [*weights, *starts],
                math.pi / 1.5,
                TRUE,
            )
            draw_bounds_over_training(folder / f"starts-{name}.png", trials, starts, TRUE)
            named = {
                row.name: of_row(trials, row)
                for row in chosen
                if row in weights or row.kind == "steerable"
            }
            draw_orbits(
                folder / f"orbit-{name}.png",
                named,
                ANGLES.tolist(),
                "probability of label 0, upright",
                TRUE,
            )


EXPERIMENT = Experiment(
    "mario",
    {
        "paper": Mario(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Mario(
            seeds=3, epochs=40, steerable_epochs=10, net="small", width=8, train=2_000, jobs=2
        ),
        "quick": Mario(
            seeds=1,
            epochs=1,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            train=200,
            test=100,
            weights=(0.05,),
            starts=(0.1,),
        ),
    },
    rows,
    trial,
    table,
    draw,
)
