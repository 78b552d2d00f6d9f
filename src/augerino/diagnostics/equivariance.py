"""The equivariance error of predicted label maps."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from augerino.diagnostics.orbit import coordinates_along
from augerino.models import evaluation_mode
from augerino.transforms import Transform

MIN_COVERAGE = 0.999  # pixels that lose more than this to the border are not compared


@dataclass(frozen=True)
class EquivarianceCurve:
    """The equivariance error of label maps at each value of one coordinate.

    Only pixels that stay inside the frame are compared. Both errors are 0 at the identity. At
    other values they are slightly above 0 even for an equivariant model, because resampling blurs.

    Attributes:
        coordinate: name of the coordinate that varies.
        values: values of that coordinate.
        labels: fraction of pixels whose label differs between g^-1 f(g x) and f(x).
        probabilities: mean absolute difference of the class probabilities.
    """

    coordinate: str
    values: list[float]
    labels: list[float]
    probabilities: list[float]


def equivariance_curve(
    model: nn.Module,
    x: Tensor,
    transform: Transform,
    coordinate: str,
    values: Tensor,
    where: Tensor | None = None,
) -> EquivarianceCurve:
    """Compares the predicted label maps g^-1 f(g x) with f(x) along one coordinate of g.

    `augerino.testing.equivariance_error` is the single relative error, for any kind of output.

    Args:
        model: images to class scores or log-probabilities (B, classes, H, W); its mode is restored.
        x: images, (B, C, H, W).
        transform: with this coordinate and an inverse; must keep the size of images.
        coordinate: name of the coordinate that varies; the others stay at 0.
        values: values of that coordinate, (m,).
        where: mask of the pixels to compare, (B, H, W); all by default.
    """
    along = coordinates_along(transform, coordinate, values.to(x))
    labels = []
    probabilities = []
    with evaluation_mode(model):
        reference = model(x).float().softmax(dim=1)
        for row in along:
            t = row.expand(len(x), -1)
            moved = model(transform(x, t)).float().softmax(dim=1)
            restored = transform.inverse(moved, t)
            compared = torch.ones_like(restored[:, 0], dtype=torch.bool)
            coverage = transform.coverage(restored, t)
            if coverage is not None:
                compared = coverage[:, 0] > MIN_COVERAGE
            if where is not None:
                compared = compared & where
            changed = restored.argmax(dim=1) != reference.argmax(dim=1)
            difference = (restored - reference).abs().mean(dim=1)
            labels.append(_masked_mean(changed.float(), compared))
            probabilities.append(_masked_mean(difference, compared))
    return EquivarianceCurve(
        coordinate=coordinate,
        values=values.tolist(),
        labels=labels,
        probabilities=probabilities,
    )


def _masked_mean(values: Tensor, mask: Tensor) -> float:
    return float((values * mask).sum() / mask.sum().clamp_min(1))
