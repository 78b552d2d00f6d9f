"""The learned augmentation as a transform of albumentations."""

from collections.abc import Sequence
from typing import Any

import albumentations as A
import cv2
import numpy as np
from albumentations.augmentations.geometric import functional
from albumentations.core.type_definitions import ALL_TARGETS

from augerino.saving.export.element import contrast_slope, draw, pixel_map, split

_BORDERS = {
    "zeros": cv2.BORDER_CONSTANT,
    "border": cv2.BORDER_REPLICATE,
    "reflection": cv2.BORDER_REFLECT,
}


class LearnedAugmentation(A.DualTransform):
    """Moves an image (H, W) or (H, W, C), uint8 or floating in [0, 1], and its masks by one draw.

    Put it before normalising. Boxes and key points are refused, not left behind.
    """

    _targets = ALL_TARGETS

    class InitSchema(A.DualTransform.InitSchema):
        """What albumentations checks a constructor's arguments by."""

        learned: dict[str, Any]

    def __init__(self, learned: dict[str, Any], p: float = 1.0) -> None:
        super().__init__(p=p)
        self.learned = learned

    def get_params(self) -> dict[str, Any]:
        return {"t": draw(self.learned["distributions"], self.py_random.random)}

    def apply(self, img: Any, t: Sequence[float], **params: Any) -> Any:
        return self.apply_at(img, t)

    def apply_to_mask(self, mask: Any, t: Sequence[float], **params: Any) -> Any:
        return self._moved(mask.astype(np.float64), t, mask=True).astype(mask.dtype)

    def apply_to_bboxes(self, bboxes: Any, **params: Any) -> Any:
        raise TypeError("The learned augmentation moves images and masks only, not boxes.")

    def apply_to_keypoints(self, keypoints: Any, **params: Any) -> Any:
        raise TypeError("The learned augmentation moves images and masks only, not key points.")

    def apply_at(self, img: Any, t: Sequence[float]) -> Any:
        """Moves an image by given coordinates."""
        if img.dtype == np.uint8:
            moved = self._moved(img.astype(np.float32) / 255, t, mask=False)
            return np.clip(np.rint(moved * 255), 0, 255).astype(np.uint8)
        return self._moved(img, t, mask=False)

    def _moved(self, img: Any, t: Sequence[float], *, mask: bool) -> Any:
        for item, values in split(self.learned["transforms"], t):
            if item["kind"] == "Affine2d":
                img = _warp(img, item, values, cv2.INTER_NEAREST if mask else cv2.INTER_LINEAR)
            elif item["kind"] == "Flip":
                for name, value in zip(item["names"], values, strict=True):
                    if value > 0.5:
                        img = np.ascontiguousarray(
                            np.flip(img, 1 if name == "flip_horizontal" else 0)
                        )
            elif not mask and item["kind"] == "Brightness":
                img = np.clip(img + img.dtype.type(values[0]), 0, 1)
            elif not mask:  # Contrast
                middle = img.dtype.type(128 / 255)
                img = np.clip(
                    img.dtype.type(contrast_slope(values[0])) * (img - middle) + middle, 0, 1
                )
        return img


def _warp(img: Any, item: dict[str, Any], t: Sequence[float], interpolation: int) -> Any:
    height, width = img.shape[:2]
    pull = np.array([*pixel_map(item["names"], [-value for value in t], height, width), (0, 0, 1)])
    flags = interpolation | cv2.WARP_INVERSE_MAP
    return functional.warp_affine(img, pull, flags, 0, _BORDERS[item["padding"]], (height, width))
