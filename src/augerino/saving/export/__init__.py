"""Exports: transforms of other libraries, Python files that do not need augerino, and ONNX."""

from augerino.saving.export.libraries import LIBRARIES, to_albumentations, to_kornia, to_torchvision
from augerino.saving.export.onnx_model import OnnxModel, to_onnx
from augerino.saving.export.standalone import standalone

__all__ = [
    "LIBRARIES",
    "OnnxModel",
    "standalone",
    "to_albumentations",
    "to_kornia",
    "to_onnx",
    "to_torchvision",
]
