"""Are learned augmentations' solutions flatter? Effective dimension and random rays on CIFAR-10 (the paper's last appendix)."""

import math
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.errors import InputError
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import Learned
from augerino.paper.datasets import cifar10 as source
from augerino.paper.datasets.labelled import Labelled
from augerino.paper.diagnostics import LossSurface, curvature, effective_dimension, loss_along_rays
from augerino.paper.experiments import flatness_figures as figures
from augerino.paper.experiments.cifar10 import RELEASED_START, START, make_augmentation
from augerino.paper.experiments.recognition import (
    RecognitionSettings,
    bounds_text,
    make_net,
    measure,
    train_row,
)
from augerino.paper.experiments.recognition_figures import draw_weights
from augerino.paper.experiments.settings import Row
from augerino.paper.experiments.training import COORDINATES
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

#: Whose Hessian: of the mean loss over training images as they are; moved by one draw each, which the released code takes; and
#: averaged over several draws, which is nearer to the expectation that is trained.
SURFACES = {
    "still": "images as they are",
    "drawn": "one draw an image",
    "averaged": "averaged over draws",
}
RAYS: tuple[Literal["plain", "filter"], ...] = ("plain", "filter")
PAPER = "flatter (a figure, no numbers)"


@dataclass(frozen=True)
class Flatness(RecognitionSettings):
    """Flatness: do learned augmentations find flatter solutions on CIFAR-10?

    Every training is followed by its measurements: eigenvalues of the Hessian of the training loss, and loss and error along
    random rays. All networks are in evaluation mode, where batch norm has fixed statistics. Needs the extra flatness."""

    train: int = 50_000
    """training images"""
    items: int = 50_000
    """training images whose loss is measured, at most all"""
    judged: int = 10_000
    """test images whose error is measured along rays, at most all"""
    eigenvalues: int = 50
    """leading eigenvalues of the Hessian"""
    z: float = 100.0
    """the curvature that counts as half a direction in the effective dimension"""
    draws: int = 4
    """draws of the augmentation that the averaged loss is taken over"""
    directions: int = 10
    """random rays of each kind"""
    points: int = 11
    """places along a ray"""
    plain_reach: float = 10.0
    """how far plain rays go: a distance in weight space"""
    filter_reach: float = 1.0
    """how far normalised rays go: at 1 every filter has moved by its own norm"""

    def check(self) -> None:
        super().check()
        self._at_least_one("train", "items", "judged", "eigenvalues", "draws", "directions")
        if self.points < 2:
            raise InputError(f"points must be at least 2, but got {self.points}.")
        if min(self.z, self.plain_reach, self.filter_reach) <= 0:
            raise InputError(
                f"z and both reaches must be above 0, but got {self.z}, {self.plain_reach} and {self.filter_reach}."
            )


def rows(settings: Flatness) -> list[Row]:
    """No augmentation, Augerino by gradient with every weight, and by probing."""
    return [
        Row("no augmentation", "none"),
        *(
            Row(f"Augerino, gradient, λ = {w:g}", "learned", w, start=RELEASED_START)
            for w in settings.weights
        ),
        Row("Augerino, probe", "learned", start=START, method="probe"),
    ]


def load(settings: Flatness, seed: int, data: str | None) -> Labelled:
    """The training images of a seed, the first of which are measured; a missing scipy is told before anything is trained."""
    try:
        import scipy.sparse.linalg  # noqa: F401
    except ImportError as error:
        raise InputError('This experiment needs scipy: pip install "augerino[flatness]"') from error
    return source.cifar10(data).subset(settings.train, settings.test, seed)


