"""Transforms: parametrised families of maps of images, signals and point clouds."""

from augerino.coordinate import Coordinate, Unit
from augerino.transforms.actions import Action, Boxes, Keypoints, LabelMap, VectorField, Vectors
from augerino.transforms.active_rows import ImageTransform, PhotometricTransform
from augerino.transforms.affine2d import Affine2d
from augerino.transforms.affine3d import Affine3d
from augerino.transforms.base import Compose, Identity, LieTransform, On, Transform
from augerino.transforms.chroma import Grayscale, Hue, Saturation
from augerino.transforms.color import Brightness, Contrast
from augerino.transforms.discrete import Flip
from augerino.transforms.functional import resample, warp
from augerino.transforms.occlusion import Erase, PixelNoise
from augerino.transforms.photometric import (
    AutoContrast,
    Equalize,
    Gamma,
    Posterize,
    Sharpness,
    Solarize,
)
from augerino.transforms.pixel_shift import PixelShift
from augerino.transforms.rototranslate2d import RotoTranslate2d
from augerino.transforms.signal import Gain, NoiseLevel, TimeScale, TimeShift

__all__ = [
    "Action",
    "Affine2d",
    "Affine3d",
    "AutoContrast",
    "Boxes",
    "Brightness",
    "Compose",
    "Contrast",
    "Coordinate",
    "Equalize",
    "Erase",
    "Flip",
    "Gain",
    "Gamma",
    "Grayscale",
    "Hue",
    "Identity",
    "ImageTransform",
    "Keypoints",
    "LabelMap",
    "LieTransform",
    "NoiseLevel",
    "On",
    "PhotometricTransform",
    "PixelNoise",
    "PixelShift",
    "Posterize",
    "RotoTranslate2d",
    "Saturation",
    "Sharpness",
    "Solarize",
    "TimeScale",
    "TimeShift",
    "Transform",
    "Unit",
    "VectorField",
    "Vectors",
    "resample",
    "warp",
]
