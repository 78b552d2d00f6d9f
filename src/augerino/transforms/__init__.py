"""Families of maps: what can be done to an input."""

from augerino.transforms.affine2d import Affine2d
from augerino.transforms.base import Compose, LieTransform, On, Transform
from augerino.transforms.color import Brightness, Contrast
from augerino.transforms.discrete import Flip
from augerino.transforms.functional import warp
from augerino.units import Unit

__all__ = ["Affine2d", "Brightness", "Compose", "Contrast", "Flip", "LieTransform", "On", "Transform", "Unit", "warp"]
