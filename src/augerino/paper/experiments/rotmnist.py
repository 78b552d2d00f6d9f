"""Full rotational invariance: rotated MNIST (the paper's Section 4.1)."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.data.published import mnist
from augerino.paper.experiments.panels import ZERO_LINE_COLOR, legend_below
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.shared_figures import (
    draw_bounds_over_training,
    draw_orbits,
    draw_samples,
    draw_start_and_learned,
)
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
    """Rotated MNIST: is the full circle of rotations learned, and does it improve accuracy?"""

    reg_weights: tuple[float, ...] = (0.01, 0.05, 0.1)
    """weights λ of the regularizer, one row each"""
    n_train: int = 60_000
    """training images"""
    n_test: int = 10_000
    """test images"""


def rows(settings: RotMnist) -> list[Row]:
    """Baselines, Augerino from the paper's start and from an equal start, the released recipe."""
    return [
        Row(name="no augmentation", kind="none"),
        Row(name="fixed full rotation", kind="fixed", rotate_start=math.pi),
        *(
            Row(
                name=f"Augerino, paper's start, λ = {reg_weight:g}",
                kind="learned",
                reg_weight=reg_weight,
                start=NEAR_ZERO,
                rotate_start=WIDE,
            )
            for reg_weight in settings.reg_weights
        ),
        *(
            Row(
                name=f"Augerino, equal start, λ = {reg_weight:g}",
                kind="learned",
                reg_weight=reg_weight,
                start=0.3,
            )
            for reg_weight in settings.reg_weights
        ),
        Row(
            name="Augerino, narrow start, slow bounds, λ = 0.05",
            kind="learned",
            reg_weight=0.05,
            start=0.1,
            augmentation_lr=settings.lr,
        ),
        Row(name="Augerino, probe, equal start", kind="learned", method="probe"),
        Row(
            name="Augerino, probe, equal start, refit",
            kind="learned",
            method="probe",
            refit=True,
        ),
        Row(
            name="released recipe, λ = 0.05",
            kind="released",
            reg_weight=0.05,
            rotate_start=WIDE,
        ),
        Row(name="steerable C8 network", kind="steerable"),
    ]


def load(settings: RotMnist, seed: int, data: str | None) -> mnist.Digits:
    """The canonical rotMNIST if the folder has it; otherwise MNIST, each image rotated once."""
    canonical = None
    if data is not None:
        canonical = mnist.canonical_rotated_mnist(data)
    if canonical is None:
        return mnist.rotated_mnist(data, seed=seed, train=settings.n_train, test=settings.n_test)
    return mnist.Digits(
        x_train=canonical.x_train[: settings.n_train],
        y_train=canonical.y_train[: settings.n_train],
        x_test=canonical.x_test[: settings.n_test],
        y_test=canonical.y_test[: settings.n_test],
    )


