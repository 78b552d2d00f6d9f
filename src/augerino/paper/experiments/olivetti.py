"""No invariance: the angle of a turned face is the target (the paper's Section 4.3)."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.paper.datasets.olivetti import Faces, rotated_olivetti
from augerino.paper.experiments.drawing import draw_bounds_over_training, draw_orbits, draw_samples
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import curves, make_augmentation, train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

ANGLES = torch.linspace(-math.pi / 2, math.pi / 2, 37)


@dataclass(frozen=True)
class Olivetti(ImageSettings):
    """Turned faces, the angle as target: does the rotation collapse?

    Turning an image leaves black corners, from which a network can read the turn and undo it. The rows called Augerino show
    it the disc inside each image only; the others, as the paper does, all of it."""

    weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """the penalty's weights, one row each"""
    rotations: int = 30
    """how often each of the 400 images is turned"""
    rotate: float = 0.5
    """where the rotation's bound starts: a support one radian wide, as in the paper"""
    start: float = 0.1
    """where the other bounds start"""


def rows(settings: Olivetti) -> list[Row]:
    """No augmentation, three weights with the corners hidden and seen, and the steerable baseline."""
    at = Row("", "learned", start=settings.start, rotate=settings.rotate)
    hidden = [
        replace(at, name=f"Augerino, λ = {w:g}", weight=w, corners=False) for w in settings.weights
    ]
    seen = [
        replace(at, name=f"corners seen, no waiting, λ = {w:g}", weight=w, wait=0.0)
        for w in settings.weights
    ]
    waiting = replace(
        at, name=f"corners seen, λ = {max(settings.weights):g}", weight=max(settings.weights)
    )
    return [
        Row("no augmentation", "none"),
        *hidden,
        *seen,
        waiting,
        Row("steerable C8 network", "steerable"),
    ]


def load(settings: Olivetti, seed: int, data: str | None) -> Faces:
    """Thirty people for training, ten others for testing."""
    return rotated_olivetti(data, seed=seed, copies=settings.rotations)


def trial(settings: Olivetti, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row, measures its error in degrees, and follows one face around."""
    faces = load(settings, seed, data)
    start = make_augmentation(row).extent
    model, history = train_row(
        settings,
        row,
        seed,
        faces.x_train,
        faces.angle_train,
        outputs=1,
        loss=F.mse_loss,
        average=ag.mean,
    )
    torch.manual_seed(seed)
    with torch.no_grad():
        predicted = torch.cat([model(part) for part in faces.x_test.split(500)])
    error = (predicted - faces.angle_test).abs()
    upright = int(faces.angle_test.abs().argmin())
    curve = ag.diagnostics.orbit(
        model, faces.x_test[upright], ag.Affine2d("rotate"), "rotate", ANGLES, probabilities=False
    )
    return {
        "error_degrees": math.degrees(error.mean().item()),
        "mse": error.square().mean().item(),
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(math.degrees(p[0]), 2) for p in curve.outputs],
        "scatter": [
            [round(a, 4), round(b, 4)]
            for a, b in zip(
                faces.angle_test[:300, 0].tolist(), predicted[:300, 0].tolist(), strict=True
            )
        ],
    }


def table(settings: Olivetti, trials: list[Trial]) -> list[Line]:
    """The width of the rotation's support, the other coordinates, and the error on people not seen."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        text = f"mean error {mean_sd([t['error_degrees'] for t in found], 1, 1)}°"
        if row.kind == "learned":
            widths = [2 * t["bounds"]["rotate"] for t in found]
            others = max(max(2 * v for k, v in t["bounds"].items() if k != "rotate") for t in found)
            text = f"rotation support {mean_sd(widths, 1, 4)} rad, the others at most {others:.3f} wide, {text}"
        paper = "support 0.003 rad, the others under 0.1" if row.kind == "learned" else ""
        lines.append(Line(row.name, text, paper or ("fails" if row.kind == "steerable" else "")))
    return lines


def draw(settings: Olivetti, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 4 (bottom): data, bounds over training, prediction along the orbit; and predicted against true."""
    faces = load(settings, 0, data)
    labels = [f"{math.degrees(a):+.0f}°" for a in faces.angle_train[:16, 0].tolist()]
    with plots.style():
        draw_samples(
            folder / "data.png", faces.x_train[:16], "Turned faces; the angle is the target", labels
        )
        learned = [row for row in rows(settings) if row.kind == "learned"]
        draw_bounds_over_training(folder / "bounds.png", trials, learned)
        shown = [row for row in rows(settings) if "seen" not in row.name]
        draw_orbits(
            folder / "orbit.png",
            {row.name: of_row(trials, row) for row in shown},
            ANGLES.tolist(),
            "predicted angle, degrees",
        )
        fig, axes = plots.figure(1, len(shown), 2.6 * len(shown), 2.9)
        for ax, row in zip(axes, shown, strict=True):
            pairs = of_row(trials, row)[0]["scatter"]
            ax.plot(
                [math.degrees(a) for a, _ in pairs],
                [math.degrees(b) for _, b in pairs],
                ".",
                ms=3,
                color=plots.LEARNED,
            )
            ax.plot([-90, 90], [-90, 90], color=plots.TRUE, lw=1)
            ax.set_title(row.name, fontsize=8.5)
            ax.set_xlabel("true angle")
        axes[0].set_ylabel("predicted angle")
        fig.savefig(folder / "predicted.png")


EXPERIMENT = Experiment(
    "olivetti",
    {
        "paper": Olivetti(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Olivetti(
            seeds=3, epochs=10, steerable_epochs=3, net="small", width=12, memory=0.9, jobs=2
        ),
        "quick": Olivetti(
            seeds=1,
            epochs=1,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            rotations=1,
            weights=(0.05,),
        ),
    },
    rows,
    trial,
    table,
    draw,
)
