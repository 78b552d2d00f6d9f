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
from augerino.saving.export.element import draw


class LearnedAugmentation(v2.Transform):
    """Moves images and masks by one draw a call: the same for every image of a batch, as torchvision's own transforms do.

    Put it where images are still in [0, 255] or [0, 1], before normalising. Boxes and key points are refused, not left behind.
    """

    def __init__(self, learned: dict[str, Any]) -> None:
        super().__init__()
        self.learned = learned

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"t": draw(self.learned["distributions"], lambda: float(torch.rand(())))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.apply_at(inpt, params["t"])

    def apply_at(self, image: Any, t: Sequence[float]) -> Any:
        """Moves an image or mask by given coordinates."""
        if isinstance(image, PIL.Image.Image):
            if image.mode not in ("L", "RGB"):
                raise TypeError(
                    f'The learned augmentation takes PIL images "L" and "RGB", not "{image.mode}": use .convert("RGB").'
                )
            return functional.to_pil_image(
                self.apply_at(functional.pil_to_tensor(image), t), mode=image.mode
            )
        if isinstance(image, tv_tensors.Mask):
            return tv_tensors.wrap(
                self._moved(image.double(), t, mask=True).to(image.dtype), like=image
            )
        if isinstance(image, tv_tensors.TVTensor) and not isinstance(
            image, tv_tensors.Image | tv_tensors.Video
        ):
            raise TypeError(
                f"The learned augmentation moves images and masks only, but got {type(image).__name__}."
            )
        pixels = image.as_subclass(Tensor)
        floats = (
            pixels
            if pixels.is_floating_point()
            else functional.to_dtype(pixels, torch.float32, scale=True)
        )
        moved = self._moved(floats, t, mask=False)
        moved = (
            moved
            if pixels.is_floating_point()
            else functional.to_dtype(moved, pixels.dtype, scale=True)
        )
        return (
            tv_tensors.wrap(moved, like=image) if isinstance(image, tv_tensors.TVTensor) else moved
        )

    def _moved(self, x: Tensor, t: Sequence[float], *, mask: bool) -> Tensor:
        plain = x.as_subclass(Tensor)
        flat = (
            plain.reshape(-1, 1, *x.shape[-2:]) if x.dim() < 3 else plain.reshape(-1, *x.shape[-3:])
        )
        return tensors.apply(flat, self.learned["transforms"], [t], mask=mask).reshape(x.shape)