def trial(settings: RotMnist, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures its accuracy at 1, 4 and 16 copies."""
    digits = load(settings, seed, data)
    start = make_augmentation(row).extent
    slopes: dict[str, list[float]] = {"trained on": [], "not seen": []}

    def record_slopes(model: ag.InvariantModel, objective: ag.Objective) -> None:
        """Records the slope of the loss in the rotation's bound on training and test images."""
        bound = torch.tensor([model.augmentation.extent["rotate"]])
        for name, x, y in (
            ("trained on", digits.x_train, digits.y_train),
            ("not seen", digits.x_test, digits.y_test),
        ):
            found = ag.paper.diagnostics.profile(
                model,
                objective,
                x=x[:1000],
                y=y[:1000],
                coordinate="rotate",
                bounds=bound,
                draws=1,
            )
            slopes[name].append(round(found.loss_slope[0], 5))

    on_epoch = None
    if row.kind == "learned" and row.method == "gradient":
        on_epoch = record_slopes
    model, history = train_row(
        settings,
        row,
        seed,
        x=digits.x_train,
        y=digits.y_train,
        n_outputs=10,
        on_epoch=on_epoch,
    )
    accuracy = _accuracy_by_copies(model, row, digits, seed)  # leaves test_copies at the largest
    six = int((digits.y_test == 6).nonzero()[0])
    curve = ag.diagnostics.orbit(
        model,
        digits.x_test[six],
        transform=ag.Affine2d("rotate"),
        coordinate="rotate",
        values=ANGLES,
    )
    return {
        "accuracy": accuracy,
        "bounds": model.augmentation.extent,
        "start": start,
        "curves": curves(history, start),
        "orbit": [round(output[6], 4) for output in curve.outputs],
        "slopes": slopes,
    }


def _accuracy_by_copies(
    model: ag.InvariantModel, row: Row, digits: mnist.Digits, seed: int
) -> dict[str, float | None]:
    accuracy: dict[str, float | None] = {}
    for copies in COPIES:
        if copies > 1 and row.kind in ("none", "steerable"):  # all copies are identical
            accuracy[str(copies)] = accuracy["1"]
            continue
        torch.manual_seed(seed)
        model.test_copies = copies
        loader = ag.data.Batches(digits.x_test, digits.y_test, 500, shuffle=False)
        accuracy[str(copies)] = ag.diagnostics.evaluate(model, F.nll_loss, loader).accuracy
    return accuracy


def table(settings: RotMnist, trials: list[Trial]) -> list[Line]:
    """Accuracy by copies and the learned rotation, beside the paper's number."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        accuracies = [mean_sd([t["accuracy"][str(c)] for t in found], 100) for c in COPIES]
        text = f"accuracy {' | '.join(accuracies)} % at {', '.join(map(str, COPIES))} copies"
        if row.kind in ("learned", "released"):
            turns = mean_sd([min(t["bounds"]["rotate"], math.pi) / math.pi for t in found])
            others = max(widest_other_bound(t) for t in found)
            text += f"; rotation ±{turns} π, the others at most {others:.2f}"
        paper = ""
        if row.kind == "learned":
            paper = "98.9 %, full circle"
        lines.append(Line(row=row.name, measured=text, paper=paper))
    return lines


def widest_other_bound(trial: Trial) -> float:
    """The largest learned bound of all coordinates but the rotation."""
    return max(value for name, value in trial["bounds"].items() if name != "rotate")


def draw(settings: RotMnist, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 3 (data, distributions, orbit), bounds and slopes over training."""
    digits = load(settings, 0, data)
    learned = [row for row in rows(settings) if row.kind == "learned"]
    without_paper = [row for row in rows(settings) if "paper" not in row.name]
    with plots.style():
        title = "Rotated MNIST: each digit rotated once"
        draw_samples(folder / "data.png", digits.x_train[:16], title)
        draw_start_and_learned(folder / "distributions.png", trials, learned, limit=math.pi)
        draw_bounds_over_training(folder / "bounds.png", trials, learned)
        compared = [row for row in learned if "λ = 0.05" in row.name and row in without_paper]
        draw_slopes(folder / "memorising.png", trials, compared)
        draw_orbits(
            folder / "orbit.png",
            named={row.name: of_row(trials, row) for row in without_paper},
            angles=ANGLES.tolist(),
            label="probability of 6 for a rotated 6",
        )


def draw_slopes(path: Path, trials: list[Trial], shown: list[Row]) -> None:
    """Slopes of loss and penalty in the rotation's bound over training: one panel per row."""
    labels = {"trained on": "loss on training images", "not seen": "loss on test images"}
    fig, axes = plots.figure(1, len(shown), 4.4 * len(shown), 3.2)
    for ax, row in zip(axes, shown, strict=True):
        found = of_row(trials, row)[0]
        for color, (name, label) in zip((plots.LEARNED, plots.TRUE), labels.items(), strict=True):
            values = found["slopes"][name]
            ax.plot(range(1, len(values) + 1), values, color=color, lw=1.8, label=label)
        penalty = [_penalty_slope(row, bound) for bound in found["curves"]["rotate"][1:]]
        epochs = range(1, len(penalty) + 1)
        ax.plot(epochs, penalty, color=plots.START, lw=1.4, label="penalty")
        ax.axhline(0, color=ZERO_LINE_COLOR, lw=0.8)
        ax.set_title(row.name, fontsize=8.5)
        ax.set_xlabel("epoch")
    axes[0].set_ylabel("slope in the rotation's bound\n(positive: bound shrinks)")
    legend_below(fig, axes[0], columns=3)
    fig.savefig(path)


def _penalty_slope(row: Row, bound: float) -> float:
    """d(-λθ²)/dθ = -2λθ below the limit π, and 0 beyond it."""
    if bound >= math.pi:
        return 0.0
    return -2 * row.reg_weight * bound


EXPERIMENT = Experiment(
    name="rotmnist",
    presets={
        "paper": RotMnist(seeds=3, epochs=200, net="layer13", width=128),
        "cpu": RotMnist(
            seeds=3,
            epochs=20,
            steerable_epochs=10,
            net="small",
            width=12,
            n_train=10_000,
            n_test=5_000,
            jobs=2,
        ),
        "quick": RotMnist(
            seeds=1,
            epochs=2,
            steerable_epochs=1,
            batch_size=32,
            net="small",
            width=8,
            n_train=500,
            n_test=200,
            reg_weights=(0.05,),
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
