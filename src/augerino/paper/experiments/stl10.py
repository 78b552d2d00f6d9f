"""Color: brightness and contrast learned on STL-10 (the paper's Section 9)."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

import augerino as ag
from augerino import plots
from augerino.data.published import stl10 as source
from augerino.data.published.image_split import ImageSplit
from augerino.data.synthetic.shades import shades
from augerino.nets.standard import Standard
from augerino.paper.experiments import recognition_figures as figures
from augerino.paper.experiments.recognition import (
    RecognitionSettings,
    accuracies,
    bounds_text,
    make_net,
    measure,
    percent,
    train_row,
)
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Experiment, Line, Trial, of_row

START = 0.3  # the default of ag.learn
RELEASED_START = 0.7616  # tanh(1), where the released code starts both ranges
SYNTHETIC = "synthetic"  # the variant whose symmetries are known
SYNTHETIC_REG_WEIGHT = 0.05  # the default of ag.learn


@dataclass(frozen=True)
class Stl10(RecognitionSettings):
    """STL-10: which ranges of brightness and contrast are learned, and do they help?

    Every row, also the baseline, trains on shifted and mirrored images with a square cut out.
    Colors change first; the network normalizes. The rows "known answer" learn the same two
    coordinates on synthetic images whose labels depend on brightness but not on contrast."""

    downscale: int = 1
    """integer factor by which images are downscaled"""
    n_train: int | None = None
    """training images; all by default"""
    shift: int = 12
    """spatial augmentation: maximum shift in pixels"""
    cutout: int = 32
    """spatial augmentation: side of the square cut out, in pixels"""
    n_synthetic: int = 8_000
    """synthetic training images"""
    synthetic_epochs: int = 60
    """epochs on the synthetic images"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("downscale", "n_synthetic", "synthetic_epochs")


def rows(settings: Stl10) -> list[Row]:
    """The baseline, Augerino by gradient with every λ and by probing, and the known answer."""
    return [
        Row(name="standard augmentation", kind="none"),
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
        Row(
            name=f"known answer, gradient, λ = {SYNTHETIC_REG_WEIGHT:g}",
            kind="learned",
            reg_weight=SYNTHETIC_REG_WEIGHT,
            start=START,
            variant=SYNTHETIC,
        ),
        Row(
            name="known answer, probe",
            kind="learned",
            start=START,
            variant=SYNTHETIC,
            method="probe",
        ),
    ]


def load(settings: Stl10, seed: int, data: str | None) -> ImageSplit:
    """The downscaled images; each seed draws a different training subset."""
    images = source.stl10(data).subset(settings.n_train, settings.n_test, seed)
    return images._replace(
        x_train=source.downscale_images(images.x_train, settings.downscale),
        x_test=source.downscale_images(images.x_test, settings.downscale),
    )


def load_synthetic(settings: Stl10, seed: int) -> ImageSplit:
    """Images whose class is whether they are lighter or darker than mid-gray, as bytes."""
    train = shades(settings.n_synthetic, seed=2 * seed)
    test = shades(500, seed=2 * seed + 1)
    return ImageSplit(
        x_train=_to_bytes(train.x), y_train=train.y, x_test=_to_bytes(test.x), y_test=test.y
    )


def _to_bytes(x: Tensor) -> Tensor:
    return (255 * x).round().to(torch.uint8)


def make_augmentation(row: Row) -> ag.Augmentation | None:
    """Contrast, then brightness, from the same start; None for the baseline.

    For the synthetic images brightness comes first. Contrast then keeps an image on its side of
    mid-gray at any brightness. In the other order a low-contrast image crosses mid-gray at a
    smaller change of brightness, so the two true extents would depend on each other.
    """
    if row.kind == "none":
        return None
    contrast = ag.Augmentation(ag.Contrast(), ag.Uniform([row.start]))
    brightness = ag.Augmentation(ag.Brightness(), ag.Uniform([row.start]))
    if row.variant == SYNTHETIC:
        return ag.Chain(brightness, contrast)
    return ag.Chain(contrast, brightness)


