"""Why it works: loss and slope as functions of the rotation's bound, for a trained model (the paper's Section 5, Figure 5b)."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.data.synthetic.sprites import sprites
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import train_row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

TRUE = math.pi / 4


@dataclass(frozen=True)
class Why(ImageSettings):
    """Loss against the bound: flat inside the true extent, rising beyond it, and the penalty's pull in between."""

    weight: float = 0.05
    """the penalty's weight"""
    train: int = 10_000
    """training pictures"""
    items: int = 500
    """pictures that the loss is measured on"""
    points: int = 40
    """bounds that it is measured at"""


def rows(settings: Why) -> list[Row]:
    """One model: rotation learned on our own sprites."""
    return [Row(f"rotation alone, λ = {settings.weight:g}", "learned", settings.weight)]


def trial(settings: Why, row: Row, seed: int, data: str | None) -> Trial:
    """Trains, then moves the bound of the trained model."""
    train = sprites(settings.train, seed=2 * seed)
    model, _ = train_row(settings, row, seed, train.x, train.y, outputs=4, coordinates=("rotate",))
    objective = ag.Objective(F.nll_loss, model.augmentation, reg_weight=settings.weight)
    bounds = model.augmentation.extent
    at = torch.linspace(0.02, math.pi / 2, settings.points)
    found = ag.paper.diagnostics.profile(
        model, objective, train.x[: settings.items], train.y[: settings.items], "rotate", at
    )
    return {"bounds": bounds, "profile": asdict(found)}


def _at(profile: dict[str, list[float]], name: str, bound: float) -> float:
    """A curve's value at the bound nearest to the one asked for."""
    index = min(range(len(profile["bounds"])), key=lambda i: abs(profile["bounds"][i] - bound))
    return profile[name][index]


def table(settings: Why, trials: list[Trial]) -> list[Line]:
    """The loss half-way inside, at, and half again beyond the true extent; where the objective is least."""
    found = of_row(trials, rows(settings)[0])
    lines = []
    for share in (0.5, 1.0, 1.5):
        losses = [_at(t["profile"], "loss", share * TRUE) for t in found]
        paper = {0.5: "flat", 1.0: "flat", 1.5: "rising"}[share]
        lines.append(Line(f"loss at {share:g} × the true extent", mean_sd(losses, 1, 4), paper))
    least = []
    for t in found:
        totals = [a + b for a, b in zip(t["profile"]["loss"], t["profile"]["penalty"], strict=True)]
        least.append(math.degrees(t["profile"]["bounds"][totals.index(min(totals))]))
    lines.append(
        Line("objective least at", f"±{mean_sd(least, 1, 1)}°", "close to the true extent")
    )
    lines.append(
        Line(
            "bound learned in training",
            f"±{mean_sd([math.degrees(t['bounds']['rotate']) for t in found], 1, 1)}°",
        )
    )
    return lines


def draw(settings: Why, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 5b: loss with and without the penalty, and their slopes, one thin line a seed."""
    with plots.style():
        fig, axes = plots.figure(1, 2, 9.0, 3.4)
        for i, t in enumerate(of_row(trials, rows(settings)[0])):
            p = t["profile"]
            degrees = [math.degrees(b) for b in p["bounds"]]
            totals = [a + b for a, b in zip(p["loss"], p["penalty"], strict=True)]
            for values, color, label in (
                (p["loss"], plots.START, "loss"),
                (totals, plots.LEARNED, "loss + penalty"),
            ):
                axes[0].plot(degrees, values, color=color, lw=1.6, label=label if i == 0 else None)
            for values, color in (
                (p["loss_slope"], plots.START),
                (p["total_slope"], plots.LEARNED),
            ):
                axes[1].plot(degrees, values, color=color, lw=1.6)
        for ax, title in zip(axes, ("Objective", "Slope with respect to the bound"), strict=True):
            ax.axvline(
                45,
                color=plots.TRUE,
                ls="--",
                lw=1.4,
                label="true extent" if ax is axes[0] else None,
            )
            ax.axhline(0, color="#94a3b8", lw=0.8)
            ax.set_title(title)
            ax.set_xlabel("bound of the rotation, degrees")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        fig.savefig(folder / "profile.png")


EXPERIMENT = Experiment(
    "why",
    {
        "paper": Why(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": Why(seeds=3, epochs=20, net="small", width=8, train=2_000, jobs=2),
        "quick": Why(
            seeds=1, epochs=2, batch_size=32, net="small", width=8, train=200, items=20, points=8
        ),
    },
    rows,
    trial,
    table,
    draw,
)
