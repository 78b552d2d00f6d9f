"""Flatness of solutions: effective dimension and random rays on CIFAR-10 (the last appendix)."""

import itertools
import math
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F

import augerino as ag
from augerino import plots
from augerino.data.published import cifar10 as source
from augerino.data.published.image_split import ImageSplit
from augerino.errors import InputError
from augerino.learning.defaults import no_augmentation
from augerino.learning.learned import Learned
from augerino.paper.diagnostics import LossSurface, curvature, effective_dimension, loss_along_rays
from augerino.paper.experiments import flatness_figures as figures
from augerino.paper.experiments.cifar10 import LIMITS, RELEASED_START, START, make_augmentation
from augerino.paper.experiments.recognition import (
    RecognitionSettings,
    accuracies,
    bounds_text,
    make_net,
    measure,
    train_row,
)
from augerino.paper.experiments.recognition_figures import draw_weights
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Experiment, Line, Trial, mean_sd, of_row

#: Training losses whose Hessian is measured: on the original images; with one draw per image, as in
#: the released code; and averaged over several draws, which is closer to the trained expectation.
SURFACES = {
    "still": "original images",
    "drawn": "one draw per image",
    "averaged": "averaged over draws",
}
RAYS: tuple[Literal["plain", "filter"], ...] = ("plain", "filter")
PAPER = "flatter (a figure, no numbers)"


@dataclass(frozen=True)
class Flatness(RecognitionSettings):
    """Flatness: does learned augmentation lead to flatter solutions on CIFAR-10?

    After each training, measures the largest eigenvalues of the Hessian of the training loss, and
    loss and error along random rays. All networks are in evaluation mode, so batch norm has fixed
    statistics. Requires the extra flatness."""

    n_train: int = 50_000
    """training images"""
    n_train_measured: int = 50_000
    """training images on which the loss is measured"""
    n_test_measured: int = 10_000
    """test images on which the error along rays is measured"""
    n_eigenvalues: int = 50
    """number of largest eigenvalues of the Hessian"""
    z: float = 100.0
    """the eigenvalue that counts 1/2 in the effective dimension"""
    copies: int = 4
    """draws per image of the averaged loss"""
    n_directions: int = 10
    """random rays of each kind"""
    n_points: int = 11
    """points on each ray"""
    plain_length: float = 10.0
    """length of plain rays: a distance in weight space"""
    filter_length: float = 1.0
    """length of normalized rays; at 1 every filter has moved by its own norm"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("n_train", "n_train_measured", "n_test_measured")
        self._require_at_least_one("n_eigenvalues", "copies", "n_directions")
        if self.n_points < 2:
            raise InputError(f"n_points must be at least 2, but got {self.n_points}.")
        for name in ("z", "plain_length", "filter_length"):
            value = getattr(self, name)
            if value <= 0:
                raise InputError(f"{name} must be above 0, but got {value}.")


def rows(settings: Flatness) -> list[Row]:
    """No augmentation, Augerino by gradient with every λ, and by probing."""
    return [
        Row(name="no augmentation", kind="none"),
        *(
            Row(
                name=f"Augerino, gradient, λ = {reg_weight:g}",
                kind="learned",
                reg_weight=reg_weight,
                start=RELEASED_START,
            )
            for reg_weight in settings.reg_weights
        ),
        Row(name="Augerino, probe", kind="learned", start=START, method="probe"),
    ]


def load(settings: Flatness, seed: int, data: str | None) -> ImageSplit:
    """The images of a seed. Raises an error early if scipy is missing."""
    try:
        import scipy.sparse.linalg  # noqa: F401
    except ImportError as error:
        raise InputError('This experiment needs scipy: pip install "augerino[flatness]"') from error
    return source.cifar10(data).subset(settings.n_train, settings.n_test, seed)


def trial(settings: Flatness, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures its solution; the network is not kept."""
    images = load(settings, seed, data)
    torch.manual_seed(seed)
    learned = train_row(
        settings,
        row,
        seed,
        x=images.x_train,
        y=images.y_train,
        net=make_net(settings, source.MEAN, source.STD),
        augmentation=make_augmentation(row),
    )
    found = measure(learned, row, images, seed)
    surfaces = make_surfaces(settings, learned, images, seed)
    return {
        **found,
        **_measure_curvature(settings, surfaces, seed),
        "rays": _measure_rays(settings, surfaces, seed),
    }


