"""Color: brightness and contrast learned on STL-10, on top of the usual spatial augmentation (the paper's Section 9)."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

import augerino as ag
from augerino import plots
from augerino.data.synthetic.shades import shades
from augerino.nets.standard import Standard
from augerino.paper.datasets import stl10 as source
from augerino.paper.datasets.labelled import Labelled
from augerino.paper.experiments import recognition_figures as figures
from augerino.paper.experiments.recognition import (
    RecognitionSettings,
    bounds_text,
    make_net,
    measure,
    percent,
    train_row,
)
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Experiment, Line, Trial, of_row

START = 0.3  # of ag.learn
RELEASED_START = 0.7616  # tanh(1): the released code starts both ranges there
KNOWN = "known"


@dataclass(frozen=True)
class Stl10(RecognitionSettings):
    """STL-10: how much brightness and contrast can change, and is it worth learning?

    Every row, the baseline too, is trained on shifted and mirrored images with a square cut out. Colors change first, of images
    in [0, 1]; the network normalises. The rows "known answer" learn the same two coordinates where labels depend on
    brightness and not on contrast."""

    factor: int = 1
    """how much smaller the images are made"""
    train: int | None = None
    """training images; all by default"""
    shift: int = 12
    """spatial augmentation: pixels of a shift at most"""
    cutout: int = 32
    """spatial augmentation: side of the square cut out, in pixels"""
    known: int = 8_000
    """pictures of the known answer, to train on"""
    known_epochs: int = 60
    """passes over them"""

    def check(self) -> None:
        super().check()
        self._at_least_one("factor", "known", "known_epochs")


def rows(settings: Stl10) -> list[Row]:
    """The baseline, Augerino by gradient with all weights and by probing, and the known answer both ways."""
    known_weight = 0.05  # of ag.learn
    return [
        Row("standard augmentation", "none"),
        *(
            Row(f"Augerino, gradient, λ = {w:g}", "learned", w, start=RELEASED_START)
            for w in settings.weights
        ),
        Row("Augerino, probe", "learned", start=START, method="probe"),
        Row(
            f"known answer, gradient, λ = {known_weight:g}",
            "learned",
            known_weight,
            start=START,
            data=KNOWN,
        ),
        Row("known answer, probe", "learned", start=START, data=KNOWN, method="probe"),
    ]


def load(settings: Stl10, seed: int, data: str | None) -> Labelled:
    """The images, made smaller; another draw of those to train on for every seed."""
    pictures = source.stl10(data).subset(settings.train, settings.test, seed)
    small = [source.reduced(x, settings.factor) for x in (pictures.x_train, pictures.x_test)]
    return Labelled(small[0], pictures.y_train, small[1], pictures.y_test)


def load_known(settings: Stl10, seed: int) -> Labelled:
    """Pictures whose class is on which side of mid-grey they are, as bytes like the others."""
    parts = [shades(settings.known, seed=2 * seed), shades(500, seed=2 * seed + 1)]
    train, test = ((255 * part.x).round().to(torch.uint8) for part in parts)
    return Labelled(train, parts[0].y, test, parts[1].y)


def make_augmentation(row: Row) -> ag.Augmentation | None:
    """Contrast, then brightness, from the same start; None for the baseline.

    Where the answer is known, brightness comes first: contrast then leaves a picture on its side of mid-grey at any brightness.
    The other way round a picture made fainter is brought over by less brightness, and the two extents depend on each other.
    """
    if row.kind == "none":
        return None
    parts = [
        ag.Augmentation(transform, ag.Uniform([row.start]))
        for transform in (ag.Contrast(), ag.Brightness())
    ]
    return ag.Chain(*(reversed(parts) if row.data == KNOWN else parts))


def trial(settings: Stl10, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures it at 1 and 4 copies."""
    if row.data == KNOWN:
        settings = replace(settings, net="small", width=8, epochs=settings.known_epochs, steps=None)
        pictures, first = load_known(settings, seed), []
    else:
        pictures, first = (
            load(settings, seed, data),
            [Standard(settings.shift, cutout=settings.cutout)],
        )
    torch.manual_seed(seed)
    net = make_net(settings, source.MEAN, source.STD, *first)
    learned = train_row(
        settings, row, seed, pictures.x_train, pictures.y_train, net, make_augmentation(row)
    )
    return measure(learned, row, pictures, seed)


def table(settings: Stl10, trials: list[Trial]) -> list[Line]:
    """Accuracy by copies and the learned ranges, beside the paper's numbers."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        if row.kind == "none":
            lines.append(Line(row.name, percent(found, 1), "89.0 ± 0.35 %"))
            continue
        text = (
            f"{percent(found, 1)} at 1 copy, {percent(found, 4)} at 4; bounds {bounds_text(found)}"
        )
        known = row.data == KNOWN
        lines.append(
            Line(row.name, text, "" if known else "89.7 ± 0.3 %, noticeable changes of both")
        )
        if known:
            lines.append(
                Line(f"{row.name}: the answer", "brightness 0, contrast up to its limit of 0.95")
            )
    return lines


def draw(settings: Stl10, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 9, the learned ranges, and accuracy by row and against λ."""
    limits = {
        coordinate.name: coordinate.limit
        for part in (ag.Contrast(), ag.Brightness())
        for coordinate in part.coordinates
    }
    real = [row for row in rows(settings) if row.data != KNOWN]
    swept = [row for row in real if row.kind == "learned" and row.method == "gradient"]
    probed = next(row for row in real if row.method == "probe")
    with plots.style():
        points = [
            (
                f"{row.name}{', 4 copies' if row.kind == 'learned' else ''}",
                [t["accuracy"]["4"] for t in of_row(trials, row)],
            )
            for row in real
        ]
        figures.draw_accuracy(folder / "accuracy.png", {"STL-10": points})
        shown = {
            row.name.replace(", ", "\n", 1): row
            for row in rows(settings)
            if row.kind == "learned" and row not in swept
        }
        figures.draw_ranges(folder / "ranges.png", trials, shown, limits)
        beside = {
            name: [t["accuracy"]["4"] for t in of_row(trials, row)]
            for name, row in _beside(real, probed)
        }
        figures.draw_weights(folder / "weights.png", trials, swept, limits, beside)
        augmentation = make_augmentation(probed)
        assert augmentation is not None
        bounds = of_row(trials, probed)[0]["bounds"]
        figures.draw_gallery(
            folder / "gallery.png",
            augmentation,
            bounds,
            load(settings, 0, data).x_test[:8],
            probed.name,
        )


def _beside(real: list[Row], probed: Row) -> list[tuple[str, Row]]:
    return [("standard augmentation", real[0]), ("by probing", probed)]


#: Three to four minutes of one core without bf16 for a training; the network is that of cifar10, for the same reason.
SMALL = Stl10(
    seeds=3, epochs=150, net="small", width=16, factor=2, shift=6, cutout=16, augmentation_lr=0.02
)
EXPERIMENT = Experiment(
    "stl10",
    {
        "paper": Stl10(seeds=3, epochs=200, augmentation_lr=0.01, warm_up=0.0),
        "cpu": SMALL,
        "quick": replace(
            SMALL,
            seeds=1,
            epochs=1,
            width=8,
            factor=4,
            shift=3,
            cutout=8,
            train=300,
            test=100,
            batch_size=32,
            weights=(0.01, 0.1),
            known=200,
            known_epochs=2,
        ),
    },
    rows,
    trial,
    table,
    draw,
)
