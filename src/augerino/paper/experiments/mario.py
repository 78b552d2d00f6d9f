"""Soft invariance: upright and inverted sprites (the paper's Section 4.2).

Runs with the released sprites and with our own.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

import augerino as ag
from augerino import plots
from augerino.data.published.mario import mario_and_iggy
from augerino.data.synthetic.sprites import Sprites, figures, sprites
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.shared_figures import (
    draw_bounds_over_training,
    draw_orbits,
    draw_samples,
    draw_start_and_learned,
)
from augerino.paper.experiments.training import WIDE, curves, make_augmentation, train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

TRUE_EXTENT = math.pi / 4
ANGLES = torch.linspace(-math.pi, math.pi, 73)
VARIANTS = ("own", "released")


@dataclass(frozen=True)
class Mario(ImageSettings):
    """Upright or inverted sprites: is a rotation of ±45° learned from every start?"""

    reg_weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """weights λ of the regularizer, one row each"""
    rotate_starts: tuple[float, ...] = (0.1, math.pi / 4, 2.0)
    """start bounds of the rotation, one row each: too narrow, right, too wide"""
    coordinates: tuple[str, ...] = ("translate_x", "translate_y", "rotate", "scale")
    """coordinates to learn"""
    n_train: int = 10_000
    """training images"""
    n_test: int = 1_000
    """test images"""


def rows(settings: Mario) -> list[Row]:
    """Per variant of the sprites: all λ, all starts, the released recipe, a steerable network."""
    found = []
    for variant in VARIANTS:
        found += _weight_rows(settings, variant)
        found += _start_rows(settings, variant)
        found += [
            Row(
                name=f"{variant} sprites, released recipe",
                kind="released",
                reg_weight=0.05,
                rotate_start=WIDE,
                variant=variant,
            ),
            _steerable_row(variant),
        ]
    return found


def _weight_rows(settings: Mario, variant: str) -> list[Row]:
    return [
        Row(
            name=f"{variant} sprites, λ = {reg_weight:g}",
            kind="learned",
            reg_weight=reg_weight,
            variant=variant,
        )
        for reg_weight in settings.reg_weights
    ]


def _start_rows(settings: Mario, variant: str) -> list[Row]:
    return [
        Row(
            name=f"{variant} sprites, rotation from {start:.2f}",
            kind="learned",
            reg_weight=0.05,
            rotate_start=start,
            variant=variant,
        )
        for start in settings.rotate_starts
    ]


def _steerable_row(variant: str) -> Row:
    name = f"{variant} sprites, steerable C8 network"
    return Row(name=name, kind="steerable", variant=variant)


def upright_figures(variant: str, data: str | None) -> Tensor | None:
    """The two upright figures; None if the released ones are not available."""
    if variant == "released":
        return mario_and_iggy(data)
    return figures()


def make_train(settings: Mario, upright: Tensor, seed: int) -> Sprites:
    """Training images of a seed."""
    return sprites(settings.n_train, seed=2 * seed, figures=upright)


def make_test(settings: Mario, upright: Tensor, seed: int) -> Sprites:
    """Test images of a seed."""
    return sprites(settings.n_test, seed=2 * seed + 1, figures=upright)


def trial(settings: Mario, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row, measures its accuracy and its predictions for the first figure, rotated."""
    upright = upright_figures(row.variant, data)
    if upright is None:
        return {"absent": True}
    train = make_train(settings, upright, seed)
    test = make_test(settings, upright, seed)
    start = make_augmentation(row, settings.coordinates).extent
    model, history = train_row(
        settings,
        row,
        seed,
        x=train.x,
        y=train.y,
        n_outputs=4,
        coordinates=settings.coordinates,
    )
    torch.manual_seed(seed)
    loader = ag.data.Batches(test.x, test.y, 500, shuffle=False)
    score = ag.diagnostics.evaluate(model, F.nll_loss, loader)
    curve = ag.diagnostics.orbit(
        model,
        upright[0],
        transform=ag.Affine2d("rotate"),
        coordinate="rotate",
        values=ANGLES,
    )
    return {
        "accuracy": score.accuracy,
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(output[0], 4) for output in curve.outputs],
    }


def table(settings: Mario, trials: list[Trial]) -> list[Line]:
    """The learned rotation against the true one, and the accuracy."""
    papers = {"learned": "±45°", "steerable": "cannot distinguish up from down"}
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        if any(t.get("absent") for t in found):
            text = "not run: mario_iggy.npz not found (--data DIR)"
            lines.append(Line(row=row.name, measured=text))
            continue
        text = f"accuracy {mean_sd([t['accuracy'] for t in found], 100, 1)} %"
        if row.kind != "steerable":
            degrees = [math.degrees(t["bounds"]["rotate"]) for t in found]
            worst = max(abs(value / 45 - 1) for value in degrees)
            text = f"rotation ±{mean_sd(degrees, 1, 1)}° (at most {worst:.0%} off), {text}"
        lines.append(Line(row=row.name, measured=text, paper=papers.get(row.kind, "")))
    return lines


def draw(settings: Mario, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figures 4 and 6, once per available set of sprites."""
    for variant in VARIANTS:
        upright = upright_figures(variant, data)
        if upright is None:
            continue
        examples = make_train(settings, upright, seed=0)
        weights = _weight_rows(settings, variant)
        starts = _start_rows(settings, variant)
        with plots.style():
            draw_samples(
                folder / f"data-{variant}.png",
                examples.x[:8],
                title="Two figures, upright or inverted",
                labels=[f"label {label}" for label in examples.y[:8].tolist()],
            )
            draw_start_and_learned(
                folder / f"distributions-{variant}.png",
                trials,
                rows=[*weights, *starts],
                limit=math.pi / 1.5,
                true=TRUE_EXTENT,
            )
            draw_bounds_over_training(
                folder / f"starts-{variant}.png", trials, rows=starts, true=TRUE_EXTENT
            )
            compared = [*weights, _steerable_row(variant)]
            draw_orbits(
                folder / f"orbit-{variant}.png",
                named={row.name: of_row(trials, row) for row in compared},
                angles=ANGLES.tolist(),
                label="probability of label 0, upright",
                true=TRUE_EXTENT,
            )


EXPERIMENT = Experiment(
    name="mario",
    presets={
        "paper": Mario(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Mario(
            seeds=3, epochs=40, steerable_epochs=10, net="small", width=8, n_train=2_000, jobs=2
        ),
        "quick": Mario(
            seeds=1,
            epochs=1,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            n_train=200,
            n_test=100,
            reg_weights=(0.05,),
            rotate_starts=(0.1,),
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
)