def make_surfaces(
    settings: Flatness, learned: Learned, images: ImageSplit, seed: int
) -> dict[str, LossSurface]:
    """The training losses of `SURFACES`, and the test loss of the original images ("test").

    Without augmentation the three training losses are equal, and only "still" is present.
    """
    model = learned.model
    bare = ag.InvariantModel(model.net, no_augmentation(), average=model.average)
    x = images.x_train[: settings.n_train_measured]
    y = images.y_train[: settings.n_train_measured]

    def train_surface(surface_model: ag.InvariantModel, copies: int) -> LossSurface:
        return LossSurface(
            surface_model, F.nll_loss, x, y, copies=copies, seed=seed, batch_size=100
        )

    found = {"still": train_surface(bare, copies=1)}
    if learned.extent:
        found["drawn"] = train_surface(model, copies=1)
        found["averaged"] = train_surface(model, copies=settings.copies)
    found["test"] = LossSurface(
        bare,
        F.nll_loss,
        x=images.x_test[: settings.n_test_measured],
        y=images.y_test[: settings.n_test_measured],
        copies=1,
        seed=seed,
        batch_size=100,
    )
    return found


def _measure_curvature(settings: Flatness, surfaces: dict[str, LossSurface], seed: int) -> Trial:
    """Loss and largest eigenvalues of each training loss; a missing one equals "still"."""
    losses: dict[str, float] = {}
    eigenvalues: dict[str, list[float]] = {}
    products = 0
    for name in SURFACES:
        if name not in surfaces:
            losses[name] = losses["still"]
            eigenvalues[name] = eigenvalues["still"]
            continue
        found = curvature(surfaces[name], settings.n_eigenvalues, seed=seed)
        losses[name] = round(surfaces[name].mean(), 5)
        eigenvalues[name] = [_five_digits(value) for value in found.eigenvalues]
        products += found.products
    return {"train_loss": losses, "eigenvalues": eigenvalues, "products": products}


def _five_digits(value: float) -> float:
    return float(f"{value:.5g}")


def _measure_rays(
    settings: Flatness, surfaces: dict[str, LossSurface], seed: int
) -> dict[str, Any]:
    """Training loss (one draw per image) and test error (original images) along the same rays."""
    max_lengths = {"plain": settings.plain_length, "filter": settings.filter_length}
    steps = [i / (settings.n_points - 1) for i in range(settings.n_points)]
    found: dict[str, Any] = {}
    for kind in RAYS:
        lengths = [max_lengths[kind] * step for step in steps]
        train = loss_along_rays(
            surfaces.get("drawn", surfaces["still"]),
            lengths,
            directions=settings.n_directions,
            kind=kind,
            seed=seed,
        )
        test = loss_along_rays(
            surfaces["test"],
            lengths,
            directions=settings.n_directions,
            kind=kind,
            seed=seed,
        )
        found[kind] = {
            "lengths": [round(length, 6) for length in lengths],
            "train_loss": [[_five_digits(value) for value in ray] for ray in train.loss],
            "test_error": [[round(value, 5) for value in ray] for ray in test.error or []],
        }
    return found


def dimension(settings: Flatness, found: Trial, surface: str) -> float:
    """The effective dimension of a trial, from its largest eigenvalues."""
    return effective_dimension(found["eigenvalues"][surface], settings.z)


def rise(found: Trial, kind: str, quantity: str) -> float:
    """Mean increase of a loss or error over all rays and points, relative to the solution."""
    rays = found["rays"][kind][quantity]
    return statistics.mean(value - ray[0] for ray in rays for value in ray[1:])


