"""No invariance: the angle of a rotated face is the target (the paper's Section 4.3)."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.data.published.olivetti import Faces, rotated_olivetti
from augerino.paper.experiments.panels import degrees
from augerino.paper.experiments.rotmnist import widest_other_bound
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.shared_figures import (
    draw_bounds_over_training,
    draw_orbits,
    draw_samples,
)
from augerino.paper.experiments.training import curves, make_augmentation, train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

ANGLES = torch.linspace(-math.pi / 2, math.pi / 2, 37)


@dataclass(frozen=True)
class Olivetti(ImageSettings):
    """Rotated faces with the angle as target: does the learned rotation vanish?

    A rotated image has black corners, from which a network can read the angle and undo the
    rotation. In the rows named Augerino the network sees only the disc inside each image; in the
    rows "corners seen" it sees the whole image, as in the paper."""

    reg_weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """weights λ of the regularizer, one row each"""
    n_rotations: int = 30
    """rotated copies of each of the 400 images"""
    rotate_start: float = 0.5
    """start bound of the rotation: a support of one radian, as in the paper"""
    start: float = 0.1
    """start bound of the other coordinates"""


def rows(settings: Olivetti) -> list[Row]:
    """No augmentation, every λ with corners hidden and seen, and a steerable network."""
    largest = max(settings.reg_weights)
    return [
        Row(name="no augmentation", kind="none"),
        *(
            _learned_row(settings, f"Augerino, λ = {reg_weight:g}", reg_weight, hide_corners=True)
            for reg_weight in settings.reg_weights
        ),
        *(
            _learned_row(
                settings,
                f"corners seen, no waiting, λ = {reg_weight:g}",
                reg_weight,
                warm_up=0.0,
            )
            for reg_weight in settings.reg_weights
        ),
        _learned_row(settings, f"corners seen, λ = {largest:g}", largest),
        Row(name="steerable C8 network", kind="steerable"),
    ]


def _learned_row(
    settings: Olivetti,
    name: str,
    reg_weight: float,
    *,
    hide_corners: bool = False,
    warm_up: float | None = None,
) -> Row:
    return Row(
        name=name,
        kind="learned",
        reg_weight=reg_weight,
        start=settings.start,
        rotate_start=settings.rotate_start,
        hide_corners=hide_corners,
        warm_up=warm_up,
    )


def load(settings: Olivetti, seed: int, data: str | None) -> Faces:
    """Rotated faces of thirty people for training and of ten others for testing."""
    return rotated_olivetti(data, seed=seed, copies=settings.n_rotations)


def trial(settings: Olivetti, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures its error in degrees and its predictions along an orbit."""
    faces = load(settings, seed, data)
    start = make_augmentation(row).extent
    model, history = train_row(
        settings,
        row,
        seed,
        x=faces.x_train,
        y=faces.angle_train,
        n_outputs=1,
        loss=F.mse_loss,
        average=ag.mean,
    )
    torch.manual_seed(seed)
    with torch.no_grad():
        predicted = torch.cat([model(part) for part in faces.x_test.split(500)])
    error = (predicted - faces.angle_test).abs()
    upright = int(faces.angle_test.abs().argmin())
    curve = ag.diagnostics.orbit(
        model,
        faces.x_test[upright],
        transform=ag.Affine2d("rotate"),
        coordinate="rotate",
        values=ANGLES,
        probabilities=False,
    )
    pairs = torch.cat([faces.angle_test[:300], predicted[:300]], dim=1).tolist()
    return {
        "error_degrees": math.degrees(error.mean().item()),
        "mse": error.square().mean().item(),
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(math.degrees(output[0]), 2) for output in curve.outputs],
        "scatter": [[round(true, 4), round(found, 4)] for true, found in pairs],
    }


def table(settings: Olivetti, trials: list[Trial]) -> list[Line]:
    """The learned supports and the error on people not in the training set."""
    papers = {"learned": "support 0.003 rad, the others under 0.1", "steerable": "fails"}
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        text = f"mean error {mean_sd([t['error_degrees'] for t in found], 1, 1)}°"
        if row.kind == "learned":
            support = mean_sd([2 * t["bounds"]["rotate"] for t in found], 1, 4)
            others = 2 * max(widest_other_bound(t) for t in found)
            text = f"rotation support {support} rad, the others at most {others:.3f} wide, {text}"
        lines.append(Line(row=row.name, measured=text, paper=papers.get(row.kind, "")))
    return lines


def draw(settings: Olivetti, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 4 (bottom), bounds over training, and predicted against true angles."""
    faces = load(settings, 0, data)
    learned = [row for row in rows(settings) if row.kind == "learned"]
    compared = [row for row in rows(settings) if "seen" not in row.name]
    with plots.style():
        draw_samples(
            folder / "data.png",
            faces.x_train[:16],
            title="Rotated faces; the angle is the target",
            labels=[f"{angle:+.0f}°" for angle in degrees(faces.angle_train[:16, 0].tolist())],
        )
        draw_bounds_over_training(folder / "bounds.png", trials, learned)
        draw_orbits(
            folder / "orbit.png",
            named={row.name: of_row(trials, row) for row in compared},
            angles=ANGLES.tolist(),
            label="predicted angle, degrees",
        )
        draw_predictions(folder / "predicted.png", trials, compared)


def draw_predictions(path: Path, trials: list[Trial], shown: list[Row]) -> None:
    """Predicted against true angles: one panel per row, seed 0."""
    fig, axes = plots.figure(1, len(shown), 2.6 * len(shown), 2.9)
    for ax, row in zip(axes, shown, strict=True):
        true, predicted = zip(*of_row(trials, row)[0]["scatter"], strict=True)
        ax.plot(degrees(true), degrees(predicted), ".", ms=3, color=plots.LEARNED)
        ax.plot([-90, 90], [-90, 90], color=plots.TRUE, lw=1)
        ax.set_title(row.name, fontsize=8.5)
        ax.set_xlabel("true angle, degrees")
    axes[0].set_ylabel("predicted angle, degrees")
    fig.savefig(path)


EXPERIMENT = Experiment(
    name="olivetti",
    presets={
        "paper": Olivetti(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Olivetti(
            seeds=3,
            epochs=10,
            steerable_epochs=3,
            net="small",
            width=12,
            augmentation_beta2=0.9,
            jobs=2,
        ),
        "quick": Olivetti(
            seeds=1,
            epochs=1,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            n_rotations=1,
            reg_weights=(0.05,),
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
