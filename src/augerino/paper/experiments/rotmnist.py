"""Full rotational invariance: rotated MNIST (the paper's Section 4.1)."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.paper.datasets import mnist
from augerino.paper.experiments.drawing import (
    draw_bounds_over_training,
    draw_orbits,
    draw_samples,
    draw_start_and_learned,
)
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import (
    NEAR_ZERO,
    WIDE,
    curves,
    make_augmentation,
    train_row,
)
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

COPIES = (1, 4, 16)
ANGLES = torch.linspace(-math.pi, math.pi, 49)


@dataclass(frozen=True)
class RotMnist(ImageSettings):
    """Rotated MNIST: does the learned rotation reach the full circle, and what does it bring?"""

    weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """the penalty's weights, one row each"""
    train: int = 60_000
    """training images drawn"""
    test: int = 10_000
    """test images"""


def rows(settings: RotMnist) -> list[Row]:
    """The table's rows: baselines, the paper's start, ours, and the released recipe."""
    learned = [
        Row(f"Augerino, paper's start, λ = {w:g}", "learned", w, start=NEAR_ZERO, rotate=WIDE)
        for w in settings.weights
    ]
    learned += [
        Row(f"Augerino, equal start, λ = {w:g}", "learned", w, start=0.3) for w in settings.weights
    ]
    narrow = Row(
        "Augerino, narrow start, slow bounds, λ = 0.05",
        "learned",
        0.05,
        start=0.1,
        rate=settings.lr,
    )
    return [
        Row("no augmentation", "none"),
        Row("fixed full rotation", "fixed", rotate=math.pi),
        *learned,
        narrow,
        Row("Augerino, probe, equal start", "learned", method="probe"),
        Row("Augerino, probe, equal start, refit", "learned", method="probe", refit=True),
        Row("released recipe, λ = 0.05", "released", 0.05, rotate=WIDE),
        Row("steerable C8 network", "steerable"),
    ]


def load(settings: RotMnist, seed: int, data: str | None) -> mnist.Digits:
    """The canonical files where the folder has them, MNIST turned once otherwise."""
    canonical = mnist.canonical_rotated_mnist(data) if data is not None else None
    if canonical is not None:
        train, test = slice(settings.train), slice(settings.test)
        return mnist.Digits(
            canonical.x_train[train],
            canonical.y_train[train],
            canonical.x_test[test],
            canonical.y_test[test],
        )
    return mnist.rotated_mnist(data, seed=seed, train=settings.train, test=settings.test)


def trial(settings: RotMnist, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures it at 1, 4 and 16 copies."""
    digits = load(settings, seed, data)
    start = make_augmentation(row).extent
    slopes: dict[str, list[float]] = {"trained on": [], "not seen": []}

    def watch(model: ag.InvariantModel, objective: ag.Objective) -> None:
        """The slope of the loss with respect to the rotation's bound, where it is now, on images trained on and not."""
        for name, x, y in (
            ("trained on", digits.x_train, digits.y_train),
            ("not seen", digits.x_test, digits.y_test),
        ):
            at = torch.tensor([model.augmentation.extent["rotate"]])
            found = ag.paper.diagnostics.profile(
                model, objective, x[:1000], y[:1000], "rotate", at, draws=1
            )
            slopes[name].append(round(found.loss_slope[0], 5))

    on_epoch = watch if row.kind == "learned" and row.method == "gradient" else None
    model, history = train_row(
        settings, row, seed, digits.x_train, digits.y_train, outputs=10, on_epoch=on_epoch
    )
    accuracy: dict[str, float | None] = {}
    for copies in COPIES:
        if copies > 1 and row.kind in ("none", "steerable"):  # copies of nothing are all the same
            accuracy[str(copies)] = accuracy["1"]
            continue
        torch.manual_seed(seed)
        model.test_copies = copies
        loader = ag.data.Batches(digits.x_test, digits.y_test, 500, shuffle=False)
        accuracy[str(copies)] = ag.diagnostics.evaluate(model, F.nll_loss, loader).accuracy
    six = int((digits.y_test == 6).nonzero()[0])
    curve = ag.diagnostics.orbit(model, digits.x_test[six], ag.Affine2d("rotate"), "rotate", ANGLES)
    return {
        "accuracy": accuracy,
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(p[6], 4) for p in curve.outputs],
        "slopes": slopes,
    }


