"""Loss and its slope against the rotation's bound (the paper's Section 5, Figure 5b)."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.data.synthetic.sprites import sprites
from augerino.paper.experiments.panels import ZERO_LINE_COLOR, degrees, legend_below
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

TRUE_EXTENT = math.pi / 4


@dataclass(frozen=True)
class Why(ImageSettings):
    """Loss against the bound: is it flat inside the true extent and rising beyond it?"""

    reg_weight: float = 0.05
    """weight λ of the regularizer"""
    n_train: int = 10_000
    """training images"""
    n_items: int = 500
    """training images on which the loss is measured"""
    n_points: int = 40
    """bounds at which the loss is measured"""


def rows(settings: Why) -> list[Row]:
    """One model: rotation learned on our own sprites."""
    reg_weight = settings.reg_weight
    name = f"rotation alone, λ = {reg_weight:g}"
    return [Row(name=name, kind="learned", reg_weight=reg_weight)]


def trial(settings: Why, row: Row, seed: int, data: str | None) -> Trial:
    """Trains a model, then measures loss and penalty at other bounds of the rotation."""
    train = sprites(settings.n_train, seed=2 * seed)
    model, _ = train_row(
        settings,
        row,
        seed,
        x=train.x,
        y=train.y,
        n_outputs=4,
        coordinates=("rotate",),
    )
    bounds = model.augmentation.extent
    found = ag.paper.diagnostics.profile(
        model,
        objective=ag.Objective(F.nll_loss, model.augmentation, reg_weight=settings.reg_weight),
        x=train.x[: settings.n_items],
        y=train.y[: settings.n_items],
        coordinate="rotate",
        bounds=torch.linspace(0.02, math.pi / 2, settings.n_points),
    )
    return {"bounds": bounds, "profile": asdict(found)}


def table(settings: Why, trials: list[Trial]) -> list[Line]:
    """Loss inside, at and beyond the true extent; the minimum of the objective."""
    found = of_row(trials, rows(settings)[0])
    lines = []
    for fraction, paper in ((0.5, "flat"), (1.0, "flat"), (1.5, "rising")):
        losses = [_loss_at(t["profile"], fraction * TRUE_EXTENT) for t in found]
        row = f"loss at {fraction:g} × the true extent"
        lines.append(Line(row=row, measured=mean_sd(losses, 1, 4), paper=paper))
    minima = degrees([_best_bound(t["profile"]) for t in found])
    lines.append(
        Line(
            row="minimum of the objective",
            measured=f"±{mean_sd(minima, 1, 1)}°",
            paper="close to the true extent",
        )
    )
    learned = degrees([t["bounds"]["rotate"] for t in found])
    lines.append(Line(row="bound learned in training", measured=f"±{mean_sd(learned, 1, 1)}°"))
    return lines


def _loss_at(profile: dict[str, list[float]], bound: float) -> float:
    """The loss at the measured bound nearest to a given one."""
    distances = [abs(measured - bound) for measured in profile["bounds"]]
    return profile["loss"][distances.index(min(distances))]


def _best_bound(profile: dict[str, list[float]]) -> float:
    """The bound with the smallest loss + penalty."""
    totals = _totals(profile)
    return profile["bounds"][totals.index(min(totals))]


def _totals(profile: dict[str, list[float]]) -> list[float]:
    terms = zip(profile["loss"], profile["penalty"], strict=True)
    return [loss + penalty for loss, penalty in terms]


def draw(settings: Why, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 5b: loss, objective and their slopes, one line per seed."""
    with plots.style():
        fig, axes = plots.figure(1, 2, 9.0, 3.4)
        for found in of_row(trials, rows(settings)[0]):
            profile = found["profile"]
            x = degrees(profile["bounds"])
            panels = (
                (profile["loss"], _totals(profile)),
                (profile["loss_slope"], profile["total_slope"]),
            )
            for ax, (loss, total) in zip(axes, panels, strict=True):
                ax.plot(x, loss, color=plots.START, lw=1.6, label="loss")
                ax.plot(x, total, color=plots.LEARNED, lw=1.6, label="loss + penalty")
        for ax, title in zip(axes, ("Objective", "Slope with respect to the bound"), strict=True):
            ax.axvline(45, color=plots.TRUE, ls="--", lw=1.4, label="true extent")
            ax.axhline(0, color=ZERO_LINE_COLOR, lw=0.8)
            ax.set_title(title)
            ax.set_xlabel("bound of the rotation, degrees")
        legend_below(fig, axes[0], columns=3)
        fig.savefig(folder / "profile.png")


EXPERIMENT = Experiment(
    name="why",
    presets={
        "paper": Why(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Why(seeds=3, epochs=20, net="small", width=8, n_train=2_000, jobs=2),
        "quick": Why(
            seeds=1,
            epochs=2,
            batch_size=32,
            net="small",
            width=8,
            n_train=200,
            n_items=20,
            n_points=8,
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
)