def trial(settings: Stl10, row: Row, seed: int, data: str | None) -> Trial:
    """Trains one row and measures it at 1 and 4 copies."""
    layers: list[nn.Module] = []
    if row.variant == SYNTHETIC:
        images = load_synthetic(settings, seed)
        settings = replace(
            settings, net="small", width=8, epochs=settings.synthetic_epochs, steps=None
        )
    else:
        images = load(settings, seed, data)
        layers.append(Standard(settings.shift, cutout=settings.cutout))
    torch.manual_seed(seed)
    learned = train_row(
        settings,
        row,
        seed,
        x=images.x_train,
        y=images.y_train,
        net=make_net(settings, source.MEAN, source.STD, *layers),
        augmentation=make_augmentation(row),
    )
    return measure(learned, row, images, seed)


def table(settings: Stl10, trials: list[Trial]) -> list[Line]:
    """Accuracy by copies and the learned ranges, beside the paper's numbers."""
    lines = []
    for row in rows(settings):
        found = of_row(trials, row)
        if row.kind == "none":
            lines.append(Line(row=row.name, measured=percent(found, 1), paper="89.0 ± 0.35 %"))
            continue
        text = f"{percent(found, 1)} at 1 copy, {percent(found, 4)} at 4"
        text += f"; bounds {bounds_text(found)}"
        if row.variant == SYNTHETIC:
            lines.append(Line(row=row.name, measured=text))
            answer = "brightness 0, contrast up to its limit of 0.95"
            lines.append(Line(row=f"{row.name}: true extents", measured=answer))
        else:
            paper = "89.7 ± 0.3 %, noticeable changes of both"
            lines.append(Line(row=row.name, measured=text, paper=paper))
    return lines


def draw(settings: Stl10, trials: list[Trial], folder: Path, data: str | None) -> None:
    """The paper's Figure 9, the learned ranges, and accuracy by row and against λ."""
    coordinates = (*ag.Contrast().coordinates, *ag.Brightness().coordinates)
    limits = {coordinate.name: coordinate.limit for coordinate in coordinates}
    real = [row for row in rows(settings) if row.variant != SYNTHETIC]
    baseline = real[0]
    probed = real[-1]
    swept = real[1:-1]
    by_name = {row.name: accuracies(of_row(trials, row), 4) for row in real}
    points = [(baseline.name, by_name[baseline.name])]
    points += [(f"{row.name}, 4 copies", by_name[row.name]) for row in real[1:]]
    ranges = [row for row in rows(settings) if row.kind == "learned" and row not in swept]
    with plots.style():
        figures.draw_accuracy(folder / "accuracy.png", {"STL-10": points})
        figures.draw_ranges(
            folder / "ranges.png",
            trials,
            rows={row.name.replace(", ", "\n", 1): row for row in ranges},
            limits=limits,
        )
        figures.draw_weights(
            folder / "weights.png",
            trials,
            rows=swept,
            limits=limits,
            references={
                "standard augmentation": by_name[baseline.name],
                "probe": by_name[probed.name],
            },
        )
        augmentation = make_augmentation(probed)
        assert augmentation is not None
        figures.draw_gallery(
            folder / "gallery.png",
            augmentation,
            bounds=of_row(trials, probed)[0]["bounds"],
            x=load(settings, 0, data).x_test[:8],
            title=probed.name,
        )


#: Three to four minutes of one core without bf16 per training. The network is that of cifar10, for
#: the same reason.
SMALL = Stl10(
    seeds=3,
    epochs=150,
    net="small",
    width=16,
    downscale=2,
    shift=6,
    cutout=16,
    augmentation_lr=0.02,
)
EXPERIMENT = Experiment(
    name="stl10",
    presets={
        "paper": Stl10(seeds=3, epochs=200, augmentation_lr=0.01, warm_up=0.0),
        "cpu": SMALL,
        "quick": replace(
            SMALL,
            seeds=1,
            epochs=1,
            width=8,
            downscale=4,
            shift=3,
            cutout=8,
            n_train=300,
            n_test=100,
            batch_size=32,
            reg_weights=(0.01, 0.1),
            n_synthetic=200,
            synthetic_epochs=2,
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