def table(settings: RotMnist, trials: list[Trial]) -> list[Line]:
    """Accuracy by copies and the learned rotation, beside the paper's number."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        accuracies = [mean_sd([t["accuracy"][str(c)] for t in found], 100) for c in COPIES]
        text = f"accuracy {' | '.join(accuracies)} % at {', '.join(map(str, COPIES))} copies"
        if row.kind in ("learned", "released"):
            others = max(max(v for k, v in t["bounds"].items() if k != "rotate") for t in found)
            turns = mean_sd([min(t["bounds"]["rotate"], math.pi) / math.pi for t in found], 1)
            text += f"; rotation ±{turns} π, the others at most {others:.2f}"
        lines.append(Line(row.name, text, "98.9 %, full circle" if row.kind == "learned" else ""))
    return lines


def draw(settings: RotMnist, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 3: data, start and learned distribution, prediction along the orbit; and the bounds over training."""
    digits = load(settings, 0, data)
    with plots.style():
        draw_samples(
            folder / "data.png", digits.x_train[:16], "Rotated MNIST: every digit turned once"
        )
        shown = [row for row in rows(settings) if row.kind == "learned"]
        draw_start_and_learned(folder / "distributions.png", trials, shown, limit=math.pi)
        draw_bounds_over_training(folder / "bounds.png", trials, shown)
        watched = [row for row in shown if "λ = 0.05" in row.name and "paper" not in row.name]
        draw_slopes(folder / "memorising.png", trials, watched)
        named = {row.name: of_row(trials, row) for row in rows(settings) if "paper" not in row.name}
        draw_orbits(
            folder / "orbit.png", named, ANGLES.tolist(), "probability of 6 for a six as it turns"
        )


def draw_slopes(path: Path, trials: list[Trial], shown: list[Row]) -> None:
    """Why a narrow start sticks: the pull on the rotation's bound from images trained on and from images not seen."""
    fig, axes = plots.figure(1, len(shown), 4.4 * len(shown), 3.2)
    for ax, row in zip(axes, shown, strict=True):
        found = of_row(trials, row)[0]
        for color, (name, values) in zip(
            (plots.LEARNED, plots.TRUE), found["slopes"].items(), strict=True
        ):
            ax.plot(
                range(1, len(values) + 1),
                values,
                color=color,
                lw=1.8,
                label=f"loss on images {name}",
            )
        bounds = found["curves"]["rotate"][1:]
        pull = [-2 * row.weight * min(bound, math.pi) * (bound < math.pi) for bound in bounds]
        ax.plot(range(1, len(pull) + 1), pull, color=plots.START, lw=1.4, label="penalty")
        ax.axhline(0, color="#94a3b8", lw=0.8)
        ax.set_title(row.name, fontsize=8.5)
        ax.set_xlabel("epoch")
    axes[0].set_ylabel("slope in the rotation's bound\n(above 0: shrinks, below: grows)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    fig.savefig(path)


EXPERIMENT = Experiment(
    "rotmnist",
    {
        "paper": RotMnist(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": RotMnist(
            seeds=3,
            epochs=20,
            steerable_epochs=10,
            net="small",
            width=12,
            train=10_000,
            test=5_000,
            jobs=2,
        ),
        "quick": RotMnist(
            seeds=1,
            epochs=2,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            train=500,
            test=200,
            weights=(0.05,),
        ),
    },
    rows,
    trial,
    table,
    draw,
)