def trial(settings: Flatness, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures its solution; nothing of the network is kept."""
    pictures = load(settings, seed, data)
    torch.manual_seed(seed)
    net = make_net(settings, source.MEAN, source.STD)
    learned = train_row(
        settings, row, seed, pictures.x_train, pictures.y_train, net, make_augmentation(row)
    )
    found = measure(learned, row, pictures, seed)
    surfaces = make_surfaces(settings, learned, pictures, seed)
    return {**found, **_bend(settings, surfaces, seed), "rays": _walk(settings, surfaces, seed)}


class Options(TypedDict):
    """What all surfaces of a trial share."""

    seed: int
    batch_size: int


def make_surfaces(
    settings: Flatness, learned: Learned, pictures: Labelled, seed: int
) -> dict[str, LossSurface]:
    """The three training losses of `SURFACES`, of which there is one where nothing is drawn, and that of still test images."""
    model, options = learned.model, Options(seed=seed, batch_size=100)
    bare = ag.InvariantModel(model.net, no_augmentation(), average=model.average)
    x, y = pictures.x_train[: settings.items], pictures.y_train[: settings.items]
    found = {"still": LossSurface(bare, F.nll_loss, x, y, copies=1, **options)}
    if learned.extent:
        found["drawn"] = LossSurface(model, F.nll_loss, x, y, copies=1, **options)
        found["averaged"] = LossSurface(model, F.nll_loss, x, y, copies=settings.draws, **options)
    x, y = pictures.x_test[: settings.judged], pictures.y_test[: settings.judged]
    return found | {"test": LossSurface(bare, F.nll_loss, x, y, copies=1, **options)}


def _bend(settings: Flatness, surfaces: dict[str, LossSurface], seed: int) -> Trial:
    found: Trial = {"train_loss": {}, "eigenvalues": {}, "products": 0}
    for name in SURFACES:
        if name not in surfaces:
            found["train_loss"][name], found["eigenvalues"][name] = (
                found["train_loss"]["still"],
                found["eigenvalues"]["still"],
            )
            continue
        bent = curvature(surfaces[name], settings.eigenvalues, seed=seed)
        found["train_loss"][name] = round(surfaces[name].mean(), 5)
        found["eigenvalues"][name] = [float(f"{value:.5g}") for value in bent.eigenvalues]
        found["products"] += bent.products
    return found


def _walk(settings: Flatness, surfaces: dict[str, LossSurface], seed: int) -> dict[str, Any]:
    """Train loss (one draw an image, as trained) and test error (images as they are) along the same rays."""
    found: dict[str, Any] = {}
    for kind in RAYS:
        reach = settings.plain_reach if kind == "plain" else settings.filter_reach
        lengths = [reach * i / (settings.points - 1) for i in range(settings.points)]
        options: dict[str, Any] = {"directions": settings.directions, "kind": kind, "seed": seed}
        loss = loss_along_rays(surfaces.get("drawn", surfaces["still"]), lengths, **options).loss
        error = loss_along_rays(surfaces["test"], lengths, **options).error or []
        found[kind] = {
            "lengths": [round(length, 6) for length in lengths],
            "train_loss": [[float(f"{value:.5g}") for value in ray] for ray in loss],
            "test_error": [[round(value, 5) for value in ray] for ray in error],
        }
    return found


def dimension(settings: Flatness, found: Trial, surface: str) -> float:
    """A trial's effective dimension, of its leading eigenvalues."""
    return effective_dimension(found["eigenvalues"][surface], settings.z)


def rise(found: Trial, kind: str, what: str) -> float:
    """How much a loss or error rises along a trial's rays: its mean over directions and places, less that at the solution."""
    rays = found["rays"][kind][what]
    return statistics.mean(value - ray[0] for ray in rays for value in ray[1:])


def table(settings: Flatness, trials: list[Trial]) -> list[Line]:
    """Each row's error, loss and effective dimension; then, against no augmentation, whether it is flatter."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        error = mean_sd([1 - t["accuracy"]["4"] for t in found], 100, 2, " %")
        loss = mean_sd([t["train_loss"]["drawn"] for t in found], 1, 3)
        learned = f"; bounds {bounds_text(found)}" if row.kind == "learned" else ""
        lines.append(Line(row.name, f"test error {error}; train loss {loss}{learned}"))
        sizes = ", ".join(
            f"{name} {mean_sd([dimension(settings, t, key) for t in found], 1, 2)}"
            for key, name in SURFACES.items()
        )
        last = max(
            effective_dimension(t["eigenvalues"][key][-1:], settings.z)
            for t in found
            for key in SURFACES
        )
        words = f"N_eff at z = {settings.z:g} of the leading {settings.eigenvalues}: {sizes}; the last adds at most {last:.2f}"
        lines.append(Line(f"{row.name}: effective dimension", words))
    return lines + _verdicts(settings, trials)


def _verdicts(settings: Flatness, trials: list[Trial]) -> list[Line]:
    base, lines = of_row(trials, rows(settings)[0]), []
    for row in rows(settings)[1:]:
        pairs = list(zip(of_row(trials, row), base, strict=True))
        bent = [
            f"{name} {difference([dimension(settings, t, key) - dimension(settings, b, key) for t, b in pairs])}"
            for key, name in SURFACES.items()
        ]
        lines.append(Line(f"{row.name}: N_eff less that without", "; ".join(bent), PAPER))
        walked = [
            f"{what.replace('_', ' ')}, {kind} {difference([rise(t, kind, what) - rise(b, kind, what) for t, b in pairs])}"
            for what in ("test_error", "train_loss")
            for kind in RAYS
        ]
        lines.append(
            Line(f"{row.name}: rise along rays less that without", "; ".join(walked), PAPER)
        )
    return lines


def difference(change: list[float]) -> str:
    """A paired change over seeds with its 95 % interval (Student's t), and what it says: below 0 is flatter."""
    mean = statistics.mean(change)
    if len(change) < 2:
        return f"{mean:+.3g} (one seed: no verdict)"
    from scipy.stats import t as student

    margin = (
        float(student.ppf(0.975, len(change) - 1))
        * statistics.stdev(change)
        / math.sqrt(len(change))
    )
    word = "flatter" if mean + margin < 0 else "sharper" if mean - margin > 0 else "undecided"
    return f"{mean:+.3g} ± {margin:.2g} ({word})"


def draw(settings: Flatness, trials: list[Trial], folder: Path, data: str | None) -> None:
    """Violins of error and effective dimension, the spectra behind them, the rays, and error and bounds against λ."""
    chosen = rows(settings)
    names = [row.name.replace(", ", "\n", 1) for row in chosen]
    by_row = [of_row(trials, row) for row in chosen]
    panels: dict[str, list[list[float]]] = {
        "test error, %": [[100 * (1 - t["accuracy"]["4"]) for t in ts] for ts in by_row]
    }
    for key, name in SURFACES.items():
        panels[f"effective dimension,\n{name}"] = [
            [dimension(settings, t, key) for t in ts] for ts in by_row
        ]
    limits = {c.name: c.limit for c in ag.Affine2d(*COORDINATES).coordinates}
    with plots.style():
        figures.draw_violins(folder / "violins.png", names, panels)
        figures.draw_spectra(folder / "spectra.png", names, by_row, SURFACES, settings.z)
        figures.draw_rays(folder / "rays.png", names, by_row)
        by_gradient = [row for row in chosen if row.kind == "learned" and row.method == "gradient"]
        beside = {
            name: [t["accuracy"]["4"] for t in ts]
            for name, ts in zip(
                ("no augmentation", "by probing"), (by_row[0], by_row[-1]), strict=True
            )
        }
        draw_weights(folder / "weights.png", trials, by_gradient, limits, beside)


#: Chosen by time alone: about a minute of one core for a training without bf16, and about another for its measurements.
SMALL = Flatness(
    seeds=5,
    epochs=60,
    net="small",
    width=8,
    train=2_500,
    test=2_000,
    asked=375,
    augmentation_lr=0.02,
    items=200,
    judged=500,
    eigenvalues=20,
    directions=5,
    points=7,
    plain_reach=6.0,
    filter_reach=0.6,
)
EXPERIMENT = Experiment(
    "flatness",
    {
        "paper": Flatness(seeds=10, epochs=200, augmentation_lr=0.01, warm_up=0.0),
        "cpu": SMALL,
        "quick": replace(
            SMALL,
            seeds=1,
            epochs=1,
            train=300,
            test=100,
            batch_size=32,
            items=60,
            eigenvalues=6,
            z=10.0,  # after one epoch little bends more
            draws=2,
            directions=2,
            points=3,
            weights=(0.01, 0.1),
        ),
    },
    rows,
    trial,
    table,
    draw,
)
