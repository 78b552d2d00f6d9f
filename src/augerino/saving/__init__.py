"""Saved policies and models, and exports to other libraries."""

from augerino.saving.export import (
    OnnxModel,
    standalone,
    to_albumentations,
    to_kornia,
    to_onnx,
    to_torchvision,
)
from augerino.saving.policy import Policy
from augerino.saving.pretrained import from_pretrained, save_pretrained

__all__ = [
    "OnnxModel",
    "Policy",
    "from_pretrained",
    "save_pretrained",
    "standalone",
    "to_albumentations",
    "to_kornia",
    "to_onnx",
    "to_torchvision",
]
