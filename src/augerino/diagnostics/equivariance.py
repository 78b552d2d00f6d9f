"""How far a model's label maps follow their input when it turns."""

from dataclasses import dataclass

from torch import Tensor, nn

from augerino.errors import InputError
from augerino.models import evaluation_mode
from augerino.transforms import Transform

SEEN = 0.999  # how much of a place must survive there and back to be compared


@dataclass(frozen=True)
class Equivariance:
    """The equivariance error at each value of a coordinate, over the pixels that were never out of the frame.

    `labels` is the share of pixels whose label differs between g^-1 f(g x) and f(x), `probabilities` the mean absolute
    difference of their class probabilities. Both are 0 where g is the identity, and a little above 0 for the best of models
    elsewhere, since sampling a map anew blurs it.
    """

    coordinate: str
    values: list[float]
    labels: list[float]
    probabilities: list[float]


def equivariance_error(
    model: nn.Module,
    x: Tensor,
    transform: Transform,
    coordinate: str,
    values: Tensor,
    where: Tensor | None = None,
) -> Equivariance:
    """Compares a model's prediction for moved images, moved back, with that for the images.

    Args:
        model: images to class scores or log-probabilities (B, classes, H, W); its mode is put back.
        x: images, (B, C, H, W).
        transform: holds the coordinate, has an inverse and keeps the size of images.
        coordinate: which one moves; the others stay at 0.
        values: where to look, (m,).
        where: pixels to compare, (B, H, W); all by default.
    """
    if coordinate not in transform.names:
        raise InputError(
            f"{type(transform).__name__} has no coordinate '{coordinate}'. It has: {', '.join(transform.names)}."
        )
    labels, probabilities = [], []
    with evaluation_mode(model):
        still = model(x).float().softmax(dim=1)
        for value in values.tolist():
            t = x.new_zeros(len(x), len(transform.names))
            t[:, transform.names.index(coordinate)] = value
            back = transform.inverse(model(transform(x, t)).float().softmax(dim=1), t)
            seen = transform.coverage(back, t)
            kept = (back[:, 0] >= 0 if seen is None else seen[:, 0] > SEEN) & (
                True if where is None else where
            )
            labels.append(_mean((back.argmax(dim=1) != still.argmax(dim=1)).float(), kept))
            probabilities.append(_mean((back - still).abs().mean(dim=1), kept))
    return Equivariance(coordinate, values.tolist(), labels, probabilities)


def _mean(values: Tensor, kept: Tensor) -> float:
    return float((values * kept).sum() / kept.sum().clamp_min(1))
