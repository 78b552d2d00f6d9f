"""The learned augmentation as an object of another library."""

from importlib import import_module
from typing import Any

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.saving.export.learned import numbers
from augerino.saving.policy import Policy

#: Where each library's transform is written.
LIBRARIES = {
    "torchvision": "torchvision_transform",
    "kornia": "kornia_augmentation",
    "albumentations": "albumentations_transform",
}


def to_torchvision(policy: Policy | Augmentation) -> Any:
    """A `torchvision.transforms.v2.Transform` that draws from the learned distribution; `apply_at(image, t)` at given t."""
    return _transform("torchvision", policy)


def to_kornia(policy: Policy | Augmentation) -> Any:
    """A `kornia.augmentation` module that draws from the learned distribution; `apply_at(x, t)` moves by given t (B, k)."""
    return _transform("kornia", policy)


def to_albumentations(policy: Policy | Augmentation) -> Any:
    """An `albumentations.DualTransform` that draws from the learned distribution; `apply_at(image, t)` at given t."""
    return _transform("albumentations", policy)


def _transform(library: str, policy: Policy | Augmentation) -> Any:
    learned = numbers(policy, library)
    return require(f"augerino.saving.export.{LIBRARIES[library]}", library).LearnedAugmentation(
        learned
    )


def require(module: str, extra: str) -> Any:
    """Imports a module that needs an extra; where that is not installed, or does not load, a sentence says what to do."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f'This needs {error.name or extra}: pip install "augerino[{extra}]"'
        ) from error
    except (
        RuntimeError
    ) as error:  # a build of torchvision that does not fit torch's says so like this
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{extra} is installed but does not load beside this torch ({reason}): install a matching build."
        ) from error
