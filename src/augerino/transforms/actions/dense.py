"""What every pixel of an image carries and no bilinear mean of channels would move rightly: vector fields and label maps."""

from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.actions.base import Action, precise
from augerino.transforms.base import Size, Transform
from augerino.transforms.functional import Sampling


class _Dense(Action):
    """Maps over the pixels, moved by one warp however long the chain is, with 0 outside."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform)
        transform.point_map(
            torch.zeros(1, len(transform.names)), (2, 2)
        )  # refuses what does not move points
        self.in_pixels = transform.in_pixels

    def _there(self, x: Tensor, t: Tensor, sampling: Sampling = "bilinear") -> Tensor:
        size = _size(x)
        pull = lie.inverse_affine2d(self.transform.point_map(precise(t, x), size))
        return functional.warp(
            x, functional.in_frame(pull, size), size=self.transform.canvas(size), sampling=sampling
        )

    def _back(self, y: Tensor, t: Tensor, sampling: Sampling = "bilinear") -> Tensor:
        size = self.transform.window(_size(y))
        pull = self.transform.point_map(precise(t, y), size)
        return functional.warp(y, functional.in_frame(pull, _size(y)), size=size, sampling=sampling)


class VectorField(_Dense):
    """A vector at every pixel, (B, 2, H, W), such as a flow: carried along by the warp, its components turned with the frame.

    The components are (x, y), x right and y down, in any one unit. They follow the linear part of the transform as displacements
    do: `scale` makes a flow in pixels longer. Outside the image lies 0, whatever padding the transform has.

    Args:
        transform: how the images move.

    Example:
        >>> from augerino import Affine2d
        >>> right = torch.tensor([1.0, 0.0])[:, None, None].expand(1, 2, 3, 3)
        >>> VectorField(Affine2d("rotate"))(right, torch.tensor([[torch.pi / 2]]))[0, :, 1, 1].round(decimals=3).abs()
        tensor([0., 1.])
    """

    fades = True

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self._check(x, t)
        return _turned(self._there(x, t), self.transform.point_map(precise(t, x), _size(x)))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        self._check(y, t)
        return _turned(
            self._back(y, t),
            lie.inverse_affine2d(self.transform.point_map(precise(t, y), _size(y))),
        )

    def coverage(self, y: Tensor, t: Tensor) -> Tensor:
        height, width = self.transform.window(_size(y))
        return self._back(self._there(torch.ones_like(y[:, :1, :height, :width]), t), t)

    def sight(self, y: Tensor, t: Tensor) -> Tensor:
        return self._back(torch.ones_like(y[:, :1]), t)

    def _check(self, x: Tensor, t: Tensor) -> None:
        fits = x.dim() == 4 and x.shape[1] == 2 and x.is_floating_point()
        self.need(
            fits,
            x,
            "floating-point fields (B, 2, H, W)",
            "give the components (x, y) as two channels",
        )
        self.check(x, t)


class LabelMap(_Dense):
    """A label at every pixel, integers (B, H, W), moved by nearest sampling: for targets, and to compare predicted labels.

    Labels have no mean, so this is not an action for a model: there, let the network return class scores (B, classes, H, W),
    which the transform itself moves.

    Args:
        transform: how the images move.
        ignore: the label of what comes from outside the image.

    Example:
        >>> from augerino import RotoTranslate2d
        >>> LabelMap(RotoTranslate2d())(torch.tensor([[[1, 2, 3]]]), torch.tensor([[0.0, 1.0, 0.0]]))
        tensor([[[255,   1,   2]]])
    """

    smooth = False

    def __init__(self, transform: Transform, ignore: int = 255) -> None:
        super().__init__(transform)
        self.ignore = ignore

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self._labels(x, self._there(self._layers(x, t), t, "nearest"))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        return self._labels(y, self._back(self._layers(y, t), t, "nearest"))

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "ignore": self.ignore}

    def _layers(self, x: Tensor, t: Tensor) -> Tensor:
        """The labels as numbers, and below them where there are any, (B, 2, H, W); double precision holds every label."""
        whole = not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
        self.need(
            whole and x.dim() == 3,
            x,
            "integer labels (B, H, W)",
            "use argmax on class scores, or .long() on a mask",
        )
        if whole and not torch.iinfo(x.dtype).min <= self.ignore <= torch.iinfo(x.dtype).max:
            raise InputError(
                f"LabelMap cannot mark what comes from outside by {self.ignore} in {x.dtype}: use x.long()."
            )
        layers = torch.stack([x.double(), torch.ones_like(x, dtype=torch.float64)], dim=1)
        self.check(layers, t)
        return layers

    def _labels(self, x: Tensor, layers: Tensor) -> Tensor:
        labels, known = layers.unbind(1)
        return torch.where(known > 0.5, labels.round(), float(self.ignore)).to(x.dtype)


def _size(x: Tensor) -> Size:
    return x.shape[-2], x.shape[-1]


def _turned(x: Tensor, matrix: Tensor) -> Tensor:
    """Multiplies the vector of every pixel by the linear part of its image's matrix.   x: (B, 2, H, W)   matrix: (B, 3, 3)"""
    with torch.autocast(x.device.type, enabled=False):
        vectors = lie.at_least_float32(x)
        linear = matrix[:, :2, :2].to(vectors.dtype)
        return (linear @ vectors.flatten(2)).reshape(x.shape).to(x.dtype)
