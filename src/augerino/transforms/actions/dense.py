"""The actions on vector fields and label maps, which cannot be warped channel by channel."""

from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.actions.base import Action
from augerino.transforms.base import Size, Transform, precise
from augerino.transforms.functional import Sampling


class _Dense(Action):
    """Base of actions on maps over the pixels: one warp for a whole chain, with zeros outside."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform)
        # Raises if the transform has no point map.
        transform.point_map(torch.zeros(1, len(transform.names)), (2, 2))
        self.in_pixels = transform.in_pixels

    def _there(self, x: Tensor, t: Tensor, sampling: Sampling = "bilinear") -> Tensor:
        """Warps maps from images to canvases."""
        size = _size(x)
        pull = lie.inverse_affine2d(self.transform.point_map(precise(t, x), size))
        canvas = self.transform.canvas(size)
        return functional.warp(x, functional.in_frame(pull, size), size=canvas, sampling=sampling)

    def _back(self, y: Tensor, t: Tensor, sampling: Sampling = "bilinear") -> Tensor:
        """Warps maps from canvases back to images."""
        canvas = _size(y)
        size = self.transform.window(canvas)
        pull = self.transform.point_map(precise(t, y), size)
        return functional.warp(y, functional.in_frame(pull, canvas), size=size, sampling=sampling)


class VectorField(_Dense):
    """Vector fields (B, 2, H, W), such as optical flow: the warp moves and rotates the vectors.

    The components are (x, y), with x right and y down, in any unit. They transform like
    displacements, by the linear part of the transform: `scale` makes a flow in pixels longer.
    Values outside the image are 0, whatever the padding of the transform.

    Args:
        transform: the transform of the images.

    Example:
        >>> from augerino import Affine2d
        >>> right = torch.tensor([1.0, 0.0])[:, None, None].expand(1, 2, 3, 3)
        >>> turned = VectorField(Affine2d("rotate"))(right, torch.tensor([[torch.pi / 2]]))
        >>> turned[0, :, 1, 1].round(decimals=3).abs()
        tensor([0., 1.])
    """

    mixes_with_padding = True

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves fields.   x: (B, 2, H, W)   t: (B, k)   returns (B, 2, *canvas)"""
        self._check(x, t)
        matrix = self.transform.point_map(precise(t, x), _size(x))
        return _multiply(self._there(x, t), matrix)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Moves fields back.   y: (B, 2, *canvas)   t: (B, k)   returns (B, 2, H, W)"""
        self._check(y, t)
        matrix = self.transform.point_map(precise(t, y), _size(y))
        return _multiply(self._back(y, t), lie.inverse_affine2d(matrix))

    def coverage(self, y: Tensor, t: Tensor) -> Tensor:
        """Fraction of each pixel that survives g and its inverse, (B, 1, H, W)."""
        height, width = self.transform.window(_size(y))
        ones = torch.ones_like(y[:, :1, :height, :width])
        there = self._there(ones, t)
        return self._back(there, t)

    def visibility(self, y: Tensor, t: Tensor) -> Tensor:
        """Fraction of each pixel of g^-1 y that comes from y, (B, 1, H, W)."""
        return self._back(torch.ones_like(y[:, :1]), t)

    def _check(self, x: Tensor, t: Tensor) -> None:
        self.need(
            fits=x.dim() == 4 and x.shape[1] == 2 and x.is_floating_point(),
            x=x,
            what="floating-point fields (B, 2, H, W)",
            advice="give the components (x, y) as two channels",
        )
        self.check(x, t)


class LabelMap(_Dense):
    """Integer label maps (B, H, W), moved by nearest-neighbour sampling.

    For targets, and to compare predicted labels. Labels cannot be averaged, so this is not an
    action for a model: there, let the network return class scores (B, classes, H, W), which the
    transform itself moves.

    Args:
        transform: the transform of the images.
        ignore: label of pixels from outside the image.

    Example:
        >>> from augerino import RotoTranslate2d
        >>> move = LabelMap(RotoTranslate2d())
        >>> move(torch.tensor([[[1, 2, 3]]]), torch.tensor([[0.0, 1.0, 0.0]]))
        tensor([[[255,   1,   2]]])
    """

    smooth = False

    def __init__(self, transform: Transform, ignore: int = 255) -> None:
        super().__init__(transform)
        self.ignore = ignore

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves labels.   x: (B, H, W)   t: (B, k)   returns (B, *canvas)"""
        return self._labels(x, self._there(self._layers(x, t), t, "nearest"))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Moves labels back.   y: (B, *canvas)   t: (B, k)   returns (B, H, W)"""
        return self._labels(y, self._back(self._layers(y, t), t, "nearest"))

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**super().settings(), "ignore": self.ignore}

    def _layers(self, x: Tensor, t: Tensor) -> Tensor:
        """Labels and a channel of ones, in float64, which holds every label exactly.

        Args:
            x: labels, (B, H, W).
            t: coordinates, (B, k).

        Returns:
            (B, 2, H, W).
        """
        whole = not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
        self.need(
            fits=whole and x.dim() == 3,
            x=x,
            what="integer labels (B, H, W)",
            advice="use argmax on class scores, or .long() on a mask",
        )
        if whole and not torch.iinfo(x.dtype).min <= self.ignore <= torch.iinfo(x.dtype).max:
            raise InputError(
                f"LabelMap marks pixels from outside the image by {self.ignore}, "
                f"which {x.dtype} cannot hold: use x.long()."
            )
        layers = torch.stack([x.double(), torch.ones_like(x, dtype=torch.float64)], dim=1)
        self.check(layers, t)
        return layers

    def _labels(self, x: Tensor, layers: Tensor) -> Tensor:
        """Labels of the dtype of x; `ignore` where the channel of ones is 0."""
        labels, known = layers.unbind(1)
        return torch.where(known > 0.5, labels.round(), float(self.ignore)).to(x.dtype)


def _size(x: Tensor) -> Size:
    """(height, width) of images."""
    return x.shape[-2], x.shape[-1]


def _multiply(x: Tensor, matrix: Tensor) -> Tensor:
    """Multiplies vectors by the linear parts of matrices.   x: (B, 2, H, W)   matrix: (B, 3, 3)"""
    with torch.autocast(x.device.type, enabled=False):
        vectors = lie.at_least_float32(x)
        linear = matrix[:, :2, :2].to(vectors.dtype)
        return (linear @ vectors.flatten(2)).reshape(x.shape).to(x.dtype)
