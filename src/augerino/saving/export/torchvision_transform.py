"""The learned augmentation as a transform of torchvision (transforms.v2)."""

from collections.abc import Sequence
from typing import Any

import PIL.Image
import torch
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from augerino.saving.export import tensors
from augerino.saving.export.element import draw, moves_points


class LearnedAugmentation(v2.Transform):
    """Moves images and masks by one draw per call from the learned distribution.

    All images of a batch get the same draw, as with torchvision's own transforms. Images are in
    [0, 255] or [0, 1]: apply it before normalisation. If it moves pixels, it raises TypeError for
    boxes and key points; otherwise they pass through.
    """

    def __init__(self, learned: dict[str, Any]) -> None:
        super().__init__()
        self.learned = learned

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draws the coordinates of one call."""
        return {"t": draw(self.learned["distributions"], lambda: float(torch.rand(())))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Moves an image or mask by the coordinates of a call."""
        return self.apply_at(inpt, params["t"])

    def apply_at(self, image: Any, t: Sequence[float]) -> Any:
        """Moves an image or mask by given coordinates."""
        if isinstance(image, PIL.Image.Image):
            return self._apply_to_pil(image, t)
        if isinstance(image, tv_tensors.Mask):
            moved = self._move(image.double(), t, is_mask=True)
            return tv_tensors.wrap(moved.to(image.dtype), like=image)
        is_tv_tensor = isinstance(image, tv_tensors.TVTensor)
        if is_tv_tensor and not isinstance(image, tv_tensors.Image | tv_tensors.Video):
            if not moves_points(self.learned["transforms"]):
                return image
            raise TypeError(
                "The learned augmentation moves images and masks only, "
                f"but got {type(image).__name__}."
            )
        pixels = image.as_subclass(Tensor)
        if pixels.is_floating_point():
            moved = self._move(pixels, t, is_mask=False)
        else:
            floats = functional.to_dtype(pixels, torch.float32, scale=True)
            moved = self._move(floats, t, is_mask=False)
            moved = functional.to_dtype(moved, pixels.dtype, scale=True)
        if is_tv_tensor:
            return tv_tensors.wrap(moved, like=image)
        return moved

    def _apply_to_pil(self, image: PIL.Image.Image, t: Sequence[float]) -> PIL.Image.Image:
        if image.mode not in ("L", "RGB"):
            raise TypeError(
                'The learned augmentation takes PIL images "L" and "RGB", '
                f'not "{image.mode}": use .convert("RGB").'
            )
        moved = self.apply_at(functional.pil_to_tensor(image), t)
        return functional.to_pil_image(moved, mode=image.mode)

    def _move(self, x: Tensor, t: Sequence[float], *, is_mask: bool) -> Tensor:
        """Moves floating-point images (..., C, H, W) or (H, W)."""
        channels = 1 if x.dim() < 3 else x.shape[-3]
        batch = x.as_subclass(Tensor).reshape(-1, channels, *x.shape[-2:])
        moved = tensors.apply(batch, self.learned["transforms"], [t], mask=is_mask)
        return moved.reshape(x.shape)
