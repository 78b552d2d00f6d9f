"""The learned augmentation as an augmentation of kornia."""

from collections.abc import Sequence
from typing import Any

import torch
from kornia.augmentation import GeometricAugmentationBase2D
from torch import Tensor

from augerino.saving.export import tensors
from augerino.saving.export.element import draw, pixel_map, split, times


class LearnedAugmentation(GeometricAugmentationBase2D):
    """Moves every image of a batch (B, C, H, W) by a draw of its own; masks, boxes and key points follow in a container.

    Put it where images are in [0, 1], before normalising. Positive rotations turn clockwise on the screen.
    """

    def __init__(
        self, learned: dict[str, Any], same_on_batch: bool = False, keepdim: bool = False
    ) -> None:
        super().__init__(p=1.0, same_on_batch=same_on_batch, keepdim=keepdim)
        self.learned = learned

    def generate_parameters(self, batch_shape: tuple[int, ...]) -> dict[str, Tensor]:
        def once() -> list[float]:
            return draw(self.learned["distributions"], lambda: float(torch.rand(())))

        rows = (
            [once()] * batch_shape[0]
            if self.same_on_batch
            else [once() for _ in range(batch_shape[0])]
        )
        k = sum(len(item["names"]) for item in self.learned["transforms"])
        return {"t": torch.tensor(rows, dtype=torch.float64).reshape(-1, k)}

    def compute_transformation(
        self, input: Tensor, params: dict[str, Tensor], flags: dict[str, Any]
    ) -> Tensor:
        matrices = [
            [*self._pixels(row, *input.shape[-2:]), (0.0, 0.0, 1.0)] for row in params["t"].tolist()
        ]
        return torch.tensor(matrices, dtype=input.dtype, device=input.device).reshape(-1, 3, 3)

    def _pixels(self, t: Sequence[float], height: int, width: int) -> Any:
        """Where the whole chain takes the points of a picture."""
        whole: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        for item, values in split(self.learned["transforms"], t):
            if item["kind"] == "Affine2d":
                whole = times(pixel_map(item["names"], values, height, width), whole)
            for name, value in zip(item["names"], values, strict=True):
                if value > 0.5 and name == "flip_horizontal":
                    whole = times(((-1.0, 0.0, width - 1.0), (0.0, 1.0, 0.0)), whole)
                elif value > 0.5 and name == "flip_vertical":
                    whole = times(((1.0, 0.0, 0.0), (0.0, -1.0, height - 1.0)), whole)
        return whole

    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        # kornia's own warp_affine counts from pixel centres, so that "reflection" would mirror about another line than ours.
        return tensors.apply(input, self.learned["transforms"], params["t"].tolist())

    def apply_transform_mask(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        return tensors.apply(input, self.learned["transforms"], params["t"].tolist(), mask=True)

    def apply_at(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves images by given coordinates.   x: (B, C, H, W)   t: (B, k)"""
        return tensors.apply(x, self.learned["transforms"], t.tolist())
