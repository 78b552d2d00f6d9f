"""The learned augmentation as an augmentation of kornia."""

from collections.abc import Sequence
from typing import Any

import torch
from kornia.augmentation import GeometricAugmentationBase2D
from torch import Tensor

from augerino.saving.export import tensors
from augerino.saving.export.element import draw, pixel_map, split, times, whole_pixels


class LearnedAugmentation(GeometricAugmentationBase2D):
    """Moves every image of a batch (B, C, H, W) by its own draw from the learned distribution.

    Images are in [0, 1]: apply it before normalisation. In a container of kornia, masks, boxes and
    key points move along. Positive rotations are clockwise on the screen.
    """

    def __init__(
        self, learned: dict[str, Any], same_on_batch: bool = False, keepdim: bool = False
    ) -> None:
        super().__init__(p=1.0, same_on_batch=same_on_batch, keepdim=keepdim)
        self.learned = learned

    def generate_parameters(self, batch_shape: tuple[int, ...]) -> dict[str, Tensor]:
        """Draws the coordinates of a batch, (B, k)."""
        n_images = batch_shape[0]
        n_draws = 1 if self.same_on_batch else n_images
        rows = []
        for _ in range(n_draws):
            rows.append(draw(self.learned["distributions"], lambda: float(torch.rand(()))))
        if self.same_on_batch:
            rows = rows * n_images
        k = sum(len(item["names"]) for item in self.learned["transforms"])
        return {"t": torch.tensor(rows, dtype=torch.float64).reshape(-1, k)}

    def compute_transformation(
        self, input: Tensor, params: dict[str, Tensor], flags: dict[str, Any]
    ) -> Tensor:
        """The affine matrices of a batch in pixels, (B, 3, 3)."""
        height, width = input.shape[-2:]
        matrices = []
        for t in params["t"].tolist():
            matrices.append([*self._pixel_map(t, height, width), (0.0, 0.0, 1.0)])
        return torch.tensor(matrices, dtype=input.dtype, device=input.device).reshape(-1, 3, 3)

    def _pixel_map(self, t: Sequence[float], height: int, width: int) -> Any:
        """The composition of the affine maps, flips and shifts, in pixels."""
        flips: Any = {
            "flip_horizontal": ((-1.0, 0.0, width - 1.0), (0.0, 1.0, 0.0)),
            "flip_vertical": ((1.0, 0.0, 0.0), (0.0, -1.0, height - 1.0)),
        }
        whole: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        for item, values in split(self.learned["transforms"], t):
            if item["kind"] == "Affine2d":
                whole = times(pixel_map(item["names"], values, height, width), whole)
            elif item["kind"] == "Flip":
                for name, value in zip(item["names"], values, strict=True):
                    if value > 0.5:
                        whole = times(flips[name], whole)
            elif item["kind"] == "PixelShift":
                right, down = whole_pixels(item["names"], values, height, width)
                whole = times(((1.0, 0.0, right), (0.0, 1.0, down)), whole)
        return whole

    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        """Moves images, (B, C, H, W)."""
        # kornia's warp_affine puts -1 and 1 at pixel centres, so it reflects about another line.
        return tensors.apply(input, self.learned["transforms"], params["t"].tolist())

    def apply_transform_mask(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        """Moves masks, (B, C, H, W); their values are kept."""
        return tensors.apply(input, self.learned["transforms"], params["t"].tolist(), mask=True)

    def apply_at(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves images by given coordinates.   x: (B, C, H, W)   t: (B, k)"""
        return tensors.apply(x, self.learned["transforms"], t.tolist())
