"""The learned augmentation as a transform of albumentations."""

from collections.abc import Sequence
from typing import Any

import albumentations as A
import cv2
import numpy as np
from albumentations.augmentations.geometric import functional
from albumentations.core.type_definitions import ALL_TARGETS

from augerino.saving.export.arrays import change_intensities, shift
from augerino.saving.export.element import draw, moves_points, pixel_map, split, whole_pixels

_BORDERS = {
    "zeros": cv2.BORDER_CONSTANT,
    "border": cv2.BORDER_REPLICATE,
    "reflection": cv2.BORDER_REFLECT,
}


class LearnedAugmentation(A.DualTransform):
    """Moves an image and its masks by one draw from the learned distribution.

    Images are (H, W) or (H, W, C), uint8 or floating-point in [0, 1]: apply it before
    normalisation. If it moves pixels, it raises TypeError for boxes and key points; otherwise they
    pass through.
    """

    _targets = ALL_TARGETS

    class InitSchema(A.DualTransform.InitSchema):
        """The arguments of the constructor, which albumentations validates."""

        learned: dict[str, Any]

    def __init__(self, learned: dict[str, Any], p: float = 1.0) -> None:
        super().__init__(p=p)
        self.learned = learned

    def get_params(self) -> dict[str, Any]:
        """Draws the coordinates of one call."""
        return {"t": draw(self.learned["distributions"], self.py_random.random)}

    def apply(self, img: Any, t: Sequence[float], **params: Any) -> Any:
        """Moves an image."""
        return self.apply_at(img, t)

    def apply_to_mask(self, mask: Any, t: Sequence[float], **params: Any) -> Any:
        """Moves a mask; its values are kept."""
        moved = self._move(mask.astype(np.float64), t, is_mask=True)
        return moved.astype(mask.dtype)

    def apply_to_bboxes(self, bboxes: Any, **params: Any) -> Any:
        """Raises TypeError if pixels move."""
        if not moves_points(self.learned["transforms"]):
            return bboxes
        raise TypeError("The learned augmentation moves images and masks only, not boxes.")

    def apply_to_keypoints(self, keypoints: Any, **params: Any) -> Any:
        """Raises TypeError if pixels move."""
        if not moves_points(self.learned["transforms"]):
            return keypoints
        raise TypeError("The learned augmentation moves images and masks only, not key points.")

    def apply_at(self, img: Any, t: Sequence[float]) -> Any:
        """Moves an image by given coordinates."""
        if img.dtype == np.uint8:
            moved = self._move(img.astype(np.float32) / 255, t, is_mask=False)
            return np.clip(np.rint(moved * 255), 0, 255).astype(np.uint8)
        return self._move(img, t, is_mask=False)

    def _move(self, img: Any, t: Sequence[float], *, is_mask: bool) -> Any:
        interpolation = cv2.INTER_NEAREST if is_mask else cv2.INTER_LINEAR
        for item, values in split(self.learned["transforms"], t):
            if item["kind"] == "Affine2d":
                img = _warp(img, item, values, interpolation)
            elif item["kind"] == "Flip":
                img = _flip(img, item, values)
            elif item["kind"] == "PixelShift":
                right, down = whole_pixels(item["names"], values, *img.shape[:2])
                img = shift(img, right, down, padding=item["padding"])
            elif not is_mask:
                img = change_intensities(img, item["kind"], values[0])
        return img


def _flip(img: Any, item: dict[str, Any], values: Sequence[float]) -> Any:
    for name, value in zip(item["names"], values, strict=True):
        if value > 0.5:
            axis = 1 if name == "flip_horizontal" else 0
            img = np.ascontiguousarray(np.flip(img, axis))
    return img


def _warp(img: Any, item: dict[str, Any], t: Sequence[float], interpolation: int) -> Any:
    height, width = img.shape[:2]
    inverse = pixel_map(item["names"], [-value for value in t], height, width)
    return functional.warp_affine(
        img,
        matrix=np.array([*inverse, (0, 0, 1)]),
        interpolation=interpolation | cv2.WARP_INVERSE_MAP,
        fill=0,
        border_mode=_BORDERS[item["padding"]],
        output_shape=(height, width),
    )
