"""The learned augmentation as an object of another library."""

from importlib import import_module
from typing import Any

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.saving.export.learned import numbers
from augerino.saving.policy import Policy

#: The module that implements the transform of each library.
LIBRARIES = {
    "torchvision": "torchvision_transform",
    "kornia": "kornia_augmentation",
    "albumentations": "albumentations_transform",
}


def to_torchvision(policy: Policy | Augmentation) -> Any:
    """Creates a `torchvision.transforms.v2.Transform` that draws from the learned distribution.

    Its `apply_at(image, t)` moves an image by given coordinates.
    """
    return _transform("torchvision", policy)


def to_kornia(policy: Policy | Augmentation) -> Any:
    """Creates a `kornia.augmentation` module that draws from the learned distribution.

    Its `apply_at(x, t)` moves images by given coordinates t (B, k).
    """
    return _transform("kornia", policy)


def to_albumentations(policy: Policy | Augmentation) -> Any:
    """Creates an `albumentations.DualTransform` that draws from the learned distribution.

    Its `apply_at(image, t)` moves an image by given coordinates.
    """
    return _transform("albumentations", policy)


def _transform(library: str, policy: Policy | Augmentation) -> Any:
    learned = numbers(policy, library)
    module = require(f"augerino.saving.export.{LIBRARIES[library]}", library)
    return module.LearnedAugmentation(learned)


def require(module: str, extra: str) -> Any:
    """Imports a module that needs an extra. Raises InputError where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f'This needs {error.name or extra}: pip install "augerino[{extra}]"'
        ) from error
    except RuntimeError as error:  # raised by a torchvision that was built for another torch
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{extra} is installed but does not load with this torch ({reason}): "
            "install a matching build."
        ) from error
