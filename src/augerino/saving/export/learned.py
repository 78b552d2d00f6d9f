"""A learned augmentation as plain numbers, for other libraries."""

from typing import Any

from torch import nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.saving.policy import KINDS, Policy, kinds_in

TRANSFORMS = (
    "Affine2d",
    "AutoContrast",
    "Brightness",
    "Contrast",
    "Equalize",
    "Erase",
    "Flip",
    "Gamma",
    "Grayscale",
    "Hue",
    "PixelNoise",
    "PixelShift",
    "Posterize",
    "Saturation",
    "Sharpness",
    "Solarize",
)
DISTRIBUTIONS = ("Uniform", "Interval", "Gaussian", "Bernoulli")


def numbers(policy: Policy | Augmentation, target: str) -> dict[str, Any]:
    """Transforms and distributions in order, as plain lists.

    Raises InputError for kinds that cannot be exported to the target, a library's name.
    """
    exportable = {*TRANSFORMS, *DISTRIBUTIONS, "Compose", "Product"}
    unknown = []
    if isinstance(policy, Augmentation):
        unknown = _own_kinds(policy)
        policy = Policy.of(policy)
    unknown += sorted(kinds_in(policy.data) - exportable)
    if unknown:
        raise InputError(
            f"The augmentation contains {unknown[0]}, which cannot be exported to {target}: only "
            f"{', '.join(TRANSFORMS)} can, drawn from {', '.join(DISTRIBUTIONS)}. "
            "A saved policy keeps everything."
        )
    augmentation = policy.augmentation()
    return {
        "transforms": _flatten(augmentation.transform),
        "distributions": _flatten(augmentation.distribution),
    }


def _own_kinds(augmentation: Augmentation) -> list[str]:
    """Names of transforms and distributions that are not the built-in ones of these names."""
    own = []
    for module in augmentation.modules():
        name = type(module).__name__
        if name in KINDS and type(module) is not KINDS[name]:
            own.append(f"a {name} of your own")
    return own


def _flatten(module: nn.Module) -> list[dict[str, Any]]:
    parts = getattr(module, "parts", None)
    if parts is not None:
        return [item for part in parts for item in _flatten(part)]
    data: dict[str, Any] = {"kind": type(module).__name__}
    if hasattr(module, "names"):
        data["names"] = list(module.names)  # type: ignore[arg-type]
    return [{**data, **module.settings()}]  # type: ignore[operator]