def table(settings: Flatness, trials: list[Trial]) -> list[Line]:
    """Error, loss and effective dimension of each row, and differences from the baseline."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        error = mean_sd([1 - accuracy for accuracy in accuracies(found, 4)], 100, 2, " %")
        loss = mean_sd([t["train_loss"]["drawn"] for t in found], 1, 3)
        text = f"test error {error}; train loss {loss}"
        if row.kind == "learned":
            text += f"; bounds {bounds_text(found)}"
        lines.append(Line(row=row.name, measured=text))
        name = f"{row.name}: effective dimension"
        lines.append(Line(row=name, measured=_dimension_text(settings, found)))
    return lines + _differences(settings, trials)


def _dimension_text(settings: Flatness, found: list[Trial]) -> str:
    sizes = []
    for key, name in SURFACES.items():
        dimensions = [dimension(settings, t, key) for t in found]
        sizes.append(f"{name} {mean_sd(dimensions, 1, 2)}")
    smallest = [t["eigenvalues"][key][-1:] for t in found for key in SURFACES]
    last_term = max(effective_dimension(value, settings.z) for value in smallest)
    return (
        f"N_eff at z = {settings.z:g} of the largest {settings.n_eigenvalues}: "
        f"{', '.join(sizes)}; the smallest adds at most {last_term:.2f}"
    )


def _differences(settings: Flatness, trials: list[Trial]) -> list[Line]:
    """Paired differences of N_eff and of the rise along rays from the row without augmentation."""
    base = of_row(trials, rows(settings)[0])
    lines = []
    for row in rows(settings)[1:]:
        pairs = list(zip(of_row(trials, row), base, strict=True))
        texts = []
        for key, name in SURFACES.items():
            change = [dimension(settings, t, key) - dimension(settings, b, key) for t, b in pairs]
            texts.append(f"{name} {difference(change)}")
        name = f"{row.name}: N_eff minus baseline"
        lines.append(Line(row=name, measured="; ".join(texts), paper=PAPER))
        texts = []
        for quantity, kind in itertools.product(("test_error", "train_loss"), RAYS):
            change = [rise(t, kind, quantity) - rise(b, kind, quantity) for t, b in pairs]
            texts.append(f"{quantity.replace('_', ' ')}, {kind} {difference(change)}")
        name = f"{row.name}: rise along rays minus baseline"
        lines.append(Line(row=name, measured="; ".join(texts), paper=PAPER))
    return lines


def difference(change: list[float]) -> str:
    """A paired change with its 95 % interval (Student's t) and a verdict: below 0 is flatter."""
    mean = statistics.mean(change)
    if len(change) < 2:
        return f"{mean:+.3g} (one seed: no verdict)"
    from scipy.stats import t as student

    quantile = float(student.ppf(0.975, len(change) - 1))
    margin = quantile * statistics.stdev(change) / math.sqrt(len(change))
    if mean + margin < 0:
        verdict = "flatter"
    elif mean - margin > 0:
        verdict = "sharper"
    else:
        verdict = "undecided"
    return f"{mean:+.3g} ± {margin:.2g} ({verdict})"


def draw(settings: Flatness, trials: list[Trial], folder: Path, data: str | None) -> None:
    """Violins of error and effective dimension, spectra, rays, and error and bounds against λ."""
    chosen = rows(settings)
    names = [row.name.replace(", ", "\n", 1) for row in chosen]
    by_row = [of_row(trials, row) for row in chosen]
    panels: dict[str, list[list[float]]] = {
        "test error, %": [[100 * (1 - a) for a in accuracies(ts, 4)] for ts in by_row]
    }
    for key, name in SURFACES.items():
        dimensions = [[dimension(settings, t, key) for t in ts] for ts in by_row]
        panels[f"effective dimension,\n{name}"] = dimensions
    with plots.style():
        figures.draw_violins(folder / "violins.png", names, panels)
        figures.draw_spectra(folder / "spectra.png", names, by_row, surfaces=SURFACES, z=settings.z)
        figures.draw_rays(folder / "rays.png", names, by_row)
        draw_weights(
            folder / "weights.png",
            trials,
            rows=chosen[1:-1],
            limits=LIMITS,
            references={
                "no augmentation": accuracies(by_row[0], 4),
                "probe": accuracies(by_row[-1], 4),
            },
        )


#: Chosen for time: about a minute of one core without bf16 for a training, and about another for
#: its measurements.
SMALL = Flatness(
    seeds=5,
    epochs=60,
    net="small",
    width=8,
    n_train=2_500,
    n_test=2_000,
    n_probe_items=375,
    augmentation_lr=0.02,
    n_train_measured=200,
    n_test_measured=500,
    n_eigenvalues=20,
    n_directions=5,
    n_points=7,
    plain_length=6.0,
    filter_length=0.6,
)
EXPERIMENT = Experiment(
    name="flatness",
    presets={
        "paper": Flatness(seeds=10, epochs=200, augmentation_lr=0.01, warm_up=0.0),
        "cpu": SMALL,
        "quick": replace(
            SMALL,
            seeds=1,
            epochs=1,
            n_train=300,
            n_test=100,
            batch_size=32,
            n_train_measured=60,
            n_eigenvalues=6,
            z=10.0,  # eigenvalues are small after one epoch
            copies=2,
            n_directions=2,
            n_points=3,
            reg_weights=(0.01, 0.1),
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
